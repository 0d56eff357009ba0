#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/xnnpack/conv.h"
#include "backends/xnnpack/lowering.h"

// Norms, means and sums, composed of what the delegate has.
namespace edgec::xnnpack {
namespace {

int64_t product(const Dims& d, size_t first) {
  int64_t n = 1;
  for (size_t i = first; i < d.size(); ++i) n *= *d[i].constant();
  return n;
}

// Rows to take means of: as [..., k], for a product with one row of 1/k. Most of that product is thrown away, and still it takes half the
// time of the delegate's reduction, which goes row by row (197 rows of 192: 5 us against 28). Rows so long that 1/k would be a large
// constant are images [n, k, 1, 1] of that reduction.
struct Rows {
  Id x;
  bool images;
};

constexpr int64_t kLongestProduct = 8192;

Rows rows_of(Lowering& l, Id x, int64_t k) {
  const Dims& d = l.dims(x);
  if (k > kLongestProduct && at_most_one_dynamic(d)) return {l.reshape(x, {sym::floordiv(numel(d), Dim(k)), Dim(k), Dim(1), Dim(1)}), true};
  return {d.back() == Dim(k) ? x : l.reshape(x, {sym::floordiv(numel(d), Dim(k)), Dim(k)}), false};
}

// The mean of each row, plus a number.
Id mean(Lowering& l, Id x, bool images, double add = 0) {
  if (!images) return l.mean_of_last(x, add);
  const Dims d = l.dims(x);
  const Id y = l.value(l.net().value(x).type, {d[0], Dim(1), Dim(1), Dim(1)});
  l.emit(Op::GlobalAveragePool, {x}, y).flags = kKeepDims;
  return add == 0 ? y : l.binary(Op::Add, y, add);
}

// 1 / sqrt(mean of squares + eps)
Id inverse_root(Lowering& l, Id x, bool images, double eps) {
  return l.unary(Op::ReciprocalSquareRoot, mean(l, l.unary(Op::Square, x), images, eps));
}

// (x - mean) / sqrt(variance + eps) along each row.
Id standardized(Lowering& l, const Rows& r, double eps) {
  const Id centred = l.binary(Op::Subtract, r.x, mean(l, r.x, r.images));
  return l.binary(Op::Multiply, centred, inverse_root(l, centred, r.images, eps));
}

Id by_root_mean_square(Lowering& l, const Rows& r, double eps) { return l.binary(Op::Multiply, r.x, inverse_root(l, r.x, r.images, eps)); }

Id scaled_and_shifted(Lowering& l, Id x, const Site& s, const std::vector<int64_t>& shape) {
  const auto operand = [&](const char* p) {
    TensorData d = *s.constant(p);
    return l.reshape(l.constant(std::move(d)), Dims(shape.begin(), shape.end()));
  };
  if (s.constant("weight")) x = l.binary(Op::Multiply, x, operand("weight"));
  if (s.call().op().schema().find("bias") >= 0 && s.constant("bias")) x = l.binary(Op::Add, x, operand("bias"));
  return x;
}

Refusal affine_refuses(const Site& s) {
  for (const char* p : {"weight", "bias"})
    if (s.call().op().schema().find(p) >= 0 && s.call().has(p) && !s.constant(p)) return fmt::format("{} is not constant", p);
  if (s.result().dtype != DType::F32) return "norms are composed in float32 only";
  return {};
}

Refusal layer_norm_refuses(const Site& s) {
  if (Refusal r = affine_refuses(s)) return r;
  const Dims sizes = s.call().dims("normalized_shape");
  for (const Dim& d : sizes)
    if (!d.is_static()) return "a normalized size that is not constant";
  if (sizes.empty()) return "no normalized dims";
  if (sizes.size() > 1 && !at_most_one_dynamic(s.result().sizes)) return "several normalized dims behind several dynamic ones";
  return {};
}

// layer_norm and rms_norm share how their rows are laid out.
Status along_last_dims(Lowering& l, const Site& s, Id (*norm)(Lowering&, const Rows&, double), double eps) {
  const Call c = s.call();
  const ValueId x = c.value("input");
  const size_t rank = l.type(x).rank(), normalized = c.dims("normalized_shape").size();
  Form f = l.lying(x);
  if (f.order.back() != rank - 1 || normalized > 1) f = {l.plain(x), plain_order(rank)};
  const Dims sizes = l.dims(f.id);
  const int64_t k = product(sizes, sizes.size() - normalized);
  const Rows rows = rows_of(l, f.id, k);
  const std::vector<int64_t> shape = rows.images ? std::vector<int64_t>{k, 1, 1} : std::vector<int64_t>{k};
  const Id y = scaled_and_shifted(l, norm(l, rows, eps), s, shape);
  l.bind(s.node().results[0], l.reshape(y, sizes), f.order);
  return {};
}

Status layer_norm(Lowering& l, const Site& s) { return along_last_dims(l, s, standardized, s.call().number("eps", 1e-5)); }
Status rms_norm(Lowering& l, const Site& s) {
  return along_last_dims(l, s, by_root_mean_square, s.call().number("eps", std::numeric_limits<float>::epsilon()));
}

Refusal group_norm_refuses(const Site& s) {
  if (Refusal r = affine_refuses(s)) return r;
  const Dims& sizes = s.call().tensor("input").sizes;
  for (size_t i = 1; i < sizes.size(); ++i)
    if (!sizes[i].is_static()) return "a normalized size that is not constant";
  return {};
}
Status group_norm(Lowering& l, const Site& s) {
  const Call c = s.call();
  const ValueId x = c.value("input");
  const Dims sizes = l.type(x).sizes;
  const int64_t groups = c.integer(c.op().schema().find("num_groups") >= 0 ? "num_groups" : "group");
  const Rows rows = rows_of(l, l.plain(x), product(sizes, 1) / groups);
  std::vector<int64_t> channels(sizes.size() - 1, 1);
  channels[0] = *sizes[1].constant();
  const Id y = scaled_and_shifted(l, l.reshape(standardized(l, rows, c.number("eps", 1e-5)), sizes), s, channels);
  l.bind(s.node().results[0], y, plain_order(sizes.size()));
  return {};
}

// ---- means and sums --------------------------------------------------------------------------------------------------------------------

struct Reduction {
  std::vector<size_t> axes;
  bool keep = false;
};
Reduction reduction(const Call& c) {
  Reduction r;
  const auto axes = c.axes("dim", c.rank("self"));
  if (axes) r.axes = *axes;
  std::sort(r.axes.begin(), r.axes.end());
  r.keep = c.flag("keepdim");
  return r;
}
bool over_image(const Call& c, const Reduction& r) { return c.rank("self") == 4 && r.axes == std::vector<size_t>{2, 3}; }
bool over_last(const Call& c, const Reduction& r) { return r.axes.size() == 1 && r.axes[0] + 1 == c.rank("self"); }

// A sum over the dim before the last one, whose size is not constant: a product with a row of ones, which a slice of the operand makes.
bool over_dynamic_rows(const Call& c, const Reduction& r) {
  const size_t rank = c.rank("self");
  return c.op().name() == "aten.sum.dim_IntList" && r.axes.size() == 1 && r.axes[0] + 2 == rank &&
         !c.tensor("self").sizes[r.axes[0]].is_static();
}

Id sum_of_rows(Lowering& l, Id x) {
  const size_t rank = l.dims(x).size();
  const Id ones = l.clamp(l.slice(x, rank - 1, 0, Dim(1)), 1, std::nextafter(1.0f, 2.0f));
  Order swapped = plain_order(rank);
  std::swap(swapped[rank - 2], swapped[rank - 1]);
  return l.matmul(l.transposed(ones, plain_order(rank), swapped), x, false);
}

// The sizes before, of and after dims that follow each other.
struct Split {
  Dim before = 1, reduced = 1, after = 1;
};
Split split(const Dims& sizes, const Reduction& r) {
  Split s;
  for (size_t i = 0; i < sizes.size(); ++i) {
    Dim& to = i < r.axes.front() ? s.before : i > r.axes.back() ? s.after : s.reduced;
    to = to * sizes[i];
  }
  return s;
}

Refusal reduction_refuses(const Site& s) {
  const Call c = s.call();
  const Reduction r = reduction(c);
  const TensorType& x = c.tensor("self");
  if (x.rank() == 0 || r.axes.empty()) return "an input of rank 0";
  if (x.dtype == DType::F16 && !over_image(c, r)) return "sums in float16";
  if (over_dynamic_rows(c, r))
    return r.keep || at_most_one_dynamic(s.result().sizes) ? Refusal() : "dropping a dim beside several dynamic ones";
  if (c.op().name() == "aten.sum.dim_IntList" || over_last(c, r))
    for (size_t a : r.axes)
      if (!x.sizes[a].is_static()) return "a reduced size that is not constant";
  if (over_image(c, r) || (over_last(c, r) && r.keep)) return {};
  if (r.axes.back() - r.axes.front() + 1 != r.axes.size()) return "dims that do not follow each other";
  const Split parts = split(x.sizes, r);
  if (!at_most_one_dynamic({parts.before, parts.reduced, parts.after}) || !at_most_one_dynamic(s.result().sizes))
    return "several dynamic dims, of which the delegate infers one";
  return {};
}

// [n, h, w, c] -> [n, c], or [n, 1, 1, c].
Id image_mean(Lowering& l, Id image, bool keep) {
  const Dims d = l.dims(image);
  const Id out = l.value(l.net().value(image).type, keep ? Dims{d[0], Dim(1), Dim(1), d[3]} : Dims{d[0], d[3]}, l.net().value(image).quant);
  l.emit(Op::GlobalAveragePool, {image}, out).flags = keep ? kKeepDims : 0;
  return out;
}

Status means(Lowering& l, const Site& s) {
  const Call c = s.call();
  const Reduction r = reduction(c);
  const ValueId x = c.value("self"), y = s.node().results[0];
  const TensorType& t = l.type(x);
  if (over_dynamic_rows(c, r)) {
    l.bind(y, l.reshape(sum_of_rows(l, l.plain(x)), s.result().sizes), plain_order(s.result().rank()));
    return {};
  }
  const bool image = over_image(c, r), sum = c.op().name() == "aten.sum.dim_IntList";
  if (image && !sum && lower_quantized_mean(l, s, r.keep)) return {};
  double count = 1;
  if (sum)
    for (size_t a : r.axes) count *= static_cast<double>(*t.sizes[a].constant());
  Order order = plain_order(s.result().rank());
  Id out = kNone;
  if (image) {
    out = image_mean(l, l.in_order(x, kNhwc), r.keep);
    if (r.keep) order = kNhwc;
  } else if (over_last(c, r)) {
    Form f = l.form(x);
    if (f.order.back() + 1u != t.rank() || !r.keep) f = {l.plain(x), plain_order(t.rank())};
    out = l.mean_of_last(f.id);
    if (r.keep) order = f.order;
  } else {
    const Split parts = split(t.sizes, r);
    out = image_mean(l, l.reshape(l.plain(x), {parts.before, parts.reduced, Dim(1), parts.after}), false);
  }
  if (count != 1) out = l.binary(Op::Multiply, out, count);
  if (!image && (!over_last(c, r) || !r.keep)) out = l.reshape(out, s.result().sizes);
  l.bind(y, out, order);
  return {};
}

constexpr Row kRows[] = {
    {"aten.layer_norm", layer_norm, layer_norm_refuses}, {"aten.native_layer_norm", layer_norm, layer_norm_refuses},
    {"aten.rms_norm", rms_norm, layer_norm_refuses},     {"aten.group_norm", group_norm, group_norm_refuses},
    {"aten.mean.dim", means, reduction_refuses},         {"aten.sum.dim_IntList", means, reduction_refuses},
};

}  // namespace

std::span<const Row> norm_rows() { return kRows; }

}  // namespace edgec::xnnpack
