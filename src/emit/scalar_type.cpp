#include "emit/scalar_type.h"

#include <iterator>

namespace edgec::pte {
namespace {

constexpr uint64_t kMost = uint64_t{1} << 63;

constexpr ScalarType kTypes[] = {
    {"uint8", 1},           {"int8", 1},
    {"int16", 2},           {"int32", 4},
    {"int64", 8},           {"float16", 2},
    {"float32", 4},         {"float64", 8},
    {"complex32", 4},       {"complex64", 8},
    {"complex128", 16},     {"bool", 1},
    {"qint8", 1},           {"quint8", 1},
    {"qint32", 4},          {"bfloat16", 2},
    {"quint4x2", 1},        {"quint2x4", 1},
    {"bits1x8", 1},         {"bits2x4", 1},
    {"bits4x2", 1},         {"bits8", 1},
    {"bits16", 2},          {"float8_e5m2", 1},
    {"float8_e4m3fn", 1},   {"float8_e5m2fnuz", 1},
    {"float8_e4m3fnuz", 1}, {"uint16", 2},
    {"uint32", 4},          {"uint64", 8},
};

}  // namespace

const ScalarType* scalar_type(int8_t number) { return number >= 0 && number < std::ssize(kTypes) ? &kTypes[number] : nullptr; }

std::optional<uint64_t> element_count(const Tensor& t) {
  uint64_t n = 1;
  bool empty = false, too_many = false;
  for (int32_t size : t.sizes) {
    if (size < 0) return {};
    empty |= size == 0;
    too_many |= __builtin_mul_overflow(n, static_cast<uint64_t>(size), &n) || n >= kMost;
  }
  if (empty) return 0;
  if (too_many) return {};
  return n;
}

std::optional<uint64_t> byte_count(const Tensor& t) {
  const ScalarType* type = scalar_type(t.scalar_type);
  auto n = element_count(t);
  uint64_t bytes = 0;
  if (!type || !n || __builtin_mul_overflow(*n, uint64_t{type->bytes}, &bytes) || bytes >= kMost) return {};
  return bytes;
}

}  // namespace edgec::pte
