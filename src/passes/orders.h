#pragma once
#include <edgec/pass.h>

#include <optional>
#include <vector>

#include "memory/storage.h"

namespace edgec::passes {

// Whether a node keeps its place among all others when nodes are reordered: it has effects, or is a marker of a branch or loop.
bool stays_in_order(const Graph& g, const Node& n);

// Of the nodes that could come next: the one that leaves the fewest bytes live, or, where none frees any, the one that became ready behind
// the others.
enum class Prefer { Smallest, Newest };

// Orders of a method's nodes in which less memory may be live. What stays in order is not passed by any node. Heuristics: what an order
// needs is for the caller to find out.
class Orders {
 public:
  Orders(const Method& m, const PassContext& cx) : m_(m), g_(*m.graph), cx_(cx), storage_(*m.graph) {}

  std::vector<NodeId> forwards(const std::vector<NodeId>& nodes, Prefer prefer) const;   // chosen from the first to the last
  std::vector<NodeId> backwards(const std::vector<NodeId>& nodes, Prefer prefer) const;  // from the last to the first
  // Each node right before the first that reads its results, where that leaves less live on the way.
  std::vector<NodeId> late(const std::vector<NodeId>& nodes) const;

 private:
  template <class See>
  void for_each_kept(const std::vector<NodeId>& nodes, See&& see) const;
  std::vector<uint32_t> uses(const std::vector<NodeId>& nodes) const;
  std::vector<NodeId> from_the_end(const std::vector<NodeId>& nodes, std::optional<Prefer> prefer) const;

  const Method& m_;
  const Graph& g_;
  const PassContext& cx_;
  const memory::Storage storage_;
};

// Writes state where its new value has been made and the old one is read no more: what the value lies in need not be kept to the end.
void write_early(Graph& g);

// What is live under the name of a view that comes later cannot be seen in the program. Where that is so at the fullest moment, nodes that
// make such values, or the node of that moment, move until the program names all that is live there; never to where more is live.
void name_what_is_live(Method& m, const PassContext& cx);

}  // namespace edgec::passes
