#include "passes/registry.h"

#include "memory/sharing.h"
#include "passes/share_memory.h"

#include <edgec/op.h>

// %n = aten.index_put(%k, [%i], %v)                     %n = aten.index_put(%k, [%i], %v) : f32[64, 8] in %k+0
// ...                                             ->    ...
// %k2 = aten.copy_(%k, %n)                              %k2 = aten.copy_(%k, %n)      no instruction: it is there already
//
// The new value of state (a KV cache) is made in the state's own memory when the old one is not used afterwards.
namespace edgec::passes {

void write_in_place(Method& m, const PassContext& cx) {
  Graph& g = *m.graph;
  memory::Sharing sharing(m, plan_options(cx));
  for (NodeId id = g.first(); id; id = g.next(id)) {
    const Node& n = g.node(id);
    if (n.op->name() != "aten.copy_" || !n.args[1].is_value()) continue;
    const TensorType &to = g.tensor(n.results[0]), &from = g.tensor(n.args[1].value());
    if (to.dtype == from.dtype && to.sizes == from.sizes && to.dim_order == from.dim_order)
      sharing.put(n.args[1].value(), n.results[0], 0, memory::Relation::Equal);
  }
}

Status write_in_place(Program& p, PassContext& cx) {
  for (auto& m : p.methods) write_in_place(*m, cx);
  return {};
}

}  // namespace edgec::passes
