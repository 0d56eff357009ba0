#pragma once
#include <cstdint>
#include <limits>
#include <optional>

// Arithmetic of int64 that says when it overflows.
namespace edgec::sym {

__extension__ typedef __int128 Wide;

inline constexpr int64_t kIntMin = std::numeric_limits<int64_t>::min();
inline constexpr int64_t kIntMax = std::numeric_limits<int64_t>::max();
inline constexpr int64_t kExactFloat = int64_t{1} << 53;  // every integer up to here is a double

inline std::optional<int64_t> checked_add(int64_t a, int64_t b) {
  int64_t r = 0;
  if (__builtin_add_overflow(a, b, &r)) return std::nullopt;
  return r;
}

inline std::optional<int64_t> checked_mul(int64_t a, int64_t b) {
  int64_t r = 0;
  if (__builtin_mul_overflow(a, b, &r)) return std::nullopt;
  return r;
}

inline std::optional<int64_t> narrow(Wide v) {
  if (v < kIntMin || v > kIntMax) return std::nullopt;
  return static_cast<int64_t>(v);
}

// Python's // and %; the divisor is not zero.
inline Wide floor_div(Wide a, Wide b) {
  Wide q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}
inline Wide floor_mod(Wide a, Wide b) { return a - b * floor_div(a, b); }

std::optional<int64_t> checked_pow(int64_t base, int64_t exponent);  // exponent >= 0

}  // namespace edgec::sym
