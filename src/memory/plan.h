#pragma once
#include "memory/lifetimes.h"

namespace edgec::memory {

struct Plan {
  std::vector<Block> blocks;
  int64_t arena_bytes = 0;
  int64_t max_live_bytes = 0;  // the lower bound of any plan of this order
};

// Offsets for all blocks: largest first, each in the lowest gap that is free while it lives.
void place_greedy(std::vector<Block>& blocks, int64_t alignment);

// Plans a method and writes each value's `place` (memory id 1), views included.
Result<Plan> plan(Method& m, const PlanOptions& options = {});

}  // namespace edgec::memory
