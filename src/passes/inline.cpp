#include "passes/inline.h"
#include "passes/registry.h"

#include "support/assert.h"

namespace edgec::passes {

void substitute(Arg& a, const sym::Bindings& with) {
  for_each_expr(a, [&](sym::Expr& e) { e = sym::substitute(e, with); });
}

void substitute(Type& t, const sym::Bindings& with) {
  for (Dim& d : t.tensor.sizes) d = sym::substitute(d, with);
  for (Dim& d : t.tensor.strides) d = sym::substitute(d, with);
  if (t.is_sym()) t.expr = sym::substitute(t.expr, with);
}

void substitute(Graph& g, const sym::Bindings& with) {
  if (with.empty()) return;
  for (uint32_t i = 0; i < g.value_count(); ++i) substitute(g.value(ValueId(i)).type, with);
  for (NodeId n = g.first(); n; n = g.next(n))
    for (Arg& a : g.node(n).args) substitute(a, with);
  for (Arg& a : g.outputs) substitute(a, with);
  for (auto& sub : g.subgraphs)
    if (sub) substitute(*sub, with);
}

Type type_of(const Graph& g, const Arg& a) {
  if (a.is_value()) return g.type(a.value());
  return a.is_number() ? Type::sym(expr_of(g, a)) : Type::none();
}

void Inliner::bind(const Type& formal, const Type& actual, sym::Bindings& symbols) {
  const auto one = [&](const sym::Expr& name, const sym::Expr& value) {
    if (name.kind() == sym::Kind::Symbol && name != value && name.sort() == value.sort()) symbols[name] = value;
  };
  if (formal.is_sym() && actual.is_sym()) one(formal.expr, actual.expr);
  const Dims &from = formal.tensor.sizes, &to = actual.tensor.sizes;
  for (size_t d = 0; d < from.size() && d < to.size(); ++d) one(from[d], to[d]);
}

std::vector<Arg> Inliner::call(const Graph& from, std::span<const Arg> operands, sym::Bindings symbols) {
  std::unordered_map<ValueId, Arg> values;
  for (size_t i = 0; i < from.inputs.size() && i < operands.size(); ++i) {
    const ValueId in = from.inputs[i];
    values[in] = operands[i];
    bind(from.type(in), type_of(to_, operands[i]), symbols);
  }
  const auto mapped = [&](auto& self, const Arg& a) -> Arg {
    if (auto* list = std::get_if<ArgList>(&a.state)) {
      ArgList out;
      for (const Arg& item : *list) out.push_back(self(self, item));
      return out;
    }
    if (auto* sub = std::get_if<GraphId>(&a.state)) {
      auto copy = from.subgraphs[sub->index]->clone(to_.syms_ptr());
      substitute(*copy, symbols);
      to_.subgraphs.push_back(std::move(copy));
      return GraphId(static_cast<uint32_t>(to_.subgraphs.size() - 1));
    }
    if (a.is_value()) return values.at(a.value());
    Arg copy = a;
    substitute(copy, symbols);
    return copy;
  };
  for (NodeId id = from.first(); id; id = from.next(id)) {
    const Node& n = from.node(id);
    const bool is_special = special && n.op->schema().ns == "higher_order";
    std::vector<Arg> args;
    for (const Arg& a : n.args) args.push_back(is_special && a.is_graph() ? a : mapped(mapped, a));
    std::vector<Arg> results;
    if (is_special) results = special(from, n, args, symbols);
    if (results.empty()) {
      std::vector<Type> types;
      std::vector<std::string> names;
      for (ValueId r : n.results) {
        types.push_back(from.type(r));
        substitute(types.back(), symbols);
        names.push_back(from.value(r).name);
      }
      const NodeId made = to_.add_node(n.op, std::move(args), std::move(types), n.loc, before, names);
      for (ValueId r : to_.node(made).results) results.emplace_back(r);
    }
    for (size_t i = 0; i < n.results.size() && i < results.size(); ++i) values[n.results[i]] = results[i];
  }
  std::vector<Arg> out;
  for (const Arg& a : from.outputs) out.push_back(mapped(mapped, a));
  return out;
}

void Inliner::finish() {
  // A symbol may stand for one that is renamed itself.
  for (auto& [name, value] : renamed_)
    for (size_t i = 0; i <= renamed_.size(); ++i) {
      const sym::Expr next = sym::substitute(value, renamed_);
      if (next == value) break;
      value = next;
    }
  substitute(to_, renamed_);
}

}  // namespace edgec::passes
