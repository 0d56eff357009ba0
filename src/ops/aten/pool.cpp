#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ops/build.h"
#include "ops/table.h"

// Pooling. The kernels have two spatial dims: one dim is the second of two, three are two and then one.
namespace edgec::ops {
namespace {

using Types = Result<std::vector<Type>>;

struct Pool {
  size_t spatial = 0;
  Dims kernel, stride, padding, dilation;
  bool ceil_mode = false;
};

Pool pool_of(const Call& c, size_t spatial) {
  Pool p;
  p.spatial = spatial;
  p.kernel = c.dims("kernel_size", spatial);
  p.stride = c.dims("stride").empty() ? p.kernel : c.dims("stride", spatial);
  p.padding = c.dims("padding", spatial);
  p.dilation = c.op().schema().find("dilation") >= 0 ? c.dims("dilation", spatial) : Dims(spatial, Dim(1));
  p.ceil_mode = c.flag("ceil_mode");
  return p;
}

Dim pool_length(const Pool& p, size_t i, Dim size) {
  const Dim room = size + 2 * p.padding[i] - p.dilation[i] * (p.kernel[i] - 1) - 1;
  if (!p.ceil_mode) return sym::floordiv(room, p.stride[i]) + 1;
  // The last window must start inside the input or its left padding.
  const Dim most = sym::floordiv(room + p.stride[i] - 1, p.stride[i]) + 1;
  const Dim start = (most - 1) * p.stride[i], end = size + p.padding[i];
  if (sym::less(start, end) == sym::Proof::Yes) return most;
  if (sym::less_equal(end, start) == sym::Proof::Yes) return most - 1;
  return sym::where(sym::lt(start, end), most, most - 1);
}

// The input's sizes with the last dims as given; checks the rank.
Result<Dims> spatial_sizes(const Call& c, const Dims& lengths) {
  Dims out = c.tensor("self").sizes;
  if (out.size() != lengths.size() + 1 && out.size() != lengths.size() + 2)
    return model_error(
        fmt::format("{}: the input needs rank {} or {}, it has {}", c.op().name(), lengths.size() + 1, lengths.size() + 2, out.size()));
  std::copy(lengths.begin(), lengths.end(), out.end() - static_cast<ptrdiff_t>(lengths.size()));
  return out;
}

ShapeRule pooled(size_t spatial) {
  return [spatial](const Call& c) -> Result<Dims> {
    const Pool p = pool_of(c, spatial);
    const Dims& in = c.tensor("self").sizes;
    Dims lengths;
    for (size_t i = 0; i < spatial && in.size() >= spatial; ++i) lengths.push_back(pool_length(p, i, in[in.size() - spatial + i]));
    return spatial_sizes(c, lengths);
  };
}

ShapeRule adapted(size_t spatial) {
  return [spatial](const Call& c) { return spatial_sizes(c, c.dims("output_size", spatial)); };
}

InferRule with_indices(ShapeRule shape) {
  return [shape](const Call& c) -> Types {
    EDGEC_TRY(Dims sizes, shape(c));
    return std::vector<Type>{Type::of({c.tensor("self").dtype, sizes, {}, {}}), Type::of({DType::I64, sizes, {}, {}})};
  };
}

// The last `n` dims of x as its only spatial dims; the dims before are one batch and one channel dim.
Dims trailing(const Dims& sizes, size_t n) { return Dims(sizes.end() - static_cast<ptrdiff_t>(n), sizes.end()); }

Pool part(const Pool& p, size_t from, size_t count) {
  Pool out = p;
  out.spatial = count;
  for (Dims* list : {&out.kernel, &out.stride, &out.padding, &out.dilation}) {
    const auto first = list->begin() + static_cast<ptrdiff_t>(from);
    *list = Dims(first, first + static_cast<ptrdiff_t>(count));
  }
  return out;
}

// A pool over one dim written with two: the other dim (before or after) is left alone.
Pool widened(Pool p, bool after) {
  const auto add = [&](Dims& list, int v) { list.insert(after ? list.end() : list.begin(), Dim(v)); };
  add(p.kernel, 1);
  add(p.stride, 1);
  add(p.padding, 0);
  add(p.dilation, 1);
  p.spatial = 2;
  return p;
}

// [N, C, D, H, W] as [N, C*D, H, W], and [N, C, D', H', W'] seen as [N, C, D', H'*W']; unbatched alike.
struct Volume {
  Dims lead;  // N, C or C
  Dim d, h, w;
  explicit Volume(const Dims& s) : lead(s.begin(), s.end() - 3), d(s[s.size() - 3]), h(s[s.size() - 2]), w(s[s.size() - 1]) {}
  Dims planes() const {
    Dims out = lead;
    out.back() = out.back() * d;
    out.insert(out.end(), {h, w});
    return out;
  }
  Dims columns() const {
    Dims out = lead;
    out.insert(out.end(), {d, h * w});
    return out;
  }
  Dims full() const {
    Dims out = lead;
    out.insert(out.end(), {d, h, w});
    return out;
  }
};

// ---- average ------------------------------------------------------------------------------------------------------

ValueId avg_2d(Builder& b, ValueId x, const Pool& p, const Arg& include_pad, const Arg& divisor = {}) {
  return b.call("aten.avg_pool2d", {x, p.kernel, p.stride, p.padding, p.ceil_mode, include_pad, divisor});
}

// The window's size is the product over its dims, so an average over three dims is one of averages.
ValueId avg_3d(Builder& b, const Call& c) {
  const Pool p = pool_of(c, 3);
  const Arg pad = c.arg("count_include_pad"), divisor = c.arg("divisor_override"), one = divisor.is_none() ? Arg() : Arg(1);
  Volume v(sizes_of(b, c.value("self"), 4));
  const ValueId planes = avg_2d(b, b.view(c.value("self"), v.planes()), part(p, 1, 2), pad, one);
  const Dims out = sizes_of(b, planes, 4);
  v.h = out[out.size() - 2];
  v.w = out[out.size() - 1];
  const ValueId columns = avg_2d(b, b.view(planes, v.columns()), widened(part(p, 0, 1), true), pad, divisor);
  v.d = pool_length(p, 0, v.d);
  return b.view(columns, v.full());
}

ValueId mean_kept(Builder& b, ValueId x, size_t spatial) {
  std::vector<int64_t> axes(spatial);
  std::iota(axes.begin(), axes.end(), -static_cast<int64_t>(spatial));
  return b.call("aten.mean.dim", {x, Arg::ints(axes), true});
}

bool all_ones(const Dims& sizes) {
  return std::all_of(sizes.begin(), sizes.end(), [](const Dim& d) { return d == Dim(1); });
}

// Kernel sizes when the pieces do not overlap, else nothing.
std::optional<Dims> even_pieces(const Dims& in, const Dims& out) {
  Dims kernel;
  for (size_t i = 0; i < in.size(); ++i) {
    const auto n = in[i].constant(), m = out[i].constant();
    if (!n || !m || *m <= 0 || *n % *m != 0 || *n == 0) return std::nullopt;
    kernel.push_back(*n / *m);
  }
  return kernel;
}

// Bounds of piece i of `count` of a dim: the pieces cover the dim and may overlap.
Dim piece_start(Dim size, int64_t i, int64_t count) { return sym::floordiv(size * i, count); }
Dim piece_end(Dim size, int64_t i, int64_t count) { return sym::ceildiv(size * (i + 1), count); }

std::optional<int64_t> piece_count(Builder& b, Dim out) {
  auto count = out.constant();
  if (!count || *count <= 0) b.fail("adaptive pooling to a dynamic or empty output size");
  return b.failed() ? std::nullopt : count;
}

ValueId adaptive_avg_2d(Builder& b, ValueId x, const Dims& out) {
  const Dims in = trailing(sizes_of(b, x, 2), 2);
  if (all_ones(out)) return mean_kept(b, x, 2);
  if (auto kernel = even_pieces(in, out)) return b.call("aten.avg_pool2d", {x, *kernel, *kernel});
  return b.call("aten._adaptive_avg_pool2d", {x, out});
}

ValueId adaptive_avg_3d(Builder& b, const Call& c) {
  const ValueId x = c.value("self");
  const Dims out = c.dims("output_size", 3);
  if (all_ones(out)) return mean_kept(b, x, 3);
  Volume v(sizes_of(b, x, 4));
  const ValueId planes = adaptive_avg_2d(b, b.view(x, v.planes()), {out[1], out[2]});
  v.h = out[1];
  v.w = out[2];
  const ValueId columns = adaptive_avg_2d(b, b.view(planes, v.columns()), {out[0], v.h * v.w});
  v.d = out[0];
  return b.view(columns, v.full());
}

// ---- maximum ------------------------------------------------------------------------------------------------------

struct Best {
  ValueId values, indices;
};

Best max_2d(Builder& b, ValueId x, const Pool& p) {
  const auto r = b.call_all("aten.max_pool2d_with_indices", {x, p.kernel, p.stride, p.padding, p.dilation, p.ceil_mode});
  return {r[0], r.back()};
}

// index = position in the flattened dims: of the outer dim in `outer`, of the inner ones in `inner`.
ValueId joined(Builder& b, ValueId outer, Dim inner_size, ValueId inner) { return b.add(b.mul(outer, inner_size), inner); }

std::vector<ValueId> max_1d(Builder& b, const Call& c) {
  const ValueId x = c.value("self");
  const size_t axis = c.rank("self") - 1;
  const Best r = max_2d(b, unsqueeze(b, x, axis), widened(pool_of(c, 1), false));
  return {squeeze(b, r.values, axis), squeeze(b, r.indices, axis)};
}

// First the planes, then the columns of their maxima; the column's winner picks the index.
std::vector<ValueId> max_3d(Builder& b, const Call& c) {
  const Pool p = pool_of(c, 3);
  Volume v(sizes_of(b, c.value("self"), 4));
  const Dim plane = v.h * v.w;
  const Best planes = max_2d(b, b.view(c.value("self"), v.planes()), part(p, 1, 2));
  const Dims out = sizes_of(b, planes.values, 4);
  v.h = out[out.size() - 2];
  v.w = out[out.size() - 1];
  const size_t depth = v.lead.size();
  const Best columns = max_2d(b, b.view(planes.values, v.columns()), widened(part(p, 0, 1), true));
  const ValueId index = joined(b, iota(b, v.d, DType::I64, depth, depth + 2), plane, b.view(planes.indices, v.columns()));
  Dims flat = v.lead, flat_in = v.lead;
  flat_in.push_back(v.d * v.h * v.w);
  v.d = pool_length(p, 0, v.d);
  flat.push_back(v.d * v.h * v.w);
  const ValueId picked = b.call("aten.gather", {b.view(index, flat_in), static_cast<int64_t>(depth), b.view(columns.indices, flat)});
  return {b.view(columns.values, v.full()), b.view(picked, v.full())};
}

// Largest element of every piece along `axis`; positions count along the whole dim.
Best largest_of_pieces(Builder& b, ValueId x, size_t axis, Dim out) {
  const auto count = piece_count(b, out);
  std::vector<ValueId> values, indices;
  for (int64_t i = 0; count && i < *count; ++i) {
    const Dim size = sizes_of(b, x, axis + 1)[axis], start = piece_start(size, i, *count);
    const auto r = b.call_all("aten.max.dim", {slice(b, x, axis, start, piece_end(size, i, *count)), static_cast<int64_t>(axis), true});
    values.push_back(r[0]);
    indices.push_back(start == Dim(0) ? r.back() : b.add(r.back(), start));
  }
  if (!count) return {};
  return {cat(b, values, axis), cat(b, indices, axis)};
}

// From the last dim to the first, so that the first of equal elements in memory order wins.
std::vector<ValueId> adaptive_max(Builder& b, const Call& c, size_t spatial) {
  const Dims out = c.dims("output_size", spatial), in = trailing(c.tensor("self").sizes, spatial);
  if (auto kernel = even_pieces(in, out); kernel && spatial == 2)
    return b.call_all("aten.max_pool2d_with_indices", {c.value("self"), *kernel, *kernel});
  Best best{c.value("self"), {}};
  const size_t first = c.rank("self") - spatial;
  Dim inner = 1;
  for (size_t i = spatial; i-- > 0;) {
    const Best r = largest_of_pieces(b, best.values, first + i, out[i]);
    const ValueId kept = best.indices ? b.call("aten.gather", {best.indices, static_cast<int64_t>(first + i), r.indices}) : ValueId{};
    best = {r.values, kept ? joined(b, r.indices, inner, kept) : r.indices};
    inner = inner * in[i];
  }
  return {best.values, best.indices};
}

}  // namespace

void define_pool(Table& ops) {
  for (size_t n = 1; n <= 3; ++n) {
    const std::string pad = n == 1 ? "[0]" : "0", dil = n == 1 ? "[1]" : "1", name = fmt::format("max_pool{}d", n);
    const std::string params = fmt::format(
        "(Tensor self, int[{0}] kernel_size, int[{0}] stride=[], int[{0}] padding={1}, int[{0}] dilation={2}, bool ceil_mode=False)", n,
        pad, dil);
    ops.define(fmt::format("aten::{}{} -> Tensor", name, params))
        .dtype(same_as("self"))
        .shape(pooled(n))
        .expand([name](Builder& b, const Call& c) {
          return b.call("aten." + name + "_with_indices", std::vector<Arg>(c.args().begin(), c.args().end()));
        });
    auto full = ops.define(fmt::format("aten::{}_with_indices{} -> (Tensor, Tensor)", name, params)).infer(with_indices(pooled(n)));
    if (n == 1) full.expand(max_1d);
    if (n == 3) full.expand(max_3d);
    if (n == 2) full.preserves_layout().kernel("max_pool2d_with_indices.out");
    ops.define(fmt::format("aten::adaptive_max_pool{0}d(Tensor self, int[{0}] output_size) -> (Tensor, Tensor)", n))
        .infer(with_indices(adapted(n)))
        .expand([n](Builder& b, const Call& c) { return adaptive_max(b, c, n); });
  }

  ops.define(
         "aten::avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], bool ceil_mode=False, bool "
         "count_include_pad=True) -> Tensor")
      .dtype(same_as("self"))
      .shape(pooled(1))
      .expand([](Builder& b, const Call& c) {
        const size_t axis = c.rank("self") - 1;
        return squeeze(b, avg_2d(b, unsqueeze(b, c.value("self"), axis), widened(pool_of(c, 1), false), c.arg("count_include_pad")), axis);
      });
  // The kernels sum in the operand's dtype.
  ops.define(
         "aten::avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool ceil_mode=False, bool "
         "count_include_pad=True, int? divisor_override=None) -> Tensor")
      .dtype(same_as("self"))
      .shape(pooled(2))
      .kernel_dtypes({DType::F32, DType::F64, DType::I64}, DType::F32)
      .kernel("avg_pool2d.out");
  ops.define(
         "aten::avg_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, bool ceil_mode=False, bool "
         "count_include_pad=True, int? divisor_override=None) -> Tensor")
      .dtype(same_as("self"))
      .shape(pooled(3))
      .expand(avg_3d);

  ops.define("aten::adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor")
      .dtype(same_as("self"))
      .shape(adapted(1))
      .expand([](Builder& b, const Call& c) {
        const size_t axis = c.rank("self") - 1;
        return squeeze(b, adaptive_avg_2d(b, unsqueeze(b, c.value("self"), axis), {1, c.dims("output_size")[0]}), axis);
      });
  ops.define("aten::adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor")
      .dtype(same_as("self"))
      .shape(adapted(2))
      .expand([](Builder& b, const Call& c) { return adaptive_avg_2d(b, c.value("self"), c.dims("output_size", 2)); });
  ops.define("aten::_adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor")
      .dtype(same_as("self"))
      .shape(adapted(2))
      .kernel("_adaptive_avg_pool2d.out")
      .expand([](Builder& b, const Call& c) -> std::vector<ValueId> {
        if (c.tensor("self").dtype != DType::F64) return keep_whole();
        ValueId x = c.value("self");  // the kernel sums in f32
        for (size_t i = 0; i < 2; ++i) {
          const size_t axis = c.rank("self") - 2 + i;
          const Dim size = c.tensor("self").sizes[axis], out = c.dims("output_size", 2)[i];
          const auto count = piece_count(b, out);
          std::vector<ValueId> pieces;
          for (int64_t k = 0; count && k < *count; ++k)
            pieces.push_back(b.call("aten.mean.dim", {slice(b, x, axis, piece_start(size, k, *count), piece_end(size, k, *count)),
                                                      Arg::ints({static_cast<int64_t>(axis)}), true}));
          if (count) x = cat(b, pieces, axis);
        }
        return {x};
      });
  for (const char* name : {"adaptive_avg_pool3d", "_adaptive_avg_pool3d"})
    ops.define(fmt::format("aten::{}(Tensor self, SymInt[3] output_size) -> Tensor", name))
        .dtype(same_as("self"))
        .shape(adapted(3))
        .expand(adaptive_avg_3d);
}

}  // namespace edgec::ops
