#include <edgec/rewriter.h>
#include "passes/registry.h"

// %b = aten.clone(%a)   ->   uses of %b become uses of %a, when dtype and sizes agree.
// A view of a view is a view of the first tensor; likewise for permutations. Permutations of dims of size 1 are views. A row of a flipped
// tensor is a row of the tensor: what only gives such rows goes.
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

// The row that a slice or select takes of its operand along one dim, counted from the front.
struct Row {
  NodeId of;  // the operand's definition
  size_t axis = 0;
  int64_t index = 0, size = 0;
};
std::optional<Row> row_of(const Graph& g, NodeId id) {
  const Node& n = g.node(id);
  const bool select = n.op->name() == "aten.select.int";
  if (!select && n.op->name() != "aten.slice.Tensor") return std::nullopt;
  const Call c(g, *n.op, n.args);
  const TensorType& x = c.tensor("self");
  const auto axis = c.axis("dim", x.rank());
  const NodeId def = g.value(c.value("self")).def;
  if (!def || !axis || x.rank() == 0) return std::nullopt;
  const auto size = x.sizes[*axis].constant();
  const char* param = select ? "index" : "start";
  auto index = c.has(param) ? c.dim(param).constant() : std::optional<int64_t>(0);
  if (!size || !index || (!select && g.tensor(n.results[0]).sizes[*axis] != Dim(1))) return std::nullopt;
  if (*index < 0) *index += *size;
  if (*index < 0 || *index >= *size) return std::nullopt;
  return Row{def, *axis, *index, *size};
}

// The dim that a node flips, when it is one.
std::optional<size_t> flipped_dim(const Graph& g, NodeId id) {
  const Node& n = g.node(id);
  if (n.op->name() != "aten.flip") return std::nullopt;
  const Call c(g, *n.op, n.args);
  const auto axes = c.axes("dims", c.rank("self"));
  return axes && axes->size() == 1 ? std::optional(axes->front()) : std::nullopt;
}

// slice(flip(x), i, i + 1) looks through to x, where the flip has no other uses.
void take_rows_unflipped(Graph& g) {
  std::vector<uint32_t> other_uses = g.use_counts();
  std::vector<std::pair<NodeId, Row>> rows;
  for (NodeId id = g.first(); id; id = g.next(id)) {
    const auto row = row_of(g, id);
    if (!row || flipped_dim(g, row->of) != row->axis) continue;
    --other_uses[g.node(id).args[0].value().index];
    rows.emplace_back(id, *row);
  }
  for (const auto& [id, row] : rows) {
    Node& n = g.node(id);
    if (other_uses[n.args[0].value().index] > 0) continue;
    const int64_t index = row.size - 1 - row.index;
    const Schema& s = n.op->schema();
    for (size_t i = 0; i < n.args.size(); ++i) {
      if (s.params[i].name == "index" || s.params[i].name == "start") n.args[i] = index;
      if (s.params[i].name == "end") n.args[i] = index + 1;
    }
    n.args[0] = g.node(row.of).args[0];
  }
}

}  // namespace

Status remove_noop(Program& p, PassContext&) {
  return for_each_graph(p, [](Method&, Graph& g) -> Status {
    take_rows_unflipped(g);
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
