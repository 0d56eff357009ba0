#include "passes/registry.h"

#include <algorithm>
#include <utility>

#include "memory/sharing.h"
#include "passes/share_memory.h"

#include <edgec/op.h>

// %h = aten.linear(%x, %a) : f32[16, 8192]              %x0, %x1 = slices of 8 rows of %x
// %g = aten.gelu(%h) : f32[16, 8192]                    %h0 = aten.linear(%x0, %a) : f32[8, 8192]
// %y = aten.linear(%g, %b) : f32[16, 64]          ->    %g0 = aten.gelu(%h0)
//                                                       %y0 = aten.linear(%g0, %b) : f32[8, 64]
//                                                       ... the same with %x1
//                                                       %y = aten.cat([%y0, %y1])
//
// A wide tensor between two linear layers is made a few rows at a time when it decides how much memory the method takes. The rows of the
// result lie where the operand's rows were.
namespace edgec::passes {
namespace {

constexpr int64_t kPieces = 4;
constexpr int64_t kLeastGain = 64 << 10;  // bytes

// linear, elementwise operators, linear: each result has one use.
struct Chain {
  std::vector<NodeId> nodes;
  size_t axis = 0;  // of rows: the outermost dim
};

class SplitRows {
 public:
  SplitRows(Method& m, const PassContext& cx) : m_(m), cx_(cx) {}

  void run() {
    std::vector<Chain> chains = wide_chains();
    if (chains.empty()) return;
    const int64_t before = peak();
    std::erase_if(chains, [&](const Chain& c) { return width(*m_.graph, c.nodes.front()) < before / 2; });
    if (chains.empty()) return;
    auto whole = std::exchange(m_.graph, m_.graph->clone(m_.syms));
    const bool split = split_all(chains);
    const int64_t after = split ? peak() : before;
    if (after > before - std::max(kLeastGain, before / 5)) m_.graph = std::move(whole);
  }

 private:
  std::vector<Chain> wide_chains() const {
    const Graph& g = *m_.graph;
    const auto uses = g.use_counts();
    std::unordered_map<ValueId, NodeId> user;
    for (NodeId id = g.first(); id; id = g.next(id))
      for (const Arg& a : g.node(id).args) for_each_value(a, [&](const ValueId& v) { user[v] = id; });
    std::vector<Chain> out;
    for (NodeId id = g.first(); id; id = g.next(id)) {
      if (!is_linear(g, id) || width(g, id) < kLeastGain) continue;
      Chain c{{id}, 0};
      const ValueId x = g.node(id).args[0].value();
      for (NodeId n = id;;) {
        const ValueId r = g.node(n).results[0];
        if (uses[r.index] != 1 || !user.count(r)) break;
        n = user[r];
        if (!is_linear(g, n) && !is_rowwise(g, n, r)) break;
        c.nodes.push_back(n);
        if (!is_linear(g, n)) continue;
        if (g.node(n).args[0] == Arg(r) && rows(g.tensor(x), c.axis) && g.tensor(g.node(n).results[0]).is_static()) out.push_back(c);
        break;
      }
    }
    return out;
  }

  static int64_t width(const Graph& g, NodeId id) { return upper_bound_bytes(g.tensor(g.node(id).results[0])).value_or(0); }
  static bool is_linear(const Graph& g, NodeId id) {
    const Node& n = g.node(id);
    return n.op->name() == "aten.linear" && g.tensor(n.results[0]).is_static() && g.tensor(n.args[0].value()).is_static();
  }
  static bool is_rowwise(const Graph& g, NodeId id, ValueId operand) {
    const Node& n = g.node(id);
    size_t tensors = 0;
    for (const Arg& a : n.args) for_each_value(a, [&](const ValueId& v) { tensors += g.type(v).is_tensor(); });
    return n.results.size() == 1 && tensors == 1 && n.op->layout == LayoutRule::Preserve && memory::may_overwrite(g, n, operand);
  }

  // Whether the outermost dim that is not 1 can be cut; the last one holds no rows.
  static bool rows(const TensorType& x, size_t& axis) {
    for (axis = 0; axis + 1 < x.rank(); ++axis)
      if (x.sizes[axis] != Dim(1)) break;
    const auto count = axis + 1 < x.rank() ? x.sizes[axis].constant() : std::nullopt;
    return count && *count >= kPieces && memory::outer_stride(x, axis).has_value() && x.dim_order.empty();
  }

  bool split_all(const std::vector<Chain>& chains) {
    Graph& g = *m_.graph;
    std::vector<std::pair<ValueId, ValueId>> over;
    for (const Chain& c : chains) {
      const ValueId x = g.node(c.nodes.front()).args[0].value();
      const auto y = split(g, c);
      if (!y) return false;
      over.emplace_back(*y, x);
    }
    memory::Sharing sharing(m_, plan_options(cx_));
    for (const auto& [y, x] : over)
      if (g.tensor(y).dtype == g.tensor(x).dtype && g.tensor(y).sizes == g.tensor(x).sizes) sharing.put(y, x, 0, memory::Relation::Apart);
    return true;
  }

  std::optional<ValueId> split(Graph& g, const Chain& c) {
    const NodeId first = c.nodes.front(), end = g.next(c.nodes.back());
    const ValueId x = g.node(first).args[0].value(), y = g.node(c.nodes.back()).results[0];
    const auto axis = static_cast<int64_t>(c.axis);
    const int64_t count = *g.tensor(x).sizes[c.axis].constant(), step = (count + kPieces - 1) / kPieces;
    Builder b(g, g.node(first).loc, end);
    std::vector<ValueId> pieces;
    for (int64_t at = 0; at < count; at += step) pieces.push_back(b.call("aten.slice.Tensor", {x, axis, at, std::min(at + step, count)}));
    for (ValueId& piece : pieces)
      for (NodeId n : c.nodes) {
        b.at(end, g.node(n).loc);
        std::vector<Arg> args = g.node(n).args;
        args[0] = piece;
        piece = b.call(g.node(n).op->name(), std::move(args));
      }
    const ValueId joined = b.call("aten.cat", {Arg::tensors(pieces), axis});
    if (b.failed() || g.type(joined) != g.type(y)) return std::nullopt;
    g.replace_uses({{y, joined}});
    for (auto n = c.nodes.rbegin(); n != c.nodes.rend(); ++n) g.erase(*n);
    return joined;
  }

  int64_t peak() { return need_when_shared(m_, cx_).most; }

  Method& m_;
  const PassContext& cx_;
};

}  // namespace

Status split_rows(Program& p, PassContext& cx) {
  for (auto& m : p.methods) SplitRows(*m, cx).run();
  return {};
}

}  // namespace edgec::passes
