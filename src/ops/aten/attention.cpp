#include <cmath>
#include <limits>

#include "ops/numeric.h"
#include "ops/table.h"

// Scaled dot product attention: two batched products around a softmax, as torch's CPU kernels compute it.
namespace edgec::ops {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Attention {
  ValueId out, scores, weights;
};

// Query heads that share a key head become rows of one matrix, so keys and values are not repeated:
// [.., heads, l, e] -> [.., key heads, heads / key heads * l, e].
Dims grouped(Dims sizes, Dim key_heads) {
  const size_t rank = sizes.size();
  sizes[rank - 2] = sym::floordiv(sizes[rank - 3], key_heads) * sizes[rank - 2];
  sizes[rank - 3] = key_heads;
  return sizes;
}

// Every head `times` times in a row.
ValueId repeated_heads(Builder& b, ValueId x, Dim times) {
  if (b.failed()) return {};
  const Dims sizes = b.tensor(x).sizes;
  const size_t heads = sizes.size() - 3;
  const Dims wide = replaced(inserted(sizes, heads + 1, 1), heads + 1, times);
  return b.view(b.expand(b.view(x, inserted(sizes, heads + 1, 1)), wide), replaced(sizes, heads, sizes[heads] * times));
}

ValueId causal_mask(Builder& b, Dim rows, Dim columns) {
  return b.call("aten.ge.Tensor", {iota(b, rows, DType::I64, 0, 2), iota(b, columns)});
}

ValueId hidden(Builder& b, ValueId mask, ValueId scores) {
  if (b.failed()) return {};
  return where(b, mask, scores, number(b, -kInfinity, b.tensor(scores).dtype));
}

// A row that the mask hides entirely gives 0, not NaN.
ValueId zero_hidden_rows(Builder& b, ValueId mask, ValueId out) {
  if (b.failed()) return {};
  const TensorType m = b.tensor(mask);
  ValueId visible;
  if (m.dtype == DType::Bool)
    visible = b.call("aten.any.dim", {mask, -1, true});
  else
    visible = b.call("aten.ne.Scalar", {amax(b, mask, trailing_axes(m.rank(), 1), true), -kInfinity});
  return where(b, visible, out, number(b, 0, b.tensor(out).dtype));
}

Attention attend(Builder& b, const Call& c) {
  const DType d = c.tensor("query").dtype, wide = is_half(d) ? DType::F32 : d;
  const auto operand = [&](const char* param) { return b.cast(c.value(param), wide); };
  ValueId q = operand("query"), k = operand("key"), v = operand("value");
  if (c.number("dropout_p") != 0) refuse_training(b, c);
  const Dims qs = c.tensor("query").sizes, ks = c.tensor("key").sizes, vs = c.tensor("value").sizes;
  const size_t rank = qs.size();
  const auto head_size = qs.back().constant();
  if (!head_size && !c.has("scale")) b.fail("attention over a head size that is not constant");
  const double scale = c.has("scale") ? c.number("scale") : 1 / std::sqrt(static_cast<double>(head_size.value_or(1)));

  const Dim rows = qs[rank - 2], columns = ks[ks.size() - 2];
  const bool shares_heads = c.has("enable_gqa") && c.flag("enable_gqa") && rank >= 3 && qs[rank - 3] != ks[ks.size() - 3];
  if (shares_heads && vs[vs.size() - 3] != ks[ks.size() - 3]) {
    k = repeated_heads(b, k, sym::floordiv(qs[rank - 3], ks[ks.size() - 3]));
    v = repeated_heads(b, v, sym::floordiv(qs[rank - 3], vs[vs.size() - 3]));
  }
  const bool groups = shares_heads && vs[vs.size() - 3] == ks[ks.size() - 3];
  q = b.mul(q, scale);
  if (groups) q = b.view(q, grouped(qs, ks[ks.size() - 3]));

  Attention a;
  a.scores = matmul(b, q, transposed(b, k, ks.size() - 2, ks.size() - 1));
  if (b.failed()) return a;
  const Dims flat = b.tensor(a.scores).sizes;
  Dims per_head = flat;
  if (groups) {
    per_head[rank - 3] = qs[rank - 3];
    per_head[rank - 2] = rows;
  }
  a.scores = b.view(a.scores, per_head);
  ValueId mask;
  if (c.has("attn_mask")) {
    mask = c.value("attn_mask");
    const bool hides = c.op().schema().name != "_scaled_dot_product_attention_math";  // which adds bools as numbers
    if (b.tensor(mask).dtype == DType::Bool && hides)
      a.scores = hidden(b, mask, a.scores);
    else
      a.scores = b.add(a.scores, mask = b.cast(mask, wide));
  }
  if (c.flag("is_causal")) a.scores = hidden(b, causal_mask(b, rows, columns), a.scores);
  const ValueId weights = b.call("aten._softmax", {a.scores, -1, false});
  a.out = matmul(b, groups ? b.view(weights, flat) : weights, v);
  if (groups) {
    Dims to = per_head;
    to.back() = vs.back();
    a.out = b.view(a.out, to);
  }
  a.weights = weights;
  if (mask) {
    a.out = zero_hidden_rows(b, mask, a.out);
    a.weights = zero_hidden_rows(b, mask, a.weights);
  }
  a.out = b.cast(a.out, d);
  a.weights = b.cast(a.weights, d);
  return a;
}

// The query's sizes with the value's last one; batches broadcast.
Result<Dims> attention_sizes(const Call& c) {
  Dims q = c.tensor("query").sizes;
  const Dims &k = c.tensor("key").sizes, &v = c.tensor("value").sizes;
  if (q.size() < 2 || k.size() < 2 || v.size() < 2) return model_error(c.op().name() + ": query, key and value need at least two dims");
  if (sym::equal(q.back(), k.back()) == sym::Proof::No)
    return model_error(c.op().name() + ": query " + str(q) + " and key " + str(k) + " differ in their last size");
  const Dim rows = q[q.size() - 2];
  const bool shares_heads = c.has("enable_gqa") && c.flag("enable_gqa");
  Dims out(q.begin(), q.end() - 2);
  if (!shares_heads) {
    EDGEC_TRY(out, broadcast(out, Dims(v.begin(), v.end() - 2)));
    EDGEC_TRY(out, broadcast(out, Dims(k.begin(), k.end() - 2)));
  }
  out.push_back(rows);
  out.push_back(v.back());
  return out;
}

}  // namespace

void define_attention(Table& ops) {
  ops.define(
         "aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0., bool "
         "is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor")
      .dtype(same_as("query"))
      .shape(attention_sizes)
      .expand([](Builder& b, const Call& c) { return attend(b, c).out; });
  // The same with the heads behind each other in the last dim: query [b, t, heads * e], key and value [b, s, ...]; a mask to add,
  // which broadcasts to [b, t, s]. Made by fuse-attention for backends that split heads without views.
  ops.define(
         "edgec::multi_head_attention(Tensor query, Tensor key, Tensor value, int heads, Tensor? attn_mask=None, float? scale=None) -> "
         "Tensor")
      .dtype(same_as("query"))
      .shape([](const Call& c) -> Result<Dims> {
        Dims sizes = c.tensor("query").sizes;
        sizes.back() = c.tensor("value").sizes.back();
        return sizes;
      })
      .expand([](Builder& b, const Call& c) -> Values {
        const int64_t heads = c.integer("heads");
        const auto split = [&](const char* p) {
          const Dims x = c.tensor(p).sizes;
          return b.permute(b.view(c.value(p), {x[0], x[1], Dim(heads), sym::floordiv(x[2], Dim(heads))}), {0, 2, 1, 3});
        };
        Arg mask = c.arg("attn_mask");
        if (mask.is_value() && b.tensor(mask.value()).rank() == 3) {
          const Dims m = b.tensor(mask.value()).sizes;
          mask = b.view(mask.value(), {m[0], Dim(1), m[1], m[2]});
        }
        const ValueId y =
            b.call("aten.scaled_dot_product_attention", {split("query"), split("key"), split("value"), mask}, {{"scale", c.arg("scale")}});
        Dims sizes = c.tensor("query").sizes;
        sizes.back() = c.tensor("value").sizes.back();
        return {b.view(b.permute(y, {0, 2, 1, 3}), sizes)};
      });
  // What torch's own decomposition leaves; the second result serves training.
  ops.define(
         "aten::_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float dropout_p=0., bool "
         "is_causal=False, *, "
         "Tensor? attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)")
      .infer([](const Call& c) -> Result<std::vector<Type>> {
        EDGEC_TRY(Dims sizes, attention_sizes(c));
        const DType d = c.tensor("query").dtype;
        Dims sums(sizes.begin(), sizes.end() - 1);
        return std::vector<Type>{Type::of({d, sizes, {}, {}}), Type::of({d == DType::F64 ? d : DType::F32, sums, {}, {}})};
      })
      .expand([](Builder& b, const Call& c) -> Values {
        const Attention a = attend(b, c);
        if (b.failed()) return {};
        return {a.out, log_sum_exp(b, a.scores, trailing_axes(b.tensor(a.scores).rank(), 1), false)};
      });
  // The second result are the weights.
  ops.define(
         "aten::_scaled_dot_product_attention_math(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0., "
         "bool "
         "is_causal=False, Tensor? dropout_mask=None, *, float? scale=None, bool enable_gqa=False) -> (Tensor, Tensor)")
      .infer([](const Call& c) -> Result<std::vector<Type>> {
        EDGEC_TRY(Dims sizes, attention_sizes(c));
        Dims weights = sizes;
        weights.back() = c.tensor("key").sizes[c.rank("key") - 2];
        const DType d = c.tensor("query").dtype;
        return std::vector<Type>{Type::of({d, sizes, {}, {}}), Type::of({d, weights, {}, {}})};
      })
      .expand([](Builder& b, const Call& c) -> Values {
        if (c.has("dropout_mask")) refuse_training(b, c);
        const Attention a = attend(b, c);
        return {a.out, a.weights};
      });
  // softmax, but 0 where everything is -inf
  ops.define("aten::_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor")
      .dtype(dtype_arg_or("dtype", same_as("self")))
      .shape(shape_of("self"))
      .expand([](Builder& b, const Call& c) {
        const DType d = c.dtype("dtype", c.tensor("self").dtype);
        const ValueId x = b.cast(c.value("self"), d);
        const ValueId visible = b.call("aten.any.dim", {b.call("aten.ne.Scalar", {x, -kInfinity}), c.arg("dim"), true});
        return where(b, visible, b.call("aten._softmax", {x, c.arg("dim"), false}), number(b, 0, d));
      });
}

}  // namespace edgec::ops
