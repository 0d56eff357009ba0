#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/numeric.h"
#include "ops/table.h"

// Linear algebra by elimination, one step of tensor operators per column: the size of the matrices is static. All
// compute in f64.
namespace edgec::ops {
namespace {

constexpr int64_t kMostColumns = 128;  // about twenty nodes each

// Batches of square matrices in f64.
struct Square {
  ValueId a;
  Dims batch;
  int64_t n = 0;
  size_t rank = 0;
};

Square square(Builder& b, const Call& c, ValueId x) {
  Square s;
  const Dims sizes = sizes_of(b, x, 2);
  s.rank = sizes.size();
  const auto n = s.rank >= 2 ? sizes.back().constant() : std::nullopt;
  if (!n || sizes[s.rank - 2] != sizes.back())
    b.fail(c.op().name() + " takes square matrices of a static size");
  else if (*n > kMostColumns)
    b.fail(fmt::format("{} of {} columns: elimination is unrolled, for at most {}", c.op().name(), *n, kMostColumns));
  if (b.failed()) return s;
  s.n = *n;
  s.a = b.cast(x, DType::F64);
  s.batch = Dims(sizes.begin(), sizes.end() - 2);
  return s;
}

ValueId column(Builder& b, ValueId a, size_t rank, int64_t k) { return select(b, a, rank - 1, k); }
ValueId row(Builder& b, ValueId a, size_t rank, int64_t k) { return select(b, a, rank - 2, k); }
ValueId zero_unless(Builder& b, ValueId condition, ValueId x) { return where(b, condition, x, 0.0); }
// x [.., rows] times y [.., columns] for every pair.
ValueId outer(Builder& b, ValueId x, ValueId y, size_t rank) { return b.mul(unsqueeze(b, x, rank - 1), unsqueeze(b, y, rank - 2)); }
ValueId identity(Builder& b, int64_t n) {
  return b.cast(b.call("aten.eq.Tensor", {iota(b, n, DType::I64, 0, 2), iota(b, n, DType::I64, 1, 2)}), DType::F64);
}
ValueId diagonal(Builder& b, ValueId a) { return b.call("aten.diagonal", {a, 0, -2, -1}); }

// Brings the row with the largest element of column k, at or below k, to row k.
struct Swap {
  ValueId pivot;  // [.., 1], which row it was
  ValueId order;  // [.., n], the rows' new order
};
Swap choose_pivot(Builder& b, const Square& s, int64_t k) {
  const ValueId rows = iota(b, s.n);
  const ValueId size = where(b, b.call("aten.ge.Scalar", {rows, k}), b.unary("aten.abs", column(b, s.a, s.rank, k)), -1.0);
  Swap w;
  w.pivot = b.call("aten.argmax", {size, -1, true});
  const ValueId here = b.call("aten.eq.Tensor", {rows, w.pivot});
  const ValueId displaced = where(b, here, b.full({}, k, DType::I64), rows);
  w.order = where(b, b.call("aten.eq.Scalar", {rows, k}), w.pivot, displaced);
  return w;
}
ValueId reordered(Builder& b, ValueId x, ValueId order, size_t rank) {
  const Dims sizes = sizes_of(b, x, 2);
  return b.call("aten.gather", {x, static_cast<int64_t>(rank) - 2, b.expand(unsqueeze(b, order, rank - 1), sizes)});
}

struct Factors {
  ValueId lu;      // both triangles; the lower one has ones on its diagonal
  ValueId pivots;  // [.., n] from 0
  ValueId sign;    // [..] of the permutation
};

Factors factorized(Builder& b, Square s) {
  Values pivots;
  ValueId sign = b.full(s.batch, 1, DType::F64);
  const ValueId rows = iota(b, s.n), columns = iota(b, s.n, DType::I64, 1, 2);
  for (int64_t k = 0; k < s.n && !b.failed(); ++k) {
    const Swap w = choose_pivot(b, s, k);
    pivots.push_back(w.pivot);
    sign = where(b, b.call("aten.eq.Scalar", {squeeze(b, w.pivot, s.rank - 2), k}), sign, neg(b, sign));
    s.a = reordered(b, s.a, w.order, s.rank);
    const ValueId after = b.call("aten.gt.Scalar", {rows, k});
    const ValueId top = row(b, s.a, s.rank, k), pivot = slice(b, top, s.rank - 2, k, k + 1);
    const ValueId usable = both(b, after, b.call("aten.ne.Scalar", {pivot, 0}));
    const ValueId factor = zero_unless(b, usable, b.div(column(b, s.a, s.rank, k), pivot));
    s.a = b.sub(s.a, outer(b, factor, zero_unless(b, after, top), s.rank));
    const ValueId left = both(b, unsqueeze(b, after, 1), b.call("aten.eq.Scalar", {columns, k}));
    s.a = where(b, left, unsqueeze(b, factor, s.rank - 1), s.a);
  }
  return {s.a, pivots.empty() ? b.full(inserted(s.batch, s.batch.size(), 0), 0, DType::I64) : cat(b, pivots, s.rank - 2), sign};
}

// A^-1 B by Gauss and Jordan.
ValueId solved(Builder& b, Square s, ValueId right) {
  const ValueId rows = iota(b, s.n);
  for (int64_t k = 0; k < s.n && !b.failed(); ++k) {
    const Swap w = choose_pivot(b, s, k);
    s.a = reordered(b, s.a, w.order, s.rank);
    right = reordered(b, right, w.order, s.rank);
    const ValueId at = b.call("aten.eq.Scalar", {rows, k});
    const ValueId pivot = slice(b, row(b, s.a, s.rank, k), s.rank - 2, k, k + 1);
    const ValueId scaled_row = b.div(row(b, s.a, s.rank, k), pivot), scaled_right = b.div(row(b, right, s.rank, k), pivot);
    const ValueId factor = where(b, at, b.sub(column(b, s.a, s.rank, k), 1.0), column(b, s.a, s.rank, k));
    // Row k becomes the scaled row: a_k - (pivot - 1) * a_k / pivot.
    s.a = b.sub(s.a, outer(b, factor, scaled_row, s.rank));
    right = b.sub(right, outer(b, factor, scaled_right, s.rank));
  }
  return right;
}

ValueId inverse(Builder& b, const Square& s) {
  Dims sizes = s.batch;
  sizes.insert(sizes.end(), 2, Dim(s.n));
  return b.failed() ? ValueId{} : solved(b, s, b.expand(identity(b, s.n), sizes));
}

// The lower triangle L with L L^T = A.
ValueId cholesky(Builder& b, Square s) {
  const ValueId rows = iota(b, s.n);
  Values columns;
  for (int64_t k = 0; k < s.n && !b.failed(); ++k) {
    const ValueId at = column(b, s.a, s.rank, k), root = b.unary("aten.sqrt", slice(b, at, s.rank - 2, k, k + 1));
    const ValueId l = zero_unless(b, b.call("aten.ge.Scalar", {rows, k}), b.div(at, root));
    s.a = b.sub(s.a, outer(b, l, l, s.rank));
    columns.push_back(unsqueeze(b, l, s.rank - 1));
  }
  return columns.empty() ? s.a : cat(b, columns, s.rank - 1);
}

ValueId power(Builder& b, const Square& s, int64_t n) {
  ValueId base = n < 0 ? inverse(b, s) : s.a, result;
  for (uint64_t rest = static_cast<uint64_t>(std::abs(n)); rest > 0; rest >>= 1) {
    if (rest & 1) result = result ? matmul(b, result, base) : base;
    if (rest > 1) base = matmul(b, base, base);
  }
  return result ? result : b.expand(identity(b, s.n), sizes_of(b, s.a));
}

// exp(A) = exp(A / 2^s)^(2^s), s such that the norm is at most 1; the squarings that a matrix does not need are left out by choice.
ValueId exponential(Builder& b, const Square& s) {
  constexpr int kTerms = 18, kSquarings = 24;
  if (b.failed()) return {};
  const ValueId norm = amax(b, sum(b, b.unary("aten.abs", s.a), {s.rank - 2}, true), {s.rank - 1}, true);
  const ValueId squarings = b.call("aten.clamp", {b.unary("aten.ceil", b.unary("aten.log2", norm)), 0.0, static_cast<double>(kSquarings)});
  const ValueId x = b.div(s.a, b.call("aten.pow.Scalar", {2.0, squarings}));
  const ValueId one = identity(b, s.n);
  ValueId y = b.expand(one, sizes_of(b, s.a));
  for (int k = kTerms; k > 0; --k) y = b.add(b.mul(matmul(b, x, y), 1.0 / k), one);
  for (int k = 0; k < kSquarings; ++k) y = where(b, b.call("aten.gt.Scalar", {squarings, k}), matmul(b, y, y), y);
  return y;
}

// ---- entries -------------------------------------------------------------------------------------------------------------------------

// A function of square matrices of the same sizes, in their own dtype.
template <class Fn>
void of_square(Table& ops, const std::string& schema, std::string param, Fn fn) {
  ops.define(schema).dtype(same_as(param)).shape(shape_of(param)).expand([param, fn](Builder& b, const Call& c) {
    const Square s = square(b, c, c.value(param));
    return b.cast(b.failed() ? ValueId{} : fn(b, c, s), c.tensor(param).dtype);
  });
}

ShapeRule batch_of(std::string param) {
  return [param](const Call& c) -> Result<Dims> {
    const Dims& sizes = c.tensor(param).sizes;
    if (sizes.size() < 2) return model_error(c.op().name() + " takes matrices");
    return Dims(sizes.begin(), sizes.end() - 2);
  };
}

struct Determinant {
  ValueId sign, value, log_size;
};
Determinant determinant(Builder& b, const Call& c, const char* param) {
  const Square s = square(b, c, c.value(param));
  if (b.failed()) return {};
  const Factors f = factorized(b, s);
  const ValueId d = diagonal(b, f.lu);
  const auto multiplied = [&](ValueId v) { return b.mul(b.call("aten.prod.dim_int", {v, -1}), f.sign); };
  return {multiplied(b.unary("aten.sign", d)), multiplied(d), sum(b, b.unary("aten.log", b.unary("aten.abs", d)), {s.rank - 2})};
}

void define_determinants(Table& ops) {
  for (const auto& [name, param] : {std::pair("det", "self"), std::pair("linalg_det", "A")})
    ops.define(fmt::format("aten::{}(Tensor {}) -> Tensor", name, param))
        .dtype(same_as(param))
        .shape(batch_of(param))
        .expand([p = param](Builder& b, const Call& c) { return b.cast(determinant(b, c, p).value, c.tensor(p).dtype); });
  ops.define("aten::logdet(Tensor self) -> Tensor").dtype(same_as("self")).shape(batch_of("self")).expand([](Builder& b, const Call& c) {
    const Determinant d = determinant(b, c, "self");
    return b.cast(b.add(b.unary("aten.log", d.sign), d.log_size), c.tensor("self").dtype);
  });
  for (const auto& [name, param] : {std::pair("slogdet", "self"), std::pair("linalg_slogdet", "A")})
    ops.define(fmt::format("aten::{}(Tensor {}) -> (Tensor sign, Tensor logabsdet)", name, param))
        .infer([p = param](const Call& c) -> Result<std::vector<Type>> {
          EDGEC_TRY(Dims sizes, batch_of(p)(c));
          const Type t = Type::of({c.tensor(p).dtype, sizes, {}, {}});
          return std::vector<Type>{t, t};
        })
        .expand([p = param](Builder& b, const Call& c) -> Values {
          const Determinant d = determinant(b, c, p);
          const DType dtype = c.tensor(p).dtype;
          return {b.cast(d.sign, dtype), b.cast(d.log_size, dtype)};
        });
}

// A vector on the right: [n], or a batch of them when the sizes less the last are A's.
bool is_vector(const Call& c) {
  const Dims &a = c.tensor("A").sizes, &right = c.tensor("B").sizes;
  return right.size() == 1 || (right.size() + 1 == a.size() && Dims(a.begin(), a.end() - 1) == right);
}

Result<Dims> solution_sizes(const Call& c) {
  const Dims &a = c.tensor("A").sizes, &right = c.tensor("B").sizes;
  if (a.size() < 2 || right.empty()) return model_error(c.op().name() + " takes matrices");
  if (right.size() == 1 && a.size() > 2) return Dims(a.begin(), a.end() - 1);
  if (is_vector(c)) return right;
  if (right.size() < 2 || sym::equal(right[right.size() - (c.flag("left") ? 2 : 1)], a.back()) == sym::Proof::No)
    return model_error(c.op().name() + ": the matrices do not fit");
  EDGEC_TRY(Dims out, broadcast(Dims(a.begin(), a.end() - 2), Dims(right.begin(), right.end() - 2)));
  out.insert(out.end(), right.end() - 2, right.end());
  return out;
}

// A X = B, or X A = B: then A^T X^T = B^T.
ValueId solution(Builder& b, const Call& c) {
  auto sizes = solution_sizes(c);
  if (!sizes) {
    b.fail(sizes.failure().message);
    return {};
  }
  const bool left = c.flag("left"), vector = is_vector(c);
  ValueId a = c.value("A"), right = b.cast(c.value("B"), DType::F64);
  if (vector) right = unsqueeze(b, right, c.rank("B"));
  Dims full = vector ? inserted(*sizes, sizes->size(), 1) : *sizes;
  const size_t rank = full.size();
  right = b.expand(right, full);
  const Dims of_a = sizes_of(b, a, 2);
  Dims wide(full.begin(), full.end() - 2);
  wide.insert(wide.end(), of_a.end() - 2, of_a.end());
  a = b.expand(a, wide);
  if (!left) {
    a = transposed(b, a, rank - 2, rank - 1);
    right = transposed(b, right, rank - 2, rank - 1);
  }
  const Square s = square(b, c, a);
  if (b.failed()) return {};
  const ValueId x = solved(b, s, right);
  return b.cast(b.view(left ? x : transposed(b, x, rank - 2, rank - 1), *sizes), c.tensor("A").dtype);
}

Type info_type(Dims batch) { return Type::of({DType::I32, std::move(batch), {}, {}}); }

void define_solutions(Table& ops) {
  for (const auto& [name, param] : {std::pair("inverse", "self"), std::pair("linalg_inv", "A")})
    of_square(ops, fmt::format("aten::{}(Tensor {}) -> Tensor", name, param), param,
              [](Builder& b, const Call&, const Square& s) { return inverse(b, s); });
  ops.define("aten::linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)")
      .infer([](const Call& c) -> Result<std::vector<Type>> {
        EDGEC_TRY(Dims batch, batch_of("A")(c));
        return std::vector<Type>{Type::of({c.tensor("A").dtype, c.tensor("A").sizes, {}, {}}), info_type(batch)};
      })
      .expand([](Builder& b, const Call& c) -> Values {
        const Square s = square(b, c, c.value("A"));
        return {b.cast(inverse(b, s), c.tensor("A").dtype), b.full(s.batch, 0, DType::I32)};
      });
  ops.define("aten::linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor")
      .dtype(same_as("A"))
      .shape(solution_sizes)
      .expand(solution);
  ops.define("aten::linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor info)")
      .infer([](const Call& c) -> Result<std::vector<Type>> {
        EDGEC_TRY(Dims sizes, solution_sizes(c));
        EDGEC_TRY(Dims batch, batch_of("A")(c));
        return std::vector<Type>{Type::of({c.tensor("A").dtype, sizes, {}, {}}), info_type(batch)};
      })
      .expand([](Builder& b, const Call& c) -> Values {
        const Dims& a = c.tensor("A").sizes;
        return {solution(b, c), b.full(Dims(a.begin(), a.end() - 2), 0, DType::I32)};
      });
  // (2 3) -> 6 against the rest: the inverse of a matrix of the same elements.
  ops.define("aten::linalg_tensorinv(Tensor self, int ind=2) -> Tensor")
      .dtype(same_as("self"))
      .shape([](const Call& c) -> Result<Dims> {
        Dims sizes = c.tensor("self").sizes;
        const int64_t ind = c.integer("ind");
        if (ind <= 0 || ind >= static_cast<int64_t>(sizes.size())) return model_error("linalg_tensorinv: ind is out of range");
        std::rotate(sizes.begin(), sizes.begin() + ind, sizes.end());
        return sizes;
      })
      .expand([](Builder& b, const Call& c) {
        const Dims sizes = c.tensor("self").sizes;
        const Dim n = numel(Dims(sizes.begin(), sizes.begin() + c.integer("ind")));
        const Square s = square(b, c, b.view(c.value("self"), {n, n}));
        return b.cast(b.view(inverse(b, s), result_sizes(c)), c.tensor("self").dtype);
      });
}

void define_factors(Table& ops) {
  for (const std::string name : {"linalg_cholesky", "cholesky"})
    of_square(ops,
              name == "cholesky" ? "aten::cholesky(Tensor self, bool upper=False) -> Tensor"
                                 : "aten::linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor",
              "self", [](Builder& b, const Call& c, const Square& s) {
                const ValueId l = cholesky(b, s);
                return c.flag("upper") ? transposed(b, l, s.rank - 2, s.rank - 1) : l;
              });
  ops.define("aten::linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info)")
      .infer([](const Call& c) -> Result<std::vector<Type>> {
        EDGEC_TRY(Dims batch, batch_of("self")(c));
        return std::vector<Type>{Type::of({c.tensor("self").dtype, c.tensor("self").sizes, {}, {}}), info_type(batch)};
      })
      .expand([](Builder& b, const Call& c) -> Values {
        const Dims& sizes = c.tensor("self").sizes;
        return {b.call("aten.linalg_cholesky", {c.arg("self")}, {{"upper", c.arg("upper")}}),
                b.full(Dims(sizes.begin(), sizes.end() - 2), 0, DType::I32)};
      });
  const auto types = [](bool with_info) -> InferRule {
    return [with_info](const Call& c) -> Result<std::vector<Type>> {
      const char* p = c.op().schema().params[0].name.c_str();
      EDGEC_TRY(Dims batch, batch_of(p)(c));
      const TensorType& a = c.tensor(p);
      std::vector<Type> out = {Type::of({a.dtype, a.sizes, {}, {}}),
                               Type::of({DType::I32, Dims(a.sizes.begin(), a.sizes.end() - 1), {}, {}})};
      if (with_info) out.push_back(info_type(batch));
      return out;
    };
  };
  const auto expansion = [](Builder& b, const Call& c) -> Values {
    const char* p = c.op().schema().params[0].name.c_str();
    const Square s = square(b, c, c.value(p));
    if (!c.flag("pivot")) b.fail(c.op().name() + " without pivoting");
    if (b.failed()) return {};
    const Factors f = factorized(b, s);
    return {b.cast(f.lu, c.tensor(p).dtype), b.cast(b.add(f.pivots, 1), DType::I32), b.full(s.batch, 0, DType::I32)};
  };
  ops.define("aten::linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)").infer(types(false)).expand(expansion);
  ops.define("aten::linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, Tensor pivots, Tensor info)")
      .infer(types(true))
      .expand(expansion);
  ops.define("aten::_lu_with_info(Tensor self, bool pivot=True, bool check_errors=True) -> (Tensor LU, Tensor pivots, Tensor info)")
      .infer(types(true))
      .expand(expansion);
  for (const char* name : {"matrix_power", "linalg_matrix_power"})
    of_square(ops, fmt::format("aten::{}(Tensor self, int n) -> Tensor", name), "self",
              [](Builder& b, const Call& c, const Square& s) { return power(b, s, c.integer("n")); });
  for (const char* name : {"matrix_exp", "linalg_matrix_exp"})
    of_square(ops, fmt::format("aten::{}(Tensor self) -> Tensor", name), "self",
              [](Builder& b, const Call&, const Square& s) { return exponential(b, s); });
}

// ---- vectors -------------------------------------------------------------------------------------------------------------------------

// The dim of `cross`: as given, or the first of size 3.
Result<size_t> cross_axis(const Call& c) {
  EDGEC_TRY(const Dims sizes, broadcast(c.tensor("self").sizes, c.tensor("other").sizes));
  if (c.has("dim")) return c.axis("dim", sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] == Dim(3)) return i;
  return model_error("cross: no dim of size 3");
}

ValueId cross(Builder& b, const Call& c) {
  const auto axis = cross_axis(c);
  const DType d = c.promoted({"self", "other"});
  auto sizes = broadcast(c.tensor("self").sizes, c.tensor("other").sizes);
  if (!axis || !sizes) {
    b.fail("cross: the operands do not fit");
    return {};
  }
  const ValueId x = b.expand(b.cast(c.value("self"), d), *sizes), y = b.expand(b.cast(c.value("other"), d), *sizes);
  const auto turned = [&](ValueId v, int64_t by) {
    return b.call("aten.roll", {v, Arg::ints({by}), Arg::ints({static_cast<int64_t>(*axis)})});
  };
  return b.sub(b.mul(turned(x, -1), turned(y, -2)), b.mul(turned(x, -2), turned(y, -1)));
}

// Powers of x as columns: ascending from 1, or descending.
ValueId vandermonde(Builder& b, const Call& c, Dim columns, bool increasing, DType d) {
  const size_t rank = c.rank("x");
  const ValueId exponents = iota(b, columns, is_float(d) ? d : DType::I64);
  const ValueId order = increasing ? exponents : b.call("aten.flip", {exponents, Arg::ints({0})});
  return b.call("aten.pow.Tensor_Tensor", {unsqueeze(b, b.cast(c.value("x"), d), rank), order});
}

void define_vectors(Table& ops) {
  const std::vector<std::string> pair = {"self", "other"};
  for (const char* schema : {"aten::cross(Tensor self, Tensor other, int? dim=None) -> Tensor",
                             "aten::linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor"})
    ops.define(schema)
        .dtype([by = promoted(pair)](const Call& c) -> Result<DType> {
          EDGEC_TRY(const DType d, by(c));
          if (d == DType::Bool) return model_error(c.op().name() + " of bools");
          return d;
        })
        .shape(broadcast_of(pair))
        .expand(cross);
  ops.define("aten::trace(Tensor self) -> Tensor").dtype(summed("self", "")).shape(scalar_shape()).expand([](Builder& b, const Call& c) {
    return b.call("aten.sum", {diagonal(b, c.value("self"))});
  });
  ops.define("aten::vander(Tensor x, int? N=None, bool increasing=False) -> Tensor")
      .dtype([](const Call& c) -> Result<DType> { return is_float(c.tensor("x").dtype) ? c.tensor("x").dtype : DType::I64; })
      .shape([](const Call& c) -> Result<Dims> {
        if (c.rank("x") != 1) return model_error("vander takes a vector");
        const Dim n = c.tensor("x").sizes[0];
        return Dims{n, c.has("N") ? c.dim("N") : n};
      })
      .expand([](Builder& b, const Call& c) {
        const DType d = c.tensor("x").dtype;
        return vandermonde(b, c, result_sizes(c)[1], c.flag("increasing"), is_float(d) ? d : DType::I64);
      });
  ops.define("aten::linalg_vander(Tensor x, *, SymInt? N=None) -> Tensor")
      .dtype([](const Call& c) -> Result<DType> { return is_float(c.tensor("x").dtype) ? c.tensor("x").dtype : DType::I64; })
      .shape([](const Call& c) -> Result<Dims> {
        Dims sizes = c.tensor("x").sizes;
        if (sizes.empty()) return model_error("linalg_vander takes vectors");
        sizes.push_back(c.has("N") ? c.dim("N") : sizes.back());
        return sizes;
      })
      .expand([](Builder& b, const Call& c) {
        const DType d = c.tensor("x").dtype;
        return vandermonde(b, c, result_sizes(c).back(), true, is_float(d) ? d : DType::I64);
      });
}

}  // namespace

void define_matrix(Table& ops) {
  define_determinants(ops);
  define_solutions(ops);
  define_factors(ops);
  define_vectors(ops);
}

}  // namespace edgec::ops
