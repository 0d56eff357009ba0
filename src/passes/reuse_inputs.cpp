#include "passes/registry.h"

#include <utility>

#include "memory/sharing.h"
#include "passes/share_memory.h"

#include <edgec/op.h>

// method @forward(%h: f32[2, 8] = input "h") {          method @forward(%h: f32[2, 8] = input "h") {
//   ...                                                   ...
//   %n = aten.stack([%a, %b]) : f32[2, 8]         ->      %n = aten.stack([%a, %b]) : f32[2, 8] in %h+0
//   return %n                                             return %n
// }                                                     }
//
// What a method gives out is made in the memory of an input of its type that is dead by then: state that goes in and comes out stays where
// it is. The program has one tensor for both.
namespace edgec::passes {
namespace {

constexpr int kMaxTried = 4;  // outputs of a method: each is a plan

class ReuseInputs {
 public:
  ReuseInputs(Method& m, const PassContext& cx) : m_(m), cx_(cx) {}

  void run() {
    const auto pairs = candidates();
    if (pairs.empty()) return;
    const int64_t least = planned();
    std::vector<bool> taken(m_.graph->value_count());
    int tried = 0;
    for (const auto& [in, out] : pairs) {
      if (taken[in.index] || taken[out.index] || tried++ == kMaxTried) continue;
      auto before = std::exchange(m_.graph, m_.graph->clone(m_.syms));
      if (memory::Sharing(m_, plan_options(cx_)).put(out, in, 0, memory::Relation::Apart) && planned() <= least)
        taken[in.index] = taken[out.index] = true;
      else
        m_.graph = std::move(before);
    }
  }

 private:
  // Inputs and the outputs that could lie in them.
  std::vector<std::pair<ValueId, ValueId>> candidates() const {
    const Graph& g = *m_.graph;
    std::vector<std::pair<ValueId, ValueId>> out;
    for (const Arg& a : g.outputs)
      for (size_t i = 0; i < m_.inputs.size(); ++i)
        if (a.is_value() && !m_.inputs[i].is_weight() && !m_.inputs[i].mutated && fits(g.inputs[i], a.value()))
          out.emplace_back(g.inputs[i], a.value());
    return out;
  }
  bool fits(ValueId in, ValueId out) const {
    const Graph& g = *m_.graph;
    if (!g.type(in).is_tensor() || !g.type(out).is_tensor()) return false;
    const TensorType &x = g.tensor(in), &y = g.tensor(out);
    return x.is_static() && x.dtype == y.dtype && x.sizes == y.sizes && x.dim_order == y.dim_order;
  }

  // Once operands are reused as well, which what is settled here may stand in the way of.
  int64_t planned() {
    auto kept = std::exchange(m_.graph, m_.graph->clone(m_.syms));
    reuse_operands(m_, cx_);
    const int64_t bytes = quick_plan(m_, cx_);
    m_.graph = std::move(kept);
    return bytes;
  }

  Method& m_;
  const PassContext& cx_;
};

}  // namespace

Status reuse_inputs(Program& p, PassContext& cx) {
  for (auto& m : p.methods) ReuseInputs(*m, cx).run();
  return {};
}

}  // namespace edgec::passes
