#pragma once
#include "backends/xnnpack/lowering.h"

namespace edgec::xnnpack {

// [b, heads, t, e] -> [b, 1, t, heads * e], head by head.
Id join_heads(Lowering&, Id);
// A product with a constant matrix [n, heads * e] of what an attention made by heads: a convolution over the dim of heads, so that they
// are never put behind each other. False: x is no such value.
bool linear_of_heads(Lowering&, ValueId x, ValueId y, const TensorData& weight, Id bias);

}  // namespace edgec::xnnpack
