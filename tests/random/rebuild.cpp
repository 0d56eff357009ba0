#include <algorithm>
#include <set>
#include <unordered_map>

#include "draft.h"

namespace edgec::random_graphs {
namespace {

// Copies the needed part of a method, renaming values as it goes.
class Rebuild {
 public:
  Rebuild(const Method& from, Method& to) : from_(from), to_(to) {
    to_.name = from.name;
    to_.syms = from.syms;
    to_.graph = std::make_unique<Graph>(from.syms);
  }

  void run(const std::vector<bool>& keep, const std::vector<size_t>& outputs) {
    const Graph& g = *from_.graph;
    std::vector<bool> needed = needed_values(keep, outputs);
    keep_symbols(keep, needed);
    for (size_t i = 0; i < g.inputs.size(); ++i)
      if (needed[g.inputs[i].index]) copy_input(i);
    // Results of dropped nodes are inputs, ahead of all nodes.
    for (NodeId n = g.first(); n; n = g.next(n)) {
      if (keep[n.index]) continue;
      for (ValueId r : g.node(n).results)
        if (needed[r.index]) make_input(r);
    }
    for (NodeId n = g.first(); n; n = g.next(n))
      if (keep[n.index]) copy_node(g.node(n));
    for (size_t o : outputs) {
      to_.graph->outputs.push_back(renamed(g.outputs[o]));
      to_.outputs.push_back(from_.outputs[o]);
    }
  }

 private:
  std::vector<bool> needed_values(const std::vector<bool>& keep, const std::vector<size_t>& outputs) const {
    const Graph& g = *from_.graph;
    std::vector<bool> needed(g.value_count(), false);
    auto need = [&](const Arg& a) { for_each_value(a, [&](const ValueId& v) { needed[v.index] = true; }); };
    for (size_t o : outputs) need(g.outputs[o]);
    for (NodeId n = g.first(); n; n = g.next(n))
      if (keep[n.index])
        for (const Arg& a : g.node(n).args) need(a);
    return needed;
  }

  // Sizes that only arguments name come from an input too.
  void keep_symbols(const std::vector<bool>& keep, std::vector<bool>& needed) const {
    const Graph& g = *from_.graph;
    std::set<sym::Expr, sym::ExprLess> open;
    auto note = [&](const sym::Expr& e) {
      for (const sym::Expr& s : sym::free_symbols(e)) open.insert(s);
    };
    for (NodeId n = g.first(); n; n = g.next(n))
      if (keep[n.index])
        for (const Arg& a : g.node(n).args) for_each_expr(a, note);
    for (size_t i = 0; i < needed.size(); ++i)
      if (needed[i])
        for (const Dim& d : g.type(ValueId(static_cast<uint32_t>(i))).tensor.sizes) note(d);
    auto close = [&](ValueId v) {
      for (const Dim& d : g.tensor(v).sizes) open.erase(d);
    };
    for (ValueId v : g.inputs)
      if (needed[v.index]) close(v);
    for (ValueId v : g.inputs) {
      const Dims& sizes = g.tensor(v).sizes;
      if (std::none_of(sizes.begin(), sizes.end(), [&](const Dim& d) { return open.count(d) > 0; })) continue;
      needed[v.index] = true;
      close(v);
    }
  }

  void copy_input(size_t i) {
    const Value& v = from_.graph->value(from_.graph->inputs[i]);
    names_[from_.graph->inputs[i]] = to_.graph->add_input(v.name, v.type);
    InputSpec spec = from_.inputs[i];
    if (spec.is_weight()) spec.data = to_.add_constant(spec.name, from_.constants[spec.data.index].data);
    to_.inputs.push_back(std::move(spec));
  }

  void make_input(ValueId r) {
    const Value& v = from_.graph->value(r);
    names_[r] = to_.graph->add_input(v.name, v.type);
    InputSpec spec;
    spec.name = v.name;
    to_.inputs.push_back(std::move(spec));
  }

  void copy_node(const Node& n) {
    std::vector<Arg> args;
    for (const Arg& a : n.args) args.push_back(renamed(a));
    std::vector<Type> types;
    std::vector<std::string> names;
    for (ValueId r : n.results) {
      types.push_back(from_.graph->type(r));
      names.push_back(from_.graph->value(r).name);
    }
    const NodeId made = to_.graph->add_node(n.op, std::move(args), std::move(types), n.loc, {}, names);
    for (size_t i = 0; i < n.results.size(); ++i) names_[n.results[i]] = to_.graph->node(made).results[i];
  }

  Arg renamed(Arg a) const {
    for_each_value(a, [&](ValueId& v) { v = names_.at(v); });
    return a;
  }

  const Method& from_;
  Method& to_;
  std::unordered_map<ValueId, ValueId> names_;
};

}  // namespace

std::unique_ptr<Program> rebuilt(const Program& p, const std::vector<bool>& keep, const std::vector<size_t>& outputs) {
  auto out = std::make_unique<Program>();
  out->stage = p.stage;
  out->methods.push_back(std::make_unique<Method>());
  Rebuild(*p.methods[0], *out->methods[0]).run(keep, outputs);
  return out;
}

}  // namespace edgec::random_graphs
