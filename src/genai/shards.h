#pragma once
#include <cstdint>
#include <vector>

#include <edgec/program.h>

namespace edgec::genai {

// A decoder that does not fit one context is cut between layers into contexts of as equal a number of layers as possible.
struct ShardPlan {
  size_t layers = 0;
  std::vector<size_t> first_layer;  // of each shard; shard 0 starts at layer 0
  NodeMap<uint32_t> shard_of;  // every node of the main graph: what stands before the first layer is in the first shard, what comes after
                               // the last in the last one
};

// Layers are told by the module path of a node ("layers.3.attention", "model.blocks.3"): the first number after a dot. Kind Model when the
// graph has fewer layers than shards.
Result<ShardPlan> plan_shards(const Method& method, size_t shards);

}  // namespace edgec::genai
