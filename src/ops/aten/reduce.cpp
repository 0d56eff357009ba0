#include <cmath>

#include "ops/numeric.h"
#include "ops/table.h"

// Reductions over dims, statistics, norms, distances, softmax.
namespace edgec::ops {
namespace {

const std::vector<DType> kWide = {DType::F32, DType::F64};

Result<std::vector<Type>> two(Dims sizes, DType first, DType second) {
  return std::vector<Type>{Type::of({first, sizes, {}, {}}), Type::of({second, sizes, {}, {}})};
}

// Two results of the sizes that `shape` gives, the second in i64 (indices) or like the first.
InferRule pair_of(ShapeRule shape, bool indices) {
  return [shape, indices](const Call& c) -> Result<std::vector<Type>> {
    EDGEC_TRY(Dims sizes, shape(c));
    const DType d = c.tensor("self").dtype;
    return two(sizes, d, indices ? DType::I64 : d);
  };
}

DTypeRule truth_of(std::string param) {  // any and all of u8 are u8
  return [param](const Call& c) -> Result<DType> { return c.tensor(param).dtype == DType::U8 ? DType::U8 : DType::Bool; };
}

DTypeRule floats_only(std::string param, std::string dtype_param) {
  return [=](const Call& c) -> Result<DType> {
    const DType d = dtype_param.empty() ? c.tensor(param).dtype : c.dtype(dtype_param, c.tensor(param).dtype);
    if (!is_float(d) && !is_complex(d))
      return model_error(c.op().name() + " needs a float dtype, the input has " + std::string(torch_name(d)));
    return d;
  };
}

// Kernels of amax, max.dim, ... stop the process on an input without elements.
std::vector<ValueId> kept_unless_empty(Builder& b, const Call& c) { return is_empty(c.tensor("self").sizes) ? filled(b, c) : keep_whole(); }

// The optimized kernel sums one dim of any dtype in f32; two dims take the other path. It does not know rank 0 with a dim.
std::vector<ValueId> sum_exactly(Builder& b, const Call& c) {
  const TensorType x = c.tensor("self");
  const DType to = c.dtype("dtype", is_float(x.dtype) || is_complex(x.dtype) ? x.dtype : DType::I64);
  if (c.dims("dim").size() != 1) return keep_whole();
  if (x.rank() == 0) return {b.call("aten.sum.dim_IntList", {c.arg("self"), ArgList{}}, {{"dtype", to}})};
  if (x.dtype != to || is_half(to) || to == DType::F32) return keep_whole();
  Dims deeper = x.sizes;
  deeper.push_back(1);
  Axes axes = axes_of(b, c, "dim", x.rank());
  axes.push_back(x.rank());
  return {b.view(sum(b, b.view(c.value("self"), deeper), axes), result_sizes(c))};
}

Values variance(Builder& b, const Call& c, const Arg& dim, double correction, bool keepdim) {
  return {b.call("aten.var.correction", {c.arg("self"), dim}, {{"correction", correction}, {"keepdim", keepdim}})};
}

// Overloads of var, std, var_mean and std_mean: (unbiased), (dim, unbiased, keepdim), (dim, correction, keepdim).
struct Spread {
  Arg dim;
  double correction = 1;
  bool keepdim = false;
};
Spread spread(const Call& c) {
  Spread s;
  if (c.has("dim")) s.dim = c.arg("dim");
  if (c.has("unbiased")) s.correction = c.flag("unbiased") ? 1 : 0;
  if (c.has("correction")) s.correction = c.number("correction");
  if (c.has("keepdim")) s.keepdim = c.flag("keepdim");
  return s;
}

void define_spread(Table& ops) {
  const auto everywhere = scalar_shape(), along = reduced("self", "dim", "keepdim");
  const auto dtype = floats_only("self", "");
  ops.define("aten::var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor")
      .dtype(dtype)
      .shape(along)
      .kernel("var.correction_out")
      .kernel_dtypes(kWide, DType::F32);
  ops.define("aten::var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)")
      .infer(pair_of(along, false))
      .kernel("var_mean.correction_out")
      .kernel_dtypes(kWide, DType::F32)
      .expand([](Builder& b, const Call& c) -> Values {
        // Where the variance is NaN for want of elements, the kernel makes the mean NaN too.
        const Spread s = spread(c);
        const Axes axes = axes_of(b, c, "dim", c.rank("self"));
        const auto fewest = sym::lower_bound(product(c.tensor("self").sizes, axes));
        if (s.correction == 0 || (fewest && static_cast<double>(*fewest) > s.correction)) return keep_whole();
        return {variance(b, c, s.dim, s.correction, s.keepdim)[0], mean(b, c.value("self"), axes, s.keepdim)};
      });

  const auto var = [](Builder& b, const Call& c) {
    const Spread s = spread(c);
    return variance(b, c, s.dim, s.correction, s.keepdim);
  };
  ops.define("aten::var(Tensor self, bool unbiased=True) -> Tensor").dtype(dtype).shape(everywhere).expand(var);
  ops.define("aten::var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor")
      .dtype(dtype)
      .shape(along)
      .expand(var);

  const auto std = [](Builder& b, const Call& c) {
    const Spread s = spread(c);
    return in_opmath(b, c.value("self"), [&](Builder& x, ValueId v) {
      return x.unary("aten.sqrt", x.call("aten.var.correction", {v, s.dim}, {{"correction", s.correction}, {"keepdim", s.keepdim}}));
    });
  };
  ops.define("aten::std(Tensor self, bool unbiased=True) -> Tensor").dtype(dtype).shape(everywhere).expand(std);
  ops.define("aten::std.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor")
      .dtype(dtype)
      .shape(along)
      .expand(std);
  ops.define("aten::std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor")
      .dtype(dtype)
      .shape(along)
      .expand(std);

  const auto both = [](bool root) {
    return [root](Builder& b, const Call& c) -> Values {
      const Spread s = spread(c);
      const DType d = c.tensor("self").dtype;
      Values r = b.call_all("aten.var_mean.correction", {b.cast(c.value("self"), is_half(d) ? DType::F32 : d), s.dim},
                            {{"correction", s.correction}, {"keepdim", s.keepdim}});
      if (root) r[0] = b.unary("aten.sqrt", r[0]);
      return {b.cast(r[0], d), b.cast(r[1], d)};
    };
  };
  for (const std::string name : {"var_mean", "std_mean"}) {
    ops.define("aten::" + name + "(Tensor self, bool unbiased=True) -> (Tensor, Tensor)")
        .infer(pair_of(everywhere, false))
        .expand(both(name[0] == 's'));
    ops.define("aten::" + name + ".dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)")
        .infer(pair_of(along, false))
        .expand(both(name[0] == 's'));
  }
  ops.define("aten::std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)")
      .infer(pair_of(along, false))
      .expand(both(true));
}

// A vector norm; half types compute in f32.
ValueId norm_of(Builder& b, const Call& c, double p, const Axes& axes, bool keepdim) {
  const ValueId x = c.has("dtype") ? b.cast(c.value("self"), c.dtype("dtype", DType::F32)) : c.value("self");
  return in_opmath(b, x, [&](Builder& m, ValueId v) { return vector_norm(m, v, p, axes, keepdim); });
}

// max or min over columns of the sums of |x| over rows (order 1 and -1), or the other way round (infinity).
ValueId matrix_norm(Builder& b, const Call& c, double order, const Axes& dims, bool keepdim) {
  const bool sums_rows = std::abs(order) == 1;
  if (!sums_rows && !std::isinf(order)) {
    b.fail(c.op().name() + ": this order needs singular values, which no kernel computes");
    return {};
  }
  const ValueId x = c.has("dtype") ? b.cast(c.value("self"), c.dtype("dtype", DType::F32)) : c.value("self");
  const size_t summed_dim = dims[sums_rows ? 0 : 1], picked = dims[sums_rows ? 1 : 0];
  const ValueId sums = sum(b, b.unary("aten.abs", x), {summed_dim}, true);
  const ValueId ends = order > 0 ? amax(b, sums, {picked}, true) : amin(b, sums, {picked}, true);
  return b.view(ends, without_axes(c.tensor("self").sizes, dims, keepdim));
}

// The two dims of a matrix norm in the order given.
Axes matrix_dims(Builder& b, const Call& c) {
  Axes out;
  const auto rank = static_cast<int64_t>(c.rank("self"));
  const std::vector<int64_t> dims = c.has("dim") ? c.integers("dim") : std::vector<int64_t>{-2, -1};
  for (int64_t d : dims) out.push_back(static_cast<size_t>(d < 0 ? d + rank : d));
  if (out.size() != 2 || out[0] == out[1] || out[0] >= c.rank("self") || out[1] >= c.rank("self"))
    b.fail(c.op().name() + ": a matrix norm takes two dims");
  return out;
}

void define_norms(Table& ops) {
  const auto along = reduced("self", "dim", "keepdim");
  const auto dtype = floats_only("self", "dtype"), own = floats_only("self", "");
  ops.define(
         "aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor")
      .dtype(dtype)
      .shape(along)
      .expand([](Builder& b, const Call& c) {
        return norm_of(b, c, c.number("ord", 2), axes_of(b, c, "dim", c.rank("self")), c.flag("keepdim"));
      });
  const auto norm = [](Builder& b, const Call& c) {
    const size_t rank = c.rank("self");
    return norm_of(b, c, c.has("p") ? c.number("p", 2) : 2, c.has("dim") ? axes_of(b, c, "dim", rank) : trailing_axes(rank, rank),
                   c.has("keepdim") && c.flag("keepdim"));
  };
  ops.define("aten::norm.Scalar(Tensor self, Scalar p=2) -> Tensor").dtype(own).shape(scalar_shape()).expand(norm);
  ops.define("aten::norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor")
      .dtype(dtype)
      .shape(scalar_shape())
      .expand(norm);
  ops.define("aten::norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor")
      .dtype(own)
      .shape(along)
      .expand(norm);
  ops.define("aten::norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype) -> Tensor")
      .dtype(dtype)
      .shape(along)
      .expand(norm);
  ops.define("aten::frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor").dtype(own).shape(along).expand(norm);
  ops.define("aten::norm_except_dim(Tensor v, int pow=2, int dim=0) -> Tensor")
      .dtype(same_as("v"))
      .shape([](const Call& c) -> Result<Dims> {
        const Dims& sizes = c.tensor("v").sizes;
        if (c.integer("dim") == -1) return Dims{};
        EDGEC_TRY(size_t kept, c.axis("dim", sizes.size()));
        Dims out(sizes.size(), Dim(1));
        if (!sizes.empty()) out[kept] = sizes[kept];
        return out;
      })
      .expand([](Builder& b, const Call& c) {
        const Dims to = result_sizes(c);
        const size_t kept = axis_of(b, c, "dim", c.rank("v"));
        Axes axes;
        for (size_t i = 0; i < c.rank("v"); ++i)
          if (to.empty() || i != kept) axes.push_back(i);
        return in_opmath(b, c.value("v"), [&](Builder& m, ValueId v) {
          if (axes.empty()) return m.view(m.unary("aten.abs", v), to);  // no axes would mean all of them
          return m.view(vector_norm(m, v, static_cast<double>(c.integer("pow")), axes, true), to);
        });
      });

  const std::string tail = "int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor";
  // Without an order the 2-norm of all elements; a vector norm over one dim, a matrix norm over two.
  ops.define("aten::linalg_norm(Tensor self, Scalar? ord=None, " + tail).dtype(dtype).shape(along).expand([](Builder& b, const Call& c) {
    const size_t rank = c.rank("self"), dims = c.has("dim") ? c.dims("dim").size() : rank;
    const bool keepdim = c.flag("keepdim");
    if (c.has("ord") && dims != 1) return matrix_norm(b, c, c.number("ord"), matrix_dims(b, c), keepdim);
    return norm_of(b, c, c.has("ord") ? c.number("ord") : 2, axes_of(b, c, "dim", rank), keepdim);
  });
  const auto named = [](Builder& b, const Call& c) {
    if (c.string("ord") != "fro")
      b.fail(c.op().name() + ": the order '" + c.string("ord") + "' needs singular values, which no kernel computes");
    return norm_of(b, c, 2, matrix_dims(b, c), c.flag("keepdim"));
  };
  ops.define("aten::linalg_norm.ord_str(Tensor self, str ord, " + tail).dtype(dtype).shape(along).expand(named);
  const std::string matrix = "int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None) -> Tensor";
  ops.define("aten::linalg_matrix_norm.str_ord(Tensor self, str ord=\"fro\", " + matrix).dtype(dtype).shape(along).expand(named);
  ops.define("aten::linalg_matrix_norm(Tensor self, Scalar ord, " + matrix).dtype(dtype).shape(along).expand([](Builder& b, const Call& c) {
    return matrix_norm(b, c, c.number("ord"), matrix_dims(b, c), c.flag("keepdim"));
  });
}

// Sizes of a pair of tensors broadcast, without the dim that is reduced.
ShapeRule broadcast_without_dim(std::string x, std::string y) {
  return [x, y](const Call& c) -> Result<Dims> {
    EDGEC_TRY(Dims sizes, broadcast(c.tensor(x).sizes, c.tensor(y).sizes));
    EDGEC_TRY(size_t d, c.axis("dim", sizes.size()));
    return without_axes(sizes, {d}, false);
  };
}

void define_distances(Table& ops) {
  ops.define("aten::cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor")
      .dtype(promoted({"x1", "x2"}))
      .shape(broadcast_without_dim("x1", "x2"))
      .expand([](Builder& b, const Call& c) -> Values {
        const auto joined = broadcast(c.tensor("x1").sizes, c.tensor("x2").sizes);
        const Dims sizes = joined ? *joined : Dims{};
        const DType d = c.promoted({"x1", "x2"}), through = is_half(d) ? DType::F32 : d;
        const double eps = c.number("eps");
        const Axes axis = {axis_of(b, c, "dim", sizes.size())};
        const auto unit = [&](const char* param) {
          const ValueId x = b.expand(b.cast(c.value(param), through), sizes);
          return b.div(x, b.call("aten.clamp", {vector_norm(b, x, 2, axis, true), eps}));
        };
        return {b.cast(sum(b, b.mul(unit("x1"), unit("x2")), axis), d)};
      });
  ops.define("aten::pairwise_distance(Tensor x1, Tensor x2, float p=2., float eps=9.9999999999999995e-07, bool keepdim=False) -> Tensor")
      .dtype(promoted({"x1", "x2"}))
      .shape([](const Call& c) -> Result<Dims> {
        EDGEC_TRY(Dims sizes, broadcast(c.tensor("x1").sizes, c.tensor("x2").sizes));
        return without_axes(sizes, trailing_axes(sizes.size(), 1), c.flag("keepdim"));
      })
      .expand([](Builder& b, const Call& c) -> Values {
        const ValueId apart = b.add(b.sub(c.value("x1"), c.value("x2")), c.number("eps"));
        if (b.failed()) return {};
        return {in_opmath(b, apart, [&](Builder& m, ValueId v) {
          return vector_norm(m, v, c.number("p"), trailing_axes(m.tensor(v).rank(), 1), c.flag("keepdim"));
        })};
      });
  ops.define("aten::dist(Tensor self, Tensor other, Scalar p=2) -> Tensor")
      .dtype(promoted({"self", "other"}))
      .shape(scalar_shape())
      .expand([](Builder& b, const Call& c) -> Values {
        const ValueId apart = b.sub(c.value("self"), c.value("other"));
        if (b.failed()) return {};
        const size_t rank = b.tensor(apart).rank();
        return {in_opmath(b, apart,
                          [&](Builder& m, ValueId v) { return vector_norm(m, v, c.number("p", 2), trailing_axes(rank, rank), false); })};
      });

  const auto all_pairs = [](const Call& c) -> Result<Dims> {
    Dims x = c.tensor("x1").sizes, y = c.tensor("x2").sizes;
    if (x.size() < 2 || y.size() < 2) return model_error(c.op().name() + " takes matrices or batches of them");
    const Dim rows = x[x.size() - 2], columns = y[y.size() - 2];
    x.resize(x.size() - 2);
    y.resize(y.size() - 2);
    EDGEC_TRY(Dims sizes, broadcast(x, y));
    sizes.push_back(rows);
    sizes.push_back(columns);
    return sizes;
  };
  ops.define("aten::_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor")
      .dtype(promoted({"x1", "x2"}))
      .shape(all_pairs)
      .promotes({"x1", "x2"})
      .kernel("_cdist_forward.out")
      .kernel_dtypes(kWide, DType::F32);
  ops.define("aten::cdist(Tensor x1, Tensor x2, float p=2., int? compute_mode=None) -> Tensor")
      .dtype(promoted({"x1", "x2"}))
      .shape(all_pairs)
      .expand([](Builder& b, const Call& c) {
        return b.call("aten._cdist_forward", {c.arg("x1"), c.arg("x2"), c.arg("p"), c.arg("compute_mode")});
      });

  const auto each_pair = [](const Call& c) -> Result<Dims> {
    if (c.rank("self") != 2) return model_error(c.op().name() + " takes a matrix");
    const Dim n = c.tensor("self").sizes[0];
    return Dims{sym::floordiv(n * (n - 1), 2)};
  };
  ops.define("aten::_pdist_forward(Tensor self, float p=2.) -> Tensor")
      .dtype(same_as("self"))
      .shape(each_pair)
      .kernel("_pdist_forward.out")
      .kernel_dtypes(kWide, DType::F32);
  ops.define("aten::pdist(Tensor self, float p=2.) -> Tensor")
      .dtype(same_as("self"))
      .shape(each_pair)
      .expand([](Builder& b, const Call& c) {
        return b.call("aten._pdist_forward", {c.arg("self"), c.arg("p")});
      });
}

void define_sums(Table& ops) {
  const auto along = reduced("self", "dim", "keepdim");
  const auto summed_dtype = summed("self", "dtype");
  ops.define("aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor")
      .dtype(summed_dtype)
      .shape(along)
      .kernel("sum.IntList_out", {"dtype"})
      .expand(sum_exactly);
  ops.define("aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor")
      .dtype(summed_dtype)
      .shape(scalar_shape())
      .expand([](Builder& b, const Call& c) {
        return b.call("aten.sum.dim_IntList", {c.arg("self"), ArgList{}}, {{"dtype", c.arg("dtype")}});
      });
  ops.define("aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor")
      .dtype(floats_only("self", "dtype"))
      .shape(along)
      .kernel("mean.out", {"dtype"});
  ops.define("aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor")
      .dtype(floats_only("self", "dtype"))
      .shape(scalar_shape())
      .kernel("mean.dtype_out", {"dtype"});

  const auto without_nan = [](Builder& b, const Call& c) {
    const ValueId x = c.value("self");
    return is_float(c.tensor("self").dtype) ? where(b, b.unary("aten.isnan", x), number(b, 0, c.tensor("self").dtype), x) : x;
  };
  ops.define("aten::nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor")
      .dtype(summed_dtype)
      .shape(along)
      .expand([=](Builder& b, const Call& c) {
        return b.call("aten.sum.dim_IntList", {without_nan(b, c), c.arg("dim"), c.arg("keepdim")}, {{"dtype", c.arg("dtype")}});
      });
  ops.define("aten::nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor")
      .dtype(floats_only("self", "dtype"))
      .shape(along)
      .expand([=](Builder& b, const Call& c) {
        const DType d = c.dtype("dtype", c.tensor("self").dtype), wide = is_half(d) ? DType::F32 : d;
        const ValueId total = b.call("aten.sum.dim_IntList", {without_nan(b, c), c.arg("dim"), c.arg("keepdim")}, {{"dtype", wide}});
        const ValueId counted = b.unary("aten.logical_not", b.unary("aten.isnan", c.value("self")));
        return b.cast(b.div(total, b.call("aten.sum.dim_IntList", {counted, c.arg("dim"), c.arg("keepdim")}, {{"dtype", wide}})), d);
      });

  const auto count = [](Builder& b, const Call& c) {
    return sum(b, b.call("aten.ne.Scalar", {c.arg("self"), 0}), axes_of(b, c, "dim", c.rank("self")));
  };
  ops.define("aten::count_nonzero(Tensor self, int? dim=None) -> Tensor")
      .dtype(fixed(DType::I64))
      .shape(reduced("self", "dim", ""))
      .expand(count);
  ops.define("aten::count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor")
      .dtype(fixed(DType::I64))
      .shape(reduced("self", "dim", ""))
      .expand(count);

  const std::vector<DType> exact = {DType::Bool, DType::U8, DType::I8, DType::I16, DType::I32, DType::I64, DType::F32, DType::F64};
  const auto cast_first = [](Builder& b, const Call& c) -> Values {  // so that the dtype argument is not needed
    const DType d = c.dtype("dtype", c.tensor("self").dtype);
    if (!is_float(d) || d == c.tensor("self").dtype) return keep_whole();
    std::vector<Arg> args(c.args().begin(), c.args().end());
    args.front() = b.cast(c.value("self"), d);
    args.back() = Arg();
    return {b.call(c.op().name(), args)};
  };
  ops.define("aten::prod(Tensor self, *, ScalarType? dtype=None) -> Tensor")
      .dtype(summed_dtype)
      .shape(scalar_shape())
      .kernel("prod.out", {"dtype"})
      .kernel_dtypes(exact, DType::F32)
      .expand(cast_first);
  ops.define("aten::prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor")
      .dtype(summed_dtype)
      .shape(along)
      .kernel("prod.int_out", {"dtype"})
      .kernel_dtypes(exact, DType::F32)
      .expand(cast_first);
}

void define_extremes(Table& ops) {
  const auto along = reduced("self", "dim", "keepdim");
  const auto own = same_as("self");
  for (const std::string name : {"max", "min"}) {
    ops.define("aten::a" + name + "(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor")
        .dtype(own)
        .shape(along)
        .kernel("a" + name + ".out")
        .expand(kept_unless_empty);
    ops.define("aten::" + name + "(Tensor self) -> Tensor").dtype(own).shape(scalar_shape()).kernel(name + ".unary_out");
    ops.define("aten::" + name + ".dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)")
        .infer(pair_of(along, true))
        .kernel(name + ".dim_" + name)
        .expand(kept_unless_empty);
    ops.define("aten::" + name + ".other(Tensor self, Tensor other) -> Tensor")
        .dtype(promoted({"self", "other"}))
        .shape(broadcast_of({"self", "other"}))
        .expand([name](Builder& b, const Call& c) {
          return b.call("aten." + name + "imum", {c.arg("self"), c.arg("other")});
        });
    ops.define("aten::arg" + name + "(Tensor self, int? dim=None, bool keepdim=False) -> Tensor")
        .dtype(fixed(DType::I64))
        .shape(along)
        .kernel("arg" + name + ".out")
        .expand(kept_unless_empty);
  }
  ops.define("aten::aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)")
      .infer(pair_of(along, false))
      .expand([](Builder& b, const Call& c) -> Values {
        const Axes axes = axes_of(b, c, "dim", c.rank("self"));
        return {amin(b, c.value("self"), axes, c.flag("keepdim")), amax(b, c.value("self"), axes, c.flag("keepdim"))};
      });

  const auto truth = truth_of("self");
  const ShapeRule along_given = [along](const Call& c) -> Result<Dims> {
    return c.has("dim") && c.dims("dim").empty() ? Result<Dims>(c.tensor("self").sizes) : along(c);
  };
  ops.define("aten::any(Tensor self) -> Tensor").dtype(truth).shape(scalar_shape()).kernel("any.all_out");
  ops.define("aten::any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor").dtype(truth).shape(along).kernel("any.out");
  ops.define("aten::any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor")
      .dtype(truth)
      .shape(along_given)
      .kernel("any.dims_out");
  // all = not any not
  for (const std::string overload :
       {"(Tensor self)", ".dim(Tensor self, int dim, bool keepdim=False)", ".dims(Tensor self, int[]? dim=None, bool keepdim=False)"})
    ops.define("aten::all" + overload + " -> Tensor")
        .dtype(truth)
        .shape(overload[0] == '(' ? scalar_shape() : along_given)
        .expand([overload](Builder& b, const Call& c) {
          std::vector<Arg> args(c.args().begin(), c.args().end());
          args[0] = b.unary("aten.logical_not", c.value("self"));
          const ValueId some = b.call("aten.any" + overload.substr(0, overload.find('(')), args);
          return b.cast(b.unary("aten.logical_not", some), c.tensor("self").dtype == DType::U8 ? DType::U8 : DType::Bool);
        });
}

void define_softmax(Table& ops) {
  // Each name with the argument that names the dtype before or after the star.
  const auto by_kernel = [](std::string kernel) {
    return [kernel](Builder& b, const Call& c) {
      return b.call(kernel, {b.cast(c.value("self"), c.dtype("dtype", c.tensor("self").dtype)), c.arg("dim"), false});
    };
  };
  const auto dtype = floats_only("self", "dtype");
  for (const char* schema : {"aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
                             "aten::special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor"})
    ops.define(schema).dtype(dtype).shape(shape_of("self")).expand(by_kernel("aten._softmax"));
  for (const char* schema : {"aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
                             "aten::special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor"})
    ops.define(schema).dtype(dtype).shape(shape_of("self")).expand(by_kernel("aten._log_softmax"));

  const DTypeRule widened = [](const Call& c) -> Result<DType> { return c.flag("half_to_float") ? DType::F32 : c.tensor("self").dtype; };
  ops.define("aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor")
      .dtype(widened)
      .shape(shape_of("self"))
      .in_place_ok()
      .kernel("_softmax.out")
      .expand([](Builder& b, const Call& c) -> Values {
        if (!c.flag("half_to_float")) return keep_whole();
        return {b.call("aten._softmax", {b.cast(c.value("self"), DType::F32), c.arg("dim"), false})};
      });
  ops.define("aten::_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor")
      .dtype(widened)
      .shape(shape_of("self"))
      .in_place_ok()
      .kernel("_log_softmax.out")
      .expand([](Builder& b, const Call& c) -> Values {
        const TensorType x = c.tensor("self");
        if (is_empty(x.sizes)) return filled(b, c);
        if (c.flag("half_to_float")) return {b.call("aten._log_softmax", {b.cast(c.value("self"), DType::F32), c.arg("dim"), false})};
        if (x.dtype != DType::F64) return keep_whole();
        // The kernel has no f64.
        const Axes axis = {axis_of(b, c, "dim", x.rank())};
        const ValueId below = b.sub(c.value("self"), amax(b, c.value("self"), x.rank() ? axis : Axes{}, true));
        return {b.sub(below, b.unary("aten.log", sum(b, b.unary("aten.exp", below), x.rank() ? axis : Axes{}, true)))};
      });

  const auto log_sum = [](Builder& b, const Call& c) {
    const DType d = c.tensor("self").dtype;
    const ValueId x = is_float(d) ? c.value("self") : b.cast(c.value("self"), DType::F32);
    return in_opmath(b, x,
                     [&](Builder& m, ValueId v) { return log_sum_exp(m, v, axes_of(m, c, "dim", c.rank("self")), c.flag("keepdim")); });
  };
  for (const char* name : {"logsumexp", "special_logsumexp"})
    ops.define(std::string("aten::") + name + "(Tensor self, int[1] dim, bool keepdim=False) -> Tensor")
        .dtype(promoted_float({"self"}))
        .shape(reduced("self", "dim", "keepdim"))
        .expand(log_sum);
}

}  // namespace

void define_reduce(Table& ops) {
  define_sums(ops);
  define_extremes(ops);
  define_spread(ops);
  define_norms(ops);
  define_distances(ops);
  define_softmax(ops);
}

}  // namespace edgec::ops
