#pragma once
#include <edgec/op.h>
#include <edgec/pass.h>

namespace edgec {
namespace passes EDGEC_API {

// Replaces values while a pass walks a graph in order: nodes that are visited later see the replacement at once,
// outputs at `finish`.
class Rewriter {
 public:
  explicit Rewriter(Graph& g) : g_(g) {}
  Graph& graph() { return g_; }
  // Call for each node before looking at it.
  void refresh(NodeId id) {
    if (with_.empty()) return;
    for (Arg& a : g_.node(id).args) for_each_value(a, [&](ValueId& v) { v = resolve(v); });
  }
  ValueId resolve(ValueId v) const {
    for (auto it = with_.find(v); it != with_.end(); it = with_.find(v)) v = it->second;
    return v;
  }
  // Uses of `from` become `to`. The new value takes over the old one's name where it has none of its own (graph inputs
  // keep theirs).
  void replace(ValueId from, ValueId to) {
    if (from != to) with_[from] = to;
  }
  // Every result of a node by the value of the same index, then the node goes.
  void replace_node(NodeId id, std::span<const ValueId> with) {
    const auto results = g_.node(id).results;
    for (size_t i = 0; i < results.size() && i < with.size(); ++i) replace(results[i], with[i]);
    g_.erase(id);
  }
  bool changed() const { return !with_.empty(); }
  void finish() {
    for (Arg& a : g_.outputs) for_each_value(a, [&](ValueId& v) { v = resolve(v); });
  }

 private:
  Graph& g_;
  std::unordered_map<ValueId, ValueId> with_;
};

// The value whose memory `v` is (views look through).
inline ValueId viewed_root(const Graph& g, ValueId v) {
  while (const NodeId def = g.value(v).def) {
    if (!g.node(def).op->memory_view) break;
    v = g.node(def).args[0].value();
  }
  return v;
}

// Calls fn(Method&, Graph&) for the main graph and all sub-graphs of every method, inner ones first.
template <class Fn>
Status for_each_graph(Program& p, const Fn& fn) {
  for (auto& m : p.methods) {
    auto visit = [&](auto& self, Graph& g) -> Status {
      for (auto& sub : g.subgraphs)
        if (sub) EDGEC_TRY_VOID(self(self, *sub));
      return fn(*m, g);
    };
    EDGEC_TRY_VOID(visit(visit, *m->graph));
  }
  return {};
}

// The failure that `cx.diag` holds, or success.
inline Status outcome(const PassContext& cx) { return cx.diag.has_errors() ? Status(cx.diag.failure()) : Status(); }

}  // namespace EDGEC_API
}  // namespace edgec
