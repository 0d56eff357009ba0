#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/xnnpack/conv.h"
#include "backends/xnnpack/lowering.h"

// Products of matrices, softmax, attention. The delegate multiplies [..., m, k] by [..., k, n], or by [..., n, k] as it lies.
namespace edgec::xnnpack {
namespace {

// x with its last dim innermost; the dims before it lie as they do.
Form rows_of(Lowering& l, ValueId v) {
  const Form f = l.form(v);
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
  if (w && w->sizes.size() == 2)
    multiply_rows(l, a, y, transposed_matrix(*w), kNone);
  else
    l.bind(y, product(l, a, b), plain_order(s.result().rank()));
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
Status baddbmm(Lowering& l, const Site& s) { return added_product(l, s, s.call().value("batch1"), s.call().value("batch2")); }

// ---- softmax ---------------------------------------------------------------------------------------------------------------------------

Refusal softmax_refuses(const Site& s) {
  const Call c = s.call();
  if (c.rank("self") == 0) return "an input of rank 0";
  if (s.result().dtype != c.tensor("self").dtype) return "a result of another dtype than the input's";
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

// ---- attention -------------------------------------------------------------------------------------------------------------------------

// 0 where a constant mask hides (-inf in the result), whatever it says in bool or, with `rows`, above the diagonal.
TensorData additive(DType d, std::vector<int64_t> sizes, const std::function<bool(int64_t)>& visible) {
  std::vector<std::byte> bytes;
  int64_t count = 1;
  for (int64_t n : sizes) count *= n;
  for (int64_t i = 0; i < count; ++i) append_element(bytes, d, visible(i) ? 0.0 : -std::numeric_limits<double>::infinity());
  return make_tensor_data(d, std::move(sizes), std::move(bytes));
}

Refusal attention_refuses(const Site& s) {
  const Call c = s.call();
  const TensorType &q = c.tensor("query"), &k = c.tensor("key"), &v = c.tensor("value");
  if (c.number("dropout_p") != 0) return "attention with dropout";
  if (q.rank() != k.rank() || q.rank() != v.rank() || q.rank() < 3) return "operands of different ranks";
  for (size_t i = 0; i + 2 < q.rank(); ++i)
    if (q.sizes[i] != k.sizes[i] || q.sizes[i] != v.sizes[i]) return "operands with different heads or batches";
  if (!q.sizes.back().constant()) return "a head size that is not constant";
  if (q.dtype != k.dtype || q.dtype != v.dtype || q.dtype != DType::F32) return "attention in the delegate is in float32";
  if (c.has("attn_mask")) {
    const TensorType& m = c.tensor("attn_mask");
    if (m.dtype == DType::Bool && !s.constant("attn_mask")) return "a bool mask that is made at run time";
    if (m.dtype != DType::Bool && m.dtype != q.dtype) return "a mask of another dtype";
  }
  if (c.flag("is_causal") && (!q.sizes[q.rank() - 2].constant() || !k.sizes[k.rank() - 2].constant()))
    return "a causal mask over sizes that are not constant";
  return {};
}

// Never -inf, of which a softmax over a whole row would make NaN.
Id masked(Lowering& l, Id scores, Id mask) {
  const Id sum = l.binary(Op::Add, scores, mask);
  l.net().producer(sum)->min = std::numeric_limits<float>::lowest();
  return sum;
}

// 1 for rows of a mask of which something is visible, else 0: torch gives 0 for the others, a softmax over nothing but -inf gives NaN.
// A row of any length is summed by a product with positive numbers, for which the values serve.
Id visible_rows(Lowering& l, Id mask, Id values) {
  if (const auto known = l.visible_rows.find(mask); known != l.visible_rows.end()) return known->second;
  const Id seen = l.clamp(l.binary(Op::Add, l.binary(Op::Multiply, mask, 1e-30), 1e9), 0, 1);
  const Id count = l.dims(seen).back().constant() ? l.mean_of_last(seen) : l.matmul(seen, l.clamp(values, 1, 2), false);
  return l.visible_rows[mask] = l.clamp(l.binary(Op::Multiply, count, 1e9), 0, 1);
}

Status attention(Lowering& l, const Site& s) {
  const Call c = s.call();
  const ValueId q = c.value("query"), k = c.value("key"), v = c.value("value");
  const TensorType& t = l.type(q);
  const size_t rank = t.rank();
  const double scale = c.number("scale", 1 / std::sqrt(static_cast<double>(*t.sizes.back().constant())));
  // Keys lie as [..., s, e], which is what the product wants of the transposed ones.
  Id scores = l.matmul(l.binary(Op::Multiply, l.plain(q), scale), l.plain(k), true);
  Id rows = kNone;
  if (c.has("attn_mask")) {
    Id mask = kNone;
    if (const TensorData* m = s.constant("attn_mask"); m && m->dtype == DType::Bool) {
      const std::vector<std::byte> bytes = gather(*m);
      mask = l.constant(additive(t.dtype, m->sizes, [&](int64_t i) { return bytes[static_cast<size_t>(i)] != std::byte{0}; }));
    } else {
      mask = l.plain(c.value("attn_mask"));
    }
    scores = masked(l, scores, mask);
    rows = visible_rows(l, mask, l.plain(v));
  }
  if (c.flag("is_causal")) {
    const int64_t n = *t.sizes[rank - 2].constant(), columns = *l.type(k).sizes[rank - 2].constant();
    scores = masked(l, scores, l.constant(additive(t.dtype, {n, columns}, [&](int64_t i) { return i % columns <= i / columns; })));
  }
  Id out = l.matmul(l.unary(Op::Softmax, scores), l.plain(v), false);
  if (rows != kNone) out = l.binary(Op::Multiply, out, rows);
  l.bind(s.node().results[0], out, plain_order(rank));
  return {};
}

Refusal heads_refuse(const Site& s) {
  const Call c = s.call();
  const TensorType& q = c.tensor("query");
  if (q.dtype != DType::F32 || c.tensor("key").dtype != DType::F32 || c.tensor("value").dtype != DType::F32)
    return "attention in the delegate is in float32";
  if (c.has("attn_mask") && c.tensor("attn_mask").dtype != DType::F32) return "a mask of another dtype";
  for (const char* p : {"query", "key", "value"})
    if (c.rank(p) != 3 || !c.tensor(p).sizes[2].is_static()) return "heads that are not constant in size";
  return {};
}

struct Heads {
  Id q, k, v, mask;
  int64_t count, size, value_size;
  double scale;
};

// Head by head, by slices of the last dim: the delegate infers one dim of a view at most.
Id head_by_head(Lowering& l, const Heads& h) {
  const Id q = l.binary(Op::Multiply, h.q, h.scale);
  std::vector<Id> parts;
  for (int64_t i = 0; i < h.count; ++i) {
    Id scores = l.matmul(l.slice(q, 2, i * h.size, Dim(h.size)), l.slice(h.k, 2, i * h.size, Dim(h.size)), true);
    if (h.mask != kNone) scores = masked(l, scores, h.mask);
    parts.push_back(l.matmul(l.unary(Op::Softmax, scores), l.slice(h.v, 2, i * h.value_size, Dim(h.value_size)), false));
  }
  return l.concatenate(std::move(parts), 2);
}

// `value` in the columns of each head, else 0: [heads, ...ones, heads * size].
Id columns_of_heads(Lowering& l, int64_t heads, int64_t size, double value, size_t leading, size_t ones) {
  std::vector<std::byte> bytes;
  for (int64_t h = 0; h < heads; ++h)
    for (int64_t i = 0; i < heads * size; ++i) append_element(bytes, DType::F32, i / size == h ? value : 0);
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < leading + 1 + ones; ++i) sizes.push_back(i == leading ? heads : 1);
  sizes.push_back(heads * size);
  return l.constant(make_tensor_data(DType::F32, std::move(sizes), std::move(bytes)));
}

// All heads at once: products over whole rows of which the other heads' columns are 0. A broadcast makes the dim of heads, which no view
// can beside two dynamic dims; a mean over it puts the columns back.
Id all_heads(Lowering& l, const Heads& h) {
  const Id q = l.binary(Op::Multiply, h.q, columns_of_heads(l, h.count, h.size, h.scale, 0, 2));  // [heads, b, t, heads * e]
  Id scores = l.matmul(q, h.k, true);
  if (h.mask != kNone) scores = masked(l, scores, h.mask);
  const Id all = l.matmul(l.unary(Op::Softmax, scores), h.v, false);
  const Id own = l.binary(Op::Multiply, all, columns_of_heads(l, h.count, h.value_size, static_cast<double>(h.count), 1, 2));
  const Id last = l.transpose(own, {2, 3, 0, 1, 4});  // [b, t, 1, heads, heads * e]
  const Dims d = l.dims(last);
  const Id out = l.value(DataType::F32, {d[0], d[1], d[4]});
  l.emit(Op::GlobalAveragePool, {last}, out);
  return out;
}

Status heads(Lowering& l, const Site& s) {
  const Call c = s.call();
  Heads h;
  h.count = c.integer("heads");
  h.size = *c.tensor("query").sizes[2].constant() / h.count;
  h.value_size = *c.tensor("value").sizes[2].constant() / h.count;
  h.scale = c.number("scale", 1 / std::sqrt(static_cast<double>(h.size)));
  h.q = l.plain(c.value("query"));
  h.k = l.plain(c.value("key"));
  h.v = l.plain(c.value("value"));
  h.mask = c.has("attn_mask") ? l.plain(c.value("attn_mask")) : kNone;
  // Products over whole rows cost heads times the work, and save a dozen operators a head: right while scores are a small part of a layer.
  const int64_t keys = sym::upper_bound(c.tensor("key").sizes[1]).value_or(INT64_MAX / 1024);
  const bool at_once = keys * (h.count - 1) <= 6 * h.count * h.size;
  Id out = at_once ? all_heads(l, h) : head_by_head(l, h);
  if (h.mask != kNone) out = l.binary(Op::Multiply, out, visible_rows(l, h.mask, l.slice(h.v, 2, 0, Dim(1))));
  l.bind(s.node().results[0], out, plain_order(3));
  return {};
}

constexpr Row kRows[] = {
    {"aten.linear", linear, linear_refuses},
    {"aten.addmm", addmm, added_product_refuses},
    {"aten.mm", matmul, matmul_refuses},
    {"aten.bmm", matmul, matmul_refuses},
    {"aten.matmul", matmul, matmul_refuses},
    {"aten.baddbmm", baddbmm, added_product_refuses},
    {"aten._softmax", softmax, softmax_refuses},
    {"aten.softmax.int", softmax, softmax_refuses},
    {"aten.scaled_dot_product_attention", attention, attention_refuses, true},
    {"edgec.multi_head_attention", heads, heads_refuse, true},
};

}  // namespace

std::span<const Row> matrix_rows() { return kRows; }

}  // namespace edgec::xnnpack
