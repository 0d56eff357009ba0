#include <edgec/op.h>
#include <edgec/partitioner.h>
#include <fmt/format.h>

#include <unordered_set>

#include "ops/table.h"

// Finds the graphs of a PatternPartitioner.
namespace edgec {
namespace {

// One attempt: the pattern's last node is a node of the graph, and so on towards the inputs.
class Match {
 public:
  Match(const Graph& pattern, const Graph& g) : pattern_(pattern), g_(g) {}

  bool ends_at(NodeId last, NodeId node) {
    if (!nodes(last, node)) return false;
    for (const Arg& a : pattern_.outputs)  // all of the pattern hangs together
      if (a.is_value() && pattern_.value(a.value()).def && !found_.count(pattern_.value(a.value()).def)) return false;
    return found_.size() == pattern_.node_count();
  }
  const NodeMap<NodeId>& found() const { return found_; }  // of the pattern -> of the graph

 private:
  bool nodes(NodeId p, NodeId n) {
    if (auto it = found_.find(p); it != found_.end()) return it->second == n;
    const Node &x = pattern_.node(p), &y = g_.node(n);
    if (x.op != y.op || x.args.size() != y.args.size() || x.results.size() != y.results.size()) return false;
    found_[p] = n;
    for (size_t i = 0; i < x.args.size(); ++i)
      if (!args(x.args[i], y.args[i])) return false;
    return true;
  }

  bool args(const Arg& p, const Arg& a) {
    if (p.is_list() && a.is_list()) {
      if (p.list().size() != a.list().size()) return false;
      for (size_t i = 0; i < p.list().size(); ++i)
        if (!args(p.list()[i], a.list()[i])) return false;
      return true;
    }
    if (!p.is_value()) return p == a;
    if (!a.is_value()) return false;
    const Value &x = pattern_.value(p.value()), &y = g_.value(a.value());
    if (x.def) return y.def && x.result == y.result && nodes(x.def, y.def);
    const auto [it, fresh] = inputs_.try_emplace(p.value(), a.value());
    return fresh ? taken_.insert(a.value()).second : it->second == a.value();
  }

  const Graph &pattern_, &g_;
  NodeMap<NodeId> found_;
  ValueMap<ValueId> inputs_;
  std::unordered_set<ValueId> taken_;  // a value is one input only: delegates tell arguments by position
};

// Values made inside, but for the pattern's outputs, are used by the match only.
bool is_closed(const Graph& pattern, const Graph& g, const NodeMap<NodeId>& found, const ValueMap<std::vector<NodeId>>& users) {
  std::unordered_set<ValueId> outputs;
  for (const Arg& a : pattern.outputs)
    if (a.is_value()) outputs.insert(a.value());
  std::unordered_set<NodeId> inside;
  for (const auto& [p, n] : found) inside.insert(n);
  for (const auto& [p, n] : found)
    for (size_t i = 0; i < g.node(n).results.size(); ++i) {
      auto it = users.find(g.node(n).results[i]);
      if (it == users.end() || outputs.count(pattern.node(p).results[i])) continue;
      for (NodeId user : it->second)
        if (!inside.count(user)) return false;  // the graph's outputs are users without a node
    }
  return true;
}

ValueMap<std::vector<NodeId>> users_of(const Graph& g) {
  ValueMap<std::vector<NodeId>> out;
  for (NodeId n = g.first(); n; n = g.next(n))
    for (const Arg& a : g.node(n).args) for_each_value(a, [&](const ValueId& v) { out[v].push_back(n); });
  for (const Arg& a : g.outputs) for_each_value(a, [&](const ValueId& v) { out[v].emplace_back(); });
  return out;
}

NodeId last_node(const Graph& g) {
  NodeId last;
  for (NodeId n = g.first(); n; n = g.next(n)) last = n;
  return last;
}

}  // namespace

Result<std::shared_ptr<const Partitioner>> PatternPartitioner::create(std::shared_ptr<const Backend> backend, CompileSpecs specs,
                                                                      const std::vector<std::string>& patterns) {
  ops::register_all();
  auto out = std::make_shared<PatternPartitioner>(std::move(backend), std::move(specs));
  for (const std::string& text : patterns) {
    EDGEC_TRY(auto program, parse_program(text));
    if (program->methods.size() != 1 || program->methods[0]->graph->node_count() == 0)
      return model_error(fmt::format("a pattern is one method with nodes:\n{}", text));
    out->patterns_.push_back(std::move(program));
  }
  return std::shared_ptr<const Partitioner>(std::move(out));
}

NodeMap<Partitioner::Choice> PatternPartitioner::choose(const Method& m, const Graph& g) const {
  NodeMap<Choice> out;
  const auto users = users_of(g);
  uint32_t groups = 0;
  for (const auto& program : patterns_) {
    const Graph& pattern = *program->methods[0]->graph;
    const NodeId last = last_node(pattern);
    for (NodeId n = g.first(); n; n = g.next(n)) {
      Match match(pattern, g);
      if (!match.ends_at(last, n) || !is_closed(pattern, g, match.found(), users)) continue;
      bool free = true;
      for (const auto& [p, found] : match.found())
        free = free && !(out.count(found) && out[found].group) && !backend_->refuses(m, g, found, specs_);
      if (!free) continue;
      for (const auto& [p, found] : match.found()) out[found] = {groups, {}};
      ++groups;
    }
  }
  for (NodeId n = g.first(); n; n = g.next(n)) {
    if (out.count(n)) continue;
    auto reason = backend_->refuses(m, g, n, specs_);
    out[n] = {std::nullopt, reason ? *std::move(reason) : fmt::format("it is part of no pattern that {} takes", backend_->name())};
  }
  return out;
}

Result<std::shared_ptr<const Partitioner>> partitioner_for(std::shared_ptr<const Backend> backend, CompileSpecs specs) {
  const auto patterns = backend->patterns(specs);
  if (patterns.empty())
    return std::shared_ptr<const Partitioner>(std::make_shared<CapabilityPartitioner>(std::move(backend), std::move(specs)));
  return PatternPartitioner::create(std::move(backend), std::move(specs), patterns);
}

}  // namespace edgec
