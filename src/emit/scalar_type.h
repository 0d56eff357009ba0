#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "emit/program.h"

namespace edgec::pte {

// What the file format says about torch's dtype numbers.
struct ScalarType {
  std::string_view name;  // torch's: float32
  uint32_t bytes;         // of an element
};
// Null for numbers that the runtime does not know.
const ScalarType* scalar_type(int8_t number);

// Elements and bytes of a tensor at its stored sizes; nothing when a size is negative, the type is unknown or 63 bits
// do not hold them.
std::optional<uint64_t> element_count(const Tensor& t);
std::optional<uint64_t> byte_count(const Tensor& t);

}  // namespace edgec::pte
