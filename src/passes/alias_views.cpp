#include "passes/registry.h"

#include "memory/sharing.h"
#include "passes/share_memory.h"

#include <edgec/op.h>

// %y = aten.slice.Tensor(%x, 0, 2, 4) : f32[2, 8]
// ->
// %y = aten.slice.Tensor(%x, 0, 2, 4) : f32[2, 8] in %x+64      no instruction: a tensor of the program that begins there
//
// Slices and rows along the outermost dim of tensors of static size are part of their operand's memory. They stand right behind it: what is
// around the slice need not be kept for it.
namespace edgec::passes {
namespace {

void move_behind_operand(Graph& g, NodeId n) {
  const NodeId def = g.value(g.node(n).args[0].value()).def;
  if (def && g.node(def).op->name() == "prim.alloc") return;  // branches and loops assign it later
  const NodeId behind = def ? g.next(def) : g.first();
  if (behind != n) g.move_before(n, behind);
}

}  // namespace

void alias_views(Method& m, const PassContext& cx) {
  Graph& g = *m.graph;
  memory::Sharing sharing(m, plan_options(cx));
  for (NodeId n : g.nodes_in_order()) {
    const auto offset = memory::window_offset(g, n);
    if (offset && sharing.put(g.node(n).results[0], g.node(n).args[0].value(), *offset, memory::Relation::Equal)) move_behind_operand(g, n);
  }
}

Status alias_views(Program& p, PassContext& cx) {
  for (auto& m : p.methods) alias_views(*m, cx);
  return {};
}

}  // namespace edgec::passes
