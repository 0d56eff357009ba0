#include "partition/place.h"

#include <edgec/op.h>
#include <fmt/format.h>

#include "passes/inline.h"

namespace edgec::partition {
namespace {

bool fits(const Type& formal, const Type& actual) {
  if (formal.kind != actual.kind) return false;
  if (formal.is_sym()) return formal.expr.sort() == actual.expr.sort();
  return formal.tensor.dtype == actual.tensor.dtype && formal.tensor.rank() == actual.tensor.rank() &&
         formal.tensor.dim_order == actual.tensor.dim_order;
}

// The module's name of a size -> what the graph calls it.
void name_sizes(const Type& formal, const Type& actual, sym::Bindings& to) {
  const auto one = [&](const sym::Expr& name, const sym::Expr& value) {
    if (name.kind() == sym::Kind::Symbol && name.sort() == value.sort()) to[name] = value;
  };
  if (formal.is_sym()) one(formal.expr, actual.expr);
  for (size_t d = 0; d < formal.tensor.sizes.size(); ++d) one(formal.tensor.sizes[d], actual.tensor.sizes[d]);
}

}  // namespace

Result<std::vector<ValueId>> place(Method& m, Graph& g, const std::shared_ptr<const LoweredModule>& module, const std::vector<Arg>& inputs,
                                   NodeId before) {
  const Method& region = *module->region;
  sym::Context& syms = g.syms();
  sym::Bindings names;
  const auto imported = [&](Type t) {
    for (Dim& d : t.tensor.sizes) d = syms.import(d);
    t.expr = syms.import(t.expr);
    return t;
  };
  size_t given = 0;
  for (size_t i = 0; i < region.inputs.size(); ++i) {
    if (region.inputs[i].kind != InputSpec::Kind::UserInput) continue;
    const Type formal = imported(region.graph->type(region.graph->inputs[i]));
    if (given >= inputs.size() || !fits(formal, passes::type_of(g, inputs[given])))
      return model_error(fmt::format("error: input {} of the lowered module is {}", given, str(formal)));
    name_sizes(formal, passes::type_of(g, inputs[given++]), names);
  }
  if (given != inputs.size()) return model_error(fmt::format("error: the lowered module takes {} inputs, not {}", given, inputs.size()));
  std::vector<Type> types;
  for (size_t i = 0; i < region.outputs.size(); ++i) {
    if (region.outputs[i].kind != OutputSpec::Kind::UserOutput) continue;
    types.push_back(imported(passes::type_of(*region.graph, region.graph->outputs[i])));
    passes::substitute(types.back(), names);
  }
  m.lowered.push_back(module);
  const LoweredId id(static_cast<uint32_t>(m.lowered.size() - 1));
  const NodeId n =
      g.add_node(&Registry::global().get("executorch.call_delegate"), {id, ArgList(inputs)}, std::move(types), nullptr, before);
  return g.node(n).results;
}

}  // namespace edgec::partition
