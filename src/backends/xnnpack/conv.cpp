#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/xnnpack/conv.h"
#include "backends/xnnpack/lowering.h"
#include "backends/xnnpack/pixels.h"

// Convolutions of one and two dims, and the batch norms behind them. Images lie as NHWC; a row of samples is an image of height one.
namespace edgec::xnnpack {
namespace {

struct Numbers {
  std::vector<int64_t> stride, padding, dilation, output_padding;
  bool transposed;
  int64_t groups;
  size_t spatial;
};

Numbers numbers(const Call& c) {
  const size_t n = c.rank("weight") - 2;
  return {c.integers("stride", n),
          c.integers("padding", n),
          c.integers("dilation", n),
          c.integers("output_padding", n),
          c.flag("transposed"),
          c.integer("groups", 1),
          n};
}

Refusal refuses(const Site& s) {
  const Call c = s.call();
  const size_t rank = c.rank("weight");
  if (rank != 3 && rank != 4) return fmt::format("the delegate convolves over one or two dims, this is over {}", rank - 2);
  if (c.rank("input") != rank) return "input without a batch dim";
  if (!s.constant("weight") && !weight_of_quantized(s, c.value("weight"))) return "the weight is not constant";
  if (c.has("bias") && !s.constant("bias")) return "the bias is not constant";
  if (rank == 3 && !at_most_one_dynamic(c.tensor("input").sizes)) return "a row of samples with several dynamic dims";
  for (const char* p : {"stride", "padding", "dilation", "output_padding"})
    for (const Dim& d : c.dims(p))
      if (!d.is_static() || *d.constant() < 0) return fmt::format("{} is negative or known only when the program runs", p);
  return {};
}

// [out, kh, kw, in / groups]; depthwise [1, kh, kw, out]. Only strides change, but for grouped transposed ones.
TensorData filter(TensorData w, const Numbers& n, bool depthwise) {
  if (n.spatial == 1) {  // [o, i, k] -> [o, i, 1, k]
    w.sizes.insert(w.sizes.begin() + 2, 1);
    w.strides.insert(w.strides.begin() + 2, 0);
  }
  const auto permuted = [](TensorData t, std::vector<size_t> perm) {
    TensorData out = t;
    for (size_t i = 0; i < perm.size(); ++i) {
      out.sizes[i] = t.sizes[perm[i]];
      out.strides[i] = t.strides[perm[i]];
    }
    return out;
  };
  if (depthwise) return permuted(std::move(w), {1, 2, 3, 0});
  if (!n.transposed) return permuted(std::move(w), {0, 2, 3, 1});
  if (n.groups == 1) return permuted(std::move(w), {1, 2, 3, 0});
  // [groups * in, out, kh, kw] -> [groups, out, kh, kw, in]
  const int64_t in = w.sizes[0] / n.groups;
  TensorData split = w;
  split.sizes = {n.groups, w.sizes[1], w.sizes[2], w.sizes[3], in};
  split.strides = {w.strides[0] * in, w.strides[1], w.strides[2], w.strides[3], w.strides[0]};
  return make_tensor_data(w.dtype, {n.groups * w.sizes[1], w.sizes[2], w.sizes[3], in}, gather(split));
}

ConvAttrs attributes(const Numbers& n, const std::vector<int64_t>& weight) {
  ConvAttrs a;
  const auto pair = [&](uint32_t(&to)[2], const std::vector<int64_t>& from, uint32_t one) {
    to[0] = n.spatial == 1 ? one : static_cast<uint32_t>(from[0]);
    to[1] = static_cast<uint32_t>(from[n.spatial - 1]);
  };
  pair(a.stride, n.stride, 1);
  pair(a.dilation, n.dilation, 1);
  pair(a.adjustment, n.output_padding, 0);
  uint32_t pad[2];
  pair(pad, n.padding, 0);
  a.padding[0] = a.padding[2] = pad[0];
  a.padding[1] = a.padding[3] = pad[1];
  pair(a.kernel, {weight.begin() + 2, weight.end()}, 1);
  a.groups = static_cast<uint32_t>(n.groups);
  a.group_input_channels = static_cast<uint32_t>(n.transposed ? weight[0] / n.groups : weight[1]);
  a.group_output_channels = static_cast<uint32_t>(n.transposed ? weight[1] : weight[0] / n.groups);
  return a;
}

Status lower(Lowering& l, const Site& s) {
  const Call c = s.call();
  const Numbers n = numbers(c);
  const ValueId y = s.node().results[0];
  if (weight_of_quantized(s, c.value("weight")) && lower_quantized_conv(l, s)) return {};
  const TensorData* constant = s.constant("weight");
  const TensorData weight = constant ? *constant : dequantized(*weight_of_quantized(s, c.value("weight")));
  const Padded x = without_pad(l, c, l.form(c.value("input")));
  const Id image = image_of(l, x.form);
  conv_into(l, y, image, x.pads, l.constant(filter(weight, n, is_depthwise(c))), c.has("bias") ? l.constant(*s.constant("bias")) : kNone, c,
            {});
  return {};
}

// ---- batch norm ------------------------------------------------------------------------------------------------------------------------

std::vector<double> numbers_or(const TensorData* data, int64_t n, double otherwise) {
  return data ? numbers_of(*data) : std::vector<double>(static_cast<size_t>(n), otherwise);
}

// What becomes of a channel (of all, when there is one number): x * scale + shift.
struct Affine {
  std::vector<double> scale = {1}, shift = {0};
};
double number_of(const std::vector<double>& numbers, size_t channel) { return numbers[numbers.size() == 1 ? 0 : channel]; }

Affine affine(const Site& s) {
  const Call c = s.call();
  const TensorData* var = s.constant("running_var");
  const int64_t n = var->numel();
  Affine a;
  a.scale = numbers_or(s.constant("weight"), n, 1);
  a.shift = numbers_or(s.constant("bias"), n, 0);
  const auto mean = numbers_or(s.constant("running_mean"), n, 0), variance = numbers_of(*var);
  for (size_t i = 0; i < a.scale.size(); ++i) {
    a.scale[i] /= std::sqrt(variance[i] + c.number("eps"));
    a.shift[i] -= mean[i] * a.scale[i];
  }
  return a;
}

TensorData vector_of(DType d, const std::vector<double>& values) { return tensor_of(d, {static_cast<int64_t>(values.size())}, values); }

// The weights with every output channel (along `axis`) times its scale.
TensorData scaled(const TensorData& w, size_t axis, const std::vector<double>& scale) {
  const std::vector<std::byte> from = gather(w);
  std::vector<std::byte> to;
  to.reserve(from.size());
  int64_t inner = 1;
  for (size_t i = axis + 1; i < w.sizes.size(); ++i) inner *= w.sizes[i];
  const int64_t count = w.numel(), channels = w.sizes[axis];
  for (int64_t i = 0; i < count; ++i)
    append_element(to, w.dtype, read_element(from, w.dtype, i) * number_of(scale, static_cast<size_t>(i / inner % channels)));
  return make_tensor_data(w.dtype, w.sizes, std::move(to));
}

// Factors of the channels of a product of floats with integers are those of its scales.
bool fold_into_scales(Lowering& l, const Site& s, NetNode& made, const Affine& a) {
  const NetValue filter = l.net().value(made.in[1]);
  auto scales = std::get<PerChannel>(filter.quant);
  if (l.net().value(made.in[0]).type != DataType::F32 || made.in[2] != kNone) return false;
  if (a.scale.size() != 1 && a.scale.size() != scales.scales.size()) return false;
  if (std::any_of(a.shift.begin(), a.shift.end(), [](double x) { return x != 0; })) return false;
  for (size_t i = 0; i < scales.scales.size(); ++i) {
    const double to = scales.scales[i] * number_of(a.scale, i);
    if (!(to >= std::numeric_limits<float>::min() && to <= std::numeric_limits<float>::max())) return false;
    scales.scales[i] = static_cast<float>(to);
  }
  made.sources.push_back(s.n);
  l.net().replace_operand(made, 1, l.constant(*filter.data, filter.type, filter.dims, std::move(scales)));
  return true;
}

// Whether it can be done before the range that the node holds: positive factors leave zero, the only bound, where it is.
bool holds(const NetNode& made, const Affine& a) {
  const bool positive = std::all_of(a.scale.begin(), a.scale.end(), [](double x) { return x > 0; });
  const bool stays = std::all_of(a.shift.begin(), a.shift.end(), [](double x) { return x == 0; });
  return !made.has_range() || (made.min == 0 && made.max == std::numeric_limits<float>::infinity() && positive && stays);
}

// The product that makes x does it, when its channels are the dim that is meant.
bool folded(Lowering& l, const Site& s, ValueId x, std::optional<size_t> channels, const Affine& a) {
  if (l.quantized(x)) return false;
  NetNode* made = l.maker(x);
  const Form f = l.lying(x);
  if (!made || !holds(*made, a) || (channels && f.order.back() != *channels)) return false;
  if (made->op != Op::Conv && made->op != Op::DepthwiseConv && made->op != Op::TransposedConv && made->op != Op::FullyConnected)
    return false;
  const NetValue filter = l.net().value(made->in[1]);
  if (made->op == Op::FullyConnected && filter.type == DataType::QCInt8) return fold_into_scales(l, s, *made, a);
  if (!filter.data || (filter.type != DataType::F32 && filter.type != DataType::F16)) return false;
  const size_t axis = made->op == Op::DepthwiseConv ? 3 : 0;
  const int64_t count = filter.data->sizes[axis];
  for (const auto* numbers : {&a.scale, &a.shift})
    if (numbers->size() != 1 && static_cast<int64_t>(numbers->size()) != count) return false;
  const DType d = filter.data->dtype;
  const TensorData* old = made->in[2] == kNone ? nullptr : &*l.net().value(made->in[2]).data;
  std::vector<double> bias = numbers_or(old, count, 0);
  for (size_t i = 0; i < bias.size(); ++i) bias[i] = bias[i] * number_of(a.scale, i) + number_of(a.shift, i);
  made->sources.push_back(s.n);
  if (std::any_of(a.scale.begin(), a.scale.end(), [](double factor) { return factor != 1; }))
    l.net().replace_operand(*made, 1, l.constant(scaled(*filter.data, axis, a.scale)));
  l.net().replace_operand(*made, 2, l.constant(vector_of(d, bias)));
  return true;
}

bool fold(Lowering& l, const Site& s, ValueId x, std::optional<size_t> channels, const Affine& a) {
  if (!folded(l, s, x, channels, a)) return false;
  const Form f = l.lying(x);
  l.bind(s.node().results[0], f.id, f.order);
  return true;
}

Refusal batch_norm_refuses(const Site& s) {
  for (const char* p : {"weight", "bias", "running_mean", "running_var"})
    if (s.call().has(p) && !s.constant(p)) return fmt::format("{} is not constant", p);
  return {};
}

// In the weights of the convolution before it as far as they take it; else a multiplication and an addition.
Status batch_norm(Lowering& l, const Site& s) {
  const Affine a = affine(s);
  const ValueId x = s.call().value("input"), y = s.node().results[0];
  if (fold(l, s, x, 1, a)) return {};
  const bool scaled = folded(l, s, x, 1, {a.scale, {0}});
  const Form f = l.form(x);
  const size_t rank = l.type(x).rank();
  Dims sizes(rank, Dim(1));
  sizes[1] = Dim(static_cast<int64_t>(a.scale.size()));
  const auto channels = [&](const std::vector<double>& values) {
    return l.transposed(l.reshape(l.constant(vector_of(l.type(x).dtype, values)), sizes), plain_order(rank), f.order);
  };
  const Id product = scaled ? f.id : l.binary(Op::Multiply, f.id, channels(a.scale));
  l.bind(y, l.binary(Op::Add, product, channels(a.shift)), f.order);
  return {};
}

// ---- arithmetic behind a product -------------------------------------------------------------------------------------------------------

struct Constant {
  std::vector<double> numbers;
  std::optional<size_t> dim;  // of the other operand, along which they differ
};

std::optional<Constant> constant_along_a_dim(const TensorData& data, size_t rank) {
  Constant c;
  if (data.sizes.size() > rank || data.numel() == 0) return std::nullopt;
  for (size_t i = 0; i < data.sizes.size(); ++i) {
    if (data.sizes[i] == 1) continue;
    if (c.dim) return std::nullopt;
    c.dim = i + rank - data.sizes.size();
  }
  c.numbers = numbers_of(data);
  if (!std::all_of(c.numbers.begin(), c.numbers.end(), [](double x) { return std::isfinite(x); })) return std::nullopt;
  return c;
}

// x op constant, or constant op x when `swapped`; `alpha` belongs to the second operand.
std::optional<Affine> affine_of(const std::string& op, std::vector<double> numbers, bool swapped, double alpha) {
  Affine a;
  const bool sub = op.find(".sub.") != std::string::npos;
  if (sub || op.find(".add.") != std::string::npos) {
    const double sign = sub ? -alpha : alpha;
    if (swapped) a.scale = {sign};
    for (double& x : numbers) x *= swapped ? 1 : sign;
    a.shift = std::move(numbers);
    return a;
  }
  if (op.find(".div.") != std::string::npos) {
    if (swapped) return std::nullopt;
    for (double& x : numbers) x = 1 / x;
  }
  for (double x : numbers)
    if (!std::isfinite(x)) return std::nullopt;
  a.scale = std::move(numbers);
  return a;
}

constexpr Row kRows[] = {
    {"aten.convolution", lower, refuses},
    {"aten._native_batch_norm_legit_no_training", batch_norm, batch_norm_refuses},
};

}  // namespace

bool fold_into_product(Lowering& l, const Site& s) {
  const Call c = s.call();
  const Node& n = s.node();
  if (s.result().dtype != DType::F32 || n.args.size() < 2) return false;
  const double alpha = c.op().schema().find("alpha") >= 0 ? c.number("alpha", 1) : 1;
  const bool swapped = n.args[0].is_value() && n.args[1].is_value() && s.constant(n.args[0].value());
  const Arg& other = n.args[swapped ? 0 : 1];
  const ValueId x = n.args[swapped ? 1 : 0].value();
  if (s.constant(x) || l.type(x).sizes != s.result().sizes) return false;
  std::optional<Constant> k;
  if (!other.is_value())
    k = Constant{{c.number(c.op().schema().params[1].name)}, {}};
  else if (const TensorData* data = s.constant(other.value()))
    k = constant_along_a_dim(*data, l.type(x).rank());
  if (!k) return false;
  const auto a = affine_of(n.op->name(), std::move(k->numbers), swapped, alpha);
  return a && fold(l, s, x, k->dim, *a);
}

bool is_depthwise(const Call& c) { return !c.flag("transposed") && c.integer("groups", 1) > 1 && c.tensor("weight").sizes[1] == Dim(1); }

Id image_of(Lowering& l, const Form& f) {
  if (f.order.size() == 4) return l.transposed(f.id, f.order, kNhwc);
  const Id row = l.transposed(f.id, f.order, {0, 2, 1});
  const Dims d = l.dims(row);
  return l.reshape(row, {d[0], Dim(1), d[1], d[2]});
}

void bind_image(Lowering& l, ValueId y, Id image) {
  if (l.type(y).rank() == 4) return l.bind(y, image, kNhwc);
  const Dims d = l.dims(image);
  l.bind(y, l.reshape(image, {d[0], d[2], d[3]}), {0, 2, 1});
}

TensorData conv_filter(const Call& c, const TensorData& weight) { return filter(weight, numbers(c), is_depthwise(c)); }

// Zeros around the image are the convolution's own padding, which may differ from side to side.
Padded without_pad(Lowering& l, const Call& c, const Form& f) {
  Padded out{f, {0, 0, 0, 0}};
  NetNode* made = c.flag("transposed") ? nullptr : l.maker(c.value("input"));
  if (!made || made->op != Op::ConstantPad || made->number != 0 || made->out != f.id) return out;
  const auto& pads = std::get<ListAttrs>(made->attrs);
  const size_t rank = f.order.size();
  for (size_t i = 0; i < rank; ++i) {
    const size_t dim = f.order[i];
    if (dim < 2) {
      if (pads.first[i] + pads.second[i] > 0) return {f, {0, 0, 0, 0}};
      continue;
    }
    const bool width = dim + 1 == rank;  // top, right, bottom, left
    out.pads[width ? 3 : 0] = pads.first[i];
    out.pads[width ? 1 : 2] = pads.second[i];
  }
  out.form.id = made->in[0];
  return out;
}

Id conv_node(Lowering& l, const Call& c, ValueId y, Id image, const Pads& pads, Id filter_id, Id bias, Quant quant) {
  const Numbers n = numbers(c);
  const TensorType& t = l.type(y);
  std::vector<int64_t> weight;
  for (const Dim& d : c.tensor("weight").sizes) weight.push_back(*d.constant());
  const Dims to = t.rank() == 4 ? Dims{t.sizes[0], t.sizes[2], t.sizes[3], t.sizes[1]} : Dims{t.sizes[0], Dim(1), t.sizes[2], t.sizes[1]};
  const bool numbers_only = !std::holds_alternative<std::monostate>(quant);
  const DataType type = numbers_only ? DataType::QInt8 : data_type(t.dtype);
  Convolution conv{image, filter_id, attributes(n, weight), to};
  for (size_t i = 0; i < pads.size(); ++i) conv.attrs.padding[i] += pads[i];
  if (!numbers_only && !is_depthwise(c) && !n.transposed && n.groups == 1) conv = with_wide_pixels(l, std::move(conv));
  const Id out = l.value(type, conv.out, std::move(quant));
  const Op op = is_depthwise(c) ? Op::DepthwiseConv : n.transposed ? Op::TransposedConv : Op::Conv;
  l.emit(op, {conv.image, conv.filter, bias}, out).attrs = conv.attrs;
  return l.reshape(out, to);
}

void conv_into(Lowering& l, ValueId y, Id image, const Pads& pads, Id filter_id, Id bias, const Call& c, Quant quant) {
  bind_image(l, y, conv_node(l, c, y, image, pads, filter_id, bias, std::move(quant)));
}

std::span<const Row> conv_rows() { return kRows; }

}  // namespace edgec::xnnpack
