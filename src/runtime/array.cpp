#include "runtime/array.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace edgec::runtime {
namespace {

struct ElementRow {
  Element element;
  std::string_view name;
  size_t size;
};
constexpr ElementRow kElements[] = {
    {Element::UInt8, "uint8", 1},
    {Element::Int8, "int8", 1},
    {Element::Int16, "int16", 2},
    {Element::Int32, "int32", 4},
    {Element::Int64, "int64", 8},
    {Element::Float16, "float16", 2},
    {Element::Float32, "float32", 4},
    {Element::Float64, "float64", 8},
    {Element::Complex32, "complex32", 4},
    {Element::Complex64, "complex64", 8},
    {Element::Complex128, "complex128", 16},
    {Element::Bool, "bool", 1},
    {Element::BFloat16, "bfloat16", 2},
    {Element::Float8E5M2, "float8_e5m2", 1},
    {Element::Float8E4M3, "float8_e4m3fn", 1},
    {Element::UInt16, "uint16", 2},
    {Element::UInt32, "uint32", 4},
    {Element::UInt64, "uint64", 8},
};

const ElementRow& row_of(Element element) {
  for (const ElementRow& row : kElements)
    if (row.element == element) return row;
  return kElements[0];  // Element values come from element_of() or from the enumeration itself
}

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// A small float with the given widths of exponent and mantissa; `finite_only` types have NaN but no infinity.
double small_float(uint32_t bits, int exponent_bits, int mantissa_bits, bool finite_only) {
  const uint32_t mantissa = bits & ((1u << mantissa_bits) - 1);
  const int top = (1 << exponent_bits) - 1, bias = top >> 1;
  const int exponent = static_cast<int>(bits >> mantissa_bits) & top;
  const double sign = (bits >> (exponent_bits + mantissa_bits)) & 1 ? -1.0 : 1.0;
  if (exponent == top && !finite_only) return mantissa ? std::nan("") : sign * HUGE_VAL;
  if (finite_only && exponent == top && mantissa == (1u << mantissa_bits) - 1) return std::nan("");
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp(mantissa + (1u << mantissa_bits), exponent - bias - mantissa_bits);
}

}  // namespace

std::optional<Element> element_of(int c10_number) {
  for (const ElementRow& row : kElements)
    if (static_cast<int>(row.element) == c10_number) return row.element;
  return std::nullopt;
}

std::string_view torch_name(Element element) { return row_of(element).name; }
size_t size_of(Element element) { return row_of(element).size; }

double Array::at(size_t index) const {
  const std::byte* p = bytes.data() + index * size_of(element);
  switch (element) {
    case Element::UInt8:
    case Element::Bool:
      return load<uint8_t>(p);
    case Element::Int8:
      return load<int8_t>(p);
    case Element::Int16:
      return load<int16_t>(p);
    case Element::Int32:
      return load<int32_t>(p);
    case Element::Int64:
      return static_cast<double>(load<int64_t>(p));
    case Element::UInt16:
      return load<uint16_t>(p);
    case Element::UInt32:
      return load<uint32_t>(p);
    case Element::UInt64:
      return static_cast<double>(load<uint64_t>(p));
    case Element::Float32:
    case Element::Complex64:
      return static_cast<double>(load<float>(p));
    case Element::Float64:
    case Element::Complex128:
      return load<double>(p);
    case Element::BFloat16:
      return static_cast<double>(std::bit_cast<float>(uint32_t{load<uint16_t>(p)} << 16));
    case Element::Float16:
    case Element::Complex32:
      return small_float(load<uint16_t>(p), 5, 10, false);
    case Element::Float8E5M2:
      return small_float(load<uint8_t>(p), 5, 2, false);
    case Element::Float8E4M3:
      return small_float(load<uint8_t>(p), 4, 3, true);
  }
  return 0;
}

std::string printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < 0x20 || c > 0x7e; }, '?');
  return text;
}

std::string describe(Element element, const std::vector<int64_t>& shape) {
  return fmt::format("{}[{}]", torch_name(element), fmt::join(shape, ", "));
}

}  // namespace edgec::runtime
