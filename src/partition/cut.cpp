#include "partition/cut.h"

#include <edgec/op.h>

#include "support/assert.h"

namespace edgec::partition {
namespace {

DType dtype_of(sym::Sort sort) { return sort == sym::Sort::Int ? DType::I64 : sort == sym::Sort::Float ? DType::F64 : DType::Bool; }

TensorType rank0(sym::Sort sort) { return TensorType{dtype_of(sort), {}, {}, {}}; }

class Cutter {
 public:
  Cutter(const RegionView& r, const Border& b, SymInputs sym_inputs, std::string name)
      : r_(r), border_(b), sym_inputs_(sym_inputs), out_(std::make_unique<Method>()), to_(*out_->graph) {
    out_->name = std::move(name);
  }

  std::unique_ptr<Method> run() {
    for (ValueId v : border_.weights) add_weight(v);
    for (ValueId v : border_.states) add_state(v);
    for (ValueId v : border_.tensors) add_input(v);
    for (const sym::Expr& s : border_.numbers) add_number(s);
    for (NodeId n : border_.made_inside) add_node(n);
    for (NodeId n : r_.nodes()) add_node(n);
    for (ValueId v : border_.number_results) add_number_result(v);
    for (ValueId v : border_.results) add_output(values_.at(v), {});
    for (size_t i : border_.state_outputs) add_output(values_.at(r_.g.outputs[i].value()), r_.m.outputs[i]);
    return std::move(out_);
  }

 private:
  sym::Context& syms() { return *out_->syms; }

  Type imported(Type t) {
    for (Dim& d : t.tensor.sizes) d = syms().import(d);
    for (Dim& d : t.tensor.strides) d = syms().import(d);
    t.expr = syms().import(t.expr);
    return t;
  }

  void add_input(ValueId v, InputSpec spec = {}) {
    const Value& value = r_.g.value(v);
    values_[v] = to_.add_input(value.name, imported(value.type));
    if (spec.name.empty()) spec.name = value.name;
    out_->inputs.push_back(std::move(spec));
  }

  ConstId constant(ConstId from) {
    auto [it, fresh] = constants_.try_emplace(from);
    const Constant& c = r_.m.constants[from.index];
    if (fresh) it->second = out_->add_constant(c.name, c.data);
    return it->second;
  }

  void add_weight(ValueId v) {
    if (!r_.g.value(v).def) return add_state(v);
    const ConstId from = std::get<ConstId>(r_.g.node(r_.g.value(v).def).args[0].state);
    InputSpec spec;
    spec.kind = InputSpec::Kind::Constant;
    spec.name = r_.m.constants[from.index].name;
    spec.data = constant(from);
    add_input(v, std::move(spec));
  }

  void add_state(ValueId v) {
    InputSpec spec = *r_.m.spec_of(v);
    spec.data = constant(spec.data);
    add_input(v, std::move(spec));
  }

  void add_number(const sym::Expr& symbol) {
    const sym::Expr s = syms().import(symbol);
    InputSpec spec;
    spec.name = std::string(symbol.symbol_name());
    if (sym_inputs_ == SymInputs::AsInt) {
      to_.add_input(spec.name, Type::sym(s));
    } else {
      const ValueId tensor = to_.add_input(spec.name, Type::of(rank0(s.sort())));
      to_.add_node(&Registry::global().get("aten._local_scalar_dense"), {tensor}, {Type::sym(s)}, nullptr);
    }
    out_->inputs.push_back(std::move(spec));
  }

  void add_node(NodeId id) {
    const Node& n = r_.g.node(id);
    std::vector<Arg> args;
    for (const Arg& a : n.args) args.push_back(mapped(r_.g, a));
    std::vector<Type> types;
    std::vector<std::string> names;
    for (ValueId v : n.results) {
      types.push_back(imported(r_.g.type(v)));
      names.push_back(r_.g.value(v).name);
    }
    const NodeId made = to_.add_node(n.op, std::move(args), std::move(types), n.loc, {}, names);
    for (size_t i = 0; i < n.results.size(); ++i) values_[n.results[i]] = to_.node(made).results[i];
  }

  Arg mapped(const Graph& from, const Arg& a) {
    if (a.is_list()) {
      ArgList out;
      for (const Arg& item : a.list()) out.push_back(mapped(from, item));
      return out;
    }
    if (a.is_value()) return values_.at(a.value());
    if (a.is_expr()) return syms().import(a.expr());
    if (auto* k = std::get_if<ConstId>(&a.state)) return constant(*k);
    if (auto* sub = std::get_if<GraphId>(&a.state)) {
      auto copy = from.subgraphs[sub->index]->clone(out_->syms);
      rename_constants(*copy);
      to_.subgraphs.push_back(std::move(copy));
      return GraphId(static_cast<uint32_t>(to_.subgraphs.size() - 1));
    }
    return a;
  }

  void rename_constants(Graph& g) {
    for (NodeId n = g.first(); n; n = g.next(n))
      for (Arg& a : g.node(n).args)
        if (auto* k = std::get_if<ConstId>(&a.state)) a = constant(*k);
    for (auto& sub : g.subgraphs)
      if (sub) rename_constants(*sub);
  }

  void add_number_result(ValueId v) {
    if (sym_inputs_ == SymInputs::AsInt) return add_output(to_.type(values_.at(v)).expr, {});
    Builder b(to_, nullptr);
    const sym::Expr e = to_.type(values_.at(v)).expr;
    add_output(b.full({}, e, dtype_of(e.sort())), {});
    EDGEC_ASSERT(!b.failed());
  }

  void add_output(const Arg& a, OutputSpec spec) {
    to_.outputs.push_back(a);
    out_->outputs.push_back(std::move(spec));
  }

  const RegionView& r_;
  const Border& border_;
  SymInputs sym_inputs_;
  std::unique_ptr<Method> out_;
  Graph& to_;
  std::unordered_map<ValueId, ValueId> values_;
  std::unordered_map<ConstId, ConstId> constants_;
};

}  // namespace

std::unique_ptr<Method> cut(const RegionView& region, const Border& border, SymInputs sym_inputs, std::string name) {
  return Cutter(region, border, sym_inputs, std::move(name)).run();
}

std::unordered_map<ValueId, ValueId> call(Graph& g, const Border& border, SymInputs sym_inputs, LoweredId lowered, Location loc) {
  Builder b(g, loc);
  ArgList inputs(border.tensors.begin(), border.tensors.end());
  for (const sym::Expr& s : border.numbers)
    inputs.push_back(sym_inputs == SymInputs::AsInt ? Arg(s) : Arg(b.full({}, s, dtype_of(s.sort()))));
  std::vector<Type> types;
  std::vector<std::string> names;
  for (ValueId v : border.number_results) {
    types.push_back(sym_inputs == SymInputs::AsInt ? g.type(v) : Type::of(rank0(g.type(v).expr.sort())));
    names.push_back(g.value(v).name);
  }
  for (ValueId v : border.results) {
    types.push_back(g.type(v));
    names.push_back(g.value(v).name);
  }
  const NodeId n =
      g.add_node(&Registry::global().get("executorch.call_delegate"), {lowered, std::move(inputs)}, std::move(types), loc, {}, names);
  const std::vector<ValueId> results = g.node(n).results;
  std::unordered_map<ValueId, ValueId> stands_for;
  size_t i = 0;
  for (ValueId v : border.number_results) {
    ValueId made = results[i++];
    if (sym_inputs != SymInputs::AsInt) {
      const NodeId read = g.add_node(&Registry::global().get("aten._local_scalar_dense"), {made}, {g.type(v)}, loc);
      made = g.node(read).results[0];
    }
    stands_for[v] = made;
  }
  for (ValueId v : border.results) stands_for[v] = results[i++];
  EDGEC_ASSERT(!b.failed());
  return stands_for;
}

}  // namespace edgec::partition
