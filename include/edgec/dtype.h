#pragma once
#include <edgec/result.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace edgec EDGEC_API {

// Element types, in the order of torch's promotion categories: bool, integers, floats, complex, then those without
// arithmetic.
enum class DType : uint8_t {
  Bool,
  U8,
  I8,
  I16,
  I32,
  I64,
  U16,
  U32,
  U64,
  F16,
  BF16,
  F32,
  F64,
  C32,
  C64,
  C128,
  F8E4M3FN,
  F8E5M2,
  F8E4M3FNUZ,
  F8E5M2FNUZ,
  F8E8M0
};
inline constexpr int kDTypeCount = 21;

std::string_view name(DType);        // "f32", "i64", "bool": the text form
std::string_view torch_name(DType);  // "float32", "int64", "bool"
std::optional<DType> dtype_from_name(std::string_view);
std::optional<DType> dtype_from_torch_name(std::string_view);
std::optional<DType> dtype_from_serialized(int64_t);  // torch/_export/serde/schema.py ScalarType
int8_t c10_number(DType);                             // c10::ScalarType, as .pte files and the runtime count
std::optional<DType> dtype_from_c10(int64_t);
size_t size_of(DType);  // bytes

bool is_float(DType);  // f16, bf16, f32, f64, f8 kinds
bool is_half(DType);   // f16, bf16
bool is_complex(DType);
bool is_integral(DType);  // integers, not bool
bool is_signed(DType);    // signed integers and floats

// torch.promote_types: the dtype that holds both, for tensors of one category (dimension, rank 0, number).
DType promote_types(DType, DType);

}  // namespace EDGEC_API
