#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

// What goes into a method and comes out of it, without any type of the official runtime.
namespace edgec::runtime {

// Element types by their c10 number, as in the program file.
enum class Element : int8_t {
  UInt8 = 0,
  Int8 = 1,
  Int16 = 2,
  Int32 = 3,
  Int64 = 4,
  Float16 = 5,
  Float32 = 6,
  Float64 = 7,
  Complex32 = 8,
  Complex64 = 9,
  Complex128 = 10,
  Bool = 11,
  BFloat16 = 15,
  Float8E5M2 = 23,
  Float8E4M3 = 24,
  UInt16 = 27,
  UInt32 = 28,
  UInt64 = 29,
};
std::optional<Element> element_of(int c10_number);
std::string_view torch_name(Element);  // "float32"
size_t size_of(Element);               // bytes of one element

// A tensor in logical (C) order: bytes.size() == product of shape * size_of(element).
struct Array {
  Element element = Element::Float32;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;
  size_t count() const { return bytes.size() / size_of(element); }
  double at(size_t index) const;  // element as a double, for people to read; the real part of complex numbers
};
std::string printable(std::string text);  // text of untrusted origin for messages: anything but plain ASCII becomes "?"
std::string describe(Element, const std::vector<int64_t>& shape);  // "float32[2, 3]"

struct None {
  friend bool operator==(None, None) { return true; }
};
struct Value;
using List = std::vector<Value>;
struct Value {
  std::variant<None, int64_t, double, bool, std::string, Array, List> held;
};

}  // namespace edgec::runtime
