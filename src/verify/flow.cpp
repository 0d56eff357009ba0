// The flat form of control flow: markers close what they open, and values stay in the branch or loop that makes them.
#include <fmt/format.h>

#include "verify/rules.h"

namespace edgec {
namespace {

bool is(const Node& n, std::string_view op) { return n.op->name() == op; }

void markers(const CheckedGraph& c) {
  std::vector<NodeId> open;
  for_each_node(c, [&](NodeId id, const Node& n) {
    const auto inside = [&](std::string_view op) { return !open.empty() && is(c.graph.node(open.back()), op); };
    const auto close = [&](bool right) {
      if (!right) c.fault(id, "closes what is not open");
      if (!open.empty()) open.pop_back();
    };
    if (is(n, "prim.branch") || is(n, "prim.loop")) {
      open.push_back(id);
    } else if (is(n, "prim.otherwise")) {
      close(inside("prim.branch"));
      open.push_back(id);
    } else if (is(n, "prim.join")) {
      close(inside("prim.otherwise"));
    } else if (is(n, "prim.repeat") || is(n, "prim.repeat_until")) {
      close(inside("prim.loop"));
    } else if (is(n, "prim.exit_unless") && !inside("prim.loop")) {
      c.fault(id, "is not between loop and repeat");
    }
  });
  for (NodeId id : open) c.fault(id, "is never closed");
}

void values_stay_inside(const CheckedGraph& c) {
  const Graph& g = c.graph;
  std::vector<uint32_t> open = {0};  // the scopes around the node, 0 the graph itself
  std::vector<bool> closed = {false};
  std::unordered_map<ValueId, uint32_t> scope_of;
  const auto enter = [&] {
    open.push_back(static_cast<uint32_t>(closed.size()));
    closed.push_back(false);
  };
  const auto leave = [&] {
    if (open.size() < 2) return;
    closed[open.back()] = true;
    open.pop_back();
  };
  const auto inside = [&](ValueId v) {
    auto it = scope_of.find(v);
    return it == scope_of.end() || !closed[it->second];
  };
  for_each_node(c, [&](NodeId id, const Node& n) {
    const bool ends = is(n, "prim.otherwise") || is(n, "prim.join") || is(n, "prim.repeat");
    if (ends) leave();  // what is named behind the end is known around it
    for (const Arg& a : n.args)
      for_each_value(a, [&](const ValueId& v) {
        if (!inside(v)) c.fault(id, fmt::format("uses %{} outside of the branch or loop that makes it", g.value(v).name));
      });
    if (is(n, "prim.repeat_until")) leave();
    if (is(n, "prim.branch") || is(n, "prim.otherwise") || is(n, "prim.loop")) enter();
    for (ValueId r : n.results) scope_of[r] = open.back();
  });
  for (const Arg& a : g.outputs)
    for_each_value(a, [&](const ValueId& v) {
      if (!inside(v)) c.fault(fmt::format("%{} is returned outside of the branch or loop that makes it", g.value(v).name));
    });
}

bool is_number(const Graph& g, const Arg& a) { return a.is_number() || (a.is_value() && g.type(a.value()).is_sym()); }

void assignments(const CheckedGraph& c) {
  const Graph& g = c.graph;
  const auto is_place = [&](const Arg& a) {
    if (!a.is_value()) return false;
    const NodeId def = g.value(a.value()).def;
    return def && is(g.node(def), "prim.alloc");
  };
  for_each_node(c, [&](NodeId id, const Node& n) {
    if (!is(n, "prim.assign")) return;
    if (!is_place(n.args[0])) return c.fault(id, "assigns to what prim.alloc has not made");
    const Type& target = g.type(n.args[0].value());
    if (target.is_sym() && is_number(g, n.args[1])) return;
    if (!n.args[1].is_value() || !target.is_tensor() || !g.type(n.args[1].value()).is_tensor())
      return c.fault(id, "assigns a value of another kind");
    const TensorType &to = target.tensor, &from = g.tensor(n.args[1].value());
    if (to.dtype != from.dtype || to.rank() != from.rank() || to.dim_order != from.dim_order)
      c.fault(id, fmt::format("assigns {} to {}", str(from), str(to)));
  });
}

void conditions(const CheckedGraph& c) {
  const Graph& g = c.graph;
  for_each_node(c, [&](NodeId id, const Node& n) {
    if (!is(n, "prim.branch") && !is(n, "prim.exit_unless") && !is(n, "prim.repeat_until")) return;
    const Arg& a = n.args[0];
    const bool ok =
        a.is_value() && g.type(a.value()).is_tensor() ? g.tensor(a.value()).dtype == DType::Bool : is_number(g, a) && !a.is_float();
    if (!ok) c.fault(id, "the condition is no bool");
  });
}

constexpr Rule kRules[] = {
    {"markers", Stage::Exec, Stage::Exec, "branches and loops are closed, one inside the other", markers, true},
    {"values-stay-inside", Stage::Exec, Stage::Exec, "values are used in the branch or loop that makes them", values_stay_inside},
    {"assignments", Stage::Exec, Stage::Exec, "assigned values fit the memory that is made for them", assignments},
    {"conditions", Stage::Exec, Stage::Exec, "conditions of branches and loops are bools", conditions},
};

}  // namespace

std::span<const Rule> flow_rules() { return kRules; }

}  // namespace edgec
