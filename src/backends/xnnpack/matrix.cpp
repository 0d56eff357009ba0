#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/xnnpack/attention.h"
#include "backends/xnnpack/conv.h"
#include "backends/xnnpack/lowering.h"

// Products of matrices, softmax. The delegate multiplies [..., m, k] by [..., k, n], or by [..., n, k] as it lies.
namespace edgec::xnnpack {
namespace {

// x with its last dim innermost; the dims before it lie as they do.
Form rows_of(Lowering& l, ValueId v) {
  const Form f = l.lying(v);
  const size_t rank = l.type(v).rank();
  if (f.order.empty() || f.order.back() == rank - 1) return f;
  return {l.plain(v), plain_order(rank)};
}

TensorData transposed_matrix(TensorData w) {
  std::swap(w.sizes[0], w.sizes[1]);
  std::swap(w.strides[0], w.strides[1]);
  return w;
}

// ---- a constant matrix on the right ----------------------------------------------------------------------------------------------------

void multiply_rows(Lowering& l, ValueId x, ValueId y, TensorData weight, Id bias) {
  const Form f = rows_of(l, x);
  const auto n = static_cast<uint32_t>(weight.sizes[0]);
  l.bind(y, l.fully_connected(f.id, l.constant(std::move(weight)), bias, n), f.order);
}

Refusal linear_refuses(const Site& s) {
  const Call c = s.call();
  const bool constant = s.constant("weight") || weight_of_quantized(s, c.value("weight"));
  if (!constant && !s.options.dynamic_weights) return "the weight is not constant (option dynamic_weights=on takes it)";
  if (c.rank("weight") != 2) return "the weight is no matrix";
  if (c.has("bias") && !s.constant("bias")) return "the bias is not constant";
  if (c.rank("input") == 0) return "an input of rank 0";
  if (!c.tensor("weight").is_static()) return "the weight's sizes are not constant";
  return {};
}
Status linear(Lowering& l, const Site& s) {
  const Call c = s.call();
  const ValueId x = c.value("input"), y = s.node().results[0];
  if (weight_of_quantized(s, c.value("weight")) && lower_quantized_linear(l, s)) return {};
  const Id bias = c.has("bias") ? l.constant(*s.constant("bias")) : kNone;
  if (const TensorData* w = s.constant("weight"); w && linear_of_heads(l, x, y, *w, bias)) return {};
  if (const TensorData* w = s.constant("weight")) {
    multiply_rows(l, x, y, *w, bias);
  } else if (const auto q = weight_of_quantized(s, c.value("weight"))) {
    multiply_rows(l, x, y, dequantized(*q), bias);
  } else {
    const Form f = rows_of(l, x);
    const auto n = static_cast<uint32_t>(*l.type(c.value("weight")).sizes[0].constant());
    l.bind(y, l.fully_connected(f.id, l.plain(c.value("weight")), bias, n), f.order);
  }
  return {};
}

// ---- two matrices ----------------------------------------------------------------------------------------------------------------------

// The product of a and b as they are told, operands brought to an order that the delegate multiplies.
Id product(Lowering& l, ValueId a, ValueId b) {
  const size_t rank = l.type(b).rank();
  const Form f = l.form(b);
  // What lies with its rows and columns swapped is multiplied so; anything else goes to the order that keeps the innermost dim.
  const bool swapped = f.order.back() == rank - 2;
  Order order = plain_order(rank);
  if (swapped) std::swap(order[rank - 2], order[rank - 1]);
  return l.matmul(l.plain(a), l.in_order(b, order), swapped);
}

Refusal matmul_refuses(const Site& s) {
  for (const Arg& a : s.node().args)
    if (a.is_value() && s.g.tensor(a.value()).rank() < 2) return "a vector operand";
  return {};
}
Status matmul(Lowering& l, const Site& s) {
  const ValueId a = s.node().args[0].value(), b = s.node().args[1].value(), y = s.node().results[0];
  const TensorData* w = s.constant(b);
  if (w && w->sizes.size() == 2) {
    multiply_rows(l, a, y, transposed_matrix(*w), kNone);
    return {};
  }
  if (auto q = weight_of_quantized(s, b); q && q->numbers.sizes.size() == 2 && q->group_size == 0) {
    q->numbers = transposed_matrix(std::move(q->numbers));
    q->axis = 1 - q->axis;
    if (lower_product_with_integers(l, a, y, *q, nullptr)) return {};
    multiply_rows(l, a, y, dequantized(*q), kNone);
  } else {
    l.bind(y, product(l, a, b), plain_order(s.result().rank()));
  }
  return {};
}

Refusal added_product_refuses(const Site& s) {
  for (const char* p : {"beta", "alpha"})
    if (s.call().arg(p).is_expr() && !s.call().arg(p).expr().is_static()) return "a factor is known only when the program runs";
  return {};
}
// beta * self + alpha * a b
Status added_product(Lowering& l, const Site& s, ValueId a, ValueId b) {
  const Call c = s.call();
  const ValueId self = c.value("self"), y = s.node().results[0];
  const double beta = c.number("beta", 1), alpha = c.number("alpha", 1);
  const TensorData *w = s.constant(b), *bias = s.constant(self);
  if (w && w->sizes.size() == 2 && bias && bias->sizes.size() == 1 && bias->sizes[0] == w->sizes[1] && alpha == 1 && beta == 1) {
    multiply_rows(l, a, y, transposed_matrix(*w), l.constant(*bias));
    return {};
  }
  Id out = product(l, a, b);
  if (alpha != 1) out = l.binary(Op::Multiply, out, alpha);
  if (beta != 0) {
    Id add = l.plain(self);
    if (beta != 1) add = l.binary(Op::Multiply, add, beta);
    out = l.binary(Op::Add, out, add);
  }
  l.bind(y, out, plain_order(s.result().rank()));
  return {};
}
Status addmm(Lowering& l, const Site& s) { return added_product(l, s, s.call().value("mat1"), s.call().value("mat2")); }

// ---- softmax ---------------------------------------------------------------------------------------------------------------------------

Refusal softmax_refuses(const Site& s) {
  const Call c = s.call();
  if (c.rank("self") == 0) return "an input of rank 0";
  return {};
}
Status softmax(Lowering& l, const Site& s) {
  const Call c = s.call();
  const ValueId x = c.value("self");
  const size_t rank = l.type(x).rank();
  EDGEC_TRY(const size_t axis, c.axis("dim", rank));
  Form f = l.form(x);
  if (f.order.back() != axis) {  // the delegate's softmax goes along the innermost dim
    Order order = f.order;
    std::rotate(std::find(order.begin(), order.end(), axis), std::find(order.begin(), order.end(), axis) + 1, order.end());
    f = {l.in_order(x, order), order};
  }
  l.bind(s.node().results[0], l.unary(Op::Softmax, f.id), f.order);
  return {};
}

constexpr Row kRows[] = {
    {"aten.linear", linear, linear_refuses},
    {"aten.addmm", addmm, added_product_refuses},
    {"aten.mm", matmul, matmul_refuses},
    {"aten.bmm", matmul, matmul_refuses},
    {"aten.matmul", matmul, matmul_refuses},
    {"aten._softmax", softmax, softmax_refuses},
    {"aten.softmax.int", softmax, softmax_refuses},
};

}  // namespace

std::span<const Row> matrix_rows() { return kRows; }

}  // namespace edgec::xnnpack
