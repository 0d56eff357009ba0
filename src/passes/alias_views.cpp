#include "passes/registry.h"

#include "memory/sharing.h"
#include "passes/share_memory.h"

#include <edgec/op.h>

// %y = aten.slice.Tensor(%x, 0, 2, 4) : f32[2, 8]
// ->
// %y = aten.slice.Tensor(%x, 0, 2, 4) : f32[2, 8] in %x+64      no instruction: a tensor of the program that begins there
//
// Slices and rows along the outermost dim of tensors of static size are part of their operand's memory.
namespace edgec::passes {

void alias_views(Method& m, const PassContext& cx) {
  Graph& g = *m.graph;
  memory::Sharing sharing(m, plan_options(cx));
  for (NodeId n = g.first(); n; n = g.next(n))
    if (const auto offset = memory::window_offset(g, n))
      sharing.put(g.node(n).results[0], g.node(n).args[0].value(), *offset, memory::Relation::Equal);
}

Status alias_views(Program& p, PassContext& cx) {
  for (auto& m : p.methods) alias_views(*m, cx);
  return {};
}

}  // namespace edgec::passes
