#include "memory/liveness.h"

#include <algorithm>

#include <edgec/op.h>

namespace edgec::memory {

Liveness::Liveness(const Method& m) : spans_(m.graph->value_count()), used_(m.graph->value_count()), positions_(m.graph->node_capacity()) {
  const Graph& g = *m.graph;
  uint32_t now = 0;
  for (NodeId n = g.first(); n; n = g.next(n)) visit(g, n, ++now);
  end_ = now + 1;
  for (const Loop& loop : loops_)
    for (Span& s : spans_)
      if (s.first < loop.begin && s.last > loop.begin && s.last < loop.end) s.last = loop.end;
  for (const Arg& a : g.outputs) for_each_value(a, [&](const ValueId& v) { use(g, v, end_); });
  // State and inputs that are written hold their value to the end: the old one where no write gives a new one.
  std::vector<bool> written(g.value_count());
  for (NodeId n = g.first(); n; n = g.next(n)) {
    const Node& node = g.node(n);
    if (!node.op->schema().mutates() || node.results.empty()) continue;
    written[node.args[0].value().index] = true;
    spans_[node.results[0].index].last = end_;
  }
  for (size_t i = 0; i < m.inputs.size(); ++i)
    if (m.inputs[i].mutated && !written[g.inputs[i].index]) spans_[g.inputs[i].index].last = end_;
}

void Liveness::visit(const Graph& g, NodeId id, uint32_t now) {
  positions_[id.index] = now;
  const Node& n = g.node(id);
  const std::string& op = n.op->name();
  if (op == "prim.loop") open_.push_back(now);
  if (op.starts_with("prim.repeat") && !open_.empty()) {
    loops_.push_back({open_.back(), now});
    open_.pop_back();
  }
  const bool overwrites = op == "aten.copy_";  // its first argument is not read
  for (const Arg& a : n.args)
    if (!overwrites || &a != &n.args[0]) for_each_value(a, [&](const ValueId& v) { use(g, v, now); });
  for (ValueId r : n.results) spans_[r.index] = {now, now};
}

void Liveness::use(const Graph& g, ValueId v, uint32_t now) {
  Span& s = spans_[v.index];
  const NodeId def = g.value(v).def;
  if (!used_[v.index] && def && g.node(def).op->name() == "prim.alloc") {
    // The next turn of a loop that began after the allocation may still need it.
    const auto around = std::upper_bound(open_.begin(), open_.end(), s.first);
    s.first = around == open_.end() ? now : *around;
  }
  used_[v.index] = true;
  s.last = std::max(s.last, now);
}

}  // namespace edgec::memory
