#pragma once
#include <edgec/op.h>

namespace edgec::passes {

inline bool is_wide_unsigned(DType d) { return d == DType::U16 || d == DType::U32; }

// Whether the runtime's kernel takes uint16 and uint32: those that move bytes without a look at them take any dtype, and quantization knows
// its own.
bool takes_wide_unsigned(const OpDef& op);

}  // namespace edgec::passes
