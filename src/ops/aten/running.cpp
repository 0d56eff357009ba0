#include <fmt/format.h>

#include <limits>

#include "ops/numeric.h"
#include "ops/table.h"

// Running sums, products and extremes, and what is computed of neighbours along a dim (diff, trapezoid).
namespace edgec::ops {
namespace {

// Inclusive scan along a dim in log2(size) steps: y[i] = combine(y[i - step], y[i]) for step = 1, 2, 4, ...
template <class Combine>
Values scan(Builder& b, Values y, size_t axis, const std::vector<Arg>& identities, Combine combine) {
  if (b.failed() || b.tensor(y[0]).rank() == 0) return y;
  const Dim size = b.tensor(y[0]).sizes[axis];
  const auto bound = sym::upper_bound(size);
  if (!bound) b.fail("a running product or extreme needs an upper bound of its dim");
  for (int64_t step = 1; !b.failed() && step < *bound; step *= 2) {
    Values earlier;
    for (size_t i = 0; i < y.size(); ++i) {
      const TensorType t = b.tensor(y[i]);
      const ValueId before = b.full(replaced(t.sizes, axis, step), identities[i], t.dtype);
      earlier.push_back(slice(b, cat(b, {before, y[i]}, axis), axis, 0, size));
      if (b.failed()) return {};
    }
    y = combine(earlier, y);
  }
  return y;
}

// What loses against every number of a dtype.
Arg least(DType d) {
  switch (d) {
    case DType::Bool:
      return false;
    case DType::U8:
      return 0;
    case DType::I8:
      return int64_t{INT8_MIN};
    case DType::I16:
      return int64_t{INT16_MIN};
    case DType::I32:
      return int64_t{INT32_MIN};
    case DType::I64:
      return INT64_MIN;
    default:
      return -std::numeric_limits<double>::infinity();
  }
}
Arg greatest(DType d) {
  if (d == DType::Bool) return true;
  if (is_float(d)) return std::numeric_limits<double>::infinity();
  return d == DType::U8 ? Arg(255) : Arg(-(least(d).expr().constant().value_or(0) + 1));
}

// The extreme so far and where it was last; NaN stays.
Values running_extreme(Builder& b, const Call& c, bool largest) {
  const TensorType x = c.tensor("self");
  const size_t axis = axis_of(b, c, "dim", x.rank());
  if (x.rank() == 0) return {c.value("self"), b.full({}, 0, DType::I64)};
  const ValueId at = b.expand(iota(b, x.sizes[axis], DType::I64, axis, x.rank()), x.sizes);
  return scan(b, {c.value("self"), at}, axis, {largest ? least(x.dtype) : greatest(x.dtype), 0},
              [&](const Values& before, const Values& now) {
                ValueId newer = compare(b, largest ? "ge" : "le", now[0], before[0]);
                if (is_float(x.dtype)) {
                  newer = both(b, newer, b.unary("aten.logical_not", b.unary("aten.isnan", before[0])));
                  newer = either(b, newer, b.unary("aten.isnan", now[0]));
                }
                return Values{where(b, newer, now[0], before[0]), where(b, newer, now[1], before[1])};
              });
}

Result<Dims> diff_sizes(const Call& c) {
  Dims sizes = c.tensor("self").sizes;
  if (sizes.empty()) return model_error("diff needs a dimension");
  EDGEC_TRY(size_t d, c.axis("dim", sizes.size()));
  for (const char* end : {"prepend", "append"})
    if (c.has(end)) {
      if (c.rank(end) != sizes.size()) return model_error("diff: prepend and append have the rank of the input");
      sizes[d] = sizes[d] + c.tensor(end).sizes[d];
    }
  sizes[d] = sym::max(sizes[d] - c.integer("n"), 0);
  return sizes;
}

ValueId diff(Builder& b, const Call& c) {
  const size_t axis = axis_of(b, c, "dim", c.rank("self"));
  Values parts;
  for (const char* part : {"prepend", "self", "append"})
    if (c.has(part)) parts.push_back(c.value(part));
  ValueId x = cat(b, parts, axis);
  for (int64_t i = 0; i < c.integer("n") && !b.failed(); ++i) {
    const Dim size = b.tensor(x).sizes[axis];
    const ValueId next = slice(b, x, axis, 1, size), last = slice(b, x, axis, 0, size - 1);
    x = b.tensor(x).dtype == DType::Bool ? b.call("aten.logical_xor", {next, last}) : b.sub(next, last);
  }
  return x;
}

// ---- trapezoid -----------------------------------------------------------------------------------------------------------------------

// The sizes of y and x met, less the dim (or with it one shorter).
ShapeRule trapezoid_sizes(bool cumulative) {
  return [cumulative](const Call& c) -> Result<Dims> {
    Dims sizes = c.tensor("y").sizes;
    if (sizes.empty()) return model_error(c.op().name() + " needs a dimension");
    if (c.tensor("y").dtype == DType::Bool) return model_error(c.op().name() + " does not take booleans");
    EDGEC_TRY(const size_t axis, c.axis("dim", sizes.size()));
    if (c.op().schema().find("x") >= 0) {
      const TensorType& x = c.tensor("x");
      if (x.dtype == DType::Bool) return model_error(c.op().name() + " does not take booleans");
      if (x.rank() != 1 && x.rank() != sizes.size()) return model_error(c.op().name() + ": x has one dim, or as many as y");
      if (x.rank() == 1 && sym::equal(x.sizes[0], sizes[axis]) == sym::Proof::No)
        return model_error(c.op().name() + ": there are not as many x as y along the dim");
      if (x.rank() > 1) {
        EDGEC_TRY(sizes, broadcast(x.sizes, sizes));
      }
    }
    return cumulative ? replaced(sizes, axis, sym::max(sizes[axis] - 1, 0)) : without(sizes, axis);
  };
}

DTypeRule trapezoid_dtype(bool spaced) {
  return [spaced](const Call& c) -> Result<DType> {
    std::vector<Arg> args = {c.arg("y")};
    if (spaced) args.push_back(c.arg("x"));
    const DType d = result_type(c.graph(), args);
    return is_float(d) ? d : DType::F32;
  };
}

// (y[i] + y[i + 1]) * step / 2 for each pair of neighbours.
ValueId trapezoids(Builder& b, const Call& c, size_t axis) {
  const auto part = [&](ValueId v, size_t along, bool later) {
    const Dim n = sizes_of(b, v, along + 1)[along];
    return slice(b, v, along, later ? Dim(1) : Dim(0), later ? n : sym::max(n - 1, 0));
  };
  const ValueId y = c.value("y");
  const ValueId pairs = b.add(part(y, axis, true), part(y, axis, false));
  if (c.op().schema().find("x") < 0) return b.mul(b.mul(b.cast(pairs, *trapezoid_dtype(false)(c)), c.arg("dx")), 0.5);
  const ValueId x = c.value("x");
  const size_t along = c.rank("x") == 1 ? 0 : axis;
  ValueId steps = b.sub(part(x, along, true), part(x, along, false));
  if (c.rank("x") == 1) steps = b.view(steps, replaced(Dims(c.rank("y"), Dim(1)), axis, sizes_of(b, steps, 1)[0]));
  return b.mul(b.cast(b.mul(pairs, steps), *trapezoid_dtype(true)(c)), 0.5);
}

void define_trapezoids(Table& ops) {
  for (const std::string name : {"trapezoid", "trapz", "cumulative_trapezoid"})
    for (const bool spaced : {false, true}) {
      const bool cumulative = name[0] == 'c';
      const std::string dx = name == "trapz" ? ", *, float dx=1., int dim=-1" : ", *, Scalar dx=1, int dim=-1";
      ops.define("aten::" + name + (spaced ? ".x(Tensor y, Tensor x, *, int dim=-1" : ".dx(Tensor y" + dx) + ") -> Tensor")
          .dtype(trapezoid_dtype(spaced))
          .shape(trapezoid_sizes(cumulative))
          .expand([cumulative](Builder& b, const Call& c) {
            const size_t axis = axis_of(b, c, "dim", c.rank("y"));
            const ValueId areas = trapezoids(b, c, axis);
            return cumulative ? b.call("aten.cumsum", {areas, static_cast<int64_t>(axis)}) : sum(b, areas, {axis});
          });
    }
}

}  // namespace

void define_running(Table& ops) {
  const auto summed_dtype = summed("self", "dtype");
  ops.define("aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor")
      .dtype(summed_dtype)
      .shape(shape_of("self"))
      .in_place_ok()
      .kernel("cumsum.out", {"dtype"})
      .expand([](Builder& b, const Call& c) -> Values {
        const TensorType x = c.tensor("self");
        const DType d = c.dtype("dtype", is_float(x.dtype) ? x.dtype : DType::I64);
        if (x.rank() == 0) return {b.call("aten.clone", {b.cast(c.value("self"), d)})};
        // torch adds up f32 in f64 and half types in f32, the kernel in the result's dtype.
        const DType wide = d == DType::F32 ? DType::F64 : is_half(d) ? DType::F32 : d;
        if (wide == d || (c.has("dtype") && x.dtype != d && is_half(x.dtype))) return keep_whole();
        return {b.cast(b.call("aten.cumsum", {c.arg("self"), c.arg("dim")}, {{"dtype", wide}}), d)};
      });
  ops.in_place("aten::cumsum_(Tensor(a!) self, int dim, *, ScalarType? dtype=None) -> Tensor(a!)");
  ops.define("aten::cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor")
      .dtype(summed_dtype)
      .shape(shape_of("self"))
      .expand([](Builder& b, const Call& c) {
        const TensorType x = c.tensor("self");
        const DType d = c.dtype("dtype", is_float(x.dtype) ? x.dtype : DType::I64);
        return in_opmath(b, b.cast(c.value("self"), d), [&](Builder& m, ValueId v) {
          return scan(m, {v}, axis_of(m, c, "dim", x.rank()), {is_float(d) ? Arg(1.0) : Arg(1)},
                      [&](const Values& before, const Values& now) { return Values{m.mul(before[0], now[0])}; })[0];
        });
      });
  ops.in_place("aten::cumprod_(Tensor(a!) self, int dim, *, ScalarType? dtype=None) -> Tensor(a!)");

  ops.define("aten::logcumsumexp(Tensor self, int dim) -> Tensor")
      .dtype(same_as("self"))
      .shape(shape_of("self"))
      .expand([](Builder& b, const Call& c) {
        const DType d = c.tensor("self").dtype;
        const ValueId wide = b.cast(c.value("self"), DType::F64);  // torch adds up one by one: its own error is larger
        const Values made =
            scan(b, {wide}, axis_of(b, c, "dim", c.rank("self")), {least(DType::F64)}, [&](const Values& before, const Values& now) {
              return Values{b.call("aten.logaddexp", {before[0], now[0]})};
            });
        return b.cast(made[0], d);
      });
  for (const std::string name : {"cummax", "cummin"})
    ops.define("aten::" + name + "(Tensor self, int dim) -> (Tensor values, Tensor indices)")
        .infer([](const Call& c) -> Result<std::vector<Type>> {
          const TensorType& x = c.tensor("self");
          return std::vector<Type>{Type::of({x.dtype, x.sizes, {}, {}}), Type::of({DType::I64, x.sizes, {}, {}})};
        })
        .expand([name](Builder& b, const Call& c) { return running_extreme(b, c, name == "cummax"); });
  ops.define("aten::diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor")
      .dtype(promoted({"self", "prepend", "append"}))
      .shape(diff_sizes)
      .expand(diff);
  define_trapezoids(ops);
}

}  // namespace edgec::ops
