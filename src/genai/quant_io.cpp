#include "genai/quant_io.h"

#include <edgec/op.h>
#include <fmt/format.h>

#include <algorithm>

namespace edgec::genai {
namespace {

std::optional<int64_t> size_at(const TensorType& t, size_t from_the_end) {
  if (t.rank() < from_the_end) return std::nullopt;
  return t.sizes[t.rank() - from_the_end].constant();
}

std::optional<DType> dtype_argument(const Call& c) {
  const auto* dtype = std::get_if<DType>(&c.arg("dtype").state);
  return dtype ? std::optional(*dtype) : std::nullopt;
}

constexpr std::string_view kDequantize = "quantized_decomposed.dequantize_per_tensor";

// Scale, zero point, least and largest value, dtype.
std::vector<Arg> attributes_of(const Call& c) {
  std::vector<Arg> out;
  for (const char* parameter : {"scale", "zero_point", "quant_min", "quant_max"}) out.push_back(c.arg(parameter));
  if (const auto dtype = dtype_argument(c)) out.emplace_back(std::string(torch_name(*dtype)));
  return out;
}

void set_if_missing(Meta& meta, const std::string& name, std::vector<Arg> values) {
  if (!meta.contains(name)) meta.set(name, std::move(values));
}

}  // namespace

std::optional<DType> tag_of(const TensorType& t, const DecoderShapes& s, const QuantIoDtypes& dtypes) {
  const auto rows = size_at(t, 2), columns = size_at(t, 1);
  if (!rows || !columns) return std::nullopt;
  const auto is = [&](int64_t r, int64_t c) { return *rows == r && *columns == c; };
  const int64_t past = s.context_len - s.ar_len;
  const bool logits = t.rank() == 3 && is(s.ar_len, s.vocab_size), mask = t.rank() == 4 && is(s.ar_len, s.context_len);
  if (t.rank() >= 3 && !logits && !mask)
    for (const int64_t length : {s.context_len, past, s.ar_len})
      if (is(s.head_dim, length) || is(length, s.head_dim)) return dtypes.kv_type;
  if (logits || mask) return dtypes.io_type;
  return std::nullopt;
}

std::optional<DecoderShapes> decoder_shapes(const Method& m) {
  const Graph& g = *m.graph;
  DecoderShapes s;
  bool tokens = false, mask = false, cache = false, logits = false;
  std::vector<TensorType> floats;
  for (size_t i = 0; i < m.inputs.size(); ++i) {
    if (m.inputs[i].kind != InputSpec::Kind::UserInput || !g.type(g.inputs[i]).is_tensor()) continue;
    const TensorType& t = g.tensor(g.inputs[i]);
    if (!t.is_static()) return std::nullopt;
    if (!tokens && is_integral(t.dtype) && t.rank() == 2) tokens = true, s.ar_len = *size_at(t, 1);
    if (is_float(t.dtype) && t.rank() == 4) floats.push_back(t);
  }
  for (const TensorType& t : floats)  // the mask is the one whose rows are the tokens and whose columns exceed them
    if (!mask && size_at(t, 2) == s.ar_len && size_at(t, 3) == 1 && *size_at(t, 1) > s.ar_len) mask = true, s.context_len = *size_at(t, 1);
  for (const TensorType& t : floats) {
    if (cache || !mask) break;
    const int64_t past = s.context_len - s.ar_len;
    if (size_at(t, 1) == past && *size_at(t, 2) != s.ar_len)
      cache = true, s.head_dim = *size_at(t, 2);
    else if (size_at(t, 2) == past)
      cache = true, s.head_dim = *size_at(t, 1);
  }
  for (size_t i = 0; i < m.outputs.size() && !logits; ++i) {
    if (m.outputs[i].kind != OutputSpec::Kind::UserOutput || !g.outputs[i].is_value()) continue;
    const Type& type = g.type(g.outputs[i].value());
    if (type.is_tensor() && type.tensor.rank() == 3 && size_at(type.tensor, 1)) logits = true, s.vocab_size = *size_at(type.tensor, 1);
  }
  return tokens && mask && cache && logits ? std::optional(s) : std::nullopt;
}

Status add_quant_attributes(const Method& m, const QuantIoDtypes& dtypes, Meta& meta) {
  const auto shapes = decoder_shapes(m);
  if (!shapes) return {};
  const Graph& g = *m.graph;
  size_t caches = 0;
  for (size_t i = 0; i < m.outputs.size(); ++i) {
    if (m.outputs[i].kind != OutputSpec::Kind::UserOutput || !g.outputs[i].is_value()) continue;
    const ValueId value = g.outputs[i].value();
    const NodeId def = g.value(value).def;
    if (!g.type(value).is_tensor() || !def || g.node(def).op->name() != kDequantize) continue;
    const auto tag = tag_of(g.tensor(value), *shapes, dtypes);
    if (!tag) continue;
    const Call c(g, *g.node(def).op, g.node(def).args);
    const auto dtype = dtype_argument(c);
    if (dtype != tag)
      return usage_error(fmt::format("output {} of {} is quantized to {}, quant_io_dtypes says {}", i, m.name,
                                     dtype ? name(*dtype) : "something else", name(*tag)));
    const std::vector<Arg> attributes = attributes_of(c);
    if (g.tensor(value).rank() == 3) {
      set_if_missing(meta, "get_logits_scale", {attributes[0]});
      set_if_missing(meta, "get_logits_zero_point", {attributes[1]});
    } else {
      set_if_missing(meta, fmt::format("get_kv_output_{}_quant_attr", caches++), attributes);
    }
  }
  return {};
}

}  // namespace edgec::genai
