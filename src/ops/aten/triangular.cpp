#include "ops/numeric.h"
#include "ops/table.h"

// Linear equations whose matrix is given by its factors, by aten.linalg_solve: a triangle of it, then of its transpose.
namespace edgec::ops {
namespace {

ValueId with_last_dims(Builder& b, ValueId x, const Dims& batch) {
  if (b.failed()) return x;
  const Dims sizes = b.tensor(x).sizes;
  Dims all = batch;
  all.insert(all.end(), sizes.end() - 2, sizes.end());
  return b.expand(x, all);
}

// The batches of two stacks of matrices, broadcast.
Result<Dims> batch_of_both(const Call& c, const char* first, const char* second) {
  const Dims &x = c.tensor(first).sizes, &y = c.tensor(second).sizes;
  if (x.size() < 2 || y.size() < 2) return model_error(c.op().name() + " takes matrices");
  return broadcast(Dims(x.begin(), x.end() - 2), Dims(y.begin(), y.end() - 2));
}

// The factor is square, and the sides that meet are equal.
Status check_sides(const Call& c, const char* factor, const char* right, bool left = true) {
  const TensorType &a = c.tensor(factor), &b = c.tensor(right);
  if (!is_float(a.dtype) || a.dtype != b.dtype) return model_error(c.op().name() + " takes floats of one dtype");
  if (a.rank() < 2 || b.rank() < 2) return model_error(c.op().name() + " takes matrices");
  const Dim n = a.sizes.back(), meets = b.sizes[b.rank() - (left ? 2 : 1)];
  if (sym::equal(a.sizes[a.rank() - 2], n) == sym::Proof::No || sym::equal(n, meets) == sym::Proof::No)
    return model_error(c.op().name() + ": the matrices do not fit");
  return {};
}

// The sizes of `matrix` with the batch of both.
ShapeRule batched_like(const char* matrix, const char* other) {
  return [=](const Call& c) -> Result<Dims> {
    EDGEC_TRY(Dims out, batch_of_both(c, other, matrix));
    const Dims& sizes = c.tensor(matrix).sizes;
    out.insert(out.end(), sizes.end() - 2, sizes.end());
    return out;
  };
}

struct Triangle {
  bool upper = false, unit = false;
};

// A X = B with A's upper or lower triangle; X A = B with `left` false.
ValueId solve_triangle(Builder& b, ValueId a, ValueId right, Triangle t, bool left = true) {
  if (b.failed()) return right;
  const TensorType type = b.tensor(a);
  const int64_t skipped = t.unit ? (t.upper ? 1 : -1) : 0;
  a = b.call(t.upper ? "aten.triu" : "aten.tril", {a, skipped});
  if (t.unit) a = b.add(a, b.call("aten.eye", {type.sizes.back()}, {{"dtype", type.dtype}}));
  if (b.failed()) return right;
  auto batch = broadcast(Dims(b.tensor(a).sizes.begin(), b.tensor(a).sizes.end() - 2),
                         Dims(b.tensor(right).sizes.begin(), b.tensor(right).sizes.end() - 2));
  if (!batch) {
    b.fail(batch.failure().message);
    return right;
  }
  return b.call("aten.linalg_solve", {with_last_dims(b, a, *batch), with_last_dims(b, right, *batch)}, {{"left", left}});
}

ValueId turned(Builder& b, ValueId x) {
  const size_t rank = b.failed() ? 2 : b.tensor(x).rank();
  return b.call("aten.transpose.int", {x, static_cast<int64_t>(rank) - 2, static_cast<int64_t>(rank) - 1});
}

// L L^T X = B, or U^T U X = B.
ValueId solve_cholesky(Builder& b, ValueId factor, ValueId right, bool upper) {
  const ValueId across = turned(b, factor), lower = upper ? across : factor, above = upper ? factor : across;
  return solve_triangle(b, above, solve_triangle(b, lower, right, {false, false}), {true, false});
}

// a.shape = (*b.shape, *x.shape): the dims of B, multiplied, are the rows of a matrix.
Result<Dims> tensor_solution(const Call& c) {
  const Dims &a = c.tensor("self").sizes, &right = c.tensor("other").sizes;
  if (c.has("dims")) return model_error("linalg_tensorsolve with dims is not supported");
  if (a.size() <= right.size()) return model_error("linalg_tensorsolve: the tensor needs more dims than the right side");
  return Dims(a.begin() + static_cast<std::ptrdiff_t>(right.size()), a.end());
}

}  // namespace

void define_triangular(Table& ops) {
  ops.define("aten::linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False) -> Tensor")
      .dtype(same_as("self"))
      .shape([](const Call& c) -> Result<Dims> {
        EDGEC_TRY_VOID(check_sides(c, "self", "B", c.flag("left")));
        return batched_like("B", "self")(c);
      })
      .expand([](Builder& b, const Call& c) {
        return solve_triangle(b, c.value("self"), c.value("B"), {c.flag("upper"), c.flag("unitriangular")}, c.flag("left"));
      });
  ops.define(
         "aten::triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False) -> (Tensor "
         "solution, Tensor cloned_coefficient)")
      .infer([](const Call& c) -> Result<std::vector<Type>> {
        EDGEC_TRY_VOID(check_sides(c, "A", "self"));
        EDGEC_TRY(Dims x, batched_like("self", "A")(c));
        EDGEC_TRY(Dims a, batched_like("A", "self")(c));
        const DType d = c.tensor("self").dtype;
        return std::vector<Type>{Type::of({d, x, {}, {}}), Type::of({d, a, {}, {}})};
      })
      .expand([](Builder& b, const Call& c) -> Values {
        auto batch = batch_of_both(c, "A", "self");
        if (!batch) b.fail(batch.failure().message);
        if (b.failed()) return {};
        const bool transpose = c.flag("transpose");
        const ValueId a = with_last_dims(b, c.value("A"), *batch);
        const Triangle t{c.flag("upper") != transpose, c.flag("unitriangular")};
        return {solve_triangle(b, transpose ? turned(b, a) : a, c.value("self"), t), b.call("aten.clone", {a})};
      });
  ops.define("aten::cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor")
      .dtype(same_as("self"))
      .shape([](const Call& c) -> Result<Dims> {
        EDGEC_TRY_VOID(check_sides(c, "input2", "self"));
        return batched_like("self", "input2")(c);
      })
      .expand([](Builder& b, const Call& c) { return solve_cholesky(b, c.value("input2"), c.value("self"), c.flag("upper")); });
  ops.define("aten::cholesky_inverse(Tensor self, bool upper=False) -> Tensor")
      .dtype(same_as("self"))
      .shape([](const Call& c) -> Result<Dims> {
        EDGEC_TRY_VOID(check_sides(c, "self", "self"));
        return c.tensor("self").sizes;
      })
      .expand([](Builder& b, const Call& c) {
        const TensorType t = c.tensor("self");
        return solve_cholesky(b, c.value("self"), b.call("aten.eye", {t.sizes.back()}, {{"dtype", t.dtype}}), c.flag("upper"));
      });
  ops.define("aten::linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor")
      .dtype(same_as("self"))
      .shape(tensor_solution)
      .expand([](Builder& b, const Call& c) {
        const Dim n = numel(c.tensor("other").sizes);
        const ValueId x = b.call("aten.linalg_solve", {b.view(c.value("self"), {n, n}), b.view(c.value("other"), {n})});
        return b.view(x, result_sizes(c));
      });
}

}  // namespace edgec::ops
