#include <algorithm>
#include "passes/registry.h"

#include <edgec/rewriter.h>

// %y = higher_order.cond(%p, graph(%a, %v) { %u = aten.linear(%a, %v) ... }, ..., [%x, %w])      %w a weight
// ->
//   graph(%a, %v) { %k = prim.constant(#0)  %u = aten.linear(%a, %k) ... }
//
// Branches and bodies see weights as what they are, so that the passes that work on weights do so there too.
namespace edgec::passes {
namespace {

class Binder {
 public:
  explicit Binder(Method& m) : m_(m) {}

  void visit(Graph& g) {
    for (NodeId id = g.first(); id; id = g.next(id)) {
      const Node& n = g.node(id);
      if (n.op->schema().ns != "higher_order" || !n.op->known) continue;
      const auto operands = operands_of(n);
      for (const Arg& a : n.args)
        if (a.is_graph()) bind(g, operands, *g.subgraphs[std::get<GraphId>(a.state).index]);
    }
    for (auto& sub : g.subgraphs)
      if (sub) visit(*sub);
  }

 private:
  // What the inputs of the sub-graphs are bound to; none for those that change from turn to turn.
  static std::vector<Arg> operands_of(const Node& n) {
    std::vector<Arg> out;
    for (const Arg& a : n.args) {
      if (!a.is_list()) continue;
      const bool fixed = &a == &n.args.back();  // the last list: operands, pos_args, additional_inputs
      for (const Arg& item : a.list()) out.push_back(fixed ? item : Arg());
    }
    return out;
  }

  void bind(const Graph& g, const std::vector<Arg>& operands, Graph& sub) {
    std::unordered_map<ValueId, ValueId> with;
    for (size_t i = 0; i < operands.size() && i < sub.inputs.size(); ++i) {
      if (!operands[i].is_value()) continue;
      const ValueId v = operands[i].value();
      if (!m_.constant_of(g, v)) continue;
      const NodeId def = g.value(v).def;
      const Arg data = def ? g.node(def).args[0] : Arg(m_.spec_of(v)->data);
      const ValueId in = sub.inputs[i];
      const std::vector<std::string> names = {sub.value(in).name};
      const NodeId made = sub.add_node(&Registry::global().get("prim.constant"), {data}, {sub.type(in)}, nullptr, sub.first(), names);
      with[in] = sub.node(made).results[0];
    }
    sub.replace_uses(with);
  }

  Method& m_;
};

}  // namespace

Status bind_weights(Program& p, PassContext&) {
  for (auto& m : p.methods) Binder(*m).visit(*m->graph);
  return {};
}

}  // namespace edgec::passes
