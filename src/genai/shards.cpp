#include "genai/shards.h"

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

}  // namespace

Result<ShardPlan> plan_shards(const Method& method, size_t shards) {
  const Graph& g = *method.graph;
  ShardPlan plan;
  for (NodeId id = g.first(); id; id = g.next(id))
    if (const auto layer = layer_of(g.node(id)); layer && *layer < g.node_count()) plan.layers = std::max(plan.layers, *layer + 1);
  if (shards == 0 || (shards > 1 && plan.layers < shards))
    return model_error(fmt::format("{} has {} layers, which cannot be cut into {} contexts", method.name, plan.layers, shards));
  for (size_t s = 0; s < shards; ++s) plan.first_layer.push_back(s * plan.layers / shards);
  uint32_t shard = 0;  // nodes between layers belong to the layer before them
  for (NodeId id = g.first(); id; id = g.next(id)) {
    if (const auto layer = layer_of(g.node(id)))
      while (shard + 1 < shards && *layer >= plan.first_layer[shard + 1]) ++shard;
    plan.shard_of[id] = shard;
  }
  return plan;
}

}  // namespace edgec::genai
