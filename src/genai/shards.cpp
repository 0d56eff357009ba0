#include "genai/shards.h"

#include <edgec/op.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace edgec::genai {
namespace {

std::optional<size_t> layer_of(const Node& n) {
  if (!n.loc) return std::nullopt;
  std::string_view path = n.loc->module_path;
  for (size_t at = 0; at <= path.size();) {
    const size_t end = std::min(path.find('.', at), path.size());
    const std::string_view part = path.substr(at, end - at);
    size_t layer = 0;
    const auto [rest, error] = std::from_chars(part.data(), part.data() + part.size(), layer);
    if (!part.empty() && error == std::errc() && rest == part.data() + part.size()) return layer;
    at = end + 1;
  }
  return std::nullopt;
}

// The first shard that uses what a node gives; none when nothing but the graph's outputs does.
NodeMap<uint32_t> first_uses(const Graph& g, const NodeMap<uint32_t>& shards) {
  NodeMap<uint32_t> out;
  for (NodeId id = g.first(); id; id = g.next(id))
    for (const Arg& a : g.node(id).args)
      for_each_value(a, [&](ValueId v) {
        if (const NodeId def = g.value(v).def) {
          auto& first = out.try_emplace(def, shards.at(id)).first->second;
          first = std::min(first, shards.at(id));
        }
      });
  return out;
}

}  // namespace

Result<ShardPlan> plan_shards(const Method& method, size_t shards) {
  const Graph& g = *method.graph;
  ShardPlan plan;
  for (NodeId id = g.first(); id; id = g.next(id))
    if (const auto layer = layer_of(g.node(id)); layer && *layer < g.node_count()) plan.layers = std::max(plan.layers, *layer + 1);
  if (shards == 0 || (shards > 1 && plan.layers < shards))
    return model_error(fmt::format("error: {} has {} layers, which cannot be cut into {} contexts", method.name, plan.layers, shards));
  for (size_t s = 0; s < shards; ++s) plan.first_layer.push_back(s * plan.layers / shards);
  return plan;
}

NodeMap<uint32_t> shards_of(const Graph& g, const ShardPlan& plan) {
  NodeMap<uint32_t> out;
  uint32_t shard = 0;  // nodes between layers belong to the layer before them
  for (NodeId id = g.first(); id; id = g.next(id)) {
    if (const auto layer = layer_of(g.node(id)))
      while (shard + 1 < plan.first_layer.size() && *layer >= plan.first_layer[shard + 1]) ++shard;
    out[id] = shard;
  }
  for (const auto& [id, first] : first_uses(g, out))
    if (g.node(id).op->name() == "quantized_decomposed.dequantize_per_tensor") out[id] = std::max(out[id], first);
  return out;
}

NodeMap<Partitioner::Choice> ShardPartitioner::choose(const Method& m, const Graph& g) const {
  NodeMap<Choice> out = inner_->choose(m, g);
  const auto plan = plans_.find(m.name);
  if (plan == plans_.end() || &g != m.graph.get()) return out;
  const NodeMap<uint32_t> shards = shards_of(g, plan->second);
  const auto count = static_cast<uint32_t>(plan->second.first_layer.size());
  for (auto& [node, choice] : out)
    if (choice.group) choice.group = *choice.group * count + shards.at(node);
  return out;
}

}  // namespace edgec::genai
