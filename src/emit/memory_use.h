#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "emit/program.h"

namespace edgec::pte {

// Bytes of all memories of the plan.
uint64_t planned_bytes(const Plan& plan);

// Planned bytes that hold something still to be read, at the instruction where they are most: no plan of this order of
// instructions can do with less. State is live always. `unit`: each piece counts from a multiple of it to one. Nothing for plans too
// tangled to tell quickly. Safe for any content.
std::optional<uint64_t> max_live_bytes(const Plan& plan, uint64_t unit = 1);

// Bytes of a memory that hold something still to be read, from one instruction to another (both included; 0 is the call, instruction i is
// i + 1, the return is one after the last).
struct LiveBytes {
  uint32_t memory = 0;
  uint64_t begin = 0, end = 0;
  uint32_t from = 0, to = 0;
};
// As above: nothing for plans too tangled.
std::optional<std::vector<LiveBytes>> live_bytes(const Plan& plan);

// A picture of a memory: the call at the left, the return at the right, the highest bytes at the top; at most 64 by 16 characters. '#' is
// full at some time, '.' is never used, '+' is used in part.
std::string timeline(const Plan& plan, const std::vector<LiveBytes>& live, uint32_t memory);

}  // namespace edgec::pte
