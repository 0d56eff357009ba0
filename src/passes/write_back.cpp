#include <fmt/format.h>
#include "passes/registry.h"

#include <unordered_set>

#include <edgec/rewriter.h>

// return %new -> buffer "k", %y      ->   %k2 = aten.copy_(%k, %new)
//                                         return %y
// Inputs that are written stay outputs, before the user's, as in the official flow. A value that is read after its
// memory was written is copied first: an output that is a written input, or two buffers that swap their values.
namespace edgec::passes {
namespace {

class WriteBack {
 public:
  explicit WriteBack(Method& m) : m_(m), g_(*m.graph) {}

  void run() {
    collect();
    if (targets_.empty()) return;
    std::unordered_map<ValueId, ValueId> saved;
    for (size_t i = 0; i < g_.outputs.size(); ++i) {
      Arg& a = g_.outputs[i];
      if (!a.is_value()) continue;
      const ValueId root = viewed_root(g_, a.value());
      const bool own = is_write(i) && target_of(i) == a.value();  // unchanged: nothing to write
      if (!own && written_.count(root)) a = save(a.value(), saved);
    }
    std::vector<Arg> outputs;
    std::vector<OutputSpec> specs;
    for (size_t i = 0; i < g_.outputs.size(); ++i) {
      if (!is_write(i)) {
        outputs.push_back(g_.outputs[i]);
        specs.push_back(m_.outputs[i]);
        continue;
      }
      const ValueId target = target_of(i);
      ValueId result = target;
      if (g_.outputs[i].value() != target) result = copy(target, g_.outputs[i].value());
      if (m_.outputs[i].kind == OutputSpec::Kind::InputMutation) {
        outputs.push_back(result);
        specs.push_back(m_.outputs[i]);
      }
    }
    g_.outputs = std::move(outputs);
    m_.outputs = std::move(specs);
  }

 private:
  bool is_write(size_t output) const { return m_.outputs[output].kind != OutputSpec::Kind::UserOutput; }
  ValueId target_of(size_t output) const { return targets_.at(m_.outputs[output].target); }

  void collect() {
    for (size_t i = 0; i < m_.outputs.size(); ++i) {
      if (!is_write(i)) continue;
      for (size_t k = 0; k < m_.inputs.size(); ++k)
        if (m_.inputs[k].name == m_.outputs[i].target) {
          targets_[m_.outputs[i].target] = g_.inputs[k];
          if (!(g_.outputs[i] == Arg(g_.inputs[k]))) written_.insert(g_.inputs[k]);
        }
    }
  }

  ValueId save(ValueId v, std::unordered_map<ValueId, ValueId>& saved) {
    auto [it, fresh] = saved.try_emplace(v);
    if (fresh) it->second = copied(v, g_.tensor(v).dim_order);
    return it->second;
  }

  ValueId copied(ValueId v, const DimOrder& order) {
    Builder b(g_, nullptr);
    ArgList dims;
    for (size_t i = 0; i < g_.tensor(v).rank(); ++i) dims.push_back(static_cast<int64_t>(order.empty() ? i : order[i]));
    return b.call("dim_order_ops._to_dim_order_copy", {v}, {{"dim_order", dims}});
  }

  // The kernel of copy_ takes one dim order only.
  ValueId copy(ValueId target, ValueId value) {
    if (g_.tensor(value).dim_order != g_.tensor(target).dim_order) value = copied(value, g_.tensor(target).dim_order);
    const OpDef& op = Registry::global().get("aten.copy_");
    const NodeId n = g_.add_node(&op, {target, value, false}, {g_.type(target)}, nullptr);
    return g_.node(n).results[0];
  }

  Method& m_;
  Graph& g_;
  std::unordered_map<std::string, ValueId> targets_;
  std::unordered_set<ValueId> written_;
};

}  // namespace

Status write_back(Program& p, PassContext& cx) {
  for (auto& m : p.methods) WriteBack(*m).run();
  p.stage = Stage::Exec;
  return outcome(cx);
}

}  // namespace edgec::passes
