#include <functional>
#include "passes/registry.h"

#include <edgec/rewriter.h>

// %a = aten.relu(%x)
// %b = aten.relu(%x)   ->   uses of %b become uses of %a. Random operators and those with side effects stay apart.
namespace edgec::passes {
namespace {

size_t mix(size_t seed, size_t v) { return seed ^ (v + 0x9e3779b97f4a7c15ull + (seed << 6) + (seed >> 2)); }

size_t hash_of(const Arg& a) {
  struct Visitor {
    size_t operator()(std::monostate) const { return 1; }
    size_t operator()(ValueId v) const { return v.index * 31u + 2; }
    size_t operator()(const sym::Expr& e) const {
      return e.is_static() ? std::hash<int64_t>{}(*e.constant()) : std::hash<std::string>{}(e.str());
    }
    size_t operator()(double d) const { return std::hash<double>{}(d); }
    size_t operator()(bool b) const { return b ? 5 : 6; }
    size_t operator()(const std::string& s) const { return std::hash<std::string>{}(s); }
    size_t operator()(DType d) const { return 100 + static_cast<size_t>(d); }
    size_t operator()(MemoryFormat f) const { return 200 + static_cast<size_t>(f); }
    size_t operator()(ConstId c) const { return c.index * 37u + 3; }
    size_t operator()(GraphId c) const { return c.index * 41u + 4; }
    size_t operator()(LoweredId c) const { return c.index * 43u + 7; }
    size_t operator()(const ArgList& l) const {
      size_t h = l.size();
      for (const Arg& a : l) h = mix(h, hash_of(a));
      return h;
    }
  };
  return mix(a.state.index(), std::visit(Visitor{}, a.state));
}

bool may_merge(const Graph& g, const Node& n) {
  if (n.op->random || n.op->side_effect || n.op->schema().ns == "higher_order" || n.op->schema().mutates() || n.results.empty())
    return false;
  for (ValueId r : n.results)
    if (g.type(r).is_sym()) return false;  // defines a symbol
  return !n.op->defines_symbols;
}

}  // namespace

Status cse(Program& p, PassContext&) {
  return for_each_graph(p, [](Method&, Graph& g) -> Status {
    std::unordered_multimap<size_t, NodeId> seen;
    Rewriter rw(g);
    for (NodeId id : g.nodes_in_order()) {
      rw.refresh(id);
      const Node& n = g.node(id);
      if (!may_merge(g, n)) continue;
      size_t h = std::hash<const void*>{}(n.op);
      for (const Arg& a : n.args) h = mix(h, hash_of(a));
      NodeId same;
      auto [from, to] = seen.equal_range(h);
      for (auto it = from; it != to && !same; ++it)
        if (g.node(it->second).op == n.op && g.node(it->second).args == n.args) same = it->second;
      if (same)
        rw.replace_node(id, std::vector<ValueId>(g.node(same).results));
      else
        seen.emplace(h, id);
    }
    rw.finish();
    return {};
  });
}

}  // namespace edgec::passes
