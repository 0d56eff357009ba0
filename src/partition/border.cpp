#include "partition/border.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include <edgec/op.h>

namespace edgec::partition {
namespace {

using Symbols = std::set<sym::Expr, sym::ExprLess>;

// s follows from a size a*s + b, as passes/materialize_symbols solves it.
bool gives(const Dim& size, const sym::Expr& s) {
  const auto symbols = sym::free_symbols(size);
  if (symbols.size() != 1 || symbols[0] != s) return false;
  const sym::Expr b = sym::substitute(size, {{s, 0}}), a = sym::substitute(size, {{s, 1}}) - b;
  return a.constant() && b.constant() && *a.constant() != 0 && s * a + b == size;
}

bool gives(const Type& t, const sym::Expr& s) {
  return t.is_tensor() && std::any_of(t.tensor.sizes.begin(), t.tensor.sizes.end(), [&](const Dim& d) { return gives(d, s); });
}

class BorderMaker {
 public:
  BorderMaker(const RegionView& r, const Uses& uses, const Backend& backend, const CompileSpecs& specs, bool whole_graph,
              std::vector<Refusal>& refusals)
      : r_(r), g_(r.g), uses_(uses), backend_(backend), specs_(specs), traits_(backend.traits(specs)), refusals_(refusals) {
    traits_.sym_inside = traits_.sym_inside || whole_graph;
  }

  Border run() {
    for (NodeId n : r_.nodes())
      for (const Arg& a : g_.node(n).args) for_each_value(a, [&](const ValueId& v) { take(v); });
    keep_states();
    for (NodeId n : r_.nodes())
      for (const sym::Expr& s : symbols_of(g_, g_.node(n))) need(s, n);
    results();
    return std::move(out_);
  }

 private:
  void take(ValueId v) {
    if (r_.has(g_.value(v).def) || !seen_.insert(v).second) return;
    if (r_.m.constant_of(g_, v))
      out_.weights.push_back(v);
    else
      out_.tensors.push_back(v);
  }

  // A buffer that only the region reads, with the new value made inside, is the delegate's own.
  void keep_states() {
    if (!traits_.mutable_buffers || &g_ != r_.m.graph.get()) return;
    for (size_t i = 0; i < r_.m.outputs.size(); ++i) {
      if (r_.m.outputs[i].kind != OutputSpec::Kind::BufferMutation || !g_.outputs[i].is_value()) continue;
      if (!r_.has(g_.value(g_.outputs[i].value()).def)) continue;
      for (size_t k = 0; k < r_.m.inputs.size(); ++k) {
        const ValueId buffer = g_.inputs[k];
        const std::string& name = r_.m.inputs[k].name;
        if (!r_.m.inputs[k].is_weight() || name != r_.m.outputs[i].target || uses_.outside(buffer, r_.index)) continue;
        if (r_.shared_states.count(name)) continue;
        std::erase(out_.tensors, buffer);
        out_.states.push_back(buffer);
        out_.state_outputs.push_back(i);
      }
    }
  }

  // ---- symbols ----------------------------------------------------------------------------------------------------

  void need(const sym::Expr& s, NodeId user) {
    if (auto it = failed_.find(s); it != failed_.end()) return refuse(user, s);
    if (!needed_.insert(s).second) return;
    const auto definer = r_.deps.definer.find(s);
    const NodeId made_by = definer == r_.deps.definer.end() ? NodeId{} : definer->second;
    if (r_.has(made_by)) return;
    if (traits_.sym_inside && make_inside(s, made_by)) return;
    if (traits_.sym_inputs != SymInputs::None) {
      out_.numbers.push_back(s);
      return;
    }
    failed_.insert(s);
    refuse(user, s);
  }

  void refuse(NodeId user, const sym::Expr& s) {
    refusals_.push_back(
        {user, fmt::format("it needs the size {}, which {} neither takes as an input nor computes inside", s.str(), backend_.name())});
  }

  // By a size of an input that the region has anyway, of an input of the graph, of the tensor that brings the symbol, or by doing again
  // what reads the number.
  bool make_inside(const sym::Expr& s, NodeId made_by) {
    for (ValueId v : out_.tensors)
      if (gives(g_.type(v), s)) return true;
    if (!made_by) {
      for (ValueId v : g_.inputs)
        if (gives(g_.type(v), s)) return take(v), true;
      return false;
    }
    const Node& n = g_.node(made_by);
    for (ValueId v : n.results)
      if (gives(g_.type(v), s)) return take(v), true;
    const bool reads_a_tensor = n.results.size() == 1 && n.args.size() == 1 && n.args[0].is_value() && n.op->schema().ns == "aten";
    if (!reads_a_tensor || backend_.refuses(r_.m, g_, made_by, specs_)) return false;
    out_.made_inside.push_back(made_by);
    take(n.args[0].value());
    return true;
  }

  // ---- results ----------------------------------------------------------------------------------------------------

  void results() {
    for (NodeId n : r_.nodes())
      for (ValueId v : g_.node(n).results) {
        if (g_.type(v).is_sym())
          number_result(n, v);
        else if (is_used_outside(v))
          out_.results.push_back(v);
      }
  }

  bool is_used_outside(ValueId v) const {
    if (!g_.type(v).is_tensor()) return false;
    if (uses_.outside(v, r_.index)) return !is_state_output(v);
    for (const Dim& d : g_.tensor(v).sizes)  // the only one to tell how many there are
      if (is_made_by(d, v) && uses_.outside(d, r_.index)) return true;
    return false;
  }
  bool is_made_by(const sym::Expr& s, ValueId v) const {
    const auto it = r_.deps.definer.find(s);
    return it != r_.deps.definer.end() && it->second == g_.value(v).def;
  }

  // Used by nothing outside but as the new value of a state that the delegate keeps.
  bool is_state_output(ValueId v) const {
    size_t kept = 0, uses = 0;
    for (size_t i : out_.state_outputs) kept += g_.outputs[i] == Arg(v);
    if (kept == 0) return false;
    for (const Arg& a : g_.outputs) for_each_value(a, [&](const ValueId& u) { uses += u == v; });
    for (NodeId user : r_.deps.users[g_.value(v).def.index]) {
      if (r_.has(user)) continue;
      for (const Arg& a : g_.node(user).args) for_each_value(a, [&](const ValueId& u) { uses += u == v; });
    }
    return uses == kept;
  }

  void number_result(NodeId n, ValueId v) {
    const sym::Expr e = g_.type(v).expr;
    if (!uses_.outside(e, r_.index) && !uses_.outside(v, r_.index)) return;
    if (traits_.sym_inputs == SymInputs::None) {
      refusals_.push_back({n, fmt::format("it gives the number {} to nodes outside, which {} does not", e.str(), backend_.name())});
      return;
    }
    out_.number_results.push_back(v);
  }

  const RegionView& r_;
  const Graph& g_;
  const Uses& uses_;
  const Backend& backend_;
  const CompileSpecs& specs_;
  BackendTraits traits_;
  std::vector<Refusal>& refusals_;
  Border out_;
  std::set<ValueId> seen_;
  Symbols needed_, failed_;
};

}  // namespace

Uses::Uses(const Graph& g, const Dependencies& deps, const Regions& regions) : values_(g.value_count(), kNobody) {
  const auto use_symbol = [&](const sym::Expr& s, int32_t region) {
    auto [it, fresh] = symbols_.try_emplace(s, kNobody);
    use(it->second, region);
  };
  for (NodeId n : deps.order) {
    const int32_t region = regions.of[n.index];
    for (const Arg& a : g.node(n).args) for_each_value(a, [&](const ValueId& v) { use(values_[v.index], region); });
    for (const sym::Expr& s : symbols_of(g, g.node(n))) use_symbol(s, region);
  }
  for (const Arg& a : g.outputs) {
    for_each_value(a, [&](const ValueId& v) { use(values_[v.index], -1); });
    for_each_expr(a, [&](const sym::Expr& e) {
      for (const sym::Expr& s : sym::free_symbols(e)) use_symbol(s, -1);
    });
  }
}

bool Uses::outside(ValueId v, int32_t region) const { return values_[v.index] != kNobody && values_[v.index] != region; }

bool Uses::outside(const sym::Expr& symbol, int32_t region) const {
  const auto it = symbols_.find(symbol);
  return it != symbols_.end() && it->second != kNobody && it->second != region;
}

Border border_of(const RegionView& region, const Uses& uses, const Backend& backend, const CompileSpecs& specs, bool whole_graph,
                 std::vector<Refusal>& refusals) {
  return BorderMaker(region, uses, backend, specs, whole_graph, refusals).run();
}

}  // namespace edgec::partition
