#pragma once
#include <string>
#include <vector>

#include <edgec/program.h>
#include "runtime/array.h"

// How a random program is called: sizes and inputs follow from its text alone.
namespace edgec::random_graphs {

// Values that an operand may have. Part of an input's name, so that a printed program says all there is to know:
// "below3_x4" holds integers of 0..2.
struct Domain {
  enum class Kind : uint8_t { Any, Below, Positive, Unit, Sorted };
  Kind kind = Kind::Any;
  int64_t limit = 0;  // Below
  std::string prefix() const;
  static Domain of(std::string_view input_name);
  friend bool operator==(const Domain&, const Domain&) = default;
};

// The sizes of all calls: every symbol at its least, all at their greatest, and a mixture. One set when there are no
// symbols.
std::vector<sym::Bindings> sizes_of_calls(const sym::Context& syms);

// Elements in logical order, by the name alone.
std::vector<std::byte> elements(std::string_view name, DType dtype, int64_t count, uint64_t call);

// The arguments of call `k`.
Result<std::vector<runtime::Value>> arguments_of(const Method& m, const sym::Bindings& sizes, uint64_t k);

}  // namespace edgec::random_graphs
