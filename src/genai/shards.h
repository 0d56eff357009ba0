#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <edgec/partitioner.h>

namespace edgec::genai {

// A decoder that does not fit one context is cut between layers into contexts of as equal a number of layers as possible.
struct ShardPlan {
  size_t layers = 0;
  std::vector<size_t> first_layer;  // of each shard; shard 0 starts at layer 0
};

// Layers are told by the module path of a node ("layers.3.attention", "model.blocks.3"): the first part that is a number. Kind Model when
// the graph has fewer layers than shards.
Result<ShardPlan> plan_shards(const Method& method, size_t shards);

// The shard of every node of a graph: what stands before the first layer is in the first one, what comes after the last layer in the last
// one. What dequantizes a value for later shards only is in the first of those, so that integers cross the border.
NodeMap<uint32_t> shards_of(const Graph& graph, const ShardPlan& plan);

// Takes what `inner` takes, and no region of it reaches over a border between shards. Methods without a plan stay as `inner` has them.
class ShardPartitioner final : public Partitioner {
 public:
  ShardPartitioner(std::shared_ptr<const Partitioner> inner, std::map<std::string, ShardPlan> plans)
      : inner_(std::move(inner)), plans_(std::move(plans)) {}
  std::shared_ptr<const Backend> backend() const override { return inner_->backend(); }
  const CompileSpecs& compile_specs() const override { return inner_->compile_specs(); }
  NodeMap<Choice> choose(const Method& m, const Graph& g) const override;

 private:
  std::shared_ptr<const Partitioner> inner_;
  std::map<std::string, ShardPlan> plans_;  // by method
};

}  // namespace edgec::genai
