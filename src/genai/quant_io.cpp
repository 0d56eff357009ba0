#include "genai/quant_io.h"

#include <edgec/rewriter.h>
#include <fmt/format.h>

#include <algorithm>

namespace edgec::genai {
namespace {

using passes::Rewriter;

std::optional<int64_t> size_at(const TensorType& t, size_t from_the_end) {
  if (t.rank() < from_the_end) return std::nullopt;
  return t.sizes[t.rank() - from_the_end].constant();
}

std::optional<DType> dtype_argument(const Call& c) {
  const auto* dtype = std::get_if<DType>(&c.arg("dtype").state);
  return dtype ? std::optional(*dtype) : std::nullopt;
}

bool is_op(const Node& n, std::string_view op) { return n.op->name() == op; }
constexpr std::string_view kQuantize = "quantized_decomposed.quantize_per_tensor",
                           kDequantize = "quantized_decomposed.dequantize_per_tensor";

// The quantizations of a graph input when nothing else uses it and all are alike.
std::vector<NodeId> only_quantizations(const Graph& g, ValueId input, DType tag) {
  std::vector<NodeId> found;
  for (NodeId id = g.first(); id; id = g.next(id)) {
    const Node& n = g.node(id);
    bool uses = false;
    for (const Arg& a : n.args) for_each_value(a, [&](const ValueId& v) { uses = uses || v == input; });
    if (!uses) continue;
    if (!is_op(n, kQuantize) || dtype_argument(Call(g, *n.op, n.args)) != tag) return {};
    if (!found.empty() && g.node(found[0]).args != n.args) return {};
    found.push_back(id);
  }
  for (const Arg& a : g.outputs) {
    bool returned = false;
    for_each_value(a, [&](const ValueId& v) { returned = returned || v == input; });
    if (returned) return {};
  }
  return found;
}

void quantize_inputs(Method& m, const DecoderShapes& shapes, const QuantIoDtypes& dtypes) {
  Graph& g = *m.graph;
  Rewriter rw(g);
  for (size_t i = 0; i < m.inputs.size(); ++i) {
    const ValueId input = g.inputs[i];
    if (m.inputs[i].kind != InputSpec::Kind::UserInput || !g.type(input).is_tensor()) continue;
    const auto tag = tag_of(g.tensor(input), shapes, dtypes);
    if (!tag || *tag == g.tensor(input).dtype) continue;
    const std::vector<NodeId> quantizations = only_quantizations(g, input, *tag);
    if (quantizations.empty()) continue;
    g.value(input).type.tensor.dtype = *tag;
    for (const NodeId id : quantizations) rw.replace_node(id, std::array{input});
  }
  for (const NodeId id : g.nodes_in_order()) rw.refresh(id);
  rw.finish();
}

// Scale, zero point, least and largest value, dtype.
std::vector<Arg> attributes_of(const Call& c) {
  std::vector<Arg> out;
  for (const char* name : {"scale", "zero_point", "quant_min", "quant_max"}) out.push_back(c.arg(name));
  if (const auto dtype = dtype_argument(c)) out.emplace_back(std::string(torch_name(*dtype)));
  return out;
}

void set_if_missing(Meta& meta, const std::string& name, std::vector<Arg> values) {
  if (!meta.contains(name)) meta.set(name, std::move(values));
}

void quantize_outputs(Method& m, const DecoderShapes& shapes, const QuantIoDtypes& dtypes, Meta& meta) {
  Graph& g = *m.graph;
  size_t caches = 0;
  for (size_t i = 0; i < m.outputs.size(); ++i) {
    if (m.outputs[i].kind != OutputSpec::Kind::UserOutput || !g.outputs[i].is_value()) continue;
    const ValueId value = g.outputs[i].value();
    const NodeId def = g.value(value).def;
    if (!g.type(value).is_tensor() || !def || !is_op(g.node(def), kDequantize)) continue;
    const Call c(g, *g.node(def).op, g.node(def).args);
    const auto tag = tag_of(g.tensor(value), shapes, dtypes);
    if (!tag || dtype_argument(c) != tag) continue;
    const std::vector<Arg> attributes = attributes_of(c);
    if (size_at(g.tensor(value), 1) == shapes.vocab_size) {
      set_if_missing(meta, "get_logits_scale", {attributes[0]});
      set_if_missing(meta, "get_logits_zero_point", {attributes[1]});
    } else {
      set_if_missing(meta, fmt::format("get_kv_output_{}_quant_attr", caches++), attributes);
    }
    g.outputs[i] = Arg(g.node(def).args[0].value());
  }
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

Status quantize_io(Method& method, const QuantIoDtypes& dtypes, Meta& constant_methods) {
  const auto shapes = decoder_shapes(method);
  if (!shapes) return {};
  quantize_inputs(method, *shapes, dtypes);
  quantize_outputs(method, *shapes, dtypes, constant_methods);
  remove_dead_nodes(*method.graph);
  return {};
}

}  // namespace edgec::genai
