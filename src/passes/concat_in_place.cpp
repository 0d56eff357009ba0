#include "passes/registry.h"

#include <algorithm>
#include <numeric>

#include "memory/sharing.h"
#include "passes/share_memory.h"

#include <edgec/op.h>

// %a = aten.linear(%x, %w) : f32[2, 8]                  %a = aten.linear(%x, %w) : f32[2, 8] in %c+0
// %b = aten.linear(%x, %v) : f32[2, 8]            ->    %b = aten.linear(%x, %v) : f32[2, 8] in %c+64
// %c = aten.cat([%a, %b]) : f32[4, 8]                   %c = aten.cat([%a, %b]) : f32[4, 8]      no instruction: all is there
//
// What a concatenation (or stack) along the outermost dim joins is made where it is wanted. An operand that cannot lie there is copied
// there.
namespace edgec::passes {
namespace {

class Concat {
 public:
  Concat(Method& m, const PassContext& cx) : g_(*m.graph), sharing_(m, plan_options(cx)) {}

  void run() {
    for (NodeId id : g_.nodes_in_order())
      if (memory::joins_outermost(g_, id)) place_operands(id);
  }

 private:
  void place_operands(NodeId id) {
    const ValueId whole = g_.node(id).results[0];
    ArgList operands = g_.node(id).args[0].list();
    std::vector<int64_t> offsets;
    int64_t at = 0;
    for (const Arg& a : operands) {
      offsets.push_back(at);
      at += size(a);
    }
    // What is made last comes first: an early operand would keep all of the whole alive from its own time on.
    std::vector<size_t> order(operands.size());
    std::iota(order.begin(), order.end(), size_t{0});
    const auto made = [&](size_t i) { return sharing_.liveness().of(operands[i].value()).first; };
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return made(a) > made(b); });
    std::vector<bool> placed(operands.size());
    for (size_t i : order) placed[i] = sharing_.put(operands[i].value(), whole, offsets[i], memory::Relation::Equal);
    if (std::find(placed.begin(), placed.end(), true) == placed.end()) return;
    at = 0;
    for (size_t i = 0; i < operands.size(); ++i) {
      const int64_t bytes = size(operands[i]);
      if (!placed[i]) operands[i] = copied(operands[i].value(), whole, at, id);
      at += bytes;
    }
    g_.node(id).args[0] = operands;
  }

  ValueId copied(ValueId v, ValueId whole, int64_t at, NodeId before) {
    const Location loc = g_.node(before).loc;
    const NodeId piece = g_.add_node(&Registry::global().get("prim.alloc"), {}, {g_.type(v)}, loc, before);
    const ValueId to = g_.node(piece).results[0];
    g_.value(to).inside = MemoryAlias{whole, at};
    g_.add_node(&Registry::global().get("prim.assign"), {to, v}, {}, loc, before);
    return to;
  }

  int64_t size(const Arg& a) const { return upper_bound_bytes(g_.tensor(a.value())).value_or(0); }

  Graph& g_;
  memory::Sharing sharing_;
};

}  // namespace

void concat_in_place(Method& m, const PassContext& cx) { Concat(m, cx).run(); }

Status concat_in_place(Program& p, PassContext& cx) {
  for (auto& m : p.methods) concat_in_place(*m, cx);
  return {};
}

}  // namespace edgec::passes
