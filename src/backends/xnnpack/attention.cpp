#include "backends/xnnpack/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

// Attention: products of batches of matrices around a softmax.
namespace edgec::xnnpack {
namespace {

// 0 where a constant mask hides (-inf in the result), whatever it says in bool or, with `rows`, above the diagonal.
TensorData additive(DType d, std::vector<int64_t> sizes, const std::function<bool(int64_t)>& visible) {
  std::vector<double> numbers;
  int64_t count = 1;
  for (int64_t n : sizes) count *= n;
  for (int64_t i = 0; i < count; ++i) numbers.push_back(visible(i) ? 0.0 : -std::numeric_limits<double>::infinity());
  return tensor_of(d, std::move(sizes), numbers);
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

// ---- heads that several queries share ---------------------------------------------------------------------------------------------------

// %v = view(expand(%x5 [b, heads, 1, t, e], [b, heads, n, t, e]), [b, heads * n, t, e]) of %x5
std::optional<ValueId> repeated(const Graph& g, ValueId v) {
  const auto maker = [&](ValueId of, std::string_view op) -> const Node* {
    const NodeId def = g.value(of).def;
    return def && g.node(def).op->name() == op && g.node(def).args[0].is_value() ? &g.node(def) : nullptr;
  };
  const Node* view = maker(v, "aten.view");
  const Node* expand = view ? maker(view->args[0].value(), "aten.expand") : nullptr;
  if (!expand) return std::nullopt;
  const Dims &x = g.tensor(expand->args[0].value()).sizes, &five = g.tensor(expand->results[0]).sizes, &four = g.tensor(v).sizes;
  if (x.size() != 5 || five.size() != 5 || four.size() != 4 || x[2] != Dim(1) || !five[2].is_static()) return std::nullopt;
  for (size_t i : {0u, 1u, 3u, 4u})
    if (x[i] != five[i]) return std::nullopt;
  if (four[0] != x[0] || four[1] != x[1] * five[2] || four[2] != x[3]) return std::nullopt;
  return expand->args[0].value();
}

// What an attention works on: [..., t, e] each. Heads of keys and values that stand for several heads of queries stay one:
// queries are [b, heads, n, t, e] then, keys and values [b, heads, 1, t, e].
struct Operands {
  Id q, k, v;
};

// Nothing when views cannot bring the operands there.
std::optional<Operands> grouped(Lowering& l, const Site& s) {
  const Call c = s.call();
  const auto k = repeated(s.g, c.value("key")), v = repeated(s.g, c.value("value"));
  if (!k || !v) return std::nullopt;
  const Dims &keys = l.type(*k).sizes, &values = l.type(*v).sizes, &queries = c.tensor("query").sizes;
  const auto heads = keys[1].constant(), all = queries[1].constant();
  if (!heads || !all || *heads == 0 || values[1] != keys[1]) return std::nullopt;
  const Dims to = {queries[0], Dim(*heads), Dim(*all / *heads), queries[2], queries[3]};
  if (!at_most_one_dynamic(to)) return std::nullopt;
  if (c.has("attn_mask")) {  // the same for all heads and batches, so that it need not be a view
    const Dims& mask = c.tensor("attn_mask").sizes;
    for (size_t i = 0; i + 2 < mask.size(); ++i)
      if (mask[i] != Dim(1)) return std::nullopt;
  }
  return Operands{l.reshape(l.plain(c.value("query")), to), l.plain(*k), l.plain(*v)};
}

Status attention(Lowering& l, const Site& s) {
  const Call c = s.call();
  const ValueId q = c.value("query"), k = c.value("key"), v = c.value("value");
  const TensorType& t = l.type(q);
  const size_t rank = t.rank();
  const double scale = c.number("scale", 1 / std::sqrt(static_cast<double>(*t.sizes.back().constant())));
  const auto shared = grouped(l, s);
  const Operands of = shared ? *shared : Operands{l.plain(q), l.plain(k), l.plain(v)};
  // Keys lie as [..., s, e], which is what the product wants of the transposed ones.
  Id scores = l.matmul(l.binary(Op::Multiply, of.q, scale), of.k, true);
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
    rows = visible_rows(l, mask, of.v);
  }
  if (c.flag("is_causal")) {
    const int64_t n = *t.sizes[rank - 2].constant(), columns = *l.type(k).sizes[rank - 2].constant();
    scores = masked(l, scores, l.constant(additive(t.dtype, {n, columns}, [&](int64_t i) { return i % columns <= i / columns; })));
  }
  Id out = l.matmul(l.unary(Op::Softmax, scores), of.v, false);
  if (rows != kNone) out = l.binary(Op::Multiply, out, rows);
  l.bind(s.node().results[0], l.reshape(out, s.result().sizes), plain_order(rank));
  return {};
}

// ---- heads behind each other in the last dim -------------------------------------------------------------------------------------------

// [b, t, d] as [b, 1, t, d], where a dim of heads has its place. Beside two dynamic dims no view makes one.
const Order kBesideHeads = {0, kOne, 1, 2};

// Rows of a constant [heads * e, k] by heads: [1, heads, e, k], or of a vector [1, heads, 1, e].
TensorData rows_by_heads(TensorData w, int64_t heads) {
  const int64_t size = w.sizes[0] / heads, step = w.strides[0];
  if (w.sizes.size() == 1) {
    w.sizes = {1, heads, 1, size};
    w.strides = {0, size * step, 0, step};
  } else {
    w.sizes = {1, heads, size, w.sizes[1]};
    w.strides = {0, size * step, step, w.strides[1]};
  }
  return w;
}

// What a product with constant weights made, by heads.
struct Projected {
  Id product, bias;
};

// The product that made the value, which nothing else uses, is done for each head on its own: that is a product of batches, which makes
// the dim of heads itself.
std::optional<Projected> project(Lowering& l, ValueId v, int64_t heads) {
  const NetNode* made = l.maker(v);
  if (!made || made->op != Op::FullyConnected || made->has_range()) return std::nullopt;
  const Id x = made->in[0];
  const NetValue weight = l.net().value(made->in[1]);
  if (!weight.data || weight.type != DataType::F32 || l.net().value(x).type != DataType::F32) return std::nullopt;
  Projected p{kNone, kNone};
  if (made->in[2] != kNone) p.bias = l.constant(rows_by_heads(*l.net().value(made->in[2]).data, heads));
  const Id rows = l.transposed(x, l.lying(v).order, kBesideHeads);
  p.product = l.matmul(rows, l.constant(rows_by_heads(*weight.data, heads)), true);
  return p;
}

// Any other value is cut: [b, t, heads * e] -> [b, heads, t, e].
Id cut_into_heads(Lowering& l, ValueId v, int64_t heads) {
  const Id x = l.in_order(v, kBesideHeads);
  const int64_t size = *l.dims(x).back().constant() / heads;
  std::vector<Id> parts;
  for (int64_t i = 0; i < heads; ++i) parts.push_back(l.slice(x, 3, i * size, Dim(size)));
  return l.concatenate(std::move(parts), 1);
}

enum class Role { Query, Key, Value };

Id by_heads(Lowering& l, ValueId v, int64_t heads, Role role) {
  const auto p = project(l, v, heads);
  if (!p) return cut_into_heads(l, v, heads);
  // The bias of keys adds one number to all scores of a row, which softmax takes away again.
  return p->bias == kNone || role == Role::Key ? p->product : l.binary(Op::Add, p->product, p->bias);
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

Status heads(Lowering& l, const Site& s) {
  const Call c = s.call();
  const int64_t count = c.integer("heads");
  const double size = static_cast<double>(*c.tensor("query").sizes[2].constant() / count);
  const Id q = by_heads(l, c.value("query"), count, Role::Query);
  const Id k = l.binary(Op::Multiply, by_heads(l, c.value("key"), count, Role::Key), c.number("scale", 1 / std::sqrt(size)));
  const Id v = by_heads(l, c.value("value"), count, Role::Value);
  Id scores = l.matmul(q, k, true), rows = kNone;
  if (c.has("attn_mask")) {
    const ValueId m = c.value("attn_mask");
    const Id mask = l.type(m).rank() == 3 ? l.in_order(m, kBesideHeads) : l.plain(m);
    scores = masked(l, scores, mask);
    rows = visible_rows(l, mask, l.slice(l.slice(v, 1, 0, Dim(1)), 3, 0, Dim(1)));
  }
  Id out = l.matmul(l.unary(Op::Softmax, scores), v, false);
  if (rows != kNone) out = l.binary(Op::Multiply, out, rows);
  l.bind_heads(s.node().results[0], out);
  return {};
}

constexpr Row kRows[] = {
    {"aten.scaled_dot_product_attention", attention, attention_refuses, true},
    {"edgec.multi_head_attention", heads, heads_refuse, true},
};

}  // namespace

Id join_heads(Lowering& l, Id x) {
  const int64_t count = *l.dims(x)[1].constant();
  std::vector<Id> parts;
  for (int64_t i = 0; i < count; ++i) parts.push_back(l.slice(x, 1, i, Dim(1)));
  return l.concatenate(std::move(parts), 3);
}

bool linear_of_heads(Lowering& l, ValueId x, ValueId y, const TensorData& weight, Id bias) {
  const auto by_heads = l.heads(x);
  if (!by_heads || weight.dtype != DType::F32) return false;
  const Dims from = l.dims(*by_heads);  // [b, heads, t, e]
  const int64_t count = *from[1].constant(), size = *from[3].constant(), n = weight.sizes[0];
  TensorData filter = weight;  // [n, heads * e] -> [n, heads, 1, e]
  filter.sizes = {n, count, 1, size};
  filter.strides = {weight.strides[0], size * weight.strides[1], 0, weight.strides[1]};
  const Id out = l.value(DataType::F32, {from[0], Dim(1), from[2], Dim(n)});
  ConvAttrs a;
  a.kernel[0] = static_cast<uint32_t>(count);
  a.group_input_channels = static_cast<uint32_t>(size);
  a.group_output_channels = static_cast<uint32_t>(n);
  l.emit(Op::Conv, {*by_heads, l.constant(std::move(filter)), bias}, out).attrs = a;
  l.bind(y, out, kBesideHeads);
  return true;
}

std::span<const Row> attention_rows() { return kRows; }

}  // namespace edgec::xnnpack
