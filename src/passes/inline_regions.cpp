#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "passes/inline.h"
#include "passes/registry.h"

// %y = higher_order.wrap_with_set_grad_enabled(false, graph(%a) { %u = aten.relu(%a) return %u }, %x)
// ->
//   %y = aten.relu(%x)
//
// Regions that say how gradients are kept, what is recomputed or compiled apart: their nodes join the graph around
// them. Under autocast a node's recorded result has another dtype than its operands would give: the operands are cast.
namespace edgec::passes {
namespace {

bool is_region(const OpDef& op) {
  const Schema& s = op.schema();
  return s.ns == "higher_order" &&
         (s.name.starts_with("wrap") || s.name == "invoke_subgraph" || s.name == "tag_activation_checkpoint" || s.name == "strict_mode");
}

class Regions {
 public:
  Regions(Graph& g, PassContext& cx) : g_(g), cx_(cx), inliner_(g) {}

  void run() {
    Rewriter rw(g_);
    bool any = false;
    for (NodeId id = g_.first(), next; id; id = next) {
      next = g_.next(id);
      rw.refresh(id);
      const Node n = g_.node(id);  // a copy: the graph grows
      if (n.op->schema().name.starts_with("auto_functionalized") && n.op->schema().ns == "higher_order") {
        any = undo_auto_functionalized(rw, id, n) || any;
        continue;
      }
      if (!is_region(*n.op)) continue;
      const auto at = std::find_if(n.args.begin(), n.args.end(), [](const Arg& a) { return a.is_graph(); });
      if (at == n.args.end()) continue;  // reported by decompose
      any = true;
      Graph& body = *g_.subgraphs[std::get<GraphId>(at->state).index];
      std::vector<Arg> operands(at + 1, n.args.end());
      if (!operands.empty() && std::holds_alternative<std::string>(operands[0].state)) operands.erase(operands.begin());
      if (operands.size() < body.inputs.size() || body.outputs.size() != n.results.size()) {
        cx_.diag.error(n.loc, fmt::format("{} has another form than torch.export gives it", n.op->name()));
        continue;
      }
      if (n.op->schema().name == "wrap_with_autocast") cast_to_recorded(body);
      inliner_.before = id;
      const auto results = inliner_.call(body, operands, {});
      for (size_t i = 0; i < results.size(); ++i) {
        if (!results[i].is_value()) continue;
        inliner_.rename(g_.type(n.results[i]), g_.type(results[i].value()));
        rw.replace(n.results[i], results[i].value());
      }
      g_.erase(id);
      g_.subgraphs[std::get<GraphId>(at->state).index].reset();
    }
    if (!any) return;
    rw.finish();
    inliner_.finish();
  }

 private:
  // auto_functionalized("my.f", x=%x, ...) and auto_functionalized_v2("my.f", _x_base_index=0, _all_bases=[%x], ...): a custom operator
  // that writes to its arguments, as a call that gives (its results, then) the new values of the arguments or bases. True when it was
  // replaced.
  bool undo_auto_functionalized(Rewriter& rw, NodeId id, const Node& n) {
    const auto* wrapped = n.args.empty() ? nullptr : std::get_if<std::string>(&n.args[0].state);
    std::string name = wrapped ? *wrapped : n.op->name();
    if (name.starts_with("torch.ops.")) name.erase(0, 10);
    const OpDef* op = Registry::global().find(name);
    const OpDef* functional = op ? Registry::global().find(op->functional) : nullptr;
    if (!functional || functional->kernel_writes.empty()) {
      cx_.diag.error(n.loc, fmt::format("operator {} is not supported", name),
                     "an operator of a library of your own is declared with --ops FILE (docs/user-operators.md)");
      return false;
    }
    NamedArgs given, named;
    for (size_t i = 1; i < n.args.size(); ++i) given.emplace_back(n.op->schema().params[i].name, n.args[i]);
    const auto find = [&](const std::string& key) -> const Arg* {
      for (const auto& [k, a] : given)
        if (k == key) return &a;
      return nullptr;
    };
    // Results of the node: those of the operator (None when it has none), then the new arguments or bases.
    const size_t own = functional->schema().returns.size() - functional->kernel_writes.size(), first = std::max<size_t>(own, 1);
    const Arg* bases = find("_all_bases");
    Builder b(g_, n.loc, id);
    std::vector<Written> writes;
    bool whole = true;
    const auto& params = functional->schema().params;
    for (size_t k = 0; k < params.size(); ++k) {
      const auto& written = functional->kernel_writes;
      const bool is_written = std::find(written.begin(), written.end(), k) != written.end();
      const Arg* index = find("_" + params[k].name + "_base_index");
      if (const Arg* direct = find(params[k].name)) {
        named.emplace_back(params[k].name, *direct);
        if (is_written) writes.push_back({first + writes.size(), "", {}});
      } else if (is_written && bases && bases->is_list() && index && index->is_expr()) {
        const auto base = static_cast<size_t>(index->expr().constant().value_or(-1));
        whole = whole && base < bases->list().size() && bases->list()[base].is_value();
        if (!whole) break;
        Written w = view_of_base("_" + params[k].name, find);
        w.result = first + base;
        Arg value = bases->list()[base];
        if (!w.view.empty()) value = b.call("aten." + w.view, with_first(value, w.args));
        named.emplace_back(params[k].name, value);
        writes.push_back(std::move(w));
      }
    }
    auto args = bind_args(*functional, {}, named);
    whole = whole && args && !b.failed() && writes.size() == functional->kernel_writes.size() &&
            std::all_of(writes.begin(), writes.end(), [&](const Written& w) { return w.result < n.results.size(); });
    const auto made = whole ? b.call_all(functional->name(), *std::move(args)) : std::vector<ValueId>{};
    std::map<size_t, ValueId> now;  // by result
    for (size_t k = 0; k < own && k < made.size(); ++k) now[k] = made[k];
    for (size_t k = 0; k < writes.size() && whole && !b.failed(); ++k) {
      const Written& w = writes[k];
      if (w.view.empty()) {
        now[w.result] = made[own + k];
        continue;
      }
      const auto before = now.find(w.result);
      const Arg base = before != now.end() ? Arg(before->second) : bases->list()[w.result - first];
      std::vector<Arg> scatter = with_first(made[own + k], w.args);
      now[w.result] = b.call(w.view == "slice.Tensor" ? "aten.slice_scatter" : "aten.as_strided_scatter", with_first(base, scatter));
    }
    if (!whole || b.failed()) {
      cx_.diag.error(n.loc, fmt::format("{} of {} leaves out an argument or writes to what is no part of its bases", n.op->name(), name));
      return false;
    }
    for (const auto& [result, value] : now) rw.replace(n.results[result], value);
    g_.erase(id);
    return true;
  }

  struct Written {
    size_t result = 0;      // the node's, which is the new argument or base
    std::string view;       // what the argument is of its base: empty (the whole), "slice.Tensor" or "as_strided"
    std::vector<Arg> args;  // of the view, behind the base
  };

  static std::vector<Arg> with_first(Arg first, const std::vector<Arg>& rest) {
    std::vector<Arg> out{std::move(first)};
    out.insert(out.end(), rest.begin(), rest.end());
    return out;
  }

  // The keys that say which part of its base an argument is: `<prefix>_slice_dim`, `_slice_start`, `_slice_end`, or `_size`, `_stride`,
  // `_storage_offset`.
  template <class Find>
  static Written view_of_base(const std::string& prefix, const Find& find) {
    const auto all = [&](std::string view, std::initializer_list<const char*> keys) {
      Written w{0, std::move(view), {}};
      for (const char* key : keys)
        if (const Arg* a = find(prefix + key)) w.args.push_back(*a);
      if (w.args.size() != keys.size()) w.view.clear();
      return w;
    };
    Written slice = all("slice.Tensor", {"_slice_dim", "_slice_start", "_slice_end"});
    return slice.view.empty() ? all("as_strided", {"_size", "_stride", "_storage_offset"}) : slice;
  }

  void cast_to_recorded(Graph& g) {
    for (auto& sub : g.subgraphs)
      if (sub) cast_to_recorded(*sub);
    for (NodeId id : g.nodes_in_order()) {
      const OpDef& op = *g.node(id).op;
      if (!op.known || g.node(id).results.empty() || !(op.infer || (op.shape && op.dtype))) continue;
      const Type recorded = g.type(g.node(id).results[0]);
      if (!recorded.is_tensor() || !is_float(recorded.tensor.dtype) || agrees(g, id)) continue;
      Builder b(g, g.node(id).loc, id);
      std::vector<Arg> args = g.node(id).args;
      for (Arg& a : args)
        for_each_value(a, [&](ValueId& v) {
          if (g.type(v).is_tensor() && is_float(g.tensor(v).dtype)) v = b.cast(v, recorded.tensor.dtype);
        });
      g.node(id).args = std::move(args);
      if (b.failed() || !agrees(g, id))
        cx_.diag.error(g.node(id).loc,
                       fmt::format("under autocast {} gives {}, which casts of its operands do not", op.name(), str(recorded)));
    }
  }

  // Whether the node gives what the archive says. A failure to infer is for others to report.
  static bool agrees(const Graph& g, NodeId id) {
    const Node& n = g.node(id);
    auto types = infer(g, *n.op, n.args);
    if (!types || types->size() != n.results.size()) return true;
    for (size_t i = 0; i < types->size(); ++i)
      if ((*types)[i].is_tensor() && (*types)[i].tensor.dtype != g.tensor(n.results[i]).dtype) return false;
    return true;
  }

  Graph& g_;
  PassContext& cx_;
  Inliner inliner_;
};

}  // namespace

Status inline_regions(Program& p, PassContext& cx) {
  EDGEC_TRY_VOID(for_each_graph(p, [&](Method&, Graph& g) -> Status {
    Regions(g, cx).run();
    return {};
  }));
  return outcome(cx);
}

}  // namespace edgec::passes
