#include "passes/registry.h"

#include <algorithm>

#include "memory/sharing.h"
#include "passes/share_memory.h"

#include <edgec/op.h>

// %y = prim.alloc() : f32[8]                            %y = prim.alloc() : f32[8]
// prim.branch(%p)                                       prim.branch(%p)
// %u = aten.relu(%x) : f32[8]                     ->    %u = aten.relu(%x) : f32[8] in %y+0
// prim.assign(%y, %u)                                   prim.assign(%y, %u)      no instruction: it is there already
//
// What a branch or a turn of a loop gives is made in the memory that it is assigned to, unless something reads that memory in between.
namespace edgec::passes {
namespace {

class Results {
 public:
  Results(Method& m, const PassContext& cx) : g_(*m.graph), sharing_(m, plan_options(cx)) {}

  void run() {
    nodes_.emplace_back();  // position 0 is the call
    for (NodeId id = g_.first(); id; id = g_.next(id)) {
      nodes_.push_back(id);
      const Node& n = g_.node(id);
      const bool assigns = n.op->name() == "prim.assign";
      for (const Arg& a : n.args)
        if (!assigns || &a != &n.args[0])
          for_each_value(a, [&](const ValueId& v) {
            if (g_.type(v).is_tensor()) uses_[v].push_back(id);
          });
      if (assigns) assigns_.push_back(id);
    }
    for (NodeId id : assigns_) {
      const Node& n = g_.node(id);
      if (!n.args[1].is_value() || !g_.type(n.args[1].value()).is_tensor()) continue;
      const ValueId target = n.args[0].value(), value = n.args[1].value();
      const TensorType &to = g_.tensor(target), &from = g_.tensor(value);
      if (!to.is_static() || to.dtype != from.dtype || to.sizes != from.sizes || to.dim_order != from.dim_order) continue;
      if (is_unread(target, value, id)) sharing_.put(value, target, 0, memory::Relation::Assigned);
    }
  }

 private:
  // Whether nothing reads the target's memory from when the value is made until it is assigned, and nothing wants the value afterwards.
  bool is_unread(ValueId target, ValueId value, NodeId assignment) const {
    const memory::Liveness& live = sharing_.liveness();
    const uint32_t end = live.position(assignment);
    uint32_t made = end;
    for (const auto& part : sharing_.members(value)) {
      if (part.last() > end) return false;
      made = std::min(made, part.first());
    }
    if (made == 0) return uses_between(target, 0, end) == 0;
    const auto overwritten = [&](ValueId v) { return memory::may_overwrite(g_, g_.node(nodes_[made]), v); };
    if (uses_between(target, made, end) > 0) return false;
    if (uses_between(target, made - 1, made + 1) > 0 && !overwritten(target)) return false;
    for (const auto& part : sharing_.members(target)) {
      const memory::Span between{made, end};
      if (part.value == target || !memory::overlap(part.live, {&between, 1})) continue;
      if (part.last() > made || !overwritten(part.value)) return false;
    }
    return true;
  }

  // Between the two, neither included.
  size_t uses_between(ValueId v, uint32_t first, uint32_t last) const {
    const auto it = uses_.find(v);
    if (it == uses_.end()) return 0;
    return static_cast<size_t>(std::count_if(it->second.begin(), it->second.end(), [&](NodeId n) {
      const uint32_t at = sharing_.liveness().position(n);
      return at > first && at < last;
    }));
  }

  Graph& g_;
  memory::Sharing sharing_;
  std::vector<NodeId> nodes_;  // by position
  std::vector<NodeId> assigns_;
  ValueMap<std::vector<NodeId>> uses_;  // other than as the target of an assignment
};

}  // namespace

void place_results(Method& m, const PassContext& cx) { Results(m, cx).run(); }

Status place_results(Program& p, PassContext& cx) {
  for (auto& m : p.methods) place_results(*m, cx);
  return {};
}

}  // namespace edgec::passes
