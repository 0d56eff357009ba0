#include <edgec/program.h>

#include <algorithm>
#include <array>

#include <edgec/op.h>

namespace edgec {

static constexpr std::array<std::string_view, 6> kStages = {"aten", "functional", "core", "edge", "backend", "exec"};
std::string_view name(Stage s) { return kStages[static_cast<size_t>(s)]; }
std::optional<Stage> stage_from_name(std::string_view n) {
  for (size_t i = 0; i < kStages.size(); ++i)
    if (kStages[i] == n) return static_cast<Stage>(i);
  return std::nullopt;
}

ConstId Method::add_constant(std::string constant_name, TensorData data) {
  constants.push_back({std::move(constant_name), std::move(data)});
  return ConstId(static_cast<uint32_t>(constants.size() - 1));
}

const InputSpec* Method::spec_of(ValueId v) const {
  if (!v || v.index >= graph->value_count()) return nullptr;
  const Value& value = graph->value(v);
  if (value.def || value.result >= inputs.size() || graph->inputs[value.result] != v) return nullptr;
  return &inputs[value.result];
}

const TensorData* Method::constant_of(const Graph& g, ValueId v) const {
  const Value& value = g.value(v);
  if (!value.def) {
    if (&g != graph.get()) return nullptr;
    const InputSpec* spec = spec_of(v);
    return spec && spec->is_weight() && !spec->mutated ? &constants[spec->data.index].data : nullptr;
  }
  const Node& n = g.node(value.def);
  if (n.op->name() != "prim.constant") return nullptr;
  return &constants[std::get<ConstId>(n.args[0].state).index].data;
}

std::unique_ptr<Method> clone(const Method& m) {
  auto copy = std::make_unique<Method>();
  copy->name = m.name;
  copy->syms = m.syms;
  copy->graph = m.graph->clone(m.syms);
  copy->inputs = m.inputs;
  copy->outputs = m.outputs;
  copy->constants = m.constants;
  copy->lowered = m.lowered;
  copy->in_spec = m.in_spec;
  copy->out_spec = m.out_spec;
  copy->input_names = m.input_names;
  copy->guards = m.guards;
  return copy;
}

std::unique_ptr<Program> clone(const Program& p) {
  auto out = std::make_unique<Program>();
  out->stage = p.stage;
  out->constant_methods = p.constant_methods;
  for (const auto& m : p.methods) out->methods.push_back(clone(*m));
  return out;
}

// Whether a branch or loop gives a number or a size that is not known otherwise: uses of it are expressions.
static bool gives_symbols(const Graph& g, const Node& n) {
  if (n.op->schema().ns != "higher_order") return false;
  const auto is_new = [](const sym::Expr& e) { return e.kind() == sym::Kind::Symbol && e.symbol_name().starts_with('u'); };
  return std::any_of(n.results.begin(), n.results.end(), [&](ValueId r) {
    const Type& t = g.type(r);
    if (t.is_sym()) return t.expr.kind() == sym::Kind::Symbol;
    return std::any_of(t.tensor.sizes.begin(), t.tensor.sizes.end(), is_new);
  });
}

static bool has_effect(const Graph& g, const Node& n) {
  // A custom operator may write to its arguments: it stays until it is reported.
  if (!n.op->known && (n.results.empty() || n.op->schema().ns != "aten")) return true;
  if (n.op->side_effect || n.op->defines_symbols || n.op->schema().mutates() || gives_symbols(g, n)) return true;
  auto inner_effect = [&](const Graph& sub) {
    for (NodeId i = sub.first(); i; i = sub.next(i))
      if (has_effect(sub, sub.node(i))) return true;
    return false;
  };
  for (const Arg& a : n.args)
    if (a.is_graph() && inner_effect(*g.subgraphs[std::get<GraphId>(a.state).index])) return true;
  return false;
}

bool remove_dead_nodes(Graph& g) {
  for (auto& sub : g.subgraphs)
    if (sub) remove_dead_nodes(*sub);
  auto uses = g.use_counts();
  bool changed = false;
  auto order = g.nodes_in_order();
  for (size_t i = order.size(); i-- > 0;) {
    Node& n = g.node(order[i]);
    bool used = has_effect(g, n);
    for (ValueId r : n.results) used = used || uses[r.index] > 0;
    if (used) continue;
    for (const Arg& a : n.args) for_each_value(a, [&](ValueId v) { --uses[v.index]; });
    g.erase(order[i]);
    changed = true;
  }
  return changed;
}

// Calls fn(ConstId&) for every constant that an input or a node of any graph names.
template <class Fn>
static void for_each_constant(Graph& g, const Fn& fn) {
  auto visit = [&](auto& self, Arg& a) -> void {
    if (auto* k = std::get_if<ConstId>(&a.state)) fn(*k);
    if (auto* list = std::get_if<ArgList>(&a.state))
      for (Arg& item : *list) self(self, item);
  };
  for (NodeId n = g.first(); n; n = g.next(n))
    for (Arg& a : g.node(n).args) visit(visit, a);
  for (auto& sub : g.subgraphs)
    if (sub) for_each_constant(*sub, fn);
}

static void remove_unused_constants(Method& m) {
  auto for_all = [&](const auto& fn) {
    for (InputSpec& s : m.inputs)
      if (s.is_weight()) fn(s.data);
    for_each_constant(*m.graph, fn);
  };
  std::vector<ConstId> renumbered(m.constants.size());
  for_all([&](ConstId& k) { renumbered[k.index] = k; });
  std::vector<Constant> kept;
  for (size_t i = 0; i < m.constants.size(); ++i) {
    if (!renumbered[i]) continue;
    renumbered[i] = ConstId(static_cast<uint32_t>(kept.size()));
    kept.push_back(std::move(m.constants[i]));
  }
  m.constants = std::move(kept);
  for_all([&](ConstId& k) { k = renumbered[k.index]; });
}

void remove_unused_weights(Method& m) {
  const auto uses = m.graph->use_counts();
  std::vector<ValueId> kept;
  std::vector<InputSpec> specs;
  for (size_t i = 0; i < m.inputs.size(); ++i) {
    const ValueId v = m.graph->inputs[i];
    if (m.inputs[i].is_weight() && uses[v.index] == 0) {
      bool mutated = false;
      for (const auto& o : m.outputs) mutated = mutated || (o.kind == OutputSpec::Kind::BufferMutation && o.target == m.inputs[i].name);
      if (!mutated) continue;
    }
    m.graph->value(v).result = static_cast<uint32_t>(kept.size());
    kept.push_back(v);
    specs.push_back(std::move(m.inputs[i]));
  }
  m.graph->inputs = std::move(kept);
  m.inputs = std::move(specs);
  remove_unused_constants(m);
}

}  // namespace edgec
