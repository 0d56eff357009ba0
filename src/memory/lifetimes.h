#pragma once
#include <edgec/program.h>

#include <cstdint>
#include <vector>

namespace edgec::memory {

// One piece of planned memory: live from instruction `first` to `last`, both included.
struct Block {
  ValueId value;  // the root: its views share the piece
  int64_t bytes = 0;
  uint32_t first = 0, last = 0;
  int64_t offset = -1;  // the plan
};

struct PlanOptions {
  int64_t alignment = 16;  // of every offset, bytes
  bool alloc_graph_input = true;
  bool alloc_graph_output = true;
  bool alloc_mutable_buffers = true;
};

// The values of an Exec graph that need planned memory, with their lifetimes. Fails when a size has no upper bound, naming the symbol.
Result<std::vector<Block>> lifetimes(const Method& m, const PlanOptions& options);

// The value whose memory `v` shares: itself, or what it is a static view of. None when the view has memory decided at run time.
ValueId memory_root(const Graph& g, ValueId v);

}  // namespace edgec::memory
