#pragma once
#include <string>

#include <edgec/op.h>

// Named shape rules, and the arithmetic they share.
namespace edgec::ops {

ShapeRule shape_of(std::string param);                    // the same sizes
ShapeRule broadcast_of(std::vector<std::string> params);  // numpy broadcasting over the tensor arguments among these
ShapeRule sizes_from(std::string param);                  // an int[] argument gives the sizes
// Reduction over the dims of `dim_param` (None or empty: all); `keepdim_param` empty: not kept.
ShapeRule reduced(std::string param, std::string dim_param, std::string keepdim_param);
ShapeRule scalar_shape();  // rank 0

// Broadcasts two shapes; symbolic dims are equal unless proven otherwise (export has checked them).
Result<Dims> broadcast(const Dims& a, const Dims& b);
// The sizes with one -1 filled in; fails when a static count cannot match.
Result<Dims> infer_view_sizes(const Dims& from, Dims sizes, const OpDef& op);
// A start or end of a slice brought into [0, size], as Python does.
Dim clamp_slice_index(Dim index, Dim size);
// Length of the slice start:end:step of a dim (end missing: the size).
Dim slice_length(Dim size, const Arg& start, const Arg& end, Dim step, const Graph& g);
Dims without_axes(const Dims& sizes, const std::vector<size_t>& axes, bool keepdim);

}  // namespace edgec::ops
