#include "backends/xnnpack/quantized.h"

#include <algorithm>
#include <cmath>
#include <limits>

// Quantized networks. A quantize makes numbers, a dequantize's result is bound to them: operators that have integer kernels take the
// numbers and give those that the quantize behind them wants; all others get floats, by a conversion.
namespace edgec::xnnpack {
namespace {

const std::string kNs = "quantized_decomposed.";
constexpr double kInf = std::numeric_limits<double>::infinity();

bool is(const Site& s, NodeId n, std::string_view op) { return n && s.g.node(n).op->name() == op; }

// The delegate refuses others when the program is loaded.
bool is_scale(float x) { return x > 0 && std::isnormal(x); }

// Scale and zero point of a quantize or dequantize over all of int8.
std::optional<PerTensor> per_tensor(const Call& c) {
  if (!c.arg("scale").is_number() || c.dtype("dtype", DType::I8) != DType::I8) return std::nullopt;
  if (c.integer("quant_min") != -128 || c.integer("quant_max") != 127) return std::nullopt;
  const double scale = c.number("scale");
  const int64_t zero = c.integer("zero_point");
  if (!is_scale(static_cast<float>(scale)) || zero < -128 || zero > 127) return std::nullopt;
  return PerTensor{static_cast<float>(scale), static_cast<int32_t>(zero)};
}

// ---- weights ---------------------------------------------------------------------------------------------------------------------------

QuantizedWeight with_one_scale(const TensorData& data, float scale, double zero_point) {
  QuantizedWeight w;
  w.numbers = data;
  w.scales = {scale};
  w.zero_points = {zero_point};
  w.per_tensor = true;
  return w;
}

std::optional<QuantizedWeight> with_scales(const Site& s, const Call& c, const char* scale, const char* zero, const TensorData& data) {
  if (!c.has(scale) || !c.is_tensor(scale)) return std::nullopt;
  const TensorData *scales = s.constant(c.value(scale)), *zeros = c.has(zero) ? s.constant(c.value(zero)) : nullptr;
  if (!scales || (c.has(zero) && !zeros) || (zeros && zeros->numel() != scales->numel())) return std::nullopt;
  QuantizedWeight w;
  w.numbers = data;
  for (double x : numbers_of(*scales)) w.scales.push_back(static_cast<float>(x));
  if (!std::all_of(w.scales.begin(), w.scales.end(), is_scale)) return std::nullopt;
  w.zero_points = zeros ? numbers_of(*zeros) : std::vector<double>(w.scales.size());
  const auto low = c.op().schema().find("quant_min") >= 0 && c.has("quant_min") ? c.integer("quant_min") : -128;
  w.four_bits = low == -8;
  return w;
}

}  // namespace

std::optional<QuantizedWeight> weight_of_quantized(const Site& s, ValueId v) {
  const NodeId def = s.g.value(v).def;
  if (!def || s.g.tensor(v).dtype != DType::F32) return std::nullopt;
  const std::string& op = s.g.node(def).op->name();
  const Call c = call_of(s, def);
  if (op == "dim_order_ops._to_dim_order_copy") {  // whole numbers, whose scales come behind the product
    const TensorData* numbers = s.constant(c.value("self"));
    if (!numbers || numbers->dtype != DType::I8 || !s.g.tensor(v).dim_order.empty()) return std::nullopt;
    return with_one_scale(*numbers, 1, 0);
  }
  if (op.find("dequantize") == std::string::npos) return std::nullopt;
  const TensorData* data = s.constant(c.value("input"));
  if (!data || data->dtype != DType::I8) return std::nullopt;
  const Site at{s.m, s.g, def, s.options};
  if (op == kNs + "dequantize_per_tensor") {
    if (!c.arg("scale").is_number() || !is_scale(static_cast<float>(c.number("scale")))) return std::nullopt;
    return with_one_scale(*data, static_cast<float>(c.number("scale")), static_cast<double>(c.integer("zero_point")));
  }
  if (op == kNs + "dequantize_per_channel") {
    auto w = with_scales(at, c, "scales", "zero_points", *data);
    const auto axis = c.axis("axis", data->sizes.size());
    if (!w || !axis || static_cast<int64_t>(w->scales.size()) != data->sizes[*axis]) return std::nullopt;
    w->axis = *axis;
    return w;
  }
  if (data->sizes.size() != 2) return std::nullopt;
  int64_t group = 0;
  std::optional<QuantizedWeight> w;
  if (op == kNs + "dequantize_per_channel_group") {
    w = with_scales(at, c, "scales", "zero_points", *data);
    group = c.integer("group_size");
  } else if (op == "torchao.dequantize_affine") {
    w = with_scales(at, c, "scale", "zero_point", *data);
    const auto block = c.integers("block_size");
    if (block.size() != 2 || block[0] != 1) return std::nullopt;
    group = block[1];
  }
  if (!w || group <= 0 || data->sizes[1] % group != 0) return std::nullopt;
  if (static_cast<int64_t>(w->scales.size()) != data->sizes[0] * (data->sizes[1] / group)) return std::nullopt;
  if (group < data->sizes[1] || w->four_bits) w->group_size = group;
  return w;
}

TensorData dequantized(const QuantizedWeight& w) {
  const std::vector<std::byte> from = gather(w.numbers);
  std::vector<std::byte> to;
  int64_t inner = 1;
  for (size_t i = w.axis + 1; i < w.numbers.sizes.size(); ++i) inner *= w.numbers.sizes[i];
  const int64_t count = w.numbers.numel(), channels = w.numbers.sizes.empty() ? 1 : w.numbers.sizes[w.axis];
  for (int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<size_t>(w.per_tensor ? 0 : w.group_size > 0 ? i / w.group_size : i / inner % channels);
    const double number = static_cast<double>(read_integer(from, DType::I8, i)) - w.zero_points[at];
    append_element(to, DType::F32, static_cast<double>(static_cast<float>(number) * w.scales[at]));
  }
  return make_tensor_data(DType::F32, w.numbers.sizes, std::move(to));
}

bool symmetric(const QuantizedWeight& w) {
  return std::all_of(w.zero_points.begin(), w.zero_points.end(), [](double z) { return z == 0; });
}

QuantizedWeight by_channels(QuantizedWeight w) {
  if (w.per_tensor) w.scales.assign(static_cast<size_t>(w.numbers.sizes[0]), w.scales[0]);
  w.per_tensor = false;
  return w;
}

std::vector<NodeId> users(const Graph& g, ValueId v, bool& is_output) {
  std::vector<NodeId> out;
  for (NodeId n = g.first(); n; n = g.next(n))
    for (const Arg& a : g.node(n).args)
      for_each_value(a, [&](const ValueId& u) {
        if (u == v && (out.empty() || out.back() != n)) out.push_back(n);
      });
  for (const Arg& a : g.outputs) for_each_value(a, [&](const ValueId& u) { is_output = is_output || u == v; });
  return out;
}

namespace {

// What the weight's range says; nothing makes its numbers keep it.
bool fits_four_bits(const TensorData& numbers) {
  const std::vector<std::byte> all = gather(numbers);
  return std::all_of(all.begin(), all.end(), [](std::byte b) { return static_cast<unsigned>(static_cast<int8_t>(b) + 8) < 16u; });
}

// Two numbers a byte, the first below, each plus 8.
TensorData packed_four_bits(const TensorData& numbers) {
  const std::vector<std::byte> from = gather(numbers);
  std::vector<std::byte> to;
  for (size_t i = 0; i + 1 < from.size(); i += 2) {
    const auto nibble = [&](size_t k) { return static_cast<unsigned>(static_cast<int8_t>(from[k]) + 8) & 15u; };
    to.push_back(static_cast<std::byte>(nibble(i) | nibble(i + 1) << 4));
  }
  const int64_t rows = numbers.sizes[0];
  return make_tensor_data(DType::I8, {rows, numbers.sizes[1] / 2}, std::move(to));
}

uint16_t bf16(float x) {
  std::vector<std::byte> bytes;
  append_element(bytes, DType::BF16, static_cast<double>(x));
  return static_cast<uint16_t>(static_cast<unsigned>(bytes[0]) | static_cast<unsigned>(bytes[1]) << 8);
}

Dims dims_of(const TensorData& d) { return Dims(d.sizes.begin(), d.sizes.end()); }

// The weight as the delegate's integer kernels take it; `axis` is that of the output channels in `laid_out`.
Id integer_weight(Lowering& l, const QuantizedWeight& w, const TensorData& laid_out, uint32_t axis) {
  if (w.per_tensor) return l.constant(laid_out, DataType::QInt8, dims_of(laid_out), PerTensor{w.scales[0], 0});
  if (w.group_size > 0) {
    PerGroup q;
    for (float x : w.scales) q.scales.push_back(bf16(x));
    q.group_size = static_cast<uint32_t>(w.group_size);
    return l.constant(packed_four_bits(laid_out), DataType::QBInt4, dims_of(laid_out), std::move(q));
  }
  if (w.four_bits) return l.constant(packed_four_bits(laid_out), DataType::QCInt4, dims_of(laid_out), PerChannel{w.scales, axis});
  return l.constant(laid_out, DataType::QCInt8, dims_of(laid_out), PerChannel{w.scales, axis});
}

// The bias in steps of input scale times weight scale.
Id integer_bias(Lowering& l, const TensorData& bias, float input_scale, const QuantizedWeight& w) {
  const std::vector<double> values = numbers_of(bias);
  std::vector<float> scales;
  for (float x : w.scales) scales.push_back(x * input_scale);
  std::vector<std::byte> bytes;
  for (size_t i = 0; i < values.size(); ++i) {
    const double step = static_cast<double>(scales[w.per_tensor ? 0 : i]);
    const double steps = std::clamp(std::nearbyint(values[i] / step), -2147483648.0, 2147483647.0);
    append_integer(bytes, DType::I32, static_cast<int64_t>(steps));
  }
  TensorData data = make_tensor_data(DType::I32, bias.sizes, std::move(bytes));
  const Dims dims = dims_of(data);
  if (w.per_tensor) return l.constant(std::move(data), DataType::QInt32, dims, PerTensor{scales[0], 0});
  return l.constant(std::move(data), DataType::QCInt32, dims, PerChannel{std::move(scales), 0});
}

// ---- what a result is quantized to -----------------------------------------------------------------------------------------------------

struct Requantized {
  PerTensor to;
  double min = -kInf, max = kInf;  // a range between
  std::vector<ValueId> values;     // floats that the integers stand for
};

std::optional<Requantized> requantized(const Lowering& l, const Site& s, ValueId v) {
  Requantized r;
  for (;;) {
    r.values.push_back(v);
    const NodeId user = l.only_user(v);
    if (!user) return std::nullopt;
    const Call c = call_of(s, user);
    const std::string& op = c.op().name();
    if (op == kNs + "quantize_per_tensor") {
      const auto to = per_tensor(c);
      if (!to) return std::nullopt;
      r.to = *to;
      return r;
    }
    if (r.values.size() > 1) return std::nullopt;
    const bool tanh = op == "aten.hardtanh";
    if (op == "aten.relu") {
      r.min = 0;
    } else if ((tanh || op == "aten.clamp") && !refuses(Site{s.m, s.g, user, s.options})) {
      r.min = c.number(tanh ? "min_val" : "min", -kInf);
      r.max = c.number(tanh ? "max_val" : "max", kInf);
    } else {
      return std::nullopt;
    }
    v = s.g.node(user).results[0];
  }
}

void finish(Lowering& l, const Requantized& r, Id out, const Order& order) {
  if (NetNode* n = l.net().producer(out)) {
    while (n->op == Op::Reshape) n = l.net().producer(n->in[0]);
    n->min = static_cast<float>(r.min);
    n->max = static_cast<float>(r.max);
  }
  for (ValueId v : r.values) l.bind(v, out, order);
}

const PerTensor& quant_of(Lowering& l, Id id) { return std::get<PerTensor>(l.net().value(id).quant); }

bool moves(const Site& s, NodeId n) {
  const Row* row = find_row(s.g.node(n).op->name());
  return row && row->moves;
}

std::optional<PerTensor> quantization_ahead(const Site& s, ValueId v, int depth) {
  bool is_output = false;
  for (NodeId user : users(s.g, v, is_output)) {
    if (is(s, user, kNs + "dequantize_per_tensor")) return per_tensor(call_of(s, user));
    if (depth > 0 && moves(s, user))
      if (const auto q = quantization_ahead(s, s.g.node(user).results[0], depth - 1)) return q;
  }
  return std::nullopt;
}

}  // namespace

// A weight goes with its user: nothing else would be computed of it.
Refusal weight_refused(const Site& s) {
  bool is_output = false;
  const auto all = users(s.g, s.node().results[0], is_output);
  for (NodeId user : all)
    if (!refuses(Site{s.m, s.g, user, s.options})) return {};
  return "what uses the weight is not taken";
}

std::optional<PerTensor> quantization_of(const Site& s, ValueId v) {
  constexpr int kDepth = 16;
  ValueId from = v;
  for (int i = 0; i < kDepth; ++i) {
    const NodeId def = s.g.value(from).def;
    if (!def) break;
    if (is(s, def, kNs + "quantize_per_tensor")) return per_tensor(call_of(s, def));
    if (!moves(s, def) || !s.g.node(def).args[0].is_value()) break;
    from = s.g.node(def).args[0].value();
  }
  return quantization_ahead(s, v, kDepth);
}

namespace {

// With its last dim innermost.
Form rows_of(Lowering& l, const Form& f) {
  const size_t rank = f.order.size();
  return f.order.back() == rank - 1 ? f : Form{l.transposed(f.id, f.order, plain_order(rank)), plain_order(rank)};
}

// Whether the delegate has the product of such numbers: a step of operand and weight is below 256 of the result, and a scale itself, and
// sums that begin with the bias stay within 32 bits.
bool takes_scales(const QuantizedWeight& w, const TensorData* bias, const PerTensor& x, const PerTensor& to) {
  constexpr double kMostSteps = 1 << 30;
  const std::vector<double> summands = bias ? numbers_of(*bias) : std::vector<double>{0};
  const size_t count = std::max(w.scales.size(), summands.size());
  for (size_t i = 0; i < count; ++i) {
    const float step = x.scale * w.scales[w.scales.size() == 1 ? 0 : i];
    const double summand = summands[summands.size() == 1 ? 0 : i];
    if (!is_scale(step) || !(step / to.scale < 256) || !(std::abs(summand) / static_cast<double>(step) <= kMostSteps)) return false;
  }
  return true;
}

bool by_channel(const QuantizedWeight& w) { return symmetric(w) && (w.per_tensor || w.axis == 0) && w.group_size == 0 && !w.four_bits; }

}  // namespace

bool lower_product_with_integers(Lowering& l, ValueId x, ValueId y, const QuantizedWeight& w, const TensorData* bias) {
  if (!by_channel(w) || l.type(y).dtype != DType::F32) return false;
  const auto n = static_cast<uint32_t>(w.numbers.sizes[0]);
  const Form f = rows_of(l, l.form(x));
  Id out = l.fully_connected(f.id, integer_weight(l, by_channels(w), w.numbers, 0), kNone, n);
  if (bias) out = l.binary(Op::Add, out, l.constant(*bias));  // the kernel would scale a bias of its own
  l.bind(y, out, f.order);
  return true;
}

bool lower_quantized_linear(Lowering& l, const Site& s) {
  const Call c = s.call();
  const QuantizedWeight w = *weight_of_quantized(s, c.value("weight"));
  const ValueId y = s.node().results[0];
  const auto n = static_cast<uint32_t>(w.numbers.sizes[0]);
  if (const auto floats = dynamic_operand(s)) {
    const Form f = rows_of(l, l.form(*floats));
    const Id bias = c.has("bias") ? l.constant(*s.constant("bias")) : kNone;
    QuantizedWeight numbers = by_channels(w);
    numbers.four_bits = w.four_bits && fits_four_bits(w.numbers);
    const bool integers = w.group_size == 0 || numbers.four_bits;
    const Id weight = integers ? integer_weight(l, numbers, w.numbers, 0) : l.constant(dequantized(w));
    l.bind(y, l.fully_connected(integers ? l.quantized_rows(f.id, 1) : f.id, weight, bias, n), f.order);
    return true;
  }
  const auto to = requantized(l, s, y);
  const auto x = l.quantized(c.value("input"));
  if (!x && lower_product_with_integers(l, c.value("input"), y, w, c.has("bias") ? s.constant("bias") : nullptr)) return true;
  if (!s.options.static_quant || !x || !to || !by_channel(w) || !takes_scales(w, s.constant("bias"), quant_of(l, x->id), to->to))
    return false;
  const Form f = rows_of(l, *x);
  Dims sizes = l.dims(f.id);
  sizes.back() = Dim(int64_t{n});
  const Id bias = c.has("bias") ? integer_bias(l, *s.constant("bias"), quant_of(l, f.id).scale, w) : kNone;
  const Id out = l.value(DataType::QInt8, sizes, to->to);
  l.emit(Op::FullyConnected, {f.id, integer_weight(l, w, w.numbers, 0), bias}, out);
  finish(l, *to, out, f.order);
  return true;
}

bool lower_quantized_conv(Lowering& l, const Site& s) {
  const Call c = s.call();
  const QuantizedWeight w = *weight_of_quantized(s, c.value("weight"));
  const ValueId y = s.node().results[0];
  const bool depthwise = is_depthwise(c), transposed = c.flag("transposed");
  const auto axis = static_cast<uint32_t>(depthwise ? 3 : 0);
  if (const auto floats = dynamic_operand(s)) {
    const Id image = image_of(l, l.form(*floats));
    const Id bias = c.has("bias") ? l.constant(*s.constant("bias")) : kNone;
    conv_into(l, y, l.quantized_rows(image, 3), {}, integer_weight(l, by_channels(w), conv_filter(c, w.numbers), axis), bias, c, {});
    return true;
  }
  const auto to = requantized(l, s, y);
  const auto x = l.quantized(c.value("input"));
  if (!s.options.static_quant || !x || !to || !symmetric(w) || w.group_size > 0 || w.four_bits) return false;
  if (!w.per_tensor && (transposed ? w.axis != 1 || c.integer("groups", 1) > 1 : w.axis != 0)) return false;
  if (!takes_scales(w, s.constant("bias"), quant_of(l, x->id), to->to)) return false;
  const Padded padded = without_pad(l, c, *x);
  const Id image = image_of(l, padded.form);
  const Id bias = c.has("bias") ? integer_bias(l, *s.constant("bias"), quant_of(l, image).scale, w) : kNone;
  const Id out = conv_node(l, c, y, image, padded.pads, integer_weight(l, w, conv_filter(c, w.numbers), axis), bias, to->to);
  bind_image(l, y, out);
  const Form f = *l.quantized(y);
  finish(l, *to, f.id, f.order);
  return true;
}

bool lower_quantized_binary(Lowering& l, const Site& s, Op op) {
  if (!s.options.static_quant) return false;
  const auto a = l.quantized(s.node().args[0].value()), b = l.quantized(s.node().args[1].value());
  const auto to = requantized(l, s, s.node().results[0]);
  if (!a || !b || !to || l.dims(a->id).size() != l.dims(b->id).size()) return false;
  // Ratios of scales that the delegate's integer kernels have.
  const double x = quant_of(l, a->id).scale, w = quant_of(l, b->id).scale, out = to->to.scale;
  const auto within = [](double ratio, double low) { return ratio >= low && ratio < 0x1p+8; };
  if (op == Op::Multiply ? !within(x * w / out, 0x1p-16) : !within(x / out, 0x1p-10) || !within(w / out, 0x1p-10)) return false;
  const Id other = l.transposed(b->id, b->order, a->order);
  Dims sizes = l.dims(a->id);
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] == Dim(1)) sizes[i] = l.dims(other)[i];
  const Id numbers = l.value(DataType::QInt8, std::move(sizes), to->to);
  l.emit(op, {a->id, other}, numbers);
  finish(l, *to, numbers, a->order);
  return true;
}

// Between two numbers, quantized again as before: the range of the integers, which what made them holds where it can.
bool lower_quantized_range(Lowering& l, const Site& s, double min, double max) {
  const ValueId self = s.call().value("self");
  const auto x = l.quantized(self);
  const auto to = requantized(l, s, s.node().results[0]);
  if (!s.options.static_quant || !x || !to || to->values.size() > 1 || !(quant_of(l, x->id) == to->to)) return false;
  Id out = x->id;
  if (NetNode* made = l.maker(self); made && takes_range(made->op)) {
    made->hold_between(min, max);
    made->sources.push_back(l.node());
  } else {
    out = l.clamp(out, min, max);
  }
  l.bind(s.node().results[0], out, x->order);
  return true;
}

bool lower_quantized_mean(Lowering& l, const Site& s, bool keep) {
  const auto x = l.quantized(s.call().value("self"));
  const auto to = requantized(l, s, s.node().results[0]);
  if (!s.options.static_quant || !x || !to) return false;
  const Id image = l.transposed(x->id, x->order, kNhwc);
  const Dims d = l.dims(image);
  const Id numbers = l.value(DataType::QInt8, keep ? Dims{d[0], Dim(1), Dim(1), d[3]} : Dims{d[0], d[3]}, to->to);
  l.emit(Op::GlobalAveragePool, {image}, numbers).flags = keep ? kKeepDims : 0;
  finish(l, *to, numbers, keep ? kNhwc : plain_order(2));
  return true;
}

namespace {

Refusal quantize_refuses(const Site& s) {
  if (!s.options.static_quant) return "quantized numbers are left out by option precision";
  const Call c = s.call();
  if (c.tensor("input").dtype != DType::F32) return "the delegate quantizes float32";
  if (!per_tensor(c)) return "the delegate has int8 with its whole range, one positive scale and a zero point in it";
  return {};
}
Status quantize(Lowering& l, const Site& s) {
  const Call c = s.call();
  const ValueId x = c.value("input"), y = s.node().results[0];
  const PerTensor to = *per_tensor(c);
  if (const auto q = l.quantized(x); q && quant_of(l, q->id) == to) {
    l.bind(y, q->id, q->order);
    return {};
  }
  const Form f = l.form(x);
  const Dims sizes = l.dims(f.id);
  const Id numbers_out = l.value(DataType::QInt8, sizes, to);
  l.emit(Op::Convert, {f.id}, numbers_out);
  l.bind(y, numbers_out, f.order);
  return {};
}

Refusal dequantize_refuses(const Site& s) {
  if (weight_of_quantized(s, s.node().results[0])) return weight_refused(s);
  if (!s.options.static_quant) return "quantized numbers are left out by option precision";
  const Call c = s.call();
  if (s.constant("input")) return "a constant of another dtype than int8";
  if (s.result().dtype != DType::F32) return "the delegate dequantizes to float32";
  if (!per_tensor(c)) return "the delegate has int8 with its whole range, one positive scale and a zero point in it";
  const auto from = quantization_of(s, c.value("input"));
  if (!from || !(*from == *per_tensor(c))) return "numbers are read with another scale than they were made with";
  return {};
}
Status dequantize(Lowering& l, const Site& s) {
  if (weight_of_quantized(s, s.node().results[0])) return {};  // by the product, or where floats are wanted
  const Form f = l.form(s.call().value("input"));
  NetValue& numbers_in = l.net().value(f.id);
  if (std::holds_alternative<std::monostate>(numbers_in.quant)) numbers_in.quant = *per_tensor(s.call());  // come from outside
  l.bind(s.node().results[0], f.id, f.order);
  return {};
}

Status nothing(Lowering&, const Site&) { return {}; }  // the product does it, or it is made where floats are wanted

Refusal weight_refuses(const Site& s) {
  if (!weight_of_quantized(s, s.node().results[0])) return "the delegate takes channels of a constant int8 weight";
  return weight_refused(s);
}

constexpr Row kRows[] = {
    {"quantized_decomposed.quantize_per_tensor", quantize, quantize_refuses, true},
    {"quantized_decomposed.dequantize_per_tensor", dequantize, dequantize_refuses, true},
    {"quantized_decomposed.dequantize_per_channel", nothing, weight_refuses, true},
    {"quantized_decomposed.dequantize_per_channel_group", nothing, weight_refuses, true},
};

}  // namespace

std::span<const Row> quant_rows() { return kRows; }

}  // namespace edgec::xnnpack
