#include <edgec/dtype.h>

#include <array>

#include "support/assert.h"

namespace edgec {
namespace {

struct Row {
  std::string_view name, torch;
  int8_t serialized, c10;
  uint8_t size;
};
// In the order of DType.
constexpr std::array<Row, kDTypeCount> kRows = {{
    {"bool", "bool", 12, 11, 1},
    {"u8", "uint8", 1, 0, 1},
    {"i8", "int8", 2, 1, 1},
    {"i16", "int16", 3, 2, 2},
    {"i32", "int32", 4, 3, 4},
    {"i64", "int64", 5, 4, 8},
    {"u16", "uint16", 28, 27, 2},
    {"u32", "uint32", 34, 28, 4},
    {"u64", "uint64", 35, 29, 8},
    {"f16", "float16", 6, 5, 2},
    {"bf16", "bfloat16", 13, 15, 2},
    {"f32", "float32", 7, 6, 4},
    {"f64", "float64", 8, 7, 8},
    {"c32", "complex32", 9, 8, 4},
    {"c64", "complex64", 10, 9, 8},
    {"c128", "complex128", 11, 10, 16},
    {"f8e4m3fn", "float8_e4m3fn", 29, 24, 1},
    {"f8e5m2", "float8_e5m2", 30, 23, 1},
    {"f8e4m3fnuz", "float8_e4m3fnuz", 31, 26, 1},
    {"f8e5m2fnuz", "float8_e5m2fnuz", 32, 25, 1},
    {"f8e8m0", "float8_e8m0fnu", 33, 44, 1},
}};

const Row& row(DType d) { return kRows[static_cast<size_t>(d)]; }

template <class Field, class Want>
std::optional<DType> find(Field Row::*field, const Want& want) {
  for (size_t i = 0; i < kRows.size(); ++i)
    if (kRows[i].*field == want) return static_cast<DType>(i);
  return std::nullopt;
}

}  // namespace

std::string_view name(DType d) { return row(d).name; }
std::string_view torch_name(DType d) { return row(d).torch; }
std::optional<DType> dtype_from_name(std::string_view n) { return find(&Row::name, n); }
std::optional<DType> dtype_from_torch_name(std::string_view n) { return find(&Row::torch, n); }
std::optional<DType> dtype_from_serialized(int64_t n) { return find(&Row::serialized, n); }
int8_t c10_number(DType d) { return row(d).c10; }
std::optional<DType> dtype_from_c10(int64_t n) { return find(&Row::c10, n); }
size_t size_of(DType d) { return row(d).size; }

bool is_float(DType d) { return (d >= DType::F16 && d <= DType::F64) || d >= DType::F8E4M3FN; }
bool is_half(DType d) { return d == DType::F16 || d == DType::BF16; }
bool is_complex(DType d) { return d >= DType::C32 && d <= DType::C128; }
bool is_integral(DType d) { return d >= DType::U8 && d <= DType::U64; }
bool is_signed(DType d) { return (d >= DType::I8 && d <= DType::I64) || is_float(d); }

DType promote_types(DType a, DType b) {
  if (a == b) return a;
  if (a > b) std::swap(a, b);  // a has the lower category
  if (a == DType::Bool) return b;
  if (is_complex(b)) {
    if (b == DType::C128 || a == DType::F64 || a == DType::C128) return DType::C128;
    if (b == DType::C32 && (a == DType::F16 || !is_float(a))) return DType::C32;
    return DType::C64;
  }
  if (is_float(b)) {
    if (!is_float(a)) return b;
    if (is_half(a) && is_half(b)) return DType::F32;
    return b > DType::F64 ? a : b;
  }
  // Both integers. Signed with signed: the wider. u8 with a signed one: the smallest signed that holds both.
  const bool sa = is_signed(a), sb = is_signed(b);
  if (sa && sb) return size_of(a) >= size_of(b) ? a : b;
  if (a == DType::U8) return b == DType::I8 ? DType::I16 : b;
  if (!sa && !sb) return size_of(a) >= size_of(b) ? a : b;
  // u16/u32/u64 with a signed integer: torch has no promotion for it but the wider signed one covers what export
  // leaves.
  const DType s = sa ? a : b, u = sa ? b : a;
  return size_of(s) > size_of(u) ? s : DType::I64;
}

}  // namespace edgec
