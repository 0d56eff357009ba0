#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "backends/xnnpack/conv.h"
#include "backends/xnnpack/lowering.h"

// Activations: those that the delegate has, and those made of what it has. Plain ranges (relu, clamp) join the node before them.
namespace edgec::xnnpack {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

template <Op kOp>
Status has(Lowering& l, const Site& s) {
  const Form f = l.lying(s.call().value("self"));
  l.bind(s.node().results[0], l.unary(kOp, f.id), f.order);
  return {};
}

Status range(Lowering& l, const Site& s, double min, double max) {
  if (!l.is_bound(s.node().results[0]) && !lower_quantized_range(l, s, min, max))
    l.clamp_result(s.call().value("self"), s.node().results[0], min, max);
  return {};
}
Status relu(Lowering& l, const Site& s) { return range(l, s, 0, kInf); }
Status hardtanh(Lowering& l, const Site& s) { return range(l, s, s.call().number("min_val", -1), s.call().number("max_val", 1)); }
Status clamp(Lowering& l, const Site& s) { return range(l, s, s.call().number("min", -kInf), s.call().number("max", kInf)); }

Refusal fixed_range(const Site& s) {
  const bool tanh = s.call().op().schema().find("min_val") >= 0;
  const Call c = s.call();
  for (const char* p : {tanh ? "min_val" : "min", tanh ? "max_val" : "max"})
    if (c.has(p) && c.arg(p).is_expr() && !c.arg(p).expr().is_static()) return "a bound is known only when the program runs";
  const double lo = c.number(tanh ? "min_val" : "min", -kInf), hi = c.number(tanh ? "max_val" : "max", kInf);
  if (!(lo < hi)) return fmt::format("the range from {} to {} is empty", lo, hi);
  return {};
}

Status leaky_relu(Lowering& l, const Site& s) {
  const Form f = l.lying(s.call().value("self"));
  const Id y = l.value(l.net().value(f.id).type, l.dims(f.id));
  l.emit(Op::LeakyRelu, {f.id}, y).number = static_cast<float>(s.call().number("negative_slope", 0.01));
  l.bind(s.node().results[0], y, f.order);
  return {};
}
Refusal leaky_relu_refuses(const Site& s) {
  const double slope = s.call().number("negative_slope", 0.01);
  if (!std::isfinite(slope) || slope == 0) return fmt::format("slope {}", slope);
  return {};
}

Refusal elu_refuses(const Site& s) {
  const Call c = s.call();
  if (!(c.number("alpha", 1) > 0)) return fmt::format("alpha is {}; the delegate wants a positive one", c.number("alpha", 1));
  return {};
}
// scale * elu(x); alpha and input_scale as torch has them.
Status elu(Lowering& l, const Site& s) {
  const Call c = s.call();
  const Form f = l.lying(c.value("self"));
  Id x = f.id;
  const double in = c.number("input_scale", 1), scale = c.number("scale", 1);
  Id y = kNone;
  if (in == 1) {
    y = l.value(l.net().value(x).type, l.dims(x));
    l.emit(Op::Elu, {x}, y).number = static_cast<float>(c.number("alpha", 1));
  } else {  // max(x, 0) + alpha * (exp(min(x, 0) * in) - 1)
    const Id low = l.unary(Op::Exp, l.binary(Op::Multiply, l.clamp(x, -kInf, 0), in));
    y = l.binary(Op::Add, l.clamp(x, 0, kInf), l.binary(Op::Multiply, l.binary(Op::Subtract, low, 1.0), c.number("alpha", 1)));
  }
  if (scale != 1) y = l.binary(Op::Multiply, y, scale);
  l.bind(s.node().results[0], y, f.order);
  return {};
}

Refusal gelu_refuses(const Site& s) {
  if (s.result().dtype == DType::F16 && s.call().string("approximate") != "tanh") return "the delegate has no gelu in float16";
  return {};
}
Status gelu(Lowering& l, const Site& s) {
  if (s.call().string("approximate") != "tanh") return has<Op::Gelu>(l, s);
  // 0.5 x (1 + tanh(u)) is x sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3)
  const Form f = l.lying(s.call().value("self"));
  const double twice = 2 * std::sqrt(2 / 3.14159265358979323846);
  const Id inner = l.binary(Op::Add, l.binary(Op::Multiply, l.unary(Op::Square, f.id), twice * 0.044715), twice);
  const Id y = l.binary(Op::Multiply, f.id, l.unary(Op::Sigmoid, l.binary(Op::Multiply, f.id, inner)));
  l.bind(s.node().results[0], y, f.order);
  return {};
}

Status silu(Lowering& l, const Site& s) {
  const Form f = l.lying(s.call().value("self"));
  l.bind(s.node().results[0], l.binary(Op::Multiply, f.id, l.unary(Op::Sigmoid, f.id)), f.order);
  return {};
}

Status hardsigmoid(Lowering& l, const Site& s) {
  const Form f = l.lying(s.call().value("self"));
  const Id y = l.binary(Op::Add, l.binary(Op::Multiply, f.id, 1.0 / 6), 0.5);
  l.net().producer(y)->min = 0;
  l.net().producer(y)->max = 1;
  l.bind(s.node().results[0], y, f.order);
  return {};
}

// log(1 + exp(x)) without overflow: max(x, 0) + log(1 + exp(-|x|)).
Id softplus_of(Lowering& l, Id x) {
  const Id small = l.unary(Op::Exp, l.unary(Op::Negate, l.unary(Op::Abs, x)));
  return l.binary(Op::Add, l.clamp(x, 0, kInf), l.unary(Op::Log, l.binary(Op::Add, small, 1.0)));
}

// Beyond the threshold torch gives x; there the formula gives it too, to the last bits for thresholds that are in use.
Refusal softplus_refuses(const Site& s) {
  const Call c = s.call();
  if (c.number("threshold", 20) < 15)
    return fmt::format("a threshold of {} changes values that can be told apart", c.number("threshold", 20));
  if (!(c.number("beta", 1) > 0)) return "beta is not positive";
  return {};
}
Status softplus(Lowering& l, const Site& s) {
  const Form f = l.lying(s.call().value("self"));
  const double beta = s.call().number("beta", 1);
  Id y = softplus_of(l, beta == 1 ? f.id : l.binary(Op::Multiply, f.id, beta));
  if (beta != 1) y = l.binary(Op::Multiply, y, 1 / beta);
  l.bind(s.node().results[0], y, f.order);
  return {};
}

Status mish(Lowering& l, const Site& s) {
  const Form f = l.lying(s.call().value("self"));
  l.bind(s.node().results[0], l.binary(Op::Multiply, f.id, l.unary(Op::Tanh, softplus_of(l, f.id))), f.order);
  return {};
}

Status log_sigmoid(Lowering& l, const Site& s) {
  const Form f = l.lying(s.call().value("self"));
  l.bind(s.node().results[0], l.unary(Op::Negate, softplus_of(l, l.unary(Op::Negate, f.id))), f.order);
  return {};
}

Refusal prelu_refuses(const Site& s) {
  const TensorData* w = s.constant("weight");
  if (!w) return "the slopes are not constant";
  if (s.call().rank("self") < 2 && w->numel() > 1) return "slopes for each element of a vector";
  return {};
}
Status prelu(Lowering& l, const Site& s) {
  const Call c = s.call();
  const ValueId x = c.value("self");
  const size_t rank = l.type(x).rank();
  TensorData w = *s.constant("weight");
  const Form f = l.form(x);
  Dims sizes(rank, Dim(1));
  if (w.numel() > 1) sizes[1] = Dim(w.numel());
  const Id slopes = l.transposed(l.reshape(l.constant(std::move(w)), sizes), plain_order(rank), f.order);
  l.bind(s.node().results[0], l.binary(Op::PRelu, f.id, slopes), f.order);
  return {};
}

constexpr Row kRows[] = {
    {"aten.relu", relu},
    {"aten.hardtanh", hardtanh, fixed_range},
    {"aten.clamp", clamp, fixed_range},
    {"aten.leaky_relu", leaky_relu, leaky_relu_refuses},
    {"aten.elu", elu, elu_refuses},
    {"aten.gelu", gelu, gelu_refuses},
    {"aten.hardswish", has<Op::Hardswish>},
    {"aten.hardsigmoid", hardsigmoid},
    {"aten.silu", silu},
    {"aten.softplus", softplus, softplus_refuses},
    {"aten.mish", mish},
    {"aten.log_sigmoid", log_sigmoid},
    {"aten.prelu", prelu, prelu_refuses},
};

}  // namespace

std::span<const Row> activation_rows() { return kRows; }

}  // namespace edgec::xnnpack
