#pragma once
#include <edgec/planner.h>

#include <string_view>
#include <vector>

namespace edgec::memory {

// [{"id": 1, "name": "sram", "capacity": 65536, "alignment": 16, "cost": 1}, ...]: all but the id may be missing. `name` is the
// document's, for messages. Failure kind Input.
Result<std::vector<MemoryLayer>> parse_memory_layers(std::string_view json, std::string_view name);

// That ids are different and within 1 to 255, capacities are not negative (or -1), alignments powers of two, costs numbers. Kind Usage.
Status check_layers(std::span<const MemoryLayer> layers);

}  // namespace edgec::memory
