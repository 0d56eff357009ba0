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
// What a loop stacks row by row lies over what it takes row by row, when each row is read before the new one is written and not afterwards.
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
      follow_loops(id);
    }
    for (const Row& r : written_) place_rows(r);
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
  // A node that reads or writes one row of a tensor in a loop.
  struct Row {
    NodeId node;
    ValueId whole;
    Arg index;
    size_t flow = 0;  // the stretch between two markers that it is in
    size_t loop = 0;  // the innermost
  };

  void follow_loops(NodeId id) {
    const Node& n = g_.node(id);
    const std::string& op = n.op->name();
    if (op == "prim.loop") {
      open_.push_back(loops_.size());
      loops_.push_back({id, {}});
    } else if ((op == "prim.repeat" || op == "prim.repeat_until") && !open_.empty()) {
      loops_[open_.back()].end = id;
      open_.pop_back();
    }
    flow_ += n.op->schema().ns == "prim" && n.results.empty() && op != "prim.assign";
    if (open_.empty()) return;
    if (op == "aten.select.int" && n.args[1] == Arg(0)) read_.push_back({id, n.args[0].value(), n.args[2], flow_, open_.back()});
    if (op == "executorch_prim.et_copy_index.tensor") written_.push_back({id, n.args[0].value(), n.args[2], flow_, open_.back()});
  }

  void place_rows(const Row& to) {
    if (!is_alloc(to.whole)) return;  // written before the loop
    for (const Row& from : read_)
      if (is_over(from, to) && sharing_.put(to.whole, from.whole, 0, memory::Relation::Rows)) return;
  }

  // Whether each turn reads a row of one tensor, then writes that row of the other, and nothing else needs the first one from the loop on.
  bool is_over(const Row& from, const Row& to) const {
    const TensorType &x = g_.tensor(from.whole), &y = g_.tensor(to.whole);
    if (from.flow != to.flow || from.index != to.index || is_alloc(from.whole) || sharing_.in_state(from.whole)) return false;
    if (!x.is_static() || x.dtype != y.dtype || x.sizes != y.sizes || !x.dim_order.empty() || !y.dim_order.empty()) return false;
    const memory::Liveness& live = sharing_.liveness();
    const uint32_t begin = live.position(loops_[to.loop].begin), end = live.position(loops_[to.loop].end);
    const auto in_loop = [&](NodeId n) { return live.position(n) > begin; };
    return live.position(from.node) < live.position(to.node) && live.of(from.whole).last <= end &&
           std::ranges::count_if(uses_.at(from.whole), in_loop) == 1 && uses_between(to.whole, 0, end) == 1;
  }

  bool is_alloc(ValueId v) const { return g_.value(v).def && g_.node(g_.value(v).def).op->name() == "prim.alloc"; }

  // Whether nothing reads the target's memory from when the value is made until it is assigned, and nothing wants the value afterwards.
  bool is_unread(ValueId target, ValueId value, NodeId assignment) const {
    const memory::Liveness& live = sharing_.liveness();
    const uint32_t end = live.position(assignment);
    uint32_t made = end;
    for (const auto& part : sharing_.members(value)) {
      if (part.last() > end) return false;
      made = std::min(made, part.first());
    }
    if (is_wanted_behind_another(target, value)) return false;
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

  // Whether something else is assigned to the target while the value, or what shares its memory, is there and still wanted.
  bool is_wanted_behind_another(ValueId target, ValueId value) const {
    return std::ranges::any_of(assigns_, [&](NodeId other) {
      const Node& n = g_.node(other);
      if (n.args[0] != Arg(target) || n.args[1] == Arg(value)) return false;
      const uint32_t at = sharing_.liveness().position(other);
      return std::ranges::any_of(sharing_.members(value), [&](const memory::Sharing::Member& m) {
        return std::ranges::any_of(m.live, [&](const memory::Span& s) { return s.first <= at && s.last > at; });
      });
    });
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

  struct Loop {
    NodeId begin, end;
  };

  Graph& g_;
  memory::Sharing sharing_;
  std::vector<Row> read_, written_;
  std::vector<Loop> loops_;
  std::vector<size_t> open_;  // loops
  size_t flow_ = 0;
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
