#include "ops/numeric.h"

#include <fmt/format.h>

#include <cmath>

#include "ops/table.h"

namespace edgec::ops {
namespace {

ValueId reduced_by(Builder& b, const char* op, ValueId x, const Axes& axes, bool keepdim) { return b.call(op, {x, list(axes), keepdim}); }

}  // namespace

Arg list(const Axes& axes) {
  ArgList items;
  for (size_t a : axes) items.emplace_back(static_cast<int64_t>(a));
  return Arg(std::move(items));
}

Axes axes_of(Builder& b, const Call& c, std::string_view param, size_t rank) {
  auto axes = c.axes(param, rank);
  if (!axes) b.fail(axes.failure().message);
  return axes ? *axes : Axes{};
}

Axes trailing_axes(size_t rank, size_t count) {
  Axes axes;
  for (size_t i = rank - std::min(rank, count); i < rank; ++i) axes.push_back(i);
  return axes;
}

Dim product(const Dims& sizes, const Axes& axes) {
  Dim n = 1;
  for (size_t a : axes) n = n * sizes[a];
  return n;
}

Dims result_sizes(const Call& c) {
  auto sizes = c.op().shape(c);
  return sizes ? *sizes : Dims{};
}

ValueId sum(Builder& b, ValueId x, const Axes& axes, bool keepdim) { return reduced_by(b, "aten.sum.dim_IntList", x, axes, keepdim); }
ValueId mean(Builder& b, ValueId x, const Axes& axes, bool keepdim) { return reduced_by(b, "aten.mean.dim", x, axes, keepdim); }
ValueId amax(Builder& b, ValueId x, const Axes& axes, bool keepdim) { return reduced_by(b, "aten.amax", x, axes, keepdim); }
ValueId amin(Builder& b, ValueId x, const Axes& axes, bool keepdim) { return reduced_by(b, "aten.amin", x, axes, keepdim); }

ValueId number(Builder& b, double value, DType dtype) { return b.full({}, value, dtype); }

Values var_mean(Builder& b, ValueId x, const Axes& axes, double correction, bool keepdim) {
  return b.call_all("aten.var_mean.correction", {x, list(axes)}, {{"correction", correction}, {"keepdim", keepdim}});
}

ValueId vector_norm(Builder& b, ValueId x, double p, const Axes& axes, bool keepdim) {
  if (b.failed()) return {};
  if (p == 2) return b.unary("aten.sqrt", sum(b, b.mul(x, x), axes, keepdim));
  if (p == 0) return sum(b, b.cast(b.call("aten.ne.Scalar", {x, 0}), b.tensor(x).dtype), axes, keepdim);
  const ValueId size = b.unary("aten.abs", x);
  if (p == 1) return sum(b, size, axes, keepdim);
  if (std::isinf(p)) return p > 0 ? amax(b, size, axes, keepdim) : amin(b, size, axes, keepdim);
  return b.call("aten.pow.Tensor_Scalar", {sum(b, b.call("aten.pow.Tensor_Scalar", {size, p}), axes, keepdim), 1 / p});
}

ValueId log_sum_exp(Builder& b, ValueId x, const Axes& axes, bool keepdim) {
  if (b.failed()) return {};
  const Dims sizes = b.tensor(x).sizes;
  if (is_empty(sizes)) return b.unary("aten.log", sum(b, b.unary("aten.exp", x), axes, keepdim));
  // Nothing is taken off where the largest is infinite: inf - inf is NaN.
  const ValueId largest = amax(b, x, axes, true);
  const ValueId none = number(b, 0, b.tensor(x).dtype);
  const ValueId taken = where(b, b.unary("aten.isinf", largest), none, largest);
  const ValueId rest = b.unary("aten.log", sum(b, b.unary("aten.exp", b.sub(x, taken)), axes, true));
  return b.view(b.add(rest, taken), without_axes(sizes, axes, keepdim));
}

ValueId matmul(Builder& b, ValueId x, ValueId y) { return b.call("aten.matmul", {x, y}); }

ValueId neg(Builder& b, ValueId x) { return b.unary("aten.neg", x); }
ValueId both(Builder& b, ValueId x, ValueId y) { return b.call("aten.logical_and", {x, y}); }
ValueId either(Builder& b, ValueId x, ValueId y) { return b.call("aten.logical_or", {x, y}); }
ValueId compare(Builder& b, std::string_view op, ValueId x, const Arg& y) { return b.binary(fmt::format("aten.{}", op), x, y); }

ValueId polynomial(Builder& b, ValueId x, const std::vector<double>& factors) {
  ValueId p = b.mul(x, factors[0]);
  for (size_t i = 1; i + 1 < factors.size(); ++i) p = b.mul(b.add(p, factors[i]), x);
  return b.add(p, factors.back());
}

Def unary(Table& ops, const std::string& name, DTypeRule dtype, bool in_place) {
  if (in_place) ops.in_place("aten::" + name + "_(Tensor(a!) self) -> Tensor(a!)");
  return ops.define("aten::" + name + "(Tensor self) -> Tensor").dtype(std::move(dtype)).shape(shape_of("self")).preserves_layout();
}

void composed(Table& ops, const std::string& name, bool in_place, Function fn) {
  unary(ops, name, promoted_float({"self"}), in_place).expand([fn = std::move(fn)](Builder& b, const Call& c) {
    const DType d = c.tensor("self").dtype, given = is_float(d) ? d : DType::F32;
    return b.cast(fn(b, b.cast(c.value("self"), given == DType::F64 ? DType::F64 : DType::F32)), given);
  });
}

void composed_in_double(Table& ops, const std::string& name, bool in_place, Function fn) {
  unary(ops, name, promoted_float({"self"}), in_place).expand([fn = std::move(fn)](Builder& b, const Call& c) {
    const DType d = c.tensor("self").dtype;
    return b.cast(fn(b, b.cast(c.value("self"), DType::F64)), is_float(d) ? d : DType::F32);
  });
}

Values filled(Builder& b, const Call& c) {
  Values out;
  if (auto types = infer(c.graph(), c.op(), c.args()); !types)
    b.fail(types.failure().message);
  else
    for (const Type& t : *types) out.push_back(b.full(t.tensor.sizes, 0, t.tensor.dtype));
  return out;
}

static Arg cast_floats(Builder& b, const Arg& a, DType dtype) {
  if (a.is_list()) {
    ArgList items;
    for (const Arg& item : a.list()) items.push_back(cast_floats(b, item, dtype));
    return Arg(std::move(items));
  }
  if (!a.is_value() || !b.graph().type(a.value()).is_tensor() || !is_float(b.tensor(a.value()).dtype)) return a;
  return b.cast(a.value(), dtype);
}

Values recomputed(Builder& b, const Call& c, DType dtype) {
  auto types = infer(c.graph(), c.op(), c.args());
  if (!types) {
    b.fail(types.failure().message);
    return {};
  }
  std::vector<Arg> args;
  for (const Arg& a : c.args()) args.push_back(cast_floats(b, a, dtype));
  Values results = b.call_all(c.op().name(), args);
  for (size_t i = 0; i < results.size() && i < types->size(); ++i)
    if (is_float((*types)[i].tensor.dtype)) results[i] = b.cast(results[i], (*types)[i].tensor.dtype);
  return results;
}

}  // namespace edgec::ops
