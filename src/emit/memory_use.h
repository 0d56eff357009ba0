#pragma once
#include <cstdint>
#include <optional>

#include "emit/program.h"

namespace edgec::pte {

// Bytes of all memories of the plan.
uint64_t planned_bytes(const Plan& plan);

// Planned bytes that hold something still to be read, at the instruction where they are most: no plan of this order of
// instructions can do with less. State is live always. Nothing for plans too tangled to tell quickly. Safe for any
// content.
std::optional<uint64_t> max_live_bytes(const Plan& plan);

}  // namespace edgec::pte
