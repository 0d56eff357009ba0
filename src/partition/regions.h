#pragma once
#include <edgec/graph.h>

#include <map>
#include <vector>

// Groups of nodes that may become one delegate each: merging every region to one node leaves the graph without cycles.
namespace edgec::partition {

// What a graph's nodes need of each other: values, and symbols that a node brings (the u0 of nonzero or item).
struct Dependencies {
  std::vector<NodeId> order;                           // of the graph
  std::vector<std::vector<NodeId>> producers, users;   // by node index; constants do not count
  std::map<sym::Expr, NodeId, sym::ExprLess> definer;  // of each symbol that no input of the graph brings
};
Dependencies dependencies(const Graph& g);
// The symbols that a node's arguments name, those inside its sub-graphs included.
std::vector<sym::Expr> symbols_of(const Graph& g, const Node& n);

struct Regions {
  std::vector<int32_t> of;                 // by node index: the region, or -1
  std::vector<std::vector<NodeId>> nodes;  // of each region, in the graph's order
};

// `color` by node index: 0 stays outside; nodes share a region only when of one color. As few regions as one pass over the levels finds;
// every colored node is in one. Linear in the graph.
Regions find_regions(const Dependencies& deps, const std::vector<uint32_t>& color);

// An order of execution in which every region is contiguous, as close to the graph's as may be.
struct Step {
  NodeId node;          // a node outside of regions,
  int32_t region = -1;  // or a region
};
std::vector<Step> schedule(const Dependencies& deps, const Regions& regions);

}  // namespace edgec::partition
