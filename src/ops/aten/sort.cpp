#include <fmt/format.h>

#include "ops/build.h"
#include "ops/table.h"

// Sorting. The runtime has topk, which does not keep the order of equal elements; torch does when asked to, and for short
// rows anyway.
namespace edgec::ops {
namespace {

using Types = Result<std::vector<Type>>;

struct Sorted {
  ValueId values, indices;
};

Sorted top(Builder& b, ValueId x, size_t axis, Dim count, bool largest) {
  const auto r = b.call_all("aten.topk", {x, count, static_cast<int64_t>(axis), largest, true});
  return {r[0], r.back()};
}

ValueId take(Builder& b, ValueId x, size_t axis, ValueId at) { return b.call("aten.gather", {x, static_cast<int64_t>(axis), at}); }

bool fits_i32(DType d) { return d == DType::I8 || d == DType::U8 || d == DType::I16 || d == DType::I32 || d == DType::Bool; }

// Numbers the runs of equal elements of a sorted dim: 0, 0, 1, 2, 2, ... NaN equals NaN.
ValueId runs(Builder& b, ValueId sorted, size_t axis) {
  const Dims sizes = sizes_of(b, sorted, axis + 1);
  const ValueId before = slice(b, sorted, axis, 0, sizes[axis] - 1), after = slice(b, sorted, axis, 1, sizes[axis]);
  ValueId starts = b.call("aten.ne.Tensor", {before, after});
  if (!b.failed() && is_float(b.tensor(sorted).dtype)) {
    const ValueId both = b.call("aten.logical_and", {b.unary("aten.isnan", before), b.unary("aten.isnan", after)});
    starts = b.call("aten.logical_and", {starts, b.unary("aten.logical_not", both)});
  }
  const ValueId counts = b.call("aten.cumsum", {b.cast(starts, DType::I64), static_cast<int64_t>(axis)});
  return cat(b, {b.full(replaced(sizes, axis, 1), 0, DType::I64), counts}, axis);
}

// Sorted with equal elements in order. Keys made of (value, position) are distinct, so topk sorts them in one way only:
// small integers make such keys directly, others after a first topk has brought equal ones together.
Sorted stable_sort(Builder& b, ValueId x, size_t axis, bool descending) {
  if (b.failed()) return {};
  const TensorType t = b.tensor(x);
  if (t.rank() == 0 || t.sizes[axis] == Dim(1) || is_empty(t.sizes)) return {x, b.full(t.sizes, 0, DType::I64)};
  const Dim n = t.sizes[axis];
  if (fits_i32(t.dtype)) {
    const ValueId scaled = b.mul(b.cast(x, DType::I64), descending ? Dim(0) - n : n);
    const Sorted order = top(b, b.add(scaled, iota(b, n, DType::I64, axis, t.rank())), axis, n, false);
    return {take(b, x, axis, order.indices), order.indices};
  }
  const Sorted first = top(b, x, axis, n, descending);
  const ValueId keys = b.add(b.mul(runs(b, first.values, axis), n), first.indices);
  const ValueId order = top(b, keys, axis, n, false).indices;
  return {take(b, first.values, axis, order), take(b, first.indices, axis, order)};
}

Sorted sorted_by(Builder& b, const Call& c) {
  return stable_sort(b, c.value("self"), axis_of(b, c, "dim", c.rank("self")), c.flag("descending"));
}

InferRule values_and_indices(ShapeRule shape) {
  return [shape](const Call& c) -> Types {
    EDGEC_TRY(Dims sizes, shape(c));
    return std::vector<Type>{Type::of({c.tensor("self").dtype, sizes, {}, {}}), Type::of({DType::I64, sizes, {}, {}})};
  };
}

// The elements of both at `position`, a number or a tensor with one per row.
std::vector<ValueId> at_position(Builder& b, const Call& c, const Sorted& s, const Arg& position) {
  if (c.rank("self") == 0) return {s.values, s.indices};
  const size_t axis = axis_of(b, c, "dim", c.rank("self"));
  std::vector<ValueId> out;
  for (ValueId v : {s.values, s.indices}) {
    const ValueId kept = position.is_value() ? take(b, v, axis, position.value()) : slice(b, v, axis, position.expr(), position.expr() + 1);
    out.push_back(c.flag("keepdim") ? kept : squeeze(b, kept, axis));
  }
  return out;
}

// The lower median. NaN, sorted last, is the median of its row (median) or left out (nanmedian).
std::vector<ValueId> median(Builder& b, const Call& c, bool skip_nan) {
  const ValueId x = c.value("self");
  const size_t rank = c.rank("self"), axis = axis_of(b, c, "dim", rank);
  const Sorted s = stable_sort(b, x, axis, false);
  if (rank == 0) return {s.values, s.indices};
  const Dim n = c.tensor("self").sizes[axis];
  if (!is_float(c.tensor("self").dtype)) return at_position(b, c, s, sym::floordiv(n - 1, 2));
  const ValueId nans = b.call("aten.sum.dim_IntList", {b.unary("aten.isnan", x), Arg::ints({static_cast<int64_t>(axis)}), true});
  const ValueId valid = b.add(b.unary("aten.neg", nans), n);
  const ValueId position = skip_nan ? b.cast(b.unary("aten.trunc", b.mul(b.cast(b.sub(valid, 1), DType::F64), 0.5)), DType::I64)
                                    : where(b, b.call("aten.gt.Scalar", {nans, 0}), valid, b.full({}, sym::floordiv(n - 1, 2), DType::I64));
  return at_position(b, c, s, position);
}

}  // namespace

void define_sort(Table& ops) {
  ops.define("aten::topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)")
      .infer(values_and_indices([](const Call& c) -> Result<Dims> {
        const Dims& sizes = c.tensor("self").sizes;
        EDGEC_TRY(size_t axis, c.axis("dim", sizes.size()));
        return sizes.empty() ? sizes : replaced(sizes, axis, c.dim("k"));
      }))
      .kernel("topk.values");
  for (const char* schema : {
           "aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
           "aten::sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
       })
    ops.define(schema).infer(values_and_indices(shape_of("self"))).expand([](Builder& b, const Call& c) -> std::vector<ValueId> {
      const Sorted s = sorted_by(b, c);
      return {s.values, s.indices};
    });
  for (const char* schema : {
           "aten::argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor",
           "aten::argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor",
       })
    ops.define(schema).dtype(fixed(DType::I64)).shape(shape_of("self")).expand([](Builder& b, const Call& c) {
      return sorted_by(b, c).indices;
    });
  ops.define("aten::msort(Tensor self) -> Tensor").dtype(same_as("self")).shape(shape_of("self")).expand([](Builder& b, const Call& c) {
    return stable_sort(b, c.value("self"), 0, false).values;
  });
  ops.define("aten::kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)")
      .infer(values_and_indices(reduced("self", "dim", "keepdim")))
      .expand([](Builder& b, const Call& c) {
        return at_position(b, c, stable_sort(b, c.value("self"), axis_of(b, c, "dim", c.rank("self")), false), c.dim("k") - 1);
      });
  for (const char* name : {"median", "nanmedian"}) {
    const bool skip_nan = name[0] == 'n';
    ops.define(fmt::format("aten::{}.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", name))
        .infer(values_and_indices(reduced("self", "dim", "keepdim")))
        .expand([skip_nan](Builder& b, const Call& c) { return median(b, c, skip_nan); });
    ops.define(fmt::format("aten::{}(Tensor self) -> Tensor", name))
        .dtype(same_as("self"))
        .shape(scalar_shape())
        .expand([name](Builder& b, const Call& c) {
          return b.call(fmt::format("aten.{}.dim", name), {b.view(c.value("self"), {numel(c.tensor("self").sizes)}), 0});
        });
  }
}

}  // namespace edgec::ops
