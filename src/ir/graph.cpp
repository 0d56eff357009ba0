#include <edgec/graph.h>

#include <fmt/format.h>

#include <edgec/op.h>
#include "support/assert.h"

namespace edgec {

std::string Graph::unique_name(std::string_view base) {
  std::string name(base.empty() ? "v" : base);
  for (char& c : name)
    if (!isalnum(static_cast<unsigned char>(c)) && c != '_') c = '_';
  auto [it, fresh] = names_.try_emplace(name, 0);
  if (fresh) return name;
  // `it` may be invalidated by the insertions below, so the counter is written back by name.
  uint32_t n = it->second;
  std::string candidate;
  do candidate = fmt::format("{}_{}", name, ++n);
  while (!names_.try_emplace(candidate, 0).second);
  names_[name] = n;
  return candidate;
}

ValueId Graph::add_input(std::string name, Type type) {
  const ValueId id(static_cast<uint32_t>(values_.size()));
  values_.push_back({unique_name(name), std::move(type), NodeId{}, static_cast<uint32_t>(inputs.size()), std::nullopt});
  inputs.push_back(id);
  return id;
}

NodeId Graph::add_node(const OpDef* op, std::vector<Arg> args, std::vector<Type> results, Location loc, NodeId before,
                       std::span<const std::string> names) {
  const NodeId id(static_cast<uint32_t>(nodes_.size()));
  Node n;
  n.op = op;
  n.args = std::move(args);
  n.loc = std::move(loc);
  for (size_t i = 0; i < results.size(); ++i) {
    const ValueId v(static_cast<uint32_t>(values_.size()));
    std::string name = unique_name(i < names.size() ? std::string_view(names[i]) : std::string_view(op->schema().name));
    values_.push_back({std::move(name), std::move(results[i]), id, static_cast<uint32_t>(i), std::nullopt});
    n.results.push_back(v);
  }
  nodes_.push_back(std::move(n));
  link(id, before);
  return id;
}

void Graph::link(NodeId id, NodeId before) {
  Node& n = nodes_[id.index];
  n.next = before;
  n.prev = before ? nodes_[before.index].prev : last_;
  (n.prev ? nodes_[n.prev.index].next : first_) = id;
  (before ? nodes_[before.index].prev : last_) = id;
  ++count_;
}

void Graph::unlink(NodeId id) {
  Node& n = nodes_[id.index];
  (n.prev ? nodes_[n.prev.index].next : first_) = n.next;
  (n.next ? nodes_[n.next.index].prev : last_) = n.prev;
  n.prev = n.next = NodeId{};
  --count_;
}

void Graph::erase(NodeId id) {
  unlink(id);
  nodes_[id.index].args.clear();
}

void Graph::move_before(NodeId id, NodeId before) {
  if (id == before) return;
  unlink(id);
  link(id, before);
}

std::vector<NodeId> Graph::nodes_in_order() const {
  std::vector<NodeId> out;
  out.reserve(count_);
  for (NodeId n = first_; n; n = nodes_[n.index].next) out.push_back(n);
  return out;
}

std::vector<uint32_t> Graph::use_counts() const {
  std::vector<uint32_t> counts(values_.size(), 0);
  auto count = [&](const Arg& a) { for_each_value(a, [&](ValueId v) { ++counts[v.index]; }); };
  for (NodeId n = first_; n; n = next(n))
    for (const Arg& a : node(n).args) count(a);
  for (const Arg& a : outputs) count(a);
  return counts;
}

void Graph::replace_uses(const std::unordered_map<ValueId, ValueId>& with) {
  if (with.empty()) return;
  auto replace = [&](Arg& a) {
    for_each_value(a, [&](ValueId& v) {
      for (auto it = with.find(v); it != with.end(); it = with.find(v)) v = it->second;
    });
  };
  for (NodeId n = first_; n; n = next(n))
    for (Arg& a : node(n).args) replace(a);
  for (Arg& a : outputs) replace(a);
}

static void import_exprs(Type& t, sym::Context& to) {
  for (Dim& d : t.tensor.sizes) d = to.import(d);
  for (Dim& d : t.tensor.strides) d = to.import(d);
  t.expr = to.import(t.expr);
}

std::unique_ptr<Graph> Graph::clone(std::shared_ptr<sym::Context> syms) const {
  auto g = std::make_unique<Graph>(syms);
  g->nodes_ = nodes_;
  g->values_ = values_;
  g->first_ = first_;
  g->last_ = last_;
  g->count_ = count_;
  g->names_ = names_;
  g->inputs = inputs;
  g->outputs = outputs;
  if (syms != syms_) {
    for (Value& v : g->values_) import_exprs(v.type, *syms);
    auto import = [&](Arg& a) { for_each_expr(a, [&](sym::Expr& e) { e = syms->import(e); }); };
    for (Node& n : g->nodes_)
      for (Arg& a : n.args) import(a);
    for (Arg& a : g->outputs) import(a);
  }
  for (const auto& sub : subgraphs) g->subgraphs.push_back(sub ? sub->clone(syms) : nullptr);
  return g;
}

}  // namespace edgec
