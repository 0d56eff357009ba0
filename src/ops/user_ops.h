#pragma once
#include <edgec/result.h>

#include <string>
#include <string_view>
#include <vector>

namespace edgec::ops {

// Adds the operators of a text to the table (`--ops FILE`; docs/user-operators.md). One operator is its schema on a line of its own, then
// indented lines that say what its results are and which kernel of the runtime computes them:
//
//   my::scaled_sum(Tensor x, Tensor w, int n, *, float scale=1.0) -> Tensor
//     shape: x.shape[0], max(w.shape[1], n)       or: like x, or: broadcast x w
//     dtype: x                                    or: promote x w, or: float32
//     kernel: my::scaled_sum.out
//     layout: preserve                            optional; contiguous when it is left out
//
// Several results have a `shape` and a `dtype` line each, in their order. "#" starts a comment. `source` is named in failures, with the
// line.
Status read_user_operators(std::string_view text, const std::string& source);

// Full names of the kernels that operators from outside the tree call ("my::scaled_sum.out").
std::vector<std::string> user_kernels();

}  // namespace edgec::ops
