#pragma once
#include <functional>
#include <vector>

#include "ops/build.h"

// Numeric pieces that several families of expansions share. Like the builder's calls they do nothing after a failure.
namespace edgec::ops {

using Values = std::vector<ValueId>;
using Axes = std::vector<size_t>;

Arg list(const Axes& axes);
Axes axes_of(Builder& b, const Call& c, std::string_view param, size_t rank);  // None or empty: all
Axes trailing_axes(size_t rank, size_t count);
Dim product(const Dims& sizes, const Axes& axes);
Dims result_sizes(const Call& c);  // by the entry's shape rule, which has held before

ValueId sum(Builder& b, ValueId x, const Axes& axes, bool keepdim = false);
ValueId mean(Builder& b, ValueId x, const Axes& axes, bool keepdim = false);
ValueId amax(Builder& b, ValueId x, const Axes& axes, bool keepdim = false);
ValueId amin(Builder& b, ValueId x, const Axes& axes, bool keepdim = false);
ValueId number(Builder& b, double value, DType dtype);  // rank 0
// Variance (over N - correction) and mean of floats.
Values var_mean(Builder& b, ValueId x, const Axes& axes, double correction, bool keepdim);
// (sum |x|^p)^(1/p), with the limits p = 0 and infinity.
ValueId vector_norm(Builder& b, ValueId x, double p, const Axes& axes, bool keepdim);
ValueId log_sum_exp(Builder& b, ValueId x, const Axes& axes, bool keepdim);
ValueId matmul(Builder& b, ValueId x, ValueId y);
ValueId neg(Builder& b, ValueId x);
ValueId both(Builder& b, ValueId x, ValueId y);                                 // logical_and
ValueId either(Builder& b, ValueId x, ValueId y);                               // logical_or
ValueId compare(Builder& b, std::string_view op, ValueId x, const Arg& y);      // "lt" with a number or a tensor
ValueId polynomial(Builder& b, ValueId x, const std::vector<double>& factors);  // highest power first, at least two

// An entry for a function of one tensor, with its in-place form.
Def unary(Table& ops, const std::string& name, DTypeRule dtype, bool in_place = true);
// A function of floats computed in f32, or in f64 for f64; integers count as f32.
using Function = std::function<ValueId(Builder&, ValueId)>;
void composed(Table& ops, const std::string& name, bool in_place, Function fn);
// The same, computed in f64 where f32 is too coarse on the way.
void composed_in_double(Table& ops, const std::string& name, bool in_place, Function fn);

// Zeros for every result of the call: what is computed of tensors without elements.
Values filled(Builder& b, const Call& c);
// The call with all floats in `dtype`; float results are cast back to the dtypes they have in the call.
Values recomputed(Builder& b, const Call& c, DType dtype);
// Some float argument has a dtype that `is` accepts.
template <class Fn>
bool any_operand(const Call& c, Fn is) {
  bool found = false;
  for (const Arg& a : c.args())
    for_each_value(a, [&](const ValueId& v) {
      const Type& t = c.graph().type(v);
      found = found || (t.is_tensor() && is(t.tensor.dtype));
    });
  return found;
}

}  // namespace edgec::ops
