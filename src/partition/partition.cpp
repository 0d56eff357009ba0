#include "partition/partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>
#include <utility>

#include <edgec/op.h>
#include "partition/cut.h"

namespace edgec::partition {
namespace {

// What stays where it is whoever is asked: constants follow their users, guards and delegates belong to the runtime.
bool stays(const Node& n) { return n.op->schema().ns == "prim" || n.op->schema().ns == "executorch"; }

bool is_static(const Graph& g, const Node& n) {
  bool all = true;
  const auto check = [&](ValueId v) { all = all && (!g.type(v).is_tensor() || g.tensor(v).is_static()); };
  for (const Arg& a : n.args) for_each_value(a, check);
  for (ValueId v : n.results) check(v);
  return all;
}

void replace_in(Arg& a, ValueId from, ValueId to) {
  if (a.is_value() && a.value() == from) a = Arg(to);
  if (!a.is_list()) return;
  ArgList list = a.list();
  for (Arg& item : list) replace_in(item, from, to);
  a = Arg(std::move(list));
}

bool is_of_constants(const Method& m, const Graph& g, NodeId n) {
  bool all = true;
  for (const Arg& a : g.node(n).args) for_each_value(a, [&](const ValueId& v) { all = all && m.constant_of(g, v) != nullptr; });
  return all;
}

// Makes floats of integers.
bool is_weight_cast(const Node& n) {
  const std::string& op = n.op->name();
  return op.find("dequantize") != std::string::npos || op == "dim_order_ops._to_dim_order_copy";
}

// A weight that is dequantized stays a constant where it is used: each user has a dequantize of its own, in whatever region it will be.
void copy_for_each_user(const Method& m, Graph& g, const Backend& backend, const CompileSpecs& specs) {
  ValueMap<NodeId> made;
  ValueMap<bool> used;
  for (NodeId n : g.nodes_in_order()) {
    if (is_weight_cast(g.node(n)) && is_of_constants(m, g, n) && !backend.refuses(m, g, n, specs)) {
      made.emplace(g.node(n).results[0], n);
      continue;
    }
    std::set<ValueId> weights;
    for (const Arg& a : g.node(n).args)
      for_each_value(a, [&](const ValueId& v) {
        if (made.count(v) != 0) weights.insert(v);
      });
    for (ValueId w : weights) {
      if (!std::exchange(used[w], true)) continue;
      const NodeId original = made.at(w),
                   copy = g.add_node(g.node(original).op, g.node(original).args, {g.type(w)}, g.node(original).loc, n);
      for (Arg& a : g.node(n).args) replace_in(a, w, g.node(copy).results[0]);
    }
  }
}

// One graph for one partitioner.
class GraphPartition {
 public:
  GraphPartition(Method& m, Graph& g, const Partitioner& partitioner, bool whole_graph, const std::set<std::string>& shared_states,
                 Report& report, Diagnostics& diag)
      : m_(m),
        g_(g),
        backend_(*partitioner.backend()),
        specs_(partitioner.compile_specs()),
        whole_graph_(whole_graph),
        shared_states_(shared_states),
        report_(report),
        diag_(diag),
        traits_(backend_.traits(specs_)) {
    copy_for_each_user(m_, g_, backend_, specs_);
    choose(partitioner);
  }

  Status run() {
    deps_ = dependencies(g_);
    do {
      regions_ = find_regions(deps_, color_, traits_.joins_independent);
    } while (drop_small_regions() || drop_refused());
    if (whole_graph_) check_whole();
    if (diag_.has_errors() || regions_.nodes.empty()) return {};
    return replace();
  }

 private:
  void choose(const Partitioner& partitioner) {
    color_.assign(g_.node_capacity(), 0);
    auto choices = partitioner.choose(m_, g_);
    for (NodeId n : g_.nodes_in_order()) {
      if (stays(g_.node(n))) continue;
      auto it = choices.find(n);
      if (it == choices.end())
        leave(n, "the partitioner does not take it");
      else if (!it->second.group)
        leave(n, it->second.reason);
      else if (!traits_.dynamic_shapes && !is_static(g_, g_.node(n)))
        leave(n, fmt::format("its sizes are dynamic, which {} does not take", backend_.name()));
      else
        color_[n.index] = *it->second.group + 1;
    }
  }

  void leave(NodeId n, std::string reason) {
    color_[n.index] = 0;
    const Node& node = g_.node(n);
    reasons_[n] = reason;
    report_.left.push_back({m_.name, &g_, n, node.loc, node.op->name(), backend_.name(), std::move(reason)});
  }

  bool drop_small_regions() {
    bool any = false;
    for (const auto& nodes : regions_.nodes) {
      if (whole_graph_) continue;
      std::optional<std::string> reason = backend_.refuses_region(m_, g_, nodes, specs_);
      if (nodes.size() < traits_.min_region)
        reason = fmt::format("its region would have {} {}, and {} wants at least {}", nodes.size(), nodes.size() == 1 ? "node" : "nodes",
                             backend_.name(), traits_.min_region);
      for (NodeId n : nodes)
        if (reason) leave(n, *reason);
      any = any || reason;
    }
    return any;
  }

  RegionView view(size_t r) const { return {m_, g_, deps_, regions_, static_cast<int32_t>(r), shared_states_}; }

  // Nodes that would need symbols which the backend cannot get. Other regions may form without them.
  bool drop_refused() {
    const Uses uses(g_, deps_, regions_);
    std::vector<Refusal> refusals;
    borders_.clear();
    for (size_t r = 0; r < regions_.nodes.size(); ++r)
      borders_.push_back(border_of(view(r), uses, backend_, specs_, whole_graph_, refusals));
    std::unordered_set<NodeId> refused;
    for (Refusal& one : refusals)
      if (refused.insert(one.node).second) leave(one.node, std::move(one.reason));
    return !refusals.empty();
  }

  void check_whole() {
    for (const Left& l : report_.left)
      if (l.graph == &g_) diag_.error(l.loc, fmt::format("{} does not take {}: {}", backend_.name(), l.op, l.reason));
    if (regions_.nodes.size() > 1 && !diag_.has_errors())
      diag_.error(nullptr,
                  fmt::format("method {} has {} parts that cannot be one delegate of {}", m_.name, regions_.nodes.size(), backend_.name()));
  }

  // One for every node outside; what `report_` says of it is the reason.
  void report_breaks(int32_t r, LoweredId lowered) {
    std::unordered_set<NodeId> seen;
    for (NodeId n : regions_.nodes[static_cast<size_t>(r)])
      for (NodeId user : deps_.users[n.index]) {
        const int32_t other = regions_.of[user.index];
        const Node& node = g_.node(user);
        if (other == r || stays(node) || !seen.insert(user).second) continue;
        std::string reason =
            other < 0 ? reasons_[user] : "it is part of another region, and one region of both would need a result of its own first";
        report_.breaks.push_back({m_.name, lowered, node.loc, node.op->name(), std::move(reason)});
      }
  }

  Status replace() {
    std::unordered_map<ValueId, ValueId> stands_for;
    std::vector<bool> drop_output(g_.outputs.size(), false);
    std::unordered_set<ValueId> drop_input;
    for (const Step& step : schedule(deps_, regions_)) {
      if (step.region < 0) {
        g_.move_before(step.node, {});
        continue;
      }
      const Border& border = borders_[static_cast<size_t>(step.region)];
      EDGEC_TRY(LoweredId lowered, compile(step.region, border));
      Border now = border;
      for (ValueId& v : now.tensors)
        if (auto it = stands_for.find(v); it != stands_for.end()) v = it->second;
      auto made = call(g_, now, traits_.sym_inputs, lowered, location_of(step.region));
      stands_for.insert(made.begin(), made.end());
      report_breaks(step.region, lowered);
      for (size_t i : border.state_outputs) drop_output[i] = true;
      drop_input.insert(border.states.begin(), border.states.end());
    }
    g_.replace_uses(stands_for);
    for (const auto& nodes : regions_.nodes)
      for (NodeId n : nodes) g_.erase(n);
    for (const auto& [old, made] : stands_for) std::swap(g_.value(old).name, g_.value(made).name);
    drop(drop_output, drop_input);
    return {};
  }

  Result<LoweredId> compile(int32_t r, const Border& border) {
    const auto id = LoweredId(static_cast<uint32_t>(m_.lowered.size()));
    auto module = std::make_shared<LoweredModule>();
    module->backend_id = backend_.id();
    module->compile_specs = specs_;
    module->region = cut(view(static_cast<size_t>(r)), border, traits_.sym_inputs, fmt::format("{}_{}", m_.name, id.index));
    auto payload = backend_.preprocess(*module->region, specs_);
    if (!payload) {
      const Location loc = location_of(r);
      return Failure{payload.failure().kind,
                     fmt::format("{}: error: {} cannot compile a region of {} nodes of method {}:\n{}", loc ? loc->str() : "<unknown>",
                                 backend_.name(), regions_.nodes[static_cast<size_t>(r)].size(), m_.name, payload.failure().message)};
    }
    module->payload = *std::move(payload);
    m_.lowered.push_back(std::move(module));
    return id;
  }

  Location location_of(int32_t r) const {
    for (NodeId n : regions_.nodes[static_cast<size_t>(r)])
      if (g_.node(n).loc) return g_.node(n).loc;
    return nullptr;
  }

  // States that delegates keep leave the method's signature.
  void drop(const std::vector<bool>& outputs, const std::unordered_set<ValueId>& inputs) {
    if (inputs.empty()) return;
    size_t kept = 0;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i]) continue;
      g_.outputs[kept] = g_.outputs[i];
      m_.outputs[kept++] = m_.outputs[i];
    }
    g_.outputs.resize(kept);
    m_.outputs.resize(kept);
    kept = 0;
    for (size_t i = 0; i < g_.inputs.size(); ++i) {
      if (inputs.count(g_.inputs[i])) continue;
      g_.value(g_.inputs[i]).result = static_cast<uint32_t>(kept);
      g_.inputs[kept] = g_.inputs[i];
      if (kept != i) m_.inputs[kept] = std::move(m_.inputs[i]);
      ++kept;
    }
    g_.inputs.resize(kept);
    m_.inputs.resize(kept);
  }

  Method& m_;
  Graph& g_;
  const Backend& backend_;
  const CompileSpecs& specs_;
  bool whole_graph_;
  const std::set<std::string>& shared_states_;
  Report& report_;
  Diagnostics& diag_;
  BackendTraits traits_;
  std::vector<uint32_t> color_;
  Dependencies deps_;
  Regions regions_;
  std::vector<Border> borders_;
  NodeMap<std::string> reasons_;
};

// The graph, then the branches and loop bodies that the backend did not take with it.
Status lower_graph(Method& m, Graph& g, const Partitioner& p, bool whole_graph, const std::set<std::string>& shared_states, Report& report,
                   Diagnostics& diag) {
  EDGEC_TRY_VOID(GraphPartition(m, g, p, whole_graph, shared_states, report, diag).run());
  if (whole_graph) return {};
  for (NodeId n = g.first(); n; n = g.next(n))
    for (const Arg& a : g.node(n).args)
      if (a.is_graph())
        EDGEC_TRY_VOID(lower_graph(m, *g.subgraphs[std::get<GraphId>(a.state).index], p, false, shared_states, report, diag));
  return {};
}

// Buffers that one method writes and another one has too.
std::set<std::string> states_of_several(const Program& program) {
  std::map<std::string, size_t> methods;
  std::set<std::string> written, out;
  for (const auto& m : program.methods)
    for (const InputSpec& spec : m->inputs) {
      if (spec.kind != InputSpec::Kind::Buffer) continue;
      ++methods[spec.name];
      if (spec.mutated) written.insert(spec.name);
    }
  for (const auto& [name, count] : methods)
    if (count > 1 && written.count(name)) out.insert(name);
  return out;
}

}  // namespace

void Report::prune(const Program& program) {
  std::map<const Graph*, std::unordered_set<NodeId>> present;
  const auto visit = [&](auto& self, const Graph& g) -> void {
    auto& nodes = present[&g];
    for (NodeId n = g.first(); n; n = g.next(n)) {
      nodes.insert(n);
      for (const Arg& a : g.node(n).args)
        if (a.is_graph()) self(self, *g.subgraphs[std::get<GraphId>(a.state).index]);
    }
  };
  for (const auto& m : program.methods) visit(visit, *m->graph);
  std::erase_if(left, [&](const Left& l) { return !present[l.graph].count(l.node); });
}

std::string Left::str() const {
  return fmt::format("{}: {}: {} does not take it: {}", loc ? loc->str() : "<unknown>", op, backend, reason);
}

std::string Break::str() const {
  return fmt::format("{}: delegate {} of {} ends before {}: {}", loc ? loc->str() : "<unknown>", lowered.index, method, op, reason);
}

Status lower(Program& program, const Partitioner& partitioner, const LowerOptions& options, Report& report) {
  Diagnostics diag;
  const std::set<std::string> shared = options.share_state ? states_of_several(program) : std::set<std::string>();
  for (auto& m : program.methods) {
    if (!options.only_method.empty() && m->name != options.only_method) continue;
    EDGEC_TRY_VOID(lower_graph(*m, *m->graph, partitioner, options.whole_graph, shared, report, diag));
    remove_dead_nodes(*m->graph);
    remove_unused_weights(*m);
  }
  if (diag.has_errors()) return diag.failure();
  program.stage = Stage::Backend;
  report.prune(program);
  return {};
}

}  // namespace edgec::partition

namespace edgec {

NodeMap<Partitioner::Choice> CapabilityPartitioner::choose(const Method& m, const Graph& g) const {
  NodeMap<Choice> out;
  const auto groups = backend_->groups(m, g, specs_);
  for (NodeId n = g.first(); n; n = g.next(n)) {
    if (partition::stays(g.node(n))) continue;
    auto reason = backend_->refuses(m, g, n, specs_);
    const auto group = groups.find(n);
    out[n] = reason ? Choice{std::nullopt, *std::move(reason)} : Choice{group == groups.end() ? 0 : group->second, {}};
  }
  return out;
}

}  // namespace edgec
