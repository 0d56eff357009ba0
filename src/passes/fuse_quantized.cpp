#include <edgec/rewriter.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "passes/registry.h"
#include "passes/wide_unsigned.h"

// %x = quantized_decomposed.dequantize_per_tensor(%q, 0.5, 3, -128, 127, i8)
// %v = aten.view(%x, [6])
// %r = quantized_decomposed.quantize_per_tensor(%v, 0.5, 3, -128, 127, i8)   ->   %r = aten.view(%q, [6])
//
// Quantizing what was just dequantized with the same parameters gives the integers back, since they are within the range; what only moves
// data in between moves the integers instead.
namespace edgec::passes {
namespace {

constexpr std::string_view kPrefix = "quantized_decomposed.";

bool is_quantize(const OpDef& op) { return op.name().starts_with(std::string(kPrefix) + "quantize_per_"); }

bool moves_data(const OpDef& op) {
  constexpr std::array<std::string_view, 9> kMoves = {"aten.view",  "aten.permute", "aten.slice.Tensor", "aten.select.int",  "aten.expand",
                                                      "aten.clone", "aten.flip",    "aten.unsqueeze",    "aten.squeeze.dims"};
  return std::find(kMoves.begin(), kMoves.end(), op.name()) != kMoves.end();
}

std::pair<double, double> limits(DType d) {
  const double bits = 8.0 * static_cast<double>(size_of(d)), span = std::exp2(bits);
  return is_signed(d) ? std::pair(-span / 2, span / 2 - 1) : std::pair(0.0, span - 1);
}

class Fusion {
 public:
  explicit Fusion(Graph& g) : g_(g), rw_(g), uses_(g.use_counts()) {}

  void run() {
    for (NodeId id : g_.nodes_in_order()) {
      rw_.refresh(id);
      if (is_quantize(*g_.node(id).op)) visit(id);
    }
    rw_.finish();
  }

 private:
  void visit(NodeId id) {
    const Node n = g_.node(id);
    if (!n.args[0].is_value()) return;
    std::vector<NodeId> moves;  // from the last to the first
    NodeId def = g_.value(n.args[0].value()).def;
    const bool per_tensor = n.op->name() == std::string(kPrefix) + "quantize_per_tensor";
    for (; def && per_tensor && moves_data(*g_.node(def).op) && uses_[g_.node(def).results[0].index] == 1;
         def = g_.value(g_.node(def).args[0].value()).def)
      moves.push_back(def);
    if (!def || !undoes(n, g_.node(def))) return;
    if (is_wide_unsigned(g_.tensor(n.results[0]).dtype))
      for (NodeId move : moves)
        if (!takes_wide_unsigned(*g_.node(move).op)) return;
    ValueId q = g_.node(def).args[0].value();
    Builder b(g_, n.loc, id);
    for (auto move = moves.rbegin(); move != moves.rend() && !b.failed(); ++move) {
      std::vector<Arg> args = g_.node(*move).args;
      args[0] = q;
      q = b.call(g_.node(*move).op->name(), std::move(args));
    }
    if (!b.failed()) rw_.replace_node(id, std::array{q});
  }

  // Whether quantizing gives back what `other` dequantizes.
  bool undoes(const Node& quantize, const Node& other) const {
    const std::string wanted = std::string(kPrefix) + "de" + quantize.op->name().substr(kPrefix.size());
    if (other.op->name() != wanted || !other.args[0].is_value()) return false;
    const Call to(g_, *quantize.op, quantize.args), from(g_, *other.op, other.args);
    for (const Param& p : quantize.op->schema().params)
      if (p.name != "input" &&
          (!from.op().schema().params.empty() && from.op().schema().find(p.name) >= 0 ? from.arg(p.name) != to.arg(p.name) : true))
        return false;
    const DType dtype = g_.tensor(other.args[0].value()).dtype;
    const auto [low, high] = limits(dtype);
    if (dtype != g_.tensor(quantize.results[0]).dtype) return false;
    if (to.number("quant_min") <= low && to.number("quant_max") >= high) return true;
    // A narrower range: only when the integers came from quantizing with it.
    const NodeId def = g_.value(other.args[0].value()).def;
    if (!def || !is_quantize(*g_.node(def).op)) return false;
    const Call made(g_, *g_.node(def).op, g_.node(def).args);
    return made.arg("quant_min") == to.arg("quant_min") && made.arg("quant_max") == to.arg("quant_max");
  }

  Graph& g_;
  Rewriter rw_;
  std::vector<uint32_t> uses_;
};

}  // namespace

Status fuse_quantized(Program& p, PassContext&) {
  return for_each_graph(p, [](Method&, Graph& g) -> Status {
    Fusion(g).run();
    remove_dead_nodes(g);
    return {};
  });
}

}  // namespace edgec::passes
