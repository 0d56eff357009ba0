#include <edgec/rewriter.h>
#include "passes/registry.h"

// %t = aten.permute(%w, [1, 0])
// %y = aten.addmm(%bias, %x, %t)   ->   %y = aten.linear(%x, %w, %bias)
// %z = aten.mm(%x, %t)             ->   %z = aten.linear(%x, %w)
namespace edgec::passes {
namespace {

// The matrix whose transpose `v` is.
std::optional<ValueId> transposed(const Graph& g, ValueId v) {
  const NodeId def = g.value(v).def;
  if (!def) return std::nullopt;
  const Node& n = g.node(def);
  if (n.op->name() != "aten.permute" || g.tensor(v).rank() != 2) return std::nullopt;
  const auto order = Call(g, *n.op, n.args).integers("dims");
  if ((order[0] & 1) != 1) return std::nullopt;  // [1, 0] or [-1, -2]
  return n.args[0].value();
}

bool is_one(const Arg& a) { return a == Arg(1) || a == Arg(1.0); }

void fuse(Graph& g) {
  Rewriter rw(g);
  for (NodeId id : g.nodes_in_order()) {
    rw.refresh(id);
    const Node n = g.node(id);
    const std::string& op = n.op->name();
    const bool addmm = op == "aten.addmm";
    if (!addmm && op != "aten.mm") continue;
    const Call c(g, *n.op, n.args);
    const ValueId x = c.value(addmm ? "mat1" : "self"), m = c.value("mat2");
    const auto weight = transposed(g, m);
    if (!weight || !is_float(g.tensor(x).dtype)) continue;
    Arg bias;
    if (addmm) {
      const TensorType& t = c.tensor("self");
      if (!is_one(c.arg("alpha")) || !is_one(c.arg("beta")) || t.rank() != 1 || t.sizes[0] != g.tensor(*weight).sizes[0]) continue;
      bias = c.arg("self");
    }
    Builder b(g, n.loc, id);
    const ValueId y = b.call("aten.linear", {x, *weight, bias});
    if (!b.failed()) rw.replace_node(id, std::array{y});
  }
  rw.finish();
}

}  // namespace

Status fuse_linear(Program& p, PassContext&) {
  return for_each_graph(p, [](Method&, Graph& g) -> Status {
    fuse(g);
    return {};
  });
}

}  // namespace edgec::passes
