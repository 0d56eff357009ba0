#include <map>
#include <unordered_set>
#include "passes/registry.h"

#include <edgec/rewriter.h>

// %y = aten._to_copy(%x, dtype=f16)           ->   %y = dim_order_ops._to_dim_order_copy(%x, dtype=f16)
// A kernel that wants contiguous operands gets copies of those that are not; one that keeps the order gives it to its
// results; outputs get the order that the exported module gives them. Weights take any one order for free: they are
// written that way; a second order is a copy.
namespace edgec::passes {
namespace {

class DimOrders {
 public:
  DimOrders(Method& m, Graph& g) : m_(m), g_(g), rw_(g) {}

  Status run() {
    for (NodeId id : g_.nodes_in_order()) {
      rw_.refresh(id);
      visit(id);
      for (const Arg& a : g_.node(id).args)
        for_each_value(a, [&](const ValueId& v) {
          if (is_weight(v)) settled_.insert(v);
        });
    }
    rw_.finish();
    for (size_t i = 0; i < g_.outputs.size(); ++i) {
      Arg& a = g_.outputs[i];
      if (!a.is_value() || !g_.type(a.value()).is_tensor()) continue;
      const DimOrder& want =
          &g_ == m_.graph.get() && m_.outputs[i].kind == OutputSpec::Kind::UserOutput ? m_.outputs[i].dim_order : DimOrder{};
      if (want.empty() || want.size() == g_.tensor(a.value()).rank()) a = in_order(a.value(), want, {}, nullptr);
    }
    return {};
  }

 private:
  void visit(NodeId id) {
    const Node& n = g_.node(id);
    if (n.op->layout == LayoutRule::Any && n.op->schema().ns == "aten") return visit_copy(id);
    if (n.op->schema().ns == "higher_order" || n.op->schema().ns == "prim" || n.results.empty()) return make_contiguous(id);
    if (n.op->layout == LayoutRule::Preserve && g_.type(n.results[0]).is_tensor()) {
      if (auto order = common_order(id)) {
        for (ValueId r : n.results)
          if (g_.tensor(r).rank() == order->size()) g_.value(r).type.tensor.dim_order = *order;
        return;
      }
    }
    if (n.op->layout != LayoutRule::Any) make_contiguous(id);
  }

  // Elementwise kernels index operands of other sizes than the result's as if all were contiguous.
  bool broadcasts(const Node& n) const {
    if (n.op->promotes.size() < 2) return false;
    bool found = false;
    for (const Arg& a : n.args)
      for_each_value(
          a, [&](const ValueId& v) { found = found || (g_.type(v).is_tensor() && g_.tensor(v).sizes != g_.tensor(n.results[0]).sizes); });
    return found;
  }

  // The order of all tensor operands, when they agree and have the result's rank.
  std::optional<DimOrder> common_order(NodeId id) const {
    const Node& n = g_.node(id);
    const size_t rank = g_.tensor(n.results[0]).rank();
    std::optional<DimOrder> order;
    bool agree = !broadcasts(n);
    for (const Arg& a : n.args)
      for_each_value(a, [&](const ValueId& v) {
        if (!g_.type(v).is_tensor() || is_weight(v)) return;
        const TensorType& t = g_.tensor(v);
        if (t.rank() != rank || (order && *order != t.dim_order)) agree = false;
        order = t.dim_order;
      });
    if (!agree || !order || order->empty()) return std::nullopt;
    // Weights of the result's rank are written in the same order, others are contiguous.
    for (const Arg& a : n.args)
      for_each_value(a, [&](const ValueId& v) {
        if (is_weight(v) && !(g_.tensor(v).rank() == rank ? g_.tensor(v).dim_order == *order : g_.tensor(v).dim_order.empty()))
          agree = false;
      });
    return agree ? order : std::nullopt;
  }

  bool is_weight(ValueId v) const { return m_.constant_of(g_, v) != nullptr; }

  void make_contiguous(NodeId id) {
    for (size_t i = 0; i < g_.node(id).args.size(); ++i) {
      Arg a = g_.node(id).args[i];
      for_each_value(a, [&](ValueId& v) { v = in_order(v, {}, id, g_.node(id).loc); });
      g_.node(id).args[i] = std::move(a);
    }
  }

  ValueId in_order(ValueId v, const DimOrder& order, NodeId before, const Location& loc) {
    if (!g_.type(v).is_tensor() || g_.tensor(v).dim_order == order) return v;
    if (is_weight(v) && settled_.insert(v).second) {
      g_.value(v).type.tensor.dim_order = order;
      return v;
    }
    auto [it, fresh] = converted_.try_emplace({v, order});
    if (fresh) it->second = copy(v, g_.tensor(v).dtype, order, before, loc);
    return it->second;
  }

  ValueId copy(ValueId v, DType dtype, DimOrder order, NodeId before, const Location& loc) {
    const size_t rank = g_.tensor(v).rank();
    ArgList dims;
    for (size_t i = 0; i < rank; ++i) dims.push_back(static_cast<int64_t>(order.empty() ? i : order[i]));
    Builder b(g_, loc, before);
    NamedArgs named = {{"dim_order", dims}};
    if (dtype != g_.tensor(v).dtype) named.emplace_back("dtype", dtype);
    return b.call("dim_order_ops._to_dim_order_copy", {v}, named);
  }

  // clone, contiguous, _to_copy: a copy into the order that the memory format says.
  void visit_copy(NodeId id) {
    const Node n = g_.node(id);
    const Call c(g_, *n.op, n.args);
    const ValueId x = n.args[0].value();
    const ValueId y = copy(x, g_.tensor(n.results[0]).dtype, order_wanted(c, x), id, n.loc);
    rw_.replace_node(id, std::array{y});
  }

  DimOrder order_wanted(const Call& c, ValueId x) const {
    const auto* format = std::get_if<MemoryFormat>(&c.arg("memory_format").state);
    if (!format || *format == MemoryFormat::Preserve) return g_.tensor(x).dim_order;
    if (*format == MemoryFormat::Contiguous) return {};
    return channels_last_order(g_.tensor(x).rank());
  }

  Method& m_;
  Graph& g_;
  Rewriter rw_;
  std::unordered_set<ValueId> settled_;  // weights whose first use has decided their order
  std::map<std::pair<ValueId, DimOrder>, ValueId> converted_;
};

}  // namespace

Status dim_order(Program& p, PassContext&) {
  EDGEC_TRY_VOID(for_each_graph(p, [](Method& m, Graph& g) { return DimOrders(m, g).run(); }));
  p.stage = Stage::Edge;
  return {};
}

}  // namespace edgec::passes
