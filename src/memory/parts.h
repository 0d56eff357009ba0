#pragma once
#include <edgec/planner.h>

#include <cstdint>
#include <vector>

namespace edgec::memory {

// Cuts parts that may lie over each other into such that do not: the same bytes at the same times, and of those neighbours in time that
// are equal bytes only one. In order of time, then of bytes.
std::vector<MemoryPart> disjoint(std::vector<MemoryPart> parts);

// The parts of a block: what it says, or all of it at all times.
std::vector<MemoryPart> parts_of(const MemoryBlock& b);

}  // namespace edgec::memory
