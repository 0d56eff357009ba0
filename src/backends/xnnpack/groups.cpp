#include <numeric>

#include "backends/xnnpack/rows.h"

// Option per_op: which nodes belong to one operator.
namespace edgec::xnnpack {
namespace {

bool is_quantizing(const Node& n) {
  const std::string& op = n.op->name();
  return op.find("quantize") != std::string::npos || op.find("choose_qparams") != std::string::npos;
}

bool takes_range(const std::string& op) {
  return op == "aten.linear" || op == "aten.convolution" || op == "aten.addmm" || op == "aten.mm" || op == "aten.add.Tensor" ||
         op == "aten.sub.Tensor" || op == "aten.mul.Tensor";
}
bool is_range(const std::string& op) { return op == "aten.relu" || op == "aten.hardtanh"; }

class Groups {
 public:
  Groups(const Method& m, const Graph& g) : m_(m), g_(g), parent_(g.node_capacity()), users_(g.use_counts().size()) {
    std::iota(parent_.begin(), parent_.end(), 0u);
    for (NodeId n = g.first(); n; n = g.next(n))
      for (const Arg& a : g.node(n).args) for_each_value(a, [&](const ValueId& v) { users_[v.index].push_back(n); });
    for (const Arg& a : g.outputs) for_each_value(a, [&](const ValueId& v) { users_[v.index].emplace_back(); });
  }

  NodeMap<uint32_t> run() {
    for (NodeId n = g_.first(); n; n = g_.next(n)) {
      if (is_quantizing(g_.node(n))) continue;
      const bool quantized = join_operands(n);
      NodeId last = n;
      if (const NodeId user = only_user(n); user && takes_range(g_.node(n).op->name()) && is_range(g_.node(user).op->name())) {
        join(n, user);
        last = user;
      }
      if (const NodeId user = only_user(last); quantized && user && is_quantizing(g_.node(user))) join(n, user);
    }
    NodeMap<uint32_t> out;
    for (NodeId n = g_.first(); n; n = g_.next(n)) out[n] = find(n.index);
    return out;
  }

 private:
  // Dequantizes of operands, and all that chooses how they are quantized while the program runs.
  bool join_operands(NodeId n) {
    bool any = false;
    for (const Arg& a : g_.node(n).args)
      for_each_value(a, [&](const ValueId& v) {
        const NodeId def = g_.value(v).def;
        if (!def || !is_quantizing(g_.node(def))) return;
        join(n, def);
        any = true;
        if (is_chosen(def)) join_operands(def);
      });
    return any;
  }

  // Some scale is made at run time: the chain from the choice to the dequantize is the operator's own.
  bool is_chosen(NodeId n) const {
    bool chosen = false;
    const Node& node = g_.node(n);
    for (size_t i = 1; i < node.args.size(); ++i)
      for_each_value(node.args[i], [&](const ValueId& v) { chosen = chosen || !m_.constant_of(g_, v); });
    return chosen;
  }

  NodeId only_user(NodeId n) const {
    const auto& results = g_.node(n).results;
    return !results.empty() && users_[results[0].index].size() == 1 ? users_[results[0].index][0] : NodeId();
  }
  uint32_t find(uint32_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(NodeId a, NodeId b) { parent_[find(a.index)] = find(b.index); }

  const Method& m_;
  const Graph& g_;
  std::vector<uint32_t> parent_;
  std::vector<std::vector<NodeId>> users_;
};

}  // namespace

NodeMap<uint32_t> groups_per_operator(const Method& m, const Graph& g) { return Groups(m, g).run(); }

}  // namespace edgec::xnnpack
