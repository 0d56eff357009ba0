#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "backends/xnnpack/conv.h"
#include "backends/xnnpack/lowering.h"

// Operators of one and two operands, element by element. They take their operands in whatever order these lie.
namespace edgec::xnnpack {
namespace {

template <Op kOp>
Status one(Lowering& l, const Site& s) {
  const ValueId x = s.node().args[0].value();
  const Form f = l.lying(x);
  l.bind(s.node().results[0], l.unary(kOp, f.id), f.order);
  return {};
}

// An operand of lower rank has leading dims of one.
Id spread(Lowering& l, ValueId v, size_t rank, const Order& order) {
  const size_t own = l.type(v).rank();
  if (own == rank) return l.in_order(v, order);
  const Id plain = l.plain(v);
  // The delegate aligns at the last dim itself.
  const Order all = plain_order(rank);
  if (order.size() >= own &&
      std::equal(all.end() - static_cast<std::ptrdiff_t>(own), all.end(), order.end() - static_cast<std::ptrdiff_t>(own)))
    return plain;
  Dims sizes(rank - own, Dim(1));
  sizes.insert(sizes.end(), l.dims(plain).begin(), l.dims(plain).end());
  return l.transposed(l.reshape(plain, sizes), all, order);
}

// The order in which two operands meet: that of the one which has all elements, so that nothing moves.
Order meeting_order(Lowering& l, ValueId a, ValueId b, size_t rank) {
  const Order plain = plain_order(rank);
  const auto full = [&](ValueId v) { return l.type(v).rank() == rank && !l.method().constant_of(l.graph(), v); };
  if (rank == 0 || (!full(a) && !full(b))) return plain;
  if (full(a) && full(b)) {
    const Order x = l.lying(a).order, y = l.lying(b).order;
    if (x == y) return x;
    const bool a_has_all = !(numel(l.type(a).sizes) == Dim(1)), b_has_all = !(numel(l.type(b).sizes) == Dim(1));
    if (a_has_all != b_has_all) return a_has_all ? x : y;
    if (sym::less(numel(l.type(a).sizes), numel(l.type(b).sizes)) == sym::Proof::Yes) return y;
    if (sym::less(numel(l.type(b).sizes), numel(l.type(a).sizes)) == sym::Proof::Yes) return x;
    // A value that was moved already lies in both orders.
    const bool b_lies = l.lies_in(b, x), a_lies = l.lies_in(a, y);
    if (a_lies != b_lies) return a_lies ? y : x;
    return x == plain ? y : x;
  }
  const ValueId whole = full(a) ? a : b, other = full(a) ? b : a;
  const Order order = l.lying(whole).order;
  const bool movable = l.type(other).rank() == rank || l.method().constant_of(l.graph(), other) || at_most_one_dynamic(l.type(other).sizes);
  return movable ? order : plain;
}

Status two(Lowering& l, const Site& s, Op op, ValueId a, ValueId b, double scale_b = 1) {
  const size_t rank = s.result().rank();
  const Order order = meeting_order(l, a, b, rank);
  const Id x = spread(l, a, rank, order);
  Id y = spread(l, b, rank, order);
  if (scale_b != 1) y = l.binary(Op::Multiply, y, scale_b);
  l.bind(s.node().results[0], l.binary(op, x, y), order);
  return {};
}

template <Op kOp>
Status tensors(Lowering& l, const Site& s) {
  if (kOp != Op::Maximum && kOp != Op::Minimum && fold_into_product(l, s)) return {};
  const Call c = s.call();
  const bool has_alpha = c.op().schema().find("alpha") >= 0;
  const bool integers = kOp == Op::Multiply || ((kOp == Op::Add || kOp == Op::Subtract) && c.number("alpha", 1) == 1);
  if (integers && lower_quantized_binary(l, s, kOp)) return {};
  return two(l, s, kOp, s.node().args[0].value(), s.node().args[1].value(), has_alpha ? c.number("alpha", 1) : 1);
}

template <Op kOp>
Status with_number(Lowering& l, const Site& s) {
  if (fold_into_product(l, s)) return {};
  const Call c = s.call();
  const double alpha = c.op().schema().find("alpha") >= 0 ? c.number("alpha", 1) : 1;
  const Form f = l.lying(c.value("self"));
  l.bind(s.node().results[0], l.binary(kOp, f.id, c.number("other") * alpha), f.order);
  return {};
}

Refusal constant_numbers(const Site& s) {
  for (const Arg& a : s.node().args)
    if (a.is_expr() && !a.expr().is_static()) return "the number is known only when the program runs";
  return {};
}

Status rsub_number(Lowering& l, const Site& s) {
  const Call c = s.call();
  const Form f = l.lying(c.value("self"));
  Id x = f.id;
  if (c.number("alpha", 1) != 1) x = l.binary(Op::Multiply, x, c.number("alpha", 1));
  l.bind(s.node().results[0], l.binary(Op::Subtract, l.scalar(c.number("other"), l.net().value(x).type), x), f.order);
  return {};
}

// The delegate's own estimate gives NaN for 0 and for infinity, its root of infinity too. What is known to lie above 0 (a mean of squares
// plus an epsilon) is a variance, of which infinity is an overflow.
Status rsqrt(Lowering& l, const Site& s) {
  const Form f = l.lying(s.node().args[0].value());
  if (l.at_least(f.id) >= std::numeric_limits<float>::min()) {
    l.bind(s.node().results[0], l.unary(Op::ReciprocalSquareRoot, f.id), f.order);
    return {};
  }
  const double inf = std::numeric_limits<double>::infinity();
  const Id root = l.unary(Op::SquareRoot, l.clamp(f.id, -inf, std::numeric_limits<float>::max()));
  l.bind(s.node().results[0], l.binary(Op::Divide, l.scalar(1, l.net().value(f.id).type), root), f.order);
  return {};
}

Status reciprocal(Lowering& l, const Site& s) {
  const Form f = l.lying(s.node().args[0].value());
  l.bind(s.node().results[0], l.binary(Op::Divide, l.scalar(1, l.net().value(f.id).type), f.id), f.order);
  return {};
}

Refusal power_refuses(const Site& s) {
  if (Refusal r = constant_numbers(s)) return r;
  const double e = s.call().number("exponent");
  for (double ok : {1.0, 2.0, 3.0, 4.0, 0.5, -0.5, -1.0, -2.0})
    if (e == ok) return {};
  return fmt::format("the exponent is {}; the delegate has squares, cubes, roots and their reciprocals", e);
}

Status power(Lowering& l, const Site& s) {
  const double e = s.call().number("exponent");
  const Form f = l.lying(s.call().value("self"));
  const DataType t = l.net().value(f.id).type;
  Id y = f.id;
  if (e == 0.5 || e == -0.5) {
    y = l.unary(Op::SquareRoot, f.id);
  } else if (e == 1) {
    y = l.unary(Op::Copy, f.id);
  } else if (e > 0 || e == -2) {
    y = l.unary(Op::Square, f.id);
    if (e == 3) y = l.binary(Op::Multiply, y, f.id);
    if (e == 4) y = l.unary(Op::Square, y);
  }
  if (e < 0) y = l.binary(Op::Divide, l.scalar(1, t), y);
  l.bind(s.node().results[0], y, f.order);
  return {};
}

constexpr Row kRows[] = {
    {"aten.abs", one<Op::Abs>},
    {"aten.ceil", one<Op::Ceiling>},
    {"aten.cos", one<Op::Cos>},
    {"aten.exp", one<Op::Exp>},
    {"aten.floor", one<Op::Floor>},
    {"aten.log", one<Op::Log>},
    {"aten.neg", one<Op::Negate>},
    {"aten.rsqrt", rsqrt},
    {"aten.sigmoid", one<Op::Sigmoid>},
    {"aten.sin", one<Op::Sin>},
    {"aten.sqrt", one<Op::SquareRoot>},
    {"aten.tanh", one<Op::Tanh>},
    {"aten.reciprocal", reciprocal},
    {"aten.pow.Tensor_Scalar", power, power_refuses},
    {"aten.add.Tensor", tensors<Op::Add>, constant_numbers},
    {"aten.sub.Tensor", tensors<Op::Subtract>, constant_numbers},
    {"aten.mul.Tensor", tensors<Op::Multiply>},
    {"aten.div.Tensor", tensors<Op::Divide>},
    {"aten.maximum", tensors<Op::Maximum>},
    {"aten.minimum", tensors<Op::Minimum>},
    {"aten.add.Scalar", with_number<Op::Add>, constant_numbers},
    {"aten.sub.Scalar", with_number<Op::Subtract>, constant_numbers},
    {"aten.mul.Scalar", with_number<Op::Multiply>, constant_numbers},
    {"aten.div.Scalar", with_number<Op::Divide>, constant_numbers},
    {"aten.rsub.Scalar", rsub_number, constant_numbers},
};

}  // namespace

std::span<const Row> elementwise_rows() { return kRows; }

}  // namespace edgec::xnnpack
