#include <fmt/format.h>

#include <algorithm>

#include "backends/xnnpack/conv.h"
#include "backends/xnnpack/lowering.h"

// Pools and resizing of images, in NHWC.
namespace edgec::xnnpack {
namespace {

struct Window {
  std::vector<int64_t> kernel, stride, padding, dilation;
  bool ceil = false;
};
Window window(const Call& c) {
  Window w;
  w.kernel = c.integers("kernel_size", 2);
  w.stride =
      c.arg("stride").is_none() || (c.arg("stride").is_list() && c.arg("stride").list().empty()) ? w.kernel : c.integers("stride", 2);
  w.padding = c.integers("padding", 2);
  w.dilation = c.op().schema().find("dilation") >= 0 ? c.integers("dilation", 2) : std::vector<int64_t>{1, 1};
  w.ceil = c.flag("ceil_mode");
  return w;
}

Refusal image_refuses(const Site& s) {
  const Call c = s.call();
  const char* x = c.op().schema().find("self") >= 0 ? "self" : "input";
  if (c.rank(x) != 4) return fmt::format("an image of rank {}, not 4", c.rank(x));
  return {};
}

// How far the last window reaches over the image's end; none when sizes are not known.
std::optional<int64_t> overhang(const Site& s, const Window& w, size_t dim) {
  const auto in = s.call().tensor("self").sizes[2 + dim].constant(), out = s.result().sizes[2 + dim].constant();
  if (!in || !out) return std::nullopt;
  return (*out - 1) * w.stride[dim] + (w.kernel[dim] - 1) * w.dilation[dim] + 1 - *in - 2 * w.padding[dim];
}

ConvAttrs attributes(const Window& w) {
  ConvAttrs a;
  for (size_t i = 0; i < 2; ++i) {
    a.kernel[i] = static_cast<uint32_t>(w.kernel[i]);
    a.stride[i] = static_cast<uint32_t>(w.stride[i]);
    a.dilation[i] = static_cast<uint32_t>(w.dilation[i]);
    a.padding[i == 0 ? 0 : 1] = a.padding[i == 0 ? 2 : 3] = static_cast<uint32_t>(w.padding[i]);
  }
  return a;
}

Dims nhwc(const TensorType& t) { return {t.sizes[0], t.sizes[2], t.sizes[3], t.sizes[1]}; }

// ---- max -------------------------------------------------------------------------------------------------------------------------------

Refusal max_refuses(const Site& s) {
  if (Refusal r = image_refuses(s)) return r;
  const Window w = window(s.call());
  if (w.kernel[0] * w.kernel[1] <= 1) return "a window of one element";
  if (w.stride[0] > w.kernel[0] || w.stride[1] > w.kernel[1]) return "a stride above the window's size";
  for (size_t i = 0; i < 2 && w.ceil; ++i)
    if (!overhang(s, w, i)) return "ceil mode on sizes that are not constant";
  return {};
}
// The summand of each channel of an image that only the pool uses: added to the maxima, which are fewer and the same.
Id summand_of(Lowering& l, ValueId v, Id image) {
  const NetNode* made = l.only_used_here(v) ? l.net().producer(image) : nullptr;
  if (!made || made->op != Op::Add || made->has_range() || l.net().value(image).consumers != 0) return kNone;
  const NetValue& summand = l.net().value(made->in[1]);
  const bool by_channel = summand.data && !summand.dims.empty() && Dim(summand.data->numel()) == summand.dims.back();
  return by_channel && l.dims(made->in[0]) == l.dims(image) ? made->in[1] : kNone;
}

Status max_pool(Lowering& l, const Site& s) {
  const Window w = window(s.call());
  ConvAttrs a = attributes(w);
  for (size_t i = 0; i < 2 && w.ceil; ++i) a.padding[i == 0 ? 2 : 1] += static_cast<uint32_t>(std::max<int64_t>(*overhang(s, w, i), 0));
  const Form f = l.raw(s.call().value("self"));
  Id image = l.transposed(f.id, f.order, kNhwc);
  const NetValue from = l.net().value(image);
  const Id summand = image == f.id ? summand_of(l, s.call().value("self"), image) : kNone;
  if (summand != kNone) image = l.net().producer(image)->in[0];
  const Id out = l.value(from.type, nhwc(s.result()), from.quant);
  l.emit(Op::MaxPool, {image}, out).attrs = a;
  l.bind(s.node().results[0], summand == kNone ? out : l.binary(Op::Add, out, summand), kNhwc);
  return {};
}

// ---- max over dims ---------------------------------------------------------------------------------------------------------------------

std::vector<size_t> axes_of(const Call& c) {
  const size_t rank = c.rank("self");
  std::vector<size_t> out;
  if (c.op().name() == "aten.max.dim") {
    if (const auto axis = c.axis("dim", rank)) out = {*axis};
  } else if (const auto axes = c.axes("dim", rank)) {
    out = *axes;
  }
  std::sort(out.begin(), out.end());
  return out;
}

Refusal max_of_dims_refuses(const Site& s) {
  const Call c = s.call();
  const std::vector<size_t> axes = axes_of(c);
  const TensorType& x = c.tensor("self");
  if (x.rank() == 0 || axes.empty()) return "an input of rank 0";
  if (axes.back() - axes.front() + 1 != axes.size()) return "dims that do not follow each other";
  int64_t reduced = 1;
  for (size_t a : axes) {
    if (!x.sizes[a].is_static()) return "a reduced size that is not constant";
    reduced *= *x.sizes[a].constant();
  }
  if (reduced <= 1) return "a window of one element";
  for (size_t i = 0, before = 0, after = 0; i < x.rank(); ++i) {
    if (x.sizes[i].is_static()) continue;
    (i < axes.front() ? before : after) += 1;
    if (before + after > 1) return "several dynamic dims, of which the delegate infers one";
  }
  return {};
}
// A max pool over an image [before, reduced, 1, after].
Status max_of_dims(Lowering& l, const Site& s) {
  const Call c = s.call();
  const std::vector<size_t> axes = axes_of(c);
  const TensorType& x = c.tensor("self");
  Dim before = 1, reduced = 1, after = 1;
  for (size_t i = 0; i < x.rank(); ++i) {
    Dim& to = i < axes.front() ? before : i > axes.back() ? after : reduced;
    to = to * x.sizes[i];
  }
  const Id image = l.reshape(l.plain(c.value("self")), {before, reduced, Dim(1), after});
  const Id out = l.value(l.net().value(image).type, {before, Dim(1), Dim(1), after});
  ConvAttrs a;
  a.kernel[0] = a.stride[0] = static_cast<uint32_t>(*reduced.constant());
  l.emit(Op::MaxPool, {image}, out).attrs = a;
  l.bind(s.node().results[0], l.reshape(out, s.result().sizes), plain_order(s.result().rank()));
  return {};
}

// ---- average ---------------------------------------------------------------------------------------------------------------------------

Refusal average_refuses(const Site& s) {
  if (Refusal r = image_refuses(s)) return r;
  const Window w = window(s.call());
  if (w.kernel[0] * w.kernel[1] <= 1) return "a window of one element";
  for (size_t i = 0; i < 2 && w.ceil; ++i)
    if (overhang(s, w, i).value_or(1) > 0) return "ceil mode";
  return {};
}
Status average_pool(Lowering& l, const Site& s) {
  const Call c = s.call();
  const Window w = window(c);
  ConvAttrs a = attributes(w);
  Id image = l.in_order(c.value("self"), kNhwc);
  const DataType t = l.net().value(image).type;
  // The delegate leaves padding out of the average. Zeros that count are part of the image.
  if ((c.flag("count_include_pad") || c.has("divisor_override")) && (w.padding[0] > 0 || w.padding[1] > 0)) {
    const ListAttrs pad{{0, a.padding[0], a.padding[3], 0}, {0, a.padding[2], a.padding[1], 0}};
    Dims to = l.dims(image);
    for (size_t i = 0; i < 2; ++i) to[1 + i] = to[1 + i] + Dim(2 * w.padding[i]);
    const Id padded = l.value(t, to);
    l.emit(Op::ConstantPad, {image}, padded).attrs = pad;
    image = padded;
    std::fill(std::begin(a.padding), std::end(a.padding), 0u);
  }
  Id out = l.value(t, nhwc(s.result()));
  l.emit(Op::AveragePool, {image}, out).attrs = a;
  if (c.has("divisor_override"))
    out = l.binary(Op::Multiply, out, static_cast<double>(w.kernel[0] * w.kernel[1]) / static_cast<double>(c.integer("divisor_override")));
  l.bind(s.node().results[0], out, kNhwc);
  return {};
}

// Windows of equal size: an average pool.
Refusal adaptive_refuses(const Site& s) {
  if (Refusal r = image_refuses(s)) return r;
  const TensorType &in = s.call().tensor("self"), &out = s.result();
  if (out.sizes[2] == Dim(1) && out.sizes[3] == Dim(1)) return {};
  for (size_t i = 2; i < 4; ++i) {
    if (!in.sizes[i].constant() || !out.sizes[i].constant()) return "sizes that are not constant";
    if (*in.sizes[i].constant() % *out.sizes[i].constant() != 0) return "windows of different sizes";
  }
  if (in.sizes[2] == out.sizes[2] && in.sizes[3] == out.sizes[3]) return "a window of one element";
  return {};
}
Status adaptive_pool(Lowering& l, const Site& s) {
  const TensorType& out = s.result();
  const bool mean = out.sizes[2] == Dim(1) && out.sizes[3] == Dim(1);
  if (mean && lower_quantized_mean(l, s, true)) return {};
  const Id image = l.in_order(s.call().value("self"), kNhwc);
  const Id y = l.value(l.net().value(image).type, nhwc(out));
  if (mean) {
    l.emit(Op::GlobalAveragePool, {image}, y).flags = kKeepDims;
  } else {
    Window w;
    for (size_t i = 2; i < 4; ++i) w.kernel.push_back(*s.call().tensor("self").sizes[i].constant() / *out.sizes[i].constant());
    w.stride = w.kernel;
    w.padding = {0, 0};
    w.dilation = {1, 1};
    l.emit(Op::AveragePool, {image}, y).attrs = attributes(w);
  }
  l.bind(s.node().results[0], y, kNhwc);
  return {};
}

// ---- resizing --------------------------------------------------------------------------------------------------------------------------

Refusal resize_refuses(const Site& s) {
  if (Refusal r = image_refuses(s)) return r;
  if (!s.result().sizes[2].is_static() || !s.result().sizes[3].is_static()) return "an output size that is not constant";
  const Call c = s.call();
  const Dims &in = c.tensor("input").sizes, &out = s.result().sizes;
  if (!in[2].is_static() || !in[3].is_static()) return "an input size that is not constant";
  // Given factors take part in where samples lie unless they are what the sizes say.
  if (c.has("scale_factors") && c.arg("scale_factors").is_list()) {
    const ArgList& f = c.arg("scale_factors").list();
    for (size_t i = 0; i < 2 && i < f.size(); ++i)
      if (f[i].is_float() &&
          std::get<double>(f[i].state) * static_cast<double>(*in[2 + i].constant()) != static_cast<double>(*out[2 + i].constant()))
        return "a factor that the sizes do not say";
  }
  return {};
}
Status resize(Lowering& l, const Site& s) {
  const Id image = l.in_order(s.call().value("input"), kNhwc);
  const Id y = l.value(l.net().value(image).type, nhwc(s.result()));
  NetNode& n = l.emit(Op::ResizeBilinear, {image}, y);
  n.attrs = ListAttrs{{static_cast<uint32_t>(*s.result().sizes[2].constant()), static_cast<uint32_t>(*s.result().sizes[3].constant())}, {}};
  n.flags = s.call().flag("align_corners") ? kAlignCorners : 0;
  l.bind(s.node().results[0], y, kNhwc);
  return {};
}

constexpr Row kRows[] = {
    {"aten.max_pool2d_with_indices", max_pool, max_refuses},
    {"aten.max_pool2d", max_pool, max_refuses},
    {"aten.max.dim", max_of_dims, max_of_dims_refuses},
    {"aten.amax", max_of_dims, max_of_dims_refuses},
    {"aten.avg_pool2d", average_pool, average_refuses},
    {"aten.adaptive_avg_pool2d", adaptive_pool, adaptive_refuses},
    {"aten._adaptive_avg_pool2d", adaptive_pool, adaptive_refuses},
    {"aten.upsample_bilinear2d.vec", resize, resize_refuses},
};

}  // namespace

std::span<const Row> pool_rows() { return kRows; }

}  // namespace edgec::xnnpack
