#include <array>
#include "passes/registry.h"

#include <edgec/rewriter.h>

// %n = aten.sym_size.int(%x, 0) : symint s0
// %m = _operator.mul(%n, 4) : symint 4*s0
// %y = aten.view(%x, [%m])                     ->   %y = aten.view(%x, [{4*s0}])
// aten._assert_scalar(%c, "...")               ->   prim.guard({s0 <= 8}, "...")   or nothing, when proven
namespace edgec::passes {
namespace {

// Symbolic numbers are their expressions wherever they are used.
void use_expressions(Graph& g, Arg& a) {
  if (a.is_list()) {
    auto& items = std::get<ArgList>(a.state);
    for (Arg& item : items) use_expressions(g, item);
  } else if (a.is_value() && g.type(a.value()).is_sym()) {
    a = g.type(a.value()).expr;
  }
}

// Computes a number from numbers, or reads a size: its expression says all.
bool is_symbolic_arithmetic(const OpDef& op) {
  const std::string& ns = op.schema().ns;
  return ns == "_operator" || ns == "math" || ns == "builtins" || (ns == "torch" && op.name().starts_with("torch.sym_")) ||
         op.name() == "torch._sym_sqrt" || op.name().starts_with("aten.sym_size") || op.name() == "aten.sym_numel" ||
         op.name().starts_with("aten.sym_stride");
}

bool is_check(const OpDef& op) {
  static constexpr std::array<std::string_view, 5> kChecks = {"aten._assert_tensor_metadata", "aten._assert_async.msg",
                                                              "aten._assert_async", "aten.sym_constrain_range",
                                                              "aten.sym_constrain_range_for_size"};
  return std::find(kChecks.begin(), kChecks.end(), op.name()) != kChecks.end();
}

void resolve(Graph& g) {
  const OpDef& guard = Registry::global().get("prim.guard");
  for (NodeId id : g.nodes_in_order()) {
    Node& n = g.node(id);
    const bool symbolic = !n.results.empty() && g.type(n.results[0]).is_sym() && n.op->known && is_symbolic_arithmetic(*n.op);
    if (symbolic || is_check(*n.op)) continue;  // erased below, when their users have been rewritten
    for (Arg& a : n.args) use_expressions(g, a);
    if (n.op->name() == "aten._assert_scalar") {
      const sym::Expr condition = expr_of(g, n.args[0]);
      if (condition.sort() == sym::Sort::Bool && sym::holds(condition) != sym::Proof::Yes)
        g.add_node(&guard, {condition, n.args[1]}, {}, n.loc, id);
    }
  }
  for (Arg& a : g.outputs) use_expressions(g, a);
  for (NodeId id : g.nodes_in_order()) {
    const Node& n = g.node(id);
    const bool symbolic = !n.results.empty() && g.type(n.results[0]).is_sym() && n.op->known && is_symbolic_arithmetic(*n.op);
    if (symbolic || is_check(*n.op) || n.op->name() == "aten._assert_scalar") g.erase(id);
  }
}

}  // namespace

Status resolve_symbols(Program& p, PassContext&) {
  return for_each_graph(p, [](Method&, Graph& g) {
    resolve(g);
    return Status();
  });
}

}  // namespace edgec::passes
