#include <fmt/format.h>

#include <cmath>

#include "ops/build.h"
#include "ops/table.h"

// Interpolation, sampling and patches.
namespace edgec::ops {
namespace {

using Values = std::vector<ValueId>;

// ---- output sizes and scales --------------------------------------------------------------------------------------

// An upsample call, plain (output_size, scales per dim) or `.vec` (output_size or scale_factors).
struct Resize {
  ValueId x;
  Dims in, out;                               // spatial
  std::vector<std::optional<double>> scales;  // as given
  bool align_corners = false;
};

std::string_view tensor_param(const Call& c) { return c.op().schema().find("input") >= 0 ? "input" : "self"; }

std::vector<double> numbers(const Arg& list) {
  std::vector<double> out;
  for (const Arg& a : list.list()) {
    if (auto* d = std::get_if<double>(&a.state))
      out.push_back(*d);
    else if (a.is_expr())
      out.push_back(a.expr().constant_float().value_or(0));
  }
  return out;
}

Dim scaled_size(const Graph& g, Dim size, double scale) {
  if (auto n = size.constant()) return static_cast<int64_t>(static_cast<double>(*n) * scale);
  if (scale == std::floor(scale)) return size * static_cast<int64_t>(scale);
  return sym::trunc_to_int(sym::mul(sym::to_float(size), sym::Expr::of(scale, g.syms())));
}

Result<Resize> resize_of(const Call& c, size_t spatial) {
  Resize r;
  r.x = c.value(tensor_param(c));
  const Dims& sizes = c.graph().tensor(r.x).sizes;
  if (sizes.size() != spatial + 2) return model_error(fmt::format("{}: the input needs rank {}", c.op().name(), spatial + 2));
  r.in = Dims(sizes.begin() + 2, sizes.end());
  r.scales.resize(spatial);
  const Schema& schema = c.op().schema();
  if (schema.find("scale_factors") >= 0) {
    if (c.has("scale_factors")) {
      const auto given = numbers(c.arg("scale_factors"));
      for (size_t i = 0; i < spatial && i < given.size(); ++i) r.scales[i] = given[i];
    }
  } else {
    const std::vector<const char*> names = spatial == 1   ? std::vector<const char*>{"scales"}
                                           : spatial == 2 ? std::vector<const char*>{"scales_h", "scales_w"}
                                                          : std::vector<const char*>{"scales_d", "scales_h", "scales_w"};
    for (size_t i = 0; i < spatial; ++i)
      if (c.has(names[i])) r.scales[i] = c.number(names[i]);
  }
  if (c.has("output_size")) {
    r.out = c.dims("output_size", spatial);
  } else {
    for (size_t i = 0; i < spatial; ++i) {
      if (!r.scales[i]) return model_error(c.op().name() + ": neither output_size nor scale_factors");
      r.out.push_back(scaled_size(c.graph(), r.in[i], *r.scales[i]));
    }
  }
  r.align_corners = schema.find("align_corners") >= 0 && c.flag("align_corners");
  return r;
}

ShapeRule resized(size_t spatial) {
  return [spatial](const Call& c) -> Result<Dims> {
    EDGEC_TRY(Resize r, resize_of(c, spatial));
    Dims sizes = c.graph().tensor(r.x).sizes;
    std::copy(r.out.begin(), r.out.end(), sizes.begin() + 2);
    return sizes;
  };
}

// Input elements per output element along dim i, as torch's kernels compute it in f32.
Arg step_of(const Resize& r, size_t i) {
  const auto n = r.in[i].constant(), m = r.out[i].constant();
  if (r.align_corners) {
    if (n && m) return *m > 1 ? static_cast<double>(static_cast<float>(*n - 1) / static_cast<float>(*m - 1)) : 0.0;
    const sym::Expr last = sym::max(r.out[i] - 1, 1);
    return sym::truediv(sym::to_float(r.in[i] - 1), sym::to_float(last));
  }
  if (r.scales[i] && *r.scales[i] > 0) return static_cast<double>(static_cast<float>(1.0 / *r.scales[i]));
  if (n && m) return static_cast<double>(static_cast<float>(*n) / static_cast<float>(*m));
  return sym::truediv(sym::to_float(r.in[i]), sym::to_float(r.out[i]));
}

// A call of a runtime kernel takes output_size or scale_factors, not both. The scales matter only where they are not
// the ratio of the sizes.
bool sizes_say_all(const Resize& r) {
  for (size_t i = 0; i < r.in.size(); ++i) {
    if (!r.scales[i] || r.align_corners) continue;
    const auto n = r.in[i].constant(), m = r.out[i].constant();
    if (!n || !m || static_cast<double>(*n) * *r.scales[i] != static_cast<double>(*m)) return false;
  }
  return true;
}

bool scales_say_all(const Graph& g, const Resize& r) {
  for (size_t i = 0; i < r.in.size(); ++i)
    if (!r.scales[i] || scaled_size(g, r.in[i], *r.scales[i]) != r.out[i]) return false;
  return true;
}

ArgList scale_list(const Resize& r) {
  ArgList out;
  for (const auto& s : r.scales) out.emplace_back(*s);
  return out;
}

// The arguments (output_size, scale_factors) of the kernel, or nothing when it cannot say this resize.
std::optional<std::pair<Arg, Arg>> kernel_sizes(const Graph& g, const Resize& r) {
  if (sizes_say_all(r)) return std::pair(Arg(r.out), Arg());
  if (scales_say_all(g, r)) return std::pair(Arg(), Arg(scale_list(r)));
  return std::nullopt;
}

// ---- nearest ------------------------------------------------------------------------------------------------------

// Element floor(i * step), or floor((i + 0.5) * step) when exact, of dim i.
ValueId nearest_along(Builder& b, ValueId x, const Resize& r, size_t i, bool exact) {
  if (r.in[i] == r.out[i]) return x;
  ValueId at = iota(b, r.out[i], DType::F32);
  if (exact) at = b.add(at, 0.5);
  at = b.cast(b.unary("aten.floor", b.mul(at, step_of(r, i))), DType::I64);
  return pick(b, x, 2 + i, b.call("aten.clamp", {at, Arg(), r.in[i] - 1}));
}

ValueId nearest(Builder& b, const Call& c, size_t spatial, bool exact) {
  auto r = resize_of(c, spatial);
  if (!r) {
    b.fail(r.failure().message);
    return {};
  }
  ValueId x = r->x;
  for (size_t i = 0; i < spatial; ++i) x = nearest_along(b, x, *r, i, exact);
  return x;
}

// ---- linear and cubic ---------------------------------------------------------------------------------------------

// Positions in the input of the output's elements.
ValueId source_positions(Builder& b, const Resize& r, size_t i) {
  const ValueId at = iota(b, r.out[i], DType::F32);
  const Arg step = step_of(r, i);
  return r.align_corners ? b.mul(at, step) : b.sub(b.mul(b.add(at, 0.5), step), 0.5);
}

// A weight per element of dim `axis` of a tensor of `rank` dims.
ValueId along(Builder& b, ValueId line, size_t axis, size_t rank) {
  const Dims sizes = sizes_of(b, line, 1);
  return b.view(line, replaced(Dims(rank, Dim(1)), axis, sizes[0]));
}

ValueId tap(Builder& b, ValueId x, size_t axis, ValueId at, Dim size) { return pick(b, x, axis, b.call("aten.clamp", {at, 0, size - 1})); }

ValueId linear_along(Builder& b, ValueId x, const Resize& r, size_t i) {
  if (r.in[i] == r.out[i]) return x;
  const size_t rank = r.in.size() + 2, axis = 2 + i;
  const ValueId at = b.call("aten.clamp", {source_positions(b, r, i), 0.0}), low = b.unary("aten.floor", at);
  const ValueId first = b.cast(low, DType::I64), second = b.add(first, 1);
  const ValueId w = along(b, b.call("aten.clamp", {b.sub(at, low), 0.0, 1.0}), axis, rank);
  const ValueId a = tap(b, x, axis, first, r.in[i]), z = tap(b, x, axis, second, r.in[i]);
  return b.add(b.mul(a, b.call("aten.rsub.Scalar", {w, 1.0})), b.mul(z, w));
}

// Keys' cubic with a = -0.75: weights at distances 1 + t, t, 1 - t, 2 - t.
ValueId cubic_near(Builder& b, ValueId t) {  // ((a + 2) t - (a + 3)) t^2 + 1
  return b.add(b.mul(b.sub(b.mul(t, 1.25), 2.25), b.mul(t, t)), 1.0);
}
ValueId cubic_far(Builder& b, ValueId t) {  // ((a t - 5a) t + 8a) t - 4a
  return b.add(b.mul(b.sub(b.mul(b.add(b.mul(t, -0.75), 3.75), t), 6.0), t), 3.0);
}

ValueId cubic_along(Builder& b, ValueId x, const Resize& r, size_t i) {
  if (r.in[i] == r.out[i]) return x;
  const size_t rank = r.in.size() + 2, axis = 2 + i;
  const ValueId at = source_positions(b, r, i), low = b.unary("aten.floor", at), t = b.sub(at, low),
                u = b.call("aten.rsub.Scalar", {t, 1.0});
  const ValueId first = b.cast(low, DType::I64);
  const ValueId weights[] = {cubic_far(b, b.add(t, 1.0)), cubic_near(b, t), cubic_near(b, u), cubic_far(b, b.add(u, 1.0))};
  ValueId sum;
  for (int k = 0; k < 4; ++k) {
    const ValueId term = b.mul(tap(b, x, axis, b.add(first, k - 1), r.in[i]), along(b, weights[k], axis, rank));
    sum = k ? b.add(sum, term) : term;
  }
  return sum;
}

// An antialiased filter of given radius as a matrix [out, in] of weights; resizing is a product with it.
ValueId filter_matrix(Builder& b, const Resize& r, size_t i, bool cubic, DType dtype) {
  const double radius = cubic ? 2.0 : 1.0;
  const Arg step = step_of(r, i);
  if (!std::holds_alternative<double>(step.state)) {
    b.fail("antialiased resizing of a dynamic size");
    return {};
  }
  const double s = std::get<double>(step.state), support = radius * std::max(s, 1.0), inverse = s >= 1.0 ? 1.0 / s : 1.0;
  const ValueId center = b.mul(b.add(iota(b, r.out[i], dtype, 0, 2), 0.5), s);
  const ValueId column = iota(b, r.in[i], dtype, 1, 2);
  // Taps from trunc(center - support + 0.5) up to, without, trunc(center + support + 0.5).
  const auto bound = [&](double by) { return b.unary("aten.trunc", b.add(center, by + 0.5)); };
  const ValueId inside =
      b.call("aten.logical_and", {b.call("aten.ge.Tensor", {column, bound(-support)}), b.call("aten.lt.Tensor", {column, bound(support)})});
  const ValueId d = b.unary("aten.abs", b.mul(b.add(b.sub(column, center), 0.5), inverse));
  ValueId w;
  if (cubic) {  // here with a = -0.5
    const ValueId near = b.add(b.mul(b.sub(b.mul(d, 1.5), 2.5), b.mul(d, d)), 1.0);
    const ValueId far = b.add(b.mul(b.sub(b.mul(b.add(b.mul(d, -0.5), 2.5), d), 4.0), d), 2.0);
    w = where(b, b.call("aten.lt.Scalar", {d, 1.0}), near, where(b, b.call("aten.lt.Scalar", {d, 2.0}), far, 0.0));
  } else {
    w = b.call("aten.clamp", {b.call("aten.rsub.Scalar", {d, 1.0}), 0.0});
  }
  w = where(b, inside, w, 0.0);
  return b.div(w, b.call("aten.sum.dim_IntList", {w, Arg::ints({1}), true}));
}

ValueId filtered_along(Builder& b, ValueId x, const Resize& r, size_t i, bool cubic) {
  if (r.in[i] == r.out[i]) return x;
  const size_t axis = 2 + i;
  const ValueId last = transposed(b, x, axis, r.in.size() + 1);
  Dims sizes = sizes_of(b, last, 2);
  const Dim rows = numel(without(sizes, sizes.size() - 1));
  if (b.failed()) return {};
  const ValueId filter = filter_matrix(b, r, i, cubic, b.tensor(last).dtype);
  const ValueId y = b.call("aten.mm", {b.view(last, {rows, r.in[i]}), transposed(b, b.cast(filter, b.tensor(last).dtype), 0, 1)});
  sizes.back() = r.out[i];
  return transposed(b, b.view(y, sizes), axis, r.in.size() + 1);
}

using Along = ValueId (*)(Builder&, ValueId, const Resize&, size_t);
ValueId antialiased_linear_along(Builder& b, ValueId x, const Resize& r, size_t i) { return filtered_along(b, x, r, i, false); }
ValueId antialiased_cubic_along(Builder& b, ValueId x, const Resize& r, size_t i) { return filtered_along(b, x, r, i, true); }

// Dim by dim from the last, in f32 for half types.
ValueId separable(Builder& b, const Resize& r, Along fn) {
  return in_opmath(b, r.x, [&](Builder& bb, ValueId x) {
    for (size_t i = r.in.size(); i-- > 0;) x = fn(bb, x, r, i);
    return x;
  });
}

Def defined(Table& ops, const std::string& schema, size_t spatial) {
  const char* x = schema.find("(Tensor input") != std::string::npos ? "input" : "self";
  return ops.define(schema).dtype(same_as(x)).shape(resized(spatial));
}

// Two spatial dims by the kernel; another number of them with one added (1) or taken apart (3).
template <class Fallback>
auto by_kernel(size_t spatial, std::string kernel, Fallback fallback) {
  return [=](Builder& b, const Call& c) -> ValueId {
    auto made = resize_of(c, spatial);
    if (!made) {
      b.fail(made.failure().message);
      return {};
    }
    Resize r = *made;
    if (spatial == 1) {  // [N, C, W] as [N, C, 1, W]
      r.in.insert(r.in.begin(), 1);
      r.out.insert(r.out.begin(), 1);
      r.scales.insert(r.scales.begin(), 1.0);
    }
    const auto args = spatial == 3 ? std::nullopt : kernel_sizes(c.graph(), r);
    if (!args) return fallback(b, c, *made);
    const ValueId x = spatial == 1 ? unsqueeze(b, r.x, 2) : r.x;
    NamedArgs named{{"output_size", args->first}, {"scale_factors", args->second}};
    if (c.op().schema().find("align_corners") >= 0) named.emplace_back("align_corners", r.align_corners);
    const ValueId y = b.call(kernel, {x}, named);
    return spatial == 1 ? squeeze(b, y, 2) : y;
  };
}

std::string scales_params(size_t spatial) {
  return spatial == 1   ? "float? scales=None"
         : spatial == 2 ? "float? scales_h=None, float? scales_w=None"
                        : "float? scales_d=None, float? scales_h=None, float? scales_w=None";
}

// An expansion for the kernel's own entry: kept when its arguments are as the kernel takes them.
template <class Expand>
auto unless_kernel_takes(Expand expand) {
  return [=](Builder& b, const Call& c) -> Values {
    auto r = resize_of(c, 2);
    const bool one_given = c.has("output_size") != c.has("scale_factors");
    if (r && one_given && kernel_sizes(c.graph(), *r)) return keep_whole();
    return {expand(b, c)};
  };
}

void define_nearest(Table& ops) {
  for (const bool exact : {false, true})
    for (size_t n = 1; n <= 3; ++n) {
      const std::string name = fmt::format("aten::{}{}d", exact ? "_upsample_nearest_exact" : "upsample_nearest", n);
      auto plain = defined(ops, fmt::format("{}(Tensor self, SymInt[{}] output_size, {}) -> Tensor", name, n, scales_params(n)), n);
      auto vec = defined(ops, name + ".vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor", n);
      if (exact || n == 3) {
        for (Def* d : {&plain, &vec}) d->expand([n, exact](Builder& b, const Call& c) { return nearest(b, c, n, exact); });
        continue;
      }
      const auto fallback = [n](Builder& b, const Call& c, const Resize&) { return nearest(b, c, n, false); };
      const auto expansion = by_kernel(n, "aten.upsample_nearest2d.vec", fallback);
      plain.expand(expansion);
      if (n == 1) vec.expand(expansion);
      if (n == 2) vec.preserves_layout().kernel("upsample_nearest2d.vec_out").expand(unless_kernel_takes(expansion));
    }
}

void define_linear_modes(Table& ops) {
  const char* const names[] = {"linear1d", "bilinear2d", "trilinear3d"};
  for (size_t n = 1; n <= 3; ++n) {
    const std::string name = fmt::format("aten::upsample_{}", names[n - 1]);
    auto plain = defined(
        ops, fmt::format("{}(Tensor self, SymInt[{}] output_size, bool align_corners, {}) -> Tensor", name, n, scales_params(n)), n);
    auto vec = defined(ops, name + ".vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor", n);
    const auto fallback = [](Builder& b, const Call&, const Resize& r) { return separable(b, r, linear_along); };
    const auto expansion = by_kernel(n, "aten.upsample_bilinear2d.vec", fallback);
    plain.expand(expansion);
    if (n == 2)  // the kernel sums in the operands' dtype
      vec.preserves_layout()
          .kernel_dtypes({DType::F32, DType::F64, DType::U8}, DType::F32)
          .kernel("upsample_bilinear2d.vec_out")
          .expand(unless_kernel_takes(expansion));
    else
      vec.expand(expansion);
  }
}

// Operators of two spatial dims without a kernel, dim by dim.
void define_separable(Table& ops, const std::string& name, Along fn) {
  const auto expansion = [fn](Builder& b, const Call& c) -> ValueId {
    auto r = resize_of(c, 2);
    if (!r) b.fail(r.failure().message);
    return r ? separable(b, *r, fn) : ValueId{};
  };
  defined(ops, fmt::format("aten::{}(Tensor self, SymInt[2] output_size, bool align_corners, {}) -> Tensor", name, scales_params(2)), 2)
      .expand(expansion);
  defined(ops, fmt::format("aten::{}.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor", name),
          2)
      .expand(expansion);
}

// ---- pixels, channels, patches ------------------------------------------------------------------------------------

Result<Dims> shuffled_sizes(const Call& c, bool up) {
  Dims sizes = c.tensor("self").sizes;
  if (sizes.size() < 3) return model_error(c.op().name() + " needs rank 3 or more");
  const Dim f = c.dim(up ? "upscale_factor" : "downscale_factor");
  Dim &channels = sizes[sizes.size() - 3], &h = sizes[sizes.size() - 2], &w = sizes[sizes.size() - 1];
  channels = up ? sym::floordiv(channels, f * f) : channels * f * f;
  h = up ? h * f : sym::floordiv(h, f);
  w = up ? w * f : sym::floordiv(w, f);
  return sizes;
}

ValueId channel_shuffle(Builder& b, const Call& c) {
  const Dims& sizes = c.tensor("self").sizes;
  const Dim groups = c.dim("groups");
  const Dims split = inserted(replaced(sizes, 1, sym::floordiv(sizes[1], groups)), 1, groups);
  return b.view(transposed(b, b.view(c.value("self"), split), 1, 2), sizes);
}

// A sliding window over two dims.
struct Patches {
  std::vector<int64_t> kernel;
  Dims dilation, padding, stride, image, count;  // count: windows per dim
  Dim start(size_t i, int64_t k) const { return dilation[i] * k; }
  Dim end(size_t i, int64_t k) const { return start(i, k) + (count[i] - 1) * stride[i] + 1; }
};

Patches patches_of(const Call& c, const Dims& image) {
  Patches p{c.integers("kernel_size", 2), c.dims("dilation", 2), c.dims("padding", 2), c.dims("stride", 2), image, {}};
  for (size_t i = 0; i < 2; ++i)
    p.count.push_back(sym::floordiv(image[i] + 2 * p.padding[i] - p.dilation[i] * (p.kernel[i] - 1) - 1, p.stride[i]) + 1);
  return p;
}

Dims last_two(const Dims& sizes) { return {sizes[sizes.size() - 2], sizes[sizes.size() - 1]}; }

Result<Dims> im2col_sizes(const Call& c) {
  const Dims& in = c.tensor("self").sizes;
  if (in.size() != 3 && in.size() != 4) return model_error("im2col needs an input of rank 3 or 4");
  const Patches p = patches_of(c, last_two(in));
  Dims out(in.begin(), in.end() - 3);
  out.push_back(in[in.size() - 3] * p.kernel[0] * p.kernel[1]);
  out.push_back(p.count[0] * p.count[1]);
  return out;
}

ValueId im2col(Builder& b, const Call& c) {
  const size_t rank = c.rank("self"), h = rank - 2, w = rank - 1;
  const Patches p = patches_of(c, last_two(c.tensor("self").sizes));
  const ValueId x = b.call("aten.constant_pad_nd", {c.arg("self"), Dims{p.padding[1], p.padding[1], p.padding[0], p.padding[0]}});
  Values taps;
  for (int64_t i = 0; i < p.kernel[0]; ++i)
    for (int64_t j = 0; j < p.kernel[1]; ++j)
      taps.push_back(slice(b, slice(b, x, h, p.start(0, i), p.end(0, i), p.stride[0]), w, p.start(1, j), p.end(1, j), p.stride[1]));
  return reshaped(b, stack(b, taps, h), im2col_sizes(c));  // [..., C, kh*kw, Lh, Lw]
}

Result<Dims> col2im_sizes(const Call& c) {
  const Dims &in = c.tensor("self").sizes, image = c.dims("output_size", 2);
  if (in.size() != 2 && in.size() != 3) return model_error("col2im needs an input of rank 2 or 3");
  const auto kernel = c.integers("kernel_size", 2);
  Dims out(in.begin(), in.end() - 2);
  out.push_back(sym::floordiv(in[in.size() - 2], kernel[0] * kernel[1]));
  out.insert(out.end(), image.begin(), image.end());
  return out;
}

// Adds every tap of the windows to the places it came from.
ValueId col2im(Builder& b, const Call& c) {
  auto sizes = col2im_sizes(c);
  if (!sizes) {
    b.fail(sizes.failure().message);
    return {};
  }
  const Patches p = patches_of(c, last_two(*sizes));
  const size_t rank = sizes->size(), h = rank - 2, w = rank - 1;
  Dims padded = *sizes, columns(sizes->begin(), sizes->end() - 2);
  padded[h] = padded[h] + 2 * p.padding[0];
  padded[w] = padded[w] + 2 * p.padding[1];
  columns.insert(columns.end(), {Dim(p.kernel[0] * p.kernel[1]), p.count[0], p.count[1]});
  const ValueId taps = b.view(c.value("self"), columns);
  ValueId sum = b.full(padded, 0, c.tensor("self").dtype);
  for (int64_t i = 0; i < p.kernel[0]; ++i)
    for (int64_t j = 0; j < p.kernel[1]; ++j) {
      const ValueId rows = slice(b, sum, h, p.start(0, i), p.end(0, i), p.stride[0]);
      const ValueId here = b.add(slice(b, rows, w, p.start(1, j), p.end(1, j), p.stride[1]), select(b, taps, h, i * p.kernel[1] + j));
      const auto put = [&](ValueId into, ValueId part, size_t axis, size_t d, int64_t k) {
        return b.call("aten.slice_scatter", {into, part, static_cast<int64_t>(axis), p.start(d, k), p.end(d, k), p.stride[d]});
      };
      sum = put(sum, put(rows, here, w, 1, j), h, 0, i);
    }
  const ValueId inner = slice(b, sum, h, p.padding[0], p.padding[0] + (*sizes)[h]);
  return slice(b, inner, w, p.padding[1], p.padding[1] + (*sizes)[w]);
}

}  // namespace

void define_resize(Table& ops) {
  define_nearest(ops);
  define_linear_modes(ops);
  define_separable(ops, "upsample_bicubic2d", cubic_along);
  define_separable(ops, "_upsample_bilinear2d_aa", antialiased_linear_along);
  define_separable(ops, "_upsample_bicubic2d_aa", antialiased_cubic_along);

  ops.define("aten::pixel_shuffle(Tensor self, int upscale_factor) -> Tensor")
      .dtype(same_as("self"))
      .shape([](const Call& c) { return shuffled_sizes(c, true); })
      .kernel("pixel_shuffle.out");
  ops.define("aten::pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor")
      .dtype(same_as("self"))
      .shape([](const Call& c) { return shuffled_sizes(c, false); })
      .kernel("pixel_unshuffle.out");
  for (const char* name : {"channel_shuffle", "native_channel_shuffle"})
    ops.define(fmt::format("aten::{}(Tensor self, SymInt groups) -> Tensor", name))
        .dtype(same_as("self"))
        .shape(shape_of("self"))
        .expand(channel_shuffle);
  ops.define("aten::im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor")
      .dtype(same_as("self"))
      .shape(im2col_sizes)
      .expand(im2col);
  ops.define(
         "aten::col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor")
      .dtype(same_as("self"))
      .shape(col2im_sizes)
      .expand(col2im);
}

}  // namespace edgec::ops
