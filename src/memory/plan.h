#pragma once
#include <edgec/planner.h>

#include <memory>

#include "memory/lifetimes.h"

namespace edgec::memory {

struct PlanningOptions : PlanOptions {
  std::shared_ptr<const MemoryPlanner> planner;  // null: "best"
  std::vector<MemoryLayer> layers;               // empty: memory id 1 without a limit
  bool share_state = false;                      // mutable buffers of equal name are one for all methods, in kSharedStateId
};

// Where shared state lies: one of the two memories that ExecuTorch's `Module` can share between methods.
constexpr uint32_t kSharedStateId = 2;

// A piece of planned memory with its place.
struct PlannedBlock : MemoryBlock {
  ValueId value;  // the root: what lies in it shares the piece
};

// Planned bytes by the symbol that they grow with: what would be saved if the symbol were at its least value.
struct SymbolBytes {
  std::string symbol;
  int64_t bound = 0;
  int64_t bytes = 0;  // of the sizes that hold the symbol, all blocks of the fullest moment
};

struct Plan {
  std::vector<PlannedBlock> blocks;
  std::vector<MemoryLayer> layers;    // with those of shared state
  std::vector<int64_t> buffer_bytes;  // by memory id; [0] is 0
  int64_t arena_bytes = 0;            // of all memories
  int64_t max_live_bytes = 0;         // the lower bound of any plan of this order
  std::string planner;
  std::vector<SymbolBytes> symbols;
};

// Plans all methods and writes each value's `place`, views included. Plans are proved (check_plan.h); a planner's answer that is wrong is
// a failure of kind Model, or of kind Internal when the planner is ours.
Result<std::vector<Plan>> plan(Program& program, const PlanningOptions& options = {});

}  // namespace edgec::memory
