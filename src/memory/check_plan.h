#pragma once
#include <edgec/planner.h>

namespace edgec::memory {

// Proves a plan: every block lies in a memory that there is, within its capacity, aligned, and no two blocks that live at the same time
// share a byte. Knows nothing of how plans are made. The failure (kind Model) names the tensors.
Status check_plan(std::span<const MemoryBlock> blocks, std::span<const MemoryLayer> layers);

}  // namespace edgec::memory
