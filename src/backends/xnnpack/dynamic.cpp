#include "backends/xnnpack/quantized.h"

#include <algorithm>

// Values that are quantized while the program runs, for a product with a constant weight: their range is looked up, scale and zero point
// chosen, numbers made and turned to floats again. The delegate does all of it in the product, with 8 bits and a scale for each row.
namespace edgec::xnnpack {
namespace {

const std::string kNs = "quantized_decomposed.";

bool is_choice(const std::string& op) {
  return op == kNs + "choose_qparams.tensor" || op == kNs + "choose_qparams_symmetric.tensor" ||
         op == kNs + "choose_qparams_per_token_asymmetric" || op == "torchao.choose_qparams_affine";
}
bool is_quantize(const std::string& op) {
  return op == kNs + "quantize_per_tensor.tensor" || op == kNs + "quantize_per_token" || op == "torchao.quantize_affine";
}
bool is_dequantize(const std::string& op) {
  return op == kNs + "dequantize_per_tensor.tensor" || op == kNs + "dequantize_per_token" || op == "torchao.dequantize_affine";
}

// The first of these parameters that the operator has.
const char* param(const Call& c, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (c.op().schema().find(name) >= 0) return name;
  return nullptr;
}

struct Numbers {
  DType dtype = DType::I8;
  int64_t low = -128, high = 127;
  friend bool operator==(const Numbers&, const Numbers&) = default;
  bool eight_bits() const {
    return dtype == DType::I8 ? high == 127 && (low == -128 || low == -127) : dtype == DType::U8 && high == 255 && (low == 0 || low == 1);
  }
};
Numbers numbers_of(const Call& c) {
  Numbers n;
  n.dtype = c.dtype(param(c, {"dtype", "target_dtype", "output_dtype", "input_dtype"}), DType::I8);
  if (n.dtype == DType::U8) n.low = 0, n.high = 255;
  if (param(c, {"quant_min"}) && c.has("quant_min")) n.low = c.integer("quant_min");
  if (param(c, {"quant_max"}) && c.has("quant_max")) n.high = c.integer("quant_max");
  return n;
}

// Whether the call reads scale and zero point as the choice gives them, and stands for the same numbers.
bool goes_by(const Call& c, const Call& choice, const std::vector<ValueId>& chosen) {
  const char *scale = param(c, {"scales", "scale"}), *zero = param(c, {"zero_points", "zero_point"});
  if (!c.has(zero) || !c.is_tensor(scale) || !c.is_tensor(zero)) return false;
  if (c.value(scale) != chosen[0] || c.value(zero) != chosen[1] || !(numbers_of(c) == numbers_of(choice))) return false;
  return !param(c, {"block_size"}) == !param(choice, {"block_size"}) &&
         (!param(c, {"block_size"}) || c.dims("block_size") == choice.dims("block_size"));
}

// What shares a scale: everything, or each row of the last dim. None: something else.
std::optional<bool> is_whole(const Call& choice) {
  const Dims& sizes = choice.tensor("input").sizes;
  if (!param(choice, {"block_size"})) return choice.op().name() != kNs + "choose_qparams_per_token_asymmetric" || sizes.size() == 1;
  const Dims block = choice.dims("block_size");
  if (block == sizes) return true;
  if (block.size() != sizes.size() || block.empty() || block.back() != sizes.back()) return std::nullopt;
  return std::all_of(block.begin(), block.end() - 1, [](const Dim& d) { return d == Dim(1); }) ? std::optional(false) : std::nullopt;
}

// Choice, quantize and dequantize are the product's own: taken when nothing else uses them.
Refusal dynamic_refuses(const Site& s) {
  const std::string& op = s.node().op->name();
  if (is_dequantize(op)) {
    if (weight_of_quantized(s, s.node().results[0])) return weight_refused(s);
    if (!dynamic_source(s, s.node().results[0]))
      return "the delegate quantizes to 8 bits, with scales chosen for rows or for all of a value";
  }
  for (ValueId v : s.node().results) {
    bool is_output = false;
    for (NodeId user : users(s.g, v, is_output)) {
      const std::string& name = s.g.node(user).op->name();
      const Site at{s.m, s.g, user, s.options};
      if (is_dequantize(op) ? !dynamic_operand(at) : !is_quantize(name) && !is_dequantize(name))
        return "it is not used by a product with a constant symmetric weight alone";
      if (!is_dequantize(op))
        if (Refusal r = dynamic_refuses(at)) return r;
    }
    if (is_output) return "it is an output";
  }
  return {};
}

Status nothing(Lowering&, const Site&) { return {}; }  // the product does it

constexpr Row kRows[] = {
    {"quantized_decomposed.choose_qparams.tensor", nothing, dynamic_refuses, true},
    {"quantized_decomposed.choose_qparams_symmetric.tensor", nothing, dynamic_refuses, true},
    {"quantized_decomposed.choose_qparams_per_token_asymmetric", nothing, dynamic_refuses, true},
    {"quantized_decomposed.quantize_per_tensor.tensor", nothing, dynamic_refuses, true},
    {"quantized_decomposed.quantize_per_token", nothing, dynamic_refuses, true},
    {"quantized_decomposed.dequantize_per_tensor.tensor", nothing, dynamic_refuses, true},
    {"quantized_decomposed.dequantize_per_token", nothing, dynamic_refuses, true},
    {"torchao.choose_qparams_affine", nothing, dynamic_refuses, true},
    {"torchao.quantize_affine", nothing, dynamic_refuses, true},
    {"torchao.dequantize_affine", nothing, dynamic_refuses, true},
};

}  // namespace

std::optional<DynamicSource> dynamic_source(const Site& s, ValueId v) {
  const NodeId dequantize = s.g.value(v).def;
  if (!dequantize || !is_dequantize(s.g.node(dequantize).op->name()) || s.g.tensor(v).dtype != DType::F32) return std::nullopt;
  const Call from = call_of(s, dequantize);
  const NodeId quantize = s.g.value(from.value("input")).def;
  if (!quantize || !is_quantize(s.g.node(quantize).op->name())) return std::nullopt;
  const Call to = call_of(s, quantize);
  const char* scale = param(to, {"scales", "scale"});
  const NodeId choice = to.is_tensor(scale) ? s.g.value(to.value(scale)).def : NodeId();
  if (!choice || !is_choice(s.g.node(choice).op->name())) return std::nullopt;
  const Call chosen = call_of(s, choice);
  const std::vector<ValueId>& results = s.g.node(choice).results;
  if (chosen.value("input") != to.value("input") || chosen.tensor("input").dtype != DType::F32) return std::nullopt;
  if (!goes_by(to, chosen, results) || !goes_by(from, chosen, results) || !numbers_of(chosen).eight_bits()) return std::nullopt;
  const auto whole = is_whole(chosen);
  return whole ? std::optional(DynamicSource{to.value("input"), *whole}) : std::nullopt;
}

std::optional<ValueId> dynamic_operand(const Site& s) {
  const std::string& op = s.node().op->name();
  if (!s.options.dynamic_quant || (op != "aten.linear" && op != "aten.convolution")) return std::nullopt;
  const Call c = s.call();
  const auto w = weight_of_quantized(s, c.value("weight"));
  const auto x = dynamic_source(s, c.value("input"));
  if (!w || !x || !symmetric(*w) || w->axis != 0 || refuses(s)) return std::nullopt;
  if (op == "aten.convolution") {  // an image has one scale, or each of its pixels, but not each of its rows
    const bool taken =
        x->whole && w->group_size == 0 && !w->four_bits && c.rank("weight") == 4 && !is_depthwise(c) && !c.flag("transposed");
    return taken ? std::optional(x->x) : std::nullopt;
  }
  if (w->four_bits && w->numbers.sizes[1] % 2 != 0) return std::nullopt;
  return w->group_size == 0 || (w->four_bits && w->group_size % 32 == 0) ? std::optional(x->x) : std::nullopt;
}

std::span<const Row> dynamic_rows() { return kRows; }

}  // namespace edgec::xnnpack
