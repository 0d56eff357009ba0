#include <edgec/rewriter.h>
#include "passes/registry.h"

// %b = aten.clone(%a)   ->   uses of %b become uses of %a, when dtype and sizes agree.
// A view of a view is a view of the first tensor; likewise for permutations. Permutations of dims of size 1 are views.
namespace edgec::passes {
namespace {

bool covers_whole_dim(const Graph& g, const Call& c) {
  const Arg &start = c.arg("start"), &end = c.arg("end");
  auto axis = c.axis("dim", c.rank("self"));
  if (!axis || c.dim("step") != Dim(1)) return false;
  const Dim size = c.tensor("self").sizes[*axis];
  if (!start.is_none() && expr_of(g, start) != Dim(0)) return false;
  return end.is_none() || sym::less_equal(size, expr_of(g, end)) == sym::Proof::Yes;
}

// The operand that a node gives back unchanged.
std::optional<ValueId> value_it_forwards(const Graph& g, const Node& n) {
  if (n.results.size() != 1 || n.args.empty() || !n.args[0].is_value()) return std::nullopt;
  const ValueId x = n.args[0].value();
  if (!g.type(x).is_tensor() || !g.type(n.results[0]).is_tensor()) return std::nullopt;
  const TensorType &from = g.tensor(x), &to = g.tensor(n.results[0]);
  if (from.dtype != to.dtype || from.sizes != to.sizes) return std::nullopt;
  const std::string& op = n.op->name();
  if (op == "aten.clone" || op == "aten.contiguous" || op == "aten._to_copy" || op == "aten.view" || op == "aten.expand") return x;
  const Call c(g, *n.op, n.args);
  if (op == "aten.slice.Tensor" && covers_whole_dim(g, c)) return x;
  if (op == "aten.permute") {
    const auto order = c.integers("dims");
    for (size_t i = 0; i < order.size(); ++i)
      if (order[i] != static_cast<int64_t>(i) && order[i] + static_cast<int64_t>(order.size()) != static_cast<int64_t>(i))
        return std::nullopt;
    return x;
  }
  return std::nullopt;
}

// A permutation that moves no dim but those of size 1 leaves every element where it is.
void permute_as_view(Graph& g, NodeId id) {
  Node& n = g.node(id);
  if (n.op->name() != "aten.permute") return;
  const TensorType& x = g.tensor(n.args[0].value());
  const auto rank = static_cast<int64_t>(x.rank());
  int64_t last = -1;
  for (int64_t o : Call(g, *n.op, n.args).integers("dims")) {
    const int64_t d = o < 0 ? o + rank : o;
    if (x.sizes[static_cast<size_t>(d)] == Dim(1)) continue;
    if (d < last) return;
    last = d;
  }
  n.op = &Registry::global().get("aten.view");
  n.args = {n.args[0], g.tensor(n.results[0]).sizes};
}

// view(view(x)) and permute(permute(x)) look through to x.
void look_through(Graph& g, NodeId id) {
  Node& n = g.node(id);
  const bool view = n.op->name() == "aten.view", permute = n.op->name() == "aten.permute";
  if (!view && !permute) return;
  const NodeId def = g.value(n.args[0].value()).def;
  if (!def || g.node(def).op != n.op) return;
  const Node& inner = g.node(def);
  if (permute) {
    const auto outer_order = Call(g, *n.op, n.args).integers("dims"), inner_order = Call(g, *inner.op, inner.args).integers("dims");
    const auto rank = static_cast<int64_t>(outer_order.size());
    std::vector<int64_t> order;
    for (int64_t o : outer_order) {
      const int64_t d = inner_order[static_cast<size_t>(o < 0 ? o + rank : o)];
      order.push_back(d < 0 ? d + rank : d);
    }
    n.args[1] = Arg::ints(order);
  } else {
    n.args[1] = g.tensor(n.results[0]).sizes;  // -1 and the like made explicit
  }
  n.args[0] = inner.args[0];
}

}  // namespace

Status remove_noop(Program& p, PassContext&) {
  return for_each_graph(p, [](Method&, Graph& g) -> Status {
    Rewriter rw(g);
    for (NodeId id : g.nodes_in_order()) {
      rw.refresh(id);
      permute_as_view(g, id);
      look_through(g, id);
      if (auto same = value_it_forwards(g, g.node(id))) rw.replace_node(id, std::array{*same});
    }
    rw.finish();
    remove_dead_nodes(g);
    return {};
  });
}

}  // namespace edgec::passes
