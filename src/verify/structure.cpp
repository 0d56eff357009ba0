// What holds of every graph: values are defined before they are used, and the parts of a method fit together.
#include <fmt/format.h>

#include <algorithm>

#include "verify/rules.h"

namespace edgec {
namespace {

void defined_before_use(const CheckedGraph& c) {
  const Graph& g = c.graph;
  std::vector<bool> defined(g.value_count(), false);
  auto is_defined = [&](ValueId v) { return v.index < defined.size() && defined[v.index]; };
  auto name = [&](ValueId v) { return v.index < g.value_count() ? "%" + g.value(v).name : std::string("a lost value"); };
  for (size_t i = 0; i < g.inputs.size(); ++i) {
    const ValueId v = g.inputs[i];
    if (v.index >= defined.size() || g.value(v).def || g.value(v).result != i)
      c.fault(fmt::format("graph input {} is not the value that says so", i));
    else
      defined[v.index] = true;
  }
  for_each_node(c, [&](NodeId id, const Node& n) {
    for (const Arg& a : n.args)
      for_each_value(a, [&](const ValueId& v) {
        if (!is_defined(v)) c.fault(id, fmt::format("{} is used before its definition", name(v)));
      });
    for (size_t i = 0; i < n.results.size(); ++i) {
      const ValueId v = n.results[i];
      if (v.index >= defined.size() || g.value(v).def != id || g.value(v).result != i || defined[v.index])
        c.fault(id, fmt::format("result {} is not the value that says so", i));
      else
        defined[v.index] = true;
    }
  });
  for (const Arg& a : g.outputs)
    for_each_value(a, [&](const ValueId& v) {
      if (!is_defined(v)) c.fault(fmt::format("{} is returned without a definition", name(v)));
    });
}

void unique_names(const CheckedGraph& c) {
  std::vector<std::string_view> names;
  for (ValueId v : c.graph.inputs) names.push_back(c.graph.value(v).name);
  for_each_node(c, [&](NodeId, const Node& n) {
    for (ValueId v : n.results) names.push_back(c.graph.value(v).name);
  });
  std::sort(names.begin(), names.end());
  if (auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
    c.fault(fmt::format("two values are called %{}", *twice));
}

// Constants and subgraphs that arguments name exist.
void references(const CheckedGraph& c) {
  auto visit = [&](auto& self, NodeId id, const Arg& a) -> void {
    if (auto* k = std::get_if<ConstId>(&a.state); k && k->index >= c.method.constants.size())
      c.fault(id, fmt::format("no constant #{}", k->index));
    if (auto* l = std::get_if<LoweredId>(&a.state); l && l->index >= c.method.lowered.size())
      c.fault(id, fmt::format("no lowered module &{}", l->index));
    if (auto* s = std::get_if<GraphId>(&a.state); s && (s->index >= c.graph.subgraphs.size() || !c.graph.subgraphs[s->index]))
      c.fault(id, fmt::format("no subgraph {}", s->index));
    if (a.is_list())
      for (const Arg& item : a.list()) self(self, id, item);
  };
  for_each_node(c, [&](NodeId id, const Node& n) {
    for (const Arg& a : n.args) visit(visit, id, a);
  });
}

void constant_fits(const CheckedGraph& c, size_t i) {
  const InputSpec& s = c.method.inputs[i];
  if (s.data.index >= c.method.constants.size()) return c.fault(fmt::format("{} \"{}\" has no data", i, s.name));
  const TensorData& data = c.method.constants[s.data.index].data;
  const Type& t = c.graph.type(c.graph.inputs[i]);
  Dims sizes(data.sizes.begin(), data.sizes.end());
  if (!t.is_tensor() || t.tensor.dtype != data.dtype || t.tensor.sizes != sizes)
    c.fault(fmt::format("\"{}\" is {} in the graph and {}{} in its data", s.name, str(t), name(data.dtype), str(sizes)));
}

void specs(const CheckedGraph& c) {
  if (!c.is_main()) return;
  const Method& m = c.method;
  if (m.inputs.size() != c.graph.inputs.size())
    return c.fault(fmt::format("{} inputs have {} descriptions", c.graph.inputs.size(), m.inputs.size()));
  if (m.outputs.size() != c.graph.outputs.size())
    return c.fault(fmt::format("{} outputs have {} descriptions", c.graph.outputs.size(), m.outputs.size()));
  for (size_t i = 0; i < m.inputs.size(); ++i)
    if (m.inputs[i].is_weight()) constant_fits(c, i);
  for (const Constant& k : m.constants)
    if (!k.data.in_bounds()) c.fault(fmt::format("the constant \"{}\" reaches beyond its storage", k.name));
}

void mutation_targets(const CheckedGraph& c) {
  if (!c.is_main()) return;
  for (const OutputSpec& o : c.method.outputs) {
    if (o.kind == OutputSpec::Kind::UserOutput) continue;
    const auto want = o.kind == OutputSpec::Kind::BufferMutation ? InputSpec::Kind::Buffer : InputSpec::Kind::UserInput;
    const auto spec = std::find_if(c.method.inputs.begin(), c.method.inputs.end(),
                                   [&](const InputSpec& s) { return s.kind == want && s.name == o.target; });
    if (spec == c.method.inputs.end())
      c.fault(fmt::format("an output is written back to \"{}\", which is no input", o.target));
    else if (!spec->mutated && c.stage >= Stage::Functional)
      c.fault(fmt::format("\"{}\" is written back but not marked as mutated", o.target));
  }
}

constexpr Rule kRules[] = {
    {"defined-before-use", Stage::ATen, Stage::Exec, "every value is defined once, before its uses", defined_before_use, true},
    {"references", Stage::ATen, Stage::Exec, "constants and subgraphs that arguments name exist", references, true},
    {"specs", Stage::ATen, Stage::Exec, "inputs, outputs and constants agree with their descriptions", specs, true},
    {"unique-names", Stage::ATen, Stage::Exec, "no two values of a graph share a name", unique_names},
    {"mutation-targets", Stage::ATen, Stage::Exec, "outputs are written back to buffers or user inputs that exist", mutation_targets},
};

}  // namespace

std::span<const Rule> structure_rules() { return kRules; }

}  // namespace edgec
