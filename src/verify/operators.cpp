// Which operators a stage may hold.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "verify/rules.h"

namespace edgec {
namespace {

void no_writes(const CheckedGraph& c) {
  for_each_node(c, [&](NodeId id, const Node& n) {
    if (n.op->schema().mutates()) c.fault(id, "writes to one of its arguments");
  });
}

void inputs_written(const CheckedGraph& c) {
  for_each_node(c, [&](NodeId id, const Node& n) {
    const auto& params = n.op->schema().params;
    for (size_t i = 0; i < n.args.size(); ++i) {
      if (!params[i].written) continue;
      for_each_value(n.args[i], [&](const ValueId& v) {
        if (c.graph.value(v).def) c.fault(id, fmt::format("writes to %{}, which is no input", c.graph.value(v).name));
      });
    }
  });
}

// %n = aten.sym_size.int(%x, 0); aten.view(%x, [%n]): after the ATen stage the argument is the expression of %n.
void sizes_are_expressions(const CheckedGraph& c) {
  for_each_node(c, [&](NodeId id, const Node& n) {
    const auto& params = n.op->schema().params;
    for (size_t i = 0; i < n.args.size(); ++i) {
      if (params[i].type != ArgType::Int && params[i].type != ArgType::SymInt) continue;
      for_each_value(n.args[i], [&](const ValueId& v) {
        c.fault(id, fmt::format("argument {} holds %{} where its expression is expected", params[i].name, c.graph.value(v).name));
      });
    }
  });
}

bool all_symbolic(const Graph& g, const Node& n) {
  return std::all_of(n.results.begin(), n.results.end(), [&](ValueId v) { return !g.type(v).is_tensor(); });
}

// A copy (passes/dim_order makes it a dim_order op), computed on expressions, or edgec's own: no kernel is needed.
bool needs_no_kernel(const Graph& g, const Node& n) {
  constexpr std::array<std::string_view, 4> own = {"prim", "higher_order", "executorch", "executorch_prim"};
  return n.op->layout == LayoutRule::Any || all_symbolic(g, n) || std::find(own.begin(), own.end(), n.op->schema().ns) != own.end();
}

// Copies keep torch's name until the dim orders are decided; then they are dim_order_ops.
bool becomes_copy(const OpDef& op) { return op.name() == "aten._to_copy" || op.name() == "aten.clone" || op.name() == "aten.contiguous"; }

void known(const CheckedGraph& c) {
  for_each_node(c, [&](NodeId id, const Node& n) {
    if (!n.op->known) c.fault(id, "is not in the operator table");
  });
}

void has_kernel(const CheckedGraph& c) {
  for_each_node(c, [&](NodeId id, const Node& n) {
    if (!n.op->known || n.op->kernel.exists() || needs_no_kernel(c.graph, n)) return;
    if (c.stage < Stage::Exec ? becomes_copy(*n.op) : n.op->schema().mutates()) return;
    if (c.stage < Stage::Backend && n.op->expand) return;  // a backend may be asked first
    c.fault(id, "has no kernel and was not expanded");
  });
}

constexpr Rule kRules[] = {
    {"no-writes", Stage::Functional, Stage::Backend, "no operator writes to its arguments", no_writes},
    {"only-inputs-are-written", Stage::Exec, Stage::Exec, "only buffers and user inputs are written", inputs_written},
    {"sizes-are-expressions", Stage::Functional, Stage::Backend, "sizes in arguments are expressions, not values", sizes_are_expressions},
    {"known", Stage::Core, Stage::Exec, "every operator is in the table", known},
    {"has-kernel", Stage::Core, Stage::Exec, "every operator has a kernel, or needs none", has_kernel},
};

}  // namespace

std::span<const Rule> operator_rules() { return kRules; }

}  // namespace edgec
