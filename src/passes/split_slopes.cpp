#include <cmath>
#include "passes/registry.h"

#include <edgec/rewriter.h>

// %p = aten.gt.Scalar(%x, 0)
// %m = aten.mul.Tensor(%x, %w)
// %y = aten.where.self(%p, %x, %m)      prelu, %w a weight
// ->
// %n = aten.clamp(%x, none, 0)
// %m = aten.mul.Tensor(%n, %w)
// %r = aten.relu(%x)
// %y = aten.add.Tensor(%r, %m)
//
// One of the two summands is always 0, so that the result is the same number; the mask goes, and the other steps can reuse their operands'
// memory. Infinite or undefined slopes would turn that 0 into NaN.
namespace edgec::passes {
namespace {

constexpr int64_t kMaxSlopes = 1 << 16;  // looked at one by one

class Slopes {
 public:
  Slopes(const Method& m, Graph& g) : m_(m), g_(g), uses_(g.use_counts()) {}

  void run() {
    Rewriter rw(g_);
    for (NodeId id : g_.nodes_in_order()) {
      rw.refresh(id);
      const auto slope = slope_of(id);
      if (!slope) continue;
      const ValueId x = g_.node(id).args[1].value();
      Builder b(g_, g_.node(id).loc, id);
      const ValueId below = b.mul(b.call("aten.clamp", {x, Arg(), 0}), *slope);
      const ValueId y = b.add(b.call("aten.relu", {x}), below);
      if (b.failed()) continue;
      for (const ValueId made : {below, g_.node(g_.value(below).def).args[0].value(), y, g_.node(g_.value(y).def).args[0].value()})
        g_.value(made).type.tensor.dim_order = g_.tensor(x).dim_order;
      rw.replace_node(id, std::array{y});
    }
    rw.finish();
    remove_dead_nodes(g_);
  }

 private:
  const Node* maker(const Arg& a, std::string_view op) const {
    const NodeId def = a.is_value() ? g_.value(a.value()).def : NodeId{};
    return def && g_.node(def).op->name() == op && uses_[a.value().index] == 1 ? &g_.node(def) : nullptr;
  }

  // The slope below 0 of a node that is the last one of a prelu.
  std::optional<ValueId> slope_of(NodeId id) const {
    const Node& n = g_.node(id);
    if (n.op->name() != "aten.where.self" || !n.args[1].is_value()) return std::nullopt;
    const ValueId x = n.args[1].value();
    const TensorType& t = g_.tensor(n.results[0]);
    const Node *positive = maker(n.args[0], "aten.gt.Scalar"), *scaled = maker(n.args[2], "aten.mul.Tensor");
    if (!positive || !scaled || (t.dtype != DType::F32 && t.dtype != DType::F64) || g_.type(x) != g_.type(n.results[0]))
      return std::nullopt;
    const bool at_zero = positive->args[1] == Arg(0) || positive->args[1] == Arg(0.0);
    if (!at_zero || positive->args[0] != Arg(x) || scaled->args[0] != Arg(x) || !scaled->args[1].is_value()) return std::nullopt;
    const ValueId slope = scaled->args[1].value();
    if (g_.tensor(slope).dtype != t.dtype || !is_finite(slope)) return std::nullopt;
    return slope;
  }

  bool is_finite(ValueId v) const {
    const TensorData* data = m_.constant_of(g_, v);
    if (!data || data->numel() > kMaxSlopes) return false;
    const auto bytes = gather(*data);
    for (int64_t i = 0; i < data->numel(); ++i)
      if (!std::isfinite(read_element(bytes, data->dtype, i))) return false;
    return true;
  }

  const Method& m_;
  Graph& g_;
  const std::vector<uint32_t> uses_;
};

}  // namespace

Status split_slopes(Program& p, PassContext&) {
  for (auto& m : p.methods) Slopes(*m, *m->graph).run();
  return {};
}

}  // namespace edgec::passes
