#include <edgec/rewriter.h>
#include "passes/registry.h"

#include <algorithm>
#include <limits>

// Attention that a backend takes whole. Delegates have no bools, so masks become numbers to add outside of them:
//   %y = aten.scaled_dot_product_attention(%q, %k, %v, %mask)
//     ->   %m = aten.where.self(%mask, 0, -inf)
//          %y = aten.scaled_dot_product_attention(%q, %k, %v, %m)
// and heads that views split off beside two dynamic dims become part of the operator, which a backend may split by slices:
//   %q4 = aten.transpose.int(aten.view(%q, [b, t, 4, 8]), 1, 2)   (the same for k and v)
//   %y4 = aten.scaled_dot_product_attention(%q4, %k4, %v4, %m)
//   %y = aten.view(aten.transpose.int(%y4, 1, 2), [b, t, 32])
//     ->   %y = edgec.multi_head_attention(%q, %k, %v, 4, %m)
namespace edgec::passes {
namespace {

constexpr std::string_view kAttention = "aten.scaled_dot_product_attention";

bool is_copy(const Node& n) { return n.op->name() == "aten.contiguous" || n.op->name() == "aten.clone" || n.op->name() == "aten.alias"; }
bool is_view(const Node& n) {
  const std::string& op = n.op->name();
  return op == "aten.view" || op == "aten.reshape" || op == "aten._unsafe_view" || op == "aten.unflatten.int" ||
         op == "aten.flatten.using_ints";
}

// [b, t, heads, e] to [b, heads, t, e] or back.
bool swaps_heads(const Graph& g, const Node& n) {
  const Call c(g, *n.op, n.args);
  if (g.tensor(n.results[0]).rank() != 4) return false;
  if (n.op->name() == "aten.permute") return c.integers("dims") == std::vector<int64_t>{0, 2, 1, 3};
  if (n.op->name() != "aten.transpose.int") return false;
  const auto a = c.axis("dim0", 4), b = c.axis("dim1", 4);
  return a && b && std::min(*a, *b) == 1 && std::max(*a, *b) == 2;
}

// The node that makes a value, copies seen through.
const Node* maker(const Graph& g, ValueId v) {
  NodeId def = g.value(v).def;
  while (def && is_copy(g.node(def))) def = g.value(g.node(def).args[0].value()).def;
  return def ? &g.node(def) : nullptr;
}

// %x [b, t, heads * e] of which `v` is the heads: [b, heads, t, e].
std::optional<ValueId> joined(const Graph& g, ValueId v) {
  const Node* swap = maker(g, v);
  if (!swap || !swaps_heads(g, *swap)) return std::nullopt;
  const Node* view = maker(g, swap->args[0].value());
  if (!view || !is_view(*view)) return std::nullopt;
  const Dims &four = g.tensor(view->results[0]).sizes, &three = g.tensor(view->args[0].value()).sizes;
  if (three.size() != 3 || four.size() != 4 || three[0] != four[0] || three[1] != four[1] || !three[2].is_static()) return std::nullopt;
  return view->args[0].value();
}

class Attentions {
 public:
  Attentions(const Method& m, Graph& g, PassContext& cx) : m_(m), g_(g), cx_(cx), rw_(g), uses_(g.use_counts()) {
    users_.resize(uses_.size());
    for (NodeId n : g.nodes_in_order())
      for (const Arg& a : g.node(n).args) for_each_value(a, [&](const ValueId& v) { users_[v.index] = n; });
  }

  Status run() {
    for (NodeId n : g_.nodes_in_order()) {
      rw_.refresh(n);
      if (g_.node(n).op->name() != kAttention) continue;
      const auto mask = argument(n, "attn_mask");
      EDGEC_TRY_VOID(add_mask(n));
      EDGEC_TRY(const bool joined_now, join_heads(n));
      if (!joined_now && !kept(n)) argument(n, "attn_mask") = mask;  // decomposed, which knows bools
    }
    rw_.finish();
    return {};
  }

 private:
  Arg& argument(NodeId n, std::string_view param) { return g_.node(n).args[static_cast<size_t>(g_.node(n).op->schema().find(param))]; }

  bool kept(NodeId n) const { return cx_.keeps_whole(m_, g_, n); }

  Status add_mask(NodeId n) {
    const Arg mask = argument(n, "attn_mask");
    if (!mask.is_value() || g_.tensor(mask.value()).dtype != DType::Bool || m_.constant_of(g_, mask.value())) return {};
    const DType d = g_.tensor(argument(n, "query").value()).dtype;
    auto& made = additive_[mask.value()];
    if (!made) {
      Builder b(g_, g_.node(n).loc, n);
      made = b.call("aten.where.self", {mask.value(), b.full({}, 0.0, d), b.full({}, -std::numeric_limits<double>::infinity(), d)});
      EDGEC_TRY_VOID(b.status());
    }
    argument(n, "attn_mask") = made;
    return {};
  }

  // The one node that uses a value, copies seen through.
  NodeId user(ValueId v) const {
    for (;;) {
      const NodeId n = v.index < uses_.size() && uses_[v.index] == 1 ? users_[v.index] : NodeId();
      if (!n || !is_copy(g_.node(n))) return n;
      v = g_.node(n).results[0];
    }
  }

  // The view that puts the heads behind each other again.
  NodeId joining(NodeId n) const {
    const NodeId swap = user(g_.node(n).results[0]);
    if (!swap || !swaps_heads(g_, g_.node(swap))) return {};
    const NodeId view = user(g_.node(swap).results[0]);
    if (!view || !is_view(g_.node(view))) return {};
    const Dims &four = g_.tensor(g_.node(swap).results[0]).sizes, &three = g_.tensor(g_.node(view).results[0]).sizes;
    return three.size() == 3 && three[0] == four[0] && three[1] == four[1] ? view : NodeId();
  }

  Result<bool> join_heads(NodeId n) {
    const Call c(g_, *g_.node(n).op, g_.node(n).args);
    const auto q = joined(g_, c.value("query")), k = joined(g_, c.value("key")), v = joined(g_, c.value("value"));
    const NodeId end = joining(n);
    if (!q || !k || !v || !end || c.number("dropout_p") != 0 || c.flag("is_causal")) return false;
    const Dims sizes = c.tensor("query").sizes, keys = c.tensor("key").sizes, values = c.tensor("value").sizes;
    if (sizes[0].is_static() || sizes[2].is_static()) return false;  // views do
    if (!sizes[1].is_static() || keys[1] != sizes[1] || values[1] != sizes[1] || keys[0] != sizes[0] || values[0] != sizes[0]) return false;
    Arg mask = c.arg("attn_mask");
    Builder b(g_, g_.node(n).loc, end);
    if (mask.is_value()) {
      const Dims m = g_.tensor(mask.value()).sizes;
      if (m.size() == 4 && m[1] == Dim(1))
        mask = b.view(mask.value(), {m[0], m[2], m[3]});
      else if (m.size() != 2)
        return false;
    }
    const ValueId y = b.call("edgec.multi_head_attention", {*q, *k, *v, sizes[1], mask, c.arg("scale")});
    EDGEC_TRY_VOID(b.status());
    if (!kept(g_.value(y).def)) {
      g_.erase(g_.value(y).def);
      return false;
    }
    rw_.replace(g_.node(end).results[0], y);
    return true;
  }

  const Method& m_;
  Graph& g_;
  PassContext& cx_;
  Rewriter rw_;
  std::vector<uint32_t> uses_;
  std::vector<NodeId> users_;
  ValueMap<ValueId> additive_;
};

}  // namespace

Status fuse_attention(Program& p, PassContext& cx) {
  if (!cx.keeps_whole) return {};
  return for_each_graph(p, [&](Method& m, Graph& g) -> Status { return Attentions(m, g, cx).run(); });
}

}  // namespace edgec::passes
