#pragma once
#include "verify/verify.h"

namespace edgec {

// One table per file.
std::span<const Rule> structure_rules();
std::span<const Rule> type_rules();
std::span<const Rule> operator_rules();
std::span<const Rule> edge_rules();
std::span<const Rule> exec_rules();
std::span<const Rule> flow_rules();

template <class Fn>
void for_each_node(const CheckedGraph& c, const Fn& fn) {
  for (NodeId n = c.graph.first(); n; n = c.graph.next(n)) fn(n, c.graph.node(n));
}

// Calls fn(tensor type) for each tensor among a node's arguments.
template <class Fn>
void for_each_tensor(const Graph& g, const Node& n, const Fn& fn) {
  for (const Arg& a : n.args)
    for_each_value(a, [&](const ValueId& v) {
      if (g.type(v).is_tensor()) fn(g.tensor(v));
    });
}

}  // namespace edgec
