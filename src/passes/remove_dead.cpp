#include <edgec/rewriter.h>
#include "passes/registry.h"

// Nodes whose results nothing uses, then weights that nothing uses.
namespace edgec::passes {

Status remove_dead(Program& p, PassContext&) {
  for (auto& m : p.methods) {
    remove_dead_nodes(*m->graph);
    remove_unused_weights(*m);
  }
  return {};
}

}  // namespace edgec::passes
