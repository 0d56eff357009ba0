#include "passes/registry.h"

#include "memory/sharing.h"
#include "passes/share_memory.h"

#include <edgec/op.h>

// %y = aten.relu(%x) : f32[8]   ->   %y = aten.relu(%x) : f32[8] in %x+0      when %x is not used afterwards
//
// Kernels that are proven safe for it (OpDef::in_place_ok) write over an operand that dies. State keeps its value until its new one is
// written, so that a run that fails in between leaves it whole.
namespace edgec::passes {

void reuse_operands(Method& m, const PassContext& cx) {
  Graph& g = *m.graph;
  memory::Sharing sharing(m, plan_options(cx));
  for (NodeId id = g.first(); id; id = g.next(id)) {
    const Node& n = g.node(id);
    if (!n.op->in_place_ok || n.results.empty()) continue;
    bool done = false;
    for (const Arg& a : n.args)
      for_each_value(a, [&](const ValueId& v) {
        if (!done && g.type(v).is_tensor() && memory::may_overwrite(g, n, v) && !sharing.in_state(v))
          done = sharing.put(n.results[0], v, 0, memory::Relation::Apart);
      });
  }
}

Status reuse_operands(Program& p, PassContext& cx) {
  for (auto& m : p.methods) reuse_operands(*m, cx);
  return {};
}

}  // namespace edgec::passes
