#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/numeric.h"
#include "ops/table.h"

// Quantiles, covariances, numeric gradients, norms per slice, pairs and distances.
namespace edgec::ops {
namespace {

// ---- quantiles -----------------------------------------------------------------------------------------------------------------------

// The quantiles' dim comes first when there are several; without `dim` all elements count as one row.
Result<Dims> quantile_sizes(const Call& c) {
  const Dims& x = c.tensor("self").sizes;
  Dims out = c.is_tensor("q") ? c.tensor("q").sizes : Dims{};
  if (out.size() > 1) return model_error(c.op().name() + ": q is a number or a vector");
  const std::string way = c.string("interpolation");
  const auto ways = {"linear", "lower", "higher", "midpoint", "nearest"};
  if (std::find(ways.begin(), ways.end(), way) == ways.end()) return model_error(c.op().name() + ": no such interpolation: " + way);
  if (!c.is_tensor("q") && !(c.number("q") >= 0 && c.number("q") <= 1)) return model_error(c.op().name() + ": q is not in 0..1");
  const DType d = c.tensor("self").dtype;
  if ((d != DType::F32 && d != DType::F64) || (c.is_tensor("q") && c.tensor("q").dtype != d))
    return model_error(c.op().name() + " takes f32 or f64, and q of the same dtype");
  EDGEC_TRY(const Dims rest, reduced("self", "dim", "keepdim")(c));
  out.insert(out.end(), rest.begin(), rest.end());
  return x.empty() && c.has("dim") && !c.is_tensor("q") ? Dims{} : out;
}

// Where in the sorted row (n last) the quantiles are.
ValueId ranks_of(Builder& b, ValueId q, ValueId rows, bool skip_nan) {
  if (b.failed()) return {};
  const DType d = b.tensor(rows).dtype;
  const Dim n = b.tensor(rows).sizes.back();
  const auto last = static_cast<int64_t>(b.tensor(rows).rank()) - 1;
  const ValueId nans = b.cast(b.call("aten.sum.dim_IntList", {b.unary("aten.isnan", rows), Arg::ints({last}), true}), d);
  const ValueId valid = b.call("aten.rsub.Scalar", {nans, n});
  if (skip_nan) return b.call("aten.clamp", {b.mul(b.sub(valid, 1.0), q), 0.0});
  const ValueId end = b.full({}, n - 1, DType::I64);  // NaN is sorted last
  return where(b, b.call("aten.gt.Scalar", {nans, 0}), b.cast(end, d), b.mul(q, b.cast(end, d)));
}

ValueId quantile(Builder& b, const Call& c, bool skip_nan) {
  const TensorType x = c.tensor("self");
  const Dims out = result_sizes(c);
  ValueId rows = c.value("self");
  const bool whole = !c.has("dim") || x.rank() == 0;
  const size_t axis = whole ? 0 : axis_of(b, c, "dim", x.rank());
  rows = whole ? b.view(rows, {numel(x.sizes)}) : moved(b, rows, axis, x.rank() - 1);
  if (b.failed()) return {};
  const size_t last = b.tensor(rows).rank() - 1;
  const ValueId sorted = b.call_all("aten.sort", {rows, static_cast<int64_t>(last), false})[0];
  const ValueId q = c.is_tensor("q") ? b.view(c.value("q"), {numel(c.tensor("q").sizes)}) : b.full({1}, c.arg("q"), x.dtype);
  const ValueId rank = ranks_of(b, q, rows, skip_nan);  // [.., quantiles]
  const std::string way = c.string("interpolation");
  const auto at = [&](ValueId position) {
    return b.call("aten.gather", {sorted, static_cast<int64_t>(last), b.cast(position, DType::I64)});
  };
  ValueId value;
  if (way == "lower" || way == "higher" || way == "nearest")
    value = at(b.unary(way == "lower" ? "aten.floor" : way == "higher" ? "aten.ceil" : "aten.round", rank));
  else {
    const ValueId below = b.unary("aten.floor", rank);
    const Arg weight = way == "midpoint" ? Arg(0.5) : Arg(b.sub(rank, below));
    value = b.call(way == "midpoint" ? "aten.lerp.Scalar" : "aten.lerp.Tensor", {at(below), at(b.unary("aten.ceil", rank)), weight});
  }
  return b.view(moved(b, value, last, 0), out);
}

void define_quantiles(Table& ops) {
  const std::string tail = ", int? dim=None, bool keepdim=False, *, str interpolation=\"linear\") -> Tensor";
  for (const std::string name : {"quantile", "nanquantile"})
    for (const char* q : {"(Tensor self, Tensor q", ".scalar(Tensor self, float q"})
      ops.define("aten::" + name + q + tail).dtype(same_as("self")).shape(quantile_sizes).expand([name](Builder& b, const Call& c) {
        return quantile(b, c, name[0] == 'n');
      });
}

// ---- covariance ----------------------------------------------------------------------------------------------------------------------

DTypeRule to_float() { return promoted_float({"self"}); }

Result<Dims> covariance_sizes(const Call& c) {
  for (const char* weights : {"fweights", "aweights"})
    if (c.op().schema().find(weights) >= 0 && c.has(weights) && c.rank(weights) != 1) return model_error("cov: weights are vectors");
  const Dims& x = c.tensor("self").sizes;
  if (x.size() > 2) return model_error(c.op().name() + " takes at most two dims");
  return x.size() == 2 && x[0] != Dim(1) ? Dims{x[0], x[0]} : Dims{};
}

// Rows are variables, columns observations.
ValueId covariance(Builder& b, const Call& c) {
  const TensorType x = c.tensor("self");
  const DType d = is_float(x.dtype) ? x.dtype : DType::F32;
  const Dims sizes = x.rank() == 2 ? x.sizes : Dims{Dim(1), numel(x.sizes)};
  ValueId in = b.cast(b.view(c.value("self"), sizes), d);
  const auto weight = [&](const char* p) { return b.cast(c.value(p), d); };
  ValueId w;
  if (c.has("fweights")) w = weight("fweights");
  if (c.has("aweights")) w = w ? b.mul(w, weight("aweights")) : weight("aweights");
  const double correction = c.number("correction", 1);
  ValueId total = w ? sum(b, w, {0}) : b.cast(b.full({}, sizes[1], DType::I64), d), norm;
  if (w && c.has("aweights") && correction != 0)
    norm = b.sub(total, b.div(b.mul(sum(b, b.mul(w, weight("aweights")), {0}), correction), total));
  else
    norm = b.sub(total, correction);
  norm = b.call("aten.clamp", {norm, 0.0});
  const ValueId average = b.div(sum(b, w ? b.mul(in, w) : in, {1}, true), total);
  in = b.sub(in, average);
  const ValueId product = b.call("aten.mm", {in, transposed(b, w ? b.mul(in, w) : in, 0, 1)});
  return b.view(b.div(product, norm), result_sizes(c));
}

ValueId correlation(Builder& b, const Call& c) {
  const ValueId cov = b.unary("aten.cov", c.value("self"));
  if (b.failed()) return {};
  if (b.tensor(cov).rank() == 0) return b.div(cov, cov);
  const ValueId deviation = b.unary("aten.sqrt", b.call("aten.diagonal", {cov, 0, 0, 1}));
  return b.call("aten.clamp", {b.div(b.div(cov, unsqueeze(b, deviation, 1)), unsqueeze(b, deviation, 0)), -1.0, 1.0});
}

// ---- gradient ------------------------------------------------------------------------------------------------------------------------

// Differences over neighbours, second order inside. `spacing`: a number, or the coordinates (rank 1).
ValueId slope_along(Builder& b, ValueId x, size_t axis, const Arg& spacing, int64_t edge_order) {
  const Dims sizes = sizes_of(b, x, axis + 1);
  const Dim n = sizes[axis];
  const auto part = [&](Dim from, Dim to) { return slice(b, x, axis, from, to); };
  const Dims along = replaced(Dims(sizes.size(), Dim(1)), axis, n - 1);
  const bool uneven = spacing.is_value();
  const ValueId steps =
      uneven ? b.view(b.sub(slice(b, spacing.value(), 0, 1, n), slice(b, spacing.value(), 0, 0, n - 1)), along) : ValueId{};
  const auto step = [&](Dim from, Dim to) -> Arg { return uneven ? Arg(slice(b, steps, axis, from, to)) : spacing; };
  const auto times = [&](const Arg& v, double f) -> Arg {
    return v.is_value() ? Arg(b.mul(v.value(), f)) : Arg(f * std::get<double>(v.state));
  };
  const ValueId slopes = b.div(b.sub(part(1, n), part(0, n - 1)), step(0, n - 1));
  const auto slope = [&](Dim from, Dim to) { return slice(b, slopes, axis, from, to); };
  // Inside: the slopes on both sides, each counted by the other side's step.
  ValueId inside;
  if (!uneven) {
    inside = b.div(b.sub(part(2, n), part(0, n - 2)), times(spacing, 2));
  } else {
    const ValueId before = slice(b, steps, axis, 0, n - 2), after = slice(b, steps, axis, 1, n - 1);
    inside = b.div(b.add(b.mul(slope(0, n - 2), after), b.mul(slope(1, n - 1), before)), b.add(before, after));
  }
  ValueId first = slope(0, 1), last = slope(n - 2, n - 1);
  if (edge_order == 2) {  // the change of slope goes on to the edge
    const auto edge = [&](ValueId near, ValueId far, const Arg& h, const Arg& next) {
      if (!uneven) return b.sub(b.mul(near, 1.5), b.mul(far, 0.5));
      return b.add(near, b.mul(b.div(b.sub(near, far), b.add(h.value(), next)), h));
    };
    first = edge(slope(0, 1), slope(1, 2), step(0, 1), step(1, 2));
    last = edge(slope(n - 2, n - 1), slope(n - 3, n - 2), step(n - 2, n - 1), step(n - 3, n - 2));
  }
  return cat(b, {first, inside, last}, axis);
}

Values gradient(Builder& b, const Call& c) {
  const TensorType x = c.tensor("self");
  const DType d = is_float(x.dtype) ? x.dtype : DType::F32;
  const Axes axes = axes_of(b, c, "dim", x.rank());
  const Axes given = [&] {  // in the order asked for
    Axes out;
    if (!c.has("dim")) return axes;
    for (int64_t i : c.integers("dim")) out.push_back(static_cast<size_t>(i < 0 ? i + static_cast<int64_t>(x.rank()) : i));
    return out;
  }();
  Values out;
  for (size_t i = 0; i < given.size() && !b.failed(); ++i) {
    Arg spacing = 1.0;
    if (c.op().schema().find("spacing") >= 0 && c.has("spacing")) {
      const Arg& s = c.arg("spacing");
      spacing = s.is_list() ? (i < s.list().size() ? s.list()[i] : Arg(1.0)) : s;
    }
    if (spacing.is_value() && b.graph().type(spacing.value()).is_tensor())
      spacing = b.cast(spacing.value(), d);
    else
      spacing = expr_of(c.graph(), spacing).constant_float().value_or(1);
    out.push_back(slope_along(b, b.cast(c.value("self"), d), given[i], spacing, c.integer("edge_order", 1)));
  }
  return out;
}

// Of tensors there is one a dim, with a coordinate for each element.
Status check_spacing(const Call& c) {
  if (c.op().schema().find("spacing") < 0 || !c.arg("spacing").is_list()) return {};
  const TensorType& x = c.tensor("self");
  EDGEC_TRY(const auto axes, c.axes("dim", x.rank()));
  const ArgList& spacing = c.arg("spacing").list();
  if (spacing.size() != axes.size()) return model_error("gradient: the spacings are not as many as the dims");
  std::vector<int64_t> dims = c.has("dim") ? c.integers("dim") : std::vector<int64_t>();
  for (size_t i = dims.size(); i < axes.size(); ++i) dims.push_back(static_cast<int64_t>(i));
  for (size_t i = 0; i < spacing.size(); ++i) {
    if (!spacing[i].is_value() || !c.graph().type(spacing[i].value()).is_tensor()) continue;
    const Dims& at = c.graph().tensor(spacing[i].value()).sizes;
    const auto axis = static_cast<size_t>(dims[i] < 0 ? dims[i] + static_cast<int64_t>(x.rank()) : dims[i]);
    if (at.size() != 1 || sym::equal(at[0], x.sizes[axis]) == sym::Proof::No)
      return model_error("gradient: a tensor of spacings has one coordinate for each element of its dim");
  }
  return {};
}

void define_gradient(Table& ops) {
  const auto types = [](const Call& c) -> Result<std::vector<Type>> {
    const TensorType& x = c.tensor("self");
    EDGEC_TRY(const auto axes, c.axes("dim", x.rank()));
    for (size_t a : axes)
      if (sym::equal(sym::max(x.sizes[a], c.integer("edge_order", 1) + 1), x.sizes[a]) == sym::Proof::No)
        return model_error("gradient needs more elements along its dims than its edge order");
    EDGEC_TRY_VOID(check_spacing(c));
    const DType d = is_float(x.dtype) ? x.dtype : DType::F32;
    return std::vector<Type>(axes.size(), Type::of({d, x.sizes, {}, {}}));
  };
  for (const char* params :
       {"scalarint(Tensor self, *, Scalar? spacing=None, int? dim=None", "scalararray(Tensor self, *, Scalar spacing, int[] dim",
        "array(Tensor self, *, int[] dim", "scalarrayint(Tensor self, *, Scalar[] spacing, int? dim=None",
        "scalarrayarray(Tensor self, *, Scalar[] spacing, int[] dim", "tensorarrayint(Tensor self, *, Tensor[] spacing, int? dim=None",
        "tensorarray(Tensor self, *, Tensor[] spacing, int[] dim"})
    ops.define(std::string("aten::gradient.") + params + ", int edge_order=1) -> Tensor[]").infer(types).expand(gradient);
}

// ---- others --------------------------------------------------------------------------------------------------------------------------

// Slices along `dim` whose norm is larger than maxnorm are scaled down to it.
ValueId renormalized(Builder& b, const Call& c) {
  const size_t rank = c.rank("self"), axis = axis_of(b, c, "dim", rank);
  return in_opmath(b, c.value("self"), [&](Builder&, ValueId x) {
    Axes others;
    for (size_t i = 0; i < rank; ++i)
      if (i != axis) others.push_back(i);
    const ValueId norm = vector_norm(b, x, c.number("p"), others, true);
    if (b.failed()) return ValueId{};
    const ValueId scaled = b.mul(b.unary("aten.reciprocal", b.add(norm, 1e-7)), c.arg("maxnorm"));
    const ValueId factor = where(b, b.call("aten.gt.Scalar", {norm, c.arg("maxnorm")}), scaled, number(b, 1, b.tensor(x).dtype));
    return b.mul(x, factor);
  });
}

// torch adds up integers in i64.
Result<std::vector<Type>> summed_to_types(const Call& c) {
  const TensorType& x = c.tensor("self");
  const Dims to = c.dims("size");
  if (to.size() > x.rank()) return model_error("sum_to_size: the result has more dims than the operand");
  bool sums = to.size() < x.rank();
  for (size_t i = 0; i < to.size(); ++i) {
    const Dim& from = x.sizes[x.rank() - to.size() + i];
    if (to[i] != Dim(1) && sym::equal(to[i], from) == sym::Proof::No)
      return model_error(fmt::format("sum_to_size: a dim of size {} does not become {}", from.str(), to[i].str()));
    sums = sums || to[i] != from;
  }
  return std::vector<Type>{Type::of({sums && !is_float(x.dtype) ? DType::I64 : x.dtype, to, {}, {}})};
}

ValueId summed_to(Builder& b, const Call& c) {
  const Dims from = c.tensor("self").sizes, to = c.dims("size");
  Axes leading, ones;
  for (size_t i = 0; i + to.size() < from.size(); ++i) leading.push_back(i);
  for (size_t i = 0; i < to.size(); ++i)
    if (to[i] == Dim(1) && from[leading.size() + i] != Dim(1)) ones.push_back(i);
  ValueId x = c.value("self");
  if (!leading.empty()) x = sum(b, x, leading);
  if (!ones.empty()) x = sum(b, x, ones, true);
  return x;
}

// How many ways there are to take r of n.
int64_t ways(int64_t n, int64_t r) {
  double w = 1;
  for (int64_t i = 0; i < r; ++i) w = w * static_cast<double>(n - i) / static_cast<double>(i + 1);
  return n < r ? 0 : static_cast<int64_t>(std::lround(w));
}

Result<Dims> combination_sizes(const Call& c) {
  const auto n = c.rank("self") == 1 ? c.tensor("self").sizes[0].constant() : std::nullopt;
  const int64_t r = c.integer("r");
  if (!n || r < 0 || r > 8 || *n > 1000) return model_error("combinations takes a vector of a static size (at most 1000), and r up to 8");
  if (r == 0) return Dims{Dim(0)};
  const int64_t count = c.flag("with_replacement") ? ways(*n + r - 1, r) : ways(*n, r);
  if (count > 1'000'000) return model_error("combinations: too many");
  return Dims{count, r};
}

// Of all n^r index tuples those that ascend, found by their number: topk of the chosen numbers, the others being larger.
ValueId combinations(Builder& b, const Call& c) {
  const Dims out = result_sizes(c);
  const int64_t r = c.integer("r"), n = c.tensor("self").sizes[0].constant().value_or(0);
  if (r == 0 || out[0] == Dim(0)) return b.full(out, 0, c.tensor("self").dtype);
  Dims all(static_cast<size_t>(r), Dim(n));
  const Dim count = numel(all);
  if (count.constant().value_or(INT64_MAX) > 10'000'000) b.fail("combinations: too many tuples");
  ValueId chosen;
  for (int64_t i = 0; i + 1 < r; ++i) {
    const auto a = static_cast<size_t>(i);
    const ValueId ascends = b.call(c.flag("with_replacement") ? "aten.le.Tensor" : "aten.lt.Tensor",
                                   {iota(b, n, DType::I64, a, all.size()), iota(b, n, DType::I64, a + 1, all.size())});
    chosen = chosen ? both(b, chosen, ascends) : ascends;
  }
  if (!chosen) return unsqueeze(b, c.value("self"), 1);
  const ValueId tuple = iota(b, count);
  const ValueId number = where(b, b.view(b.expand(chosen, all), {count}), tuple, b.full({}, count, DType::I64));
  const ValueId picked = b.call_all("aten.topk", {number, out[0], 0, false, true})[0];
  Values columns;
  int64_t unit = 1;
  for (int64_t i = r; i-- > 0; unit *= n) {
    const ValueId at = b.call("aten.remainder.Scalar", {b.call("aten.floor_divide", {picked, b.full({}, unit, DType::I64)}), n});
    columns.insert(columns.begin(), pick(b, c.value("self"), 0, at));
  }
  return stack(b, columns, 1);
}

// Sequences one below the other, each made as long as the longest.
Result<Dims> padded_sequence_sizes(const Call& c) {
  const auto sequences = c.values("sequences");
  if (sequences.empty()) return model_error("pad_sequence of nothing");
  Dims first = c.graph().tensor(sequences[0]).sizes;
  if (first.empty()) return model_error("pad_sequence takes sequences");
  Dim longest = first[0];
  for (ValueId v : sequences) {
    if (c.graph().tensor(v).rank() != first.size()) return model_error("pad_sequence: ranks differ");
    longest = sym::max(longest, c.graph().tensor(v).sizes[0]);
  }
  first[0] = longest;
  return inserted(first, c.flag("batch_first") ? 0 : 1, static_cast<int64_t>(sequences.size()));
}

ValueId padded_sequence(Builder& b, const Call& c) {
  const bool batch_first = c.flag("batch_first"), left = c.string("padding_side") == "left";
  const Dims out = result_sizes(c);
  const Dim longest = out[batch_first ? 1 : 0];
  Values rows;
  for (ValueId v : c.values("sequences")) {
    const Dims sizes = sizes_of(b, v, 1);
    Dims pad(2 * sizes.size(), Dim(0));
    pad[2 * (sizes.size() - 1) + (left ? 0 : 1)] = longest - sizes[0];
    rows.push_back(b.call("aten.constant_pad_nd", {v, pad, c.arg("padding_value")}));
  }
  return stack(b, rows, batch_first ? 0 : 1);
}

}  // namespace

void define_stats(Table& ops) {
  define_quantiles(ops);
  ops.define("aten::cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor")
      .dtype(to_float())
      .shape(covariance_sizes)
      .expand(covariance);
  ops.define("aten::corrcoef(Tensor self) -> Tensor").dtype(to_float()).shape(covariance_sizes).expand(correlation);
  define_gradient(ops);
  ops.define("aten::renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor")
      .dtype(same_as("self"))
      .shape(shape_of("self"))
      .expand(renormalized);
  ops.in_place("aten::renorm_(Tensor(a!) self, Scalar p, int dim, Scalar maxnorm) -> Tensor(a!)");
  ops.define("aten::sum_to_size(Tensor self, SymInt[] size) -> Tensor").infer(summed_to_types).expand(summed_to);
  ops.define("aten::combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor")
      .dtype(same_as("self"))
      .shape(combination_sizes)
      .expand(combinations);
  ops.define("aten::pad_sequence(Tensor[] sequences, bool batch_first=False, float padding_value=0., str padding_side=\"right\") -> Tensor")
      .dtype([](const Call& c) -> Result<DType> {
        const auto v = c.values("sequences");
        return v.empty() ? DType::F32 : c.graph().tensor(v[0]).dtype;
      })
      .shape(padded_sequence_sizes)
      .expand(padded_sequence);
  ops.define("aten::_euclidean_dist(Tensor x1, Tensor x2) -> Tensor")
      .infer([](const Call& c) -> Result<std::vector<Type>> {
        const TensorType &x = c.tensor("x1"), &y = c.tensor("x2");
        if (!is_float(x.dtype) || x.dtype != y.dtype) return model_error("_euclidean_dist takes two float tensors of one dtype");
        const Arg args[] = {c.arg("x1"), c.arg("x2"), 2.0, Arg()};
        return infer(c.graph(), Registry::global().get("aten.cdist"), args);
      })
      .expand([](Builder& b, const Call& c) {
        return b.call("aten.cdist", {c.arg("x1"), c.arg("x2"), 2.0});
      });
}

}  // namespace edgec::ops
