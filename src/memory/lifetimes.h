#pragma once
#include <edgec/planner.h>
#include <edgec/program.h>

#include <cstdint>
#include <vector>

#include "memory/storage.h"

namespace edgec::memory {

// One piece of planned memory: live from instruction `first` to `last`, both included.
struct Block {
  ValueId value;  // the root: what lies in it (memory/storage.h) shares the piece
  int64_t bytes = 0;
  uint32_t first = 0, last = 0;
  std::vector<MemoryPart> parts;  // what of it is in use when; empty: all of it, all the time
};

struct PlanOptions {
  int64_t alignment = 16;  // of every block's offset, bytes
  bool alloc_graph_input = true;
  bool alloc_graph_output = true;
  bool alloc_mutable_buffers = true;
};

// Whether the planner gives a root its memory: not constants, inputs that nothing reads or writes, and those inputs and outputs that the
// caller keeps.
bool is_planned(const Method& m, ValueId root, bool is_used, const PlanOptions& options);

// The pieces of planned memory of an Exec graph, with their lifetimes. Fails when a size has no upper bound, naming the symbol.
Result<std::vector<Block>> lifetimes(const Method& m, const PlanOptions& options);

}  // namespace edgec::memory
