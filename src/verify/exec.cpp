// Exec: every tensor has a place. Whether places overlap is the plan check's question (src/memory).
#include <fmt/format.h>

#include <unordered_set>

#include "verify/rules.h"

namespace edgec {
namespace {

// The stage begins before the plan is made; the plan gives all places at once.
bool is_planned(const Graph& g) {
  for (size_t i = 0; i < g.value_count(); ++i)
    if (g.value(ValueId(static_cast<uint32_t>(i))).place) return true;
  return false;
}

void places(const CheckedGraph& c) {
  if (!is_planned(*c.method.graph)) return;
  // Outputs may lie in memory that the user gives.
  std::unordered_set<ValueId> returned;
  for (const Arg& a : c.graph.outputs) for_each_value(a, [&](const ValueId& v) { returned.insert(v); });
  for_each_node(c, [&](NodeId id, const Node& n) {
    if (n.op->schema().mutates()) return;  // the result is the argument that was written
    for (ValueId r : n.results) {
      const Value& v = c.graph.value(r);
      if (!v.type.is_tensor()) continue;
      if (!v.place) {
        if (!returned.contains(r) && !c.method.constant_of(c.graph, r)) c.fault(id, fmt::format("%{} has no place", v.name));
      } else if (v.place->memory_id == 0 || v.place->offset < 0) {
        c.fault(id, fmt::format("%{} has the place @{}+{}", v.name, v.place->memory_id, v.place->offset));
      }
    }
  });
}

constexpr Rule kRules[] = {
    {"places", Stage::Exec, Stage::Exec, "every tensor that is made has a place", places},
};

}  // namespace

std::span<const Rule> exec_rules() { return kRules; }

}  // namespace edgec
