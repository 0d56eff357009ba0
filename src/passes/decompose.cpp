#include <fmt/format.h>
#include "passes/registry.h"

#include <map>
#include <unordered_set>

#include <edgec/rewriter.h>
#include "ops/absent.h"

// %y = aten.silu(%x)   ->   %s = aten.sigmoid(%x)
//                           %y = aten.mul.Tensor(%x, %s)
//
// Expansions may give operators that expand again. What has neither an expansion nor a kernel is reported, all at once. What a backend may
// keep whole waits until everything else is expanded: whether it is kept may depend on the nodes around it.
namespace edgec::passes {
namespace {

bool runs(const OpDef& op) {
  if (!op.known) return false;
  const std::string& ns = op.schema().ns;
  if (ns == "higher_order" && op.known) return true;                          // passes/inline_control_flow
  return op.kernel.exists() || ns == "prim" || op.layout == LayoutRule::Any;  // copies become dim_order_ops
}

class Decomposer {
 public:
  Decomposer(const Method& m, Graph& g, PassContext& cx) : rw_(g), m_(m), g_(g), cx_(cx), budget_(200'000 + 200 * g.node_count()) {}

  void run() {
    do {
      for (NodeId id = g_.first(); id;) id = visit(id);
      rw_.finish();
    } while (decide());
  }
  struct Missing {
    Location first;
    size_t uses = 0;
    bool known = false;
  };
  std::map<std::string, Missing> missing;

 private:
  // Of the nodes that may be kept whole and wait. False: all of them are.
  bool decide() {
    bool expands = false;
    for (NodeId id = g_.first(); id; id = g_.next(id)) {
      if (!waits(id)) continue;
      (cx_.keeps_whole(m_, g_, id) ? kept_ : not_kept_).insert(id);
      expands = expands || not_kept_.count(id) != 0;
    }
    return expands;
  }
  bool waits(NodeId id) const {
    return cx_.keeps_whole && cx_.may_keep_whole.count(g_.node(id).op->name()) != 0 && not_kept_.count(id) == 0 && kept_.count(id) == 0;
  }

  // Gives the node to visit next: the first of an expansion, or the one behind.
  NodeId visit(NodeId id) {
    rw_.refresh(id);
    const Node& n = g_.node(id);
    const NodeId next = n.next;
    if (kept_.count(id) != 0 || waits(id)) return next;
    if (n.op->expand) {
      if (budget_-- == 0) {
        cx_.diag.error(n.loc, fmt::format("operator {} expands without end", n.op->name()), "this is a bug in edgec; please report it");
        return {};
      }
      const NodeId before = n.prev;
      const Node copy = n;  // the graph grows
      Builder b(g_, copy.loc, id);
      auto made = copy.op->expand(b, Call(g_, *copy.op, copy.args));
      if (!made) {
        cx_.diag.error(copy.loc, made.failure().message);
        return next;
      }
      if (!made->empty() || copy.results.empty()) {
        if (made->size() < copy.results.size())
          cx_.diag.error(copy.loc, fmt::format("the expansion of {} gives {} values for {} results", copy.op->name(), made->size(),
                                               copy.results.size()));
        const NodeId first = before ? g_.next(before) : g_.first();
        keep_symbols(first, id, copy.results, *made);
        if (!gives_same_types(copy, *made)) return {};
        rw_.replace_node(id, *made);
        return before ? g_.next(before) : g_.first();
      }
    }
    bound_by_entry(id);
    if (g_.node(id).op->user && g_.node(id).op->known) check_declaration(g_.node(id));
    if (!runs(*g_.node(id).op)) {
      Missing& m = missing[g_.node(id).op->name()];
      if (m.uses++ == 0) m.first = g_.node(id).loc;
      m.known = g_.node(id).op->known;
    }
    return next;
  }

  // The values of an expansion stand for the results in every later rule: they must have their dtypes and ranks, and their
  // sizes where both are numbers.
  bool gives_same_types(const Node& n, const std::vector<ValueId>& made) {
    for (size_t i = 0; i < n.results.size() && i < made.size(); ++i) {
      if (!g_.type(n.results[i]).is_tensor() || !g_.type(made[i]).is_tensor()) continue;
      const TensorType &was = g_.tensor(n.results[i]), &is = g_.tensor(made[i]);
      bool same = was.dtype == is.dtype && was.rank() == is.rank();
      for (size_t d = 0; same && d < was.rank(); ++d)
        same = !was.sizes[d].is_static() || !is.sizes[d].is_static() || was.sizes[d] == is.sizes[d];
      if (same) continue;
      cx_.diag.error(n.loc, fmt::format("the expansion of {} gives {} for a result of {}", n.op->name(), str(is), str(was)),
                     "this is a bug in edgec, or the archive's types are not those of the operator");
      return false;
    }
    return true;
  }

  // An expansion with a size of its own making (how many elements a mask selects) takes over the symbol that the
  // archive calls it, since sizes further down are told with that one.
  void keep_symbols(NodeId first, NodeId end, const std::vector<ValueId>& recorded, const std::vector<ValueId>& made) {
    sym::Bindings names;
    for (size_t i = 0; i < recorded.size() && i < made.size(); ++i) {
      const Dims &old = g_.tensor(recorded[i]).sizes, &now = g_.tensor(made[i]).sizes;
      for (size_t d = 0; d < old.size() && d < now.size(); ++d)
        if (now[d].kind() == sym::Kind::Symbol && now[d].symbol_name().starts_with("u_") && old[d] != now[d]) {
          names[now[d]] = old[d];
          bound(old[d], now[d]);
        }
    }
    if (names.empty()) return;
    for (NodeId n = first; n && n != end; n = g_.next(n)) {
      for (Arg& a : g_.node(n).args) for_each_expr(a, [&](sym::Expr& e) { e = sym::substitute(e, names); });
      for (ValueId r : g_.node(n).results)
        for (Dim& d : g_.value(r).type.tensor.sizes) d = sym::substitute(d, names);
    }
  }

  // What a user's declaration says of a call must be what the model was exported with.
  void check_declaration(const Node& n) {
    const auto types = infer(g_, *n.op, n.args);
    if (!types) return cx_.diag.error(n.loc, fmt::format("{}: {}", n.op->name(), types.failure().message));
    for (size_t i = 0; i < n.results.size() && i < types->size(); ++i) {
      const TensorType &recorded = g_.tensor(n.results[i]), &said = (*types)[i].tensor;
      bool same = recorded.dtype == said.dtype && recorded.rank() == said.rank();
      for (size_t d = 0; same && d < said.rank(); ++d) same = sym::equal(recorded.sizes[d], said.sizes[d]) != sym::Proof::No;
      if (!same)
        cx_.diag.error(n.loc, fmt::format("{} gives {} by its declaration, and {} in the model", n.op->name(), str(said), str(recorded)));
    }
  }

  // A size that the data decide may have no useful upper bound in the archive; the operator's entry knows one.
  void bound_by_entry(NodeId id) {
    const Node& n = g_.node(id);
    bool open = false;
    for (ValueId r : n.results)
      for (const Dim& d : g_.tensor(r).sizes) open = open || is_open(d);
    if (!open || !n.op->infer) return;
    const auto types = infer(g_, *n.op, n.args);
    for (size_t i = 0; types && i < n.results.size() && i < types->size(); ++i) {
      const Dims &recorded = g_.tensor(n.results[i]).sizes, &made = (*types)[i].tensor.sizes;
      for (size_t d = 0; d < recorded.size() && d < made.size(); ++d) bound(recorded[d], made[d]);
    }
  }
  void bound(Dim recorded, Dim made) {
    if (is_open(recorded)) g_.syms().set_range(recorded, {g_.syms().range_of(recorded).lo, sym::upper_bound(made)});
  }
  // torch writes 2^63 - 2 for an open end.
  static bool is_open(Dim d) { return d.kind() == sym::Kind::Symbol && sym::upper_bound(d).value_or(INT64_MAX) > INT32_MAX; }

  Rewriter rw_;
  std::unordered_set<NodeId> kept_, not_kept_;
  const Method& m_;
  Graph& g_;
  PassContext& cx_;
  size_t budget_;
};

}  // namespace

Status decompose(Program& p, PassContext& cx) {
  std::map<std::string, Decomposer::Missing> missing;
  EDGEC_TRY_VOID(for_each_graph(p, [&](Method& method, Graph& g) -> Status {
    remove_dead_nodes(g);
    Decomposer d(method, g, cx);
    d.run();
    for (auto& [name, m] : d.missing) {
      auto& all = missing[name];
      if (all.uses == 0) all.first = m.first;
      all.uses += m.uses;
    }
    return {};
  }));
  for (const auto& [name, m] : missing)
    cx.diag.error(m.first, fmt::format("operator {} is not supported ({} {})", name, m.uses, m.uses == 1 ? "use" : "uses"),
                  name.starts_with("aten.") ? std::string(ops::reason_absent(name))
                                            : "an operator of a library of your own is declared with --ops FILE (docs/user-operators.md)");
  EDGEC_TRY_VOID(outcome(cx));
  p.stage = Stage::Core;
  return {};
}

}  // namespace edgec::passes
