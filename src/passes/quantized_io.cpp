#include <fmt/format.h>

#include <array>
#include <optional>

#include <edgec/rewriter.h>
#include "passes/registry.h"

// method forward(%x : f32[4])                                                   method forward(%x : i8[4])
//   %q = quantized_decomposed.quantize_per_tensor(%x, 0.5, 3, -128, 127, i8)  ->
//   ...                                                                           ...
//   %y = quantized_decomposed.dequantize_per_tensor(%p, 0.1, 0, ...)
//   return %y                                                                     return %p
//
// The caller quantizes and dequantizes: constant methods tell the parameters by the names that ExecuTorch gives them
// (forward_input0_scale, _zp, _quant_min, _quant_max, _dtype).
namespace edgec::passes {
namespace {

constexpr std::array<std::string_view, 5> kKeys = {"scale", "zp", "quant_min", "quant_max", "dtype"};

class Border {
 public:
  Border(Program& p, Method& m, PassContext& cx) : p_(p), m_(m), g_(*m.graph), cx_(cx) {}

  void run() {
    Rewriter rw(g_);
    size_t user_input = 0;
    for (size_t i = 0; i < m_.inputs.size(); ++i) {
      if (m_.inputs[i].is_weight()) continue;
      const size_t index = user_input++;
      if (m_.inputs[i].kind == InputSpec::Kind::UserInput && !m_.inputs[i].mutated) input(rw, g_.inputs[i], index);
    }
    for (NodeId id : g_.nodes_in_order()) rw.refresh(id);
    rw.finish();
    size_t user_output = 0;
    for (size_t i = 0; i < m_.outputs.size(); ++i)
      if (m_.outputs[i].kind == OutputSpec::Kind::UserOutput) output(g_.outputs[i], user_output++);
    if (!changed_)
      cx_.diag.warning(
          nullptr,
          fmt::format("method {}: no input goes straight into a quantize, and no output comes straight from a dequantize", m_.name));
  }

 private:
  // All uses must quantize with one set of parameters.
  void input(Rewriter& rw, ValueId x, size_t index) {
    std::vector<NodeId> quantizes;
    for (NodeId n = g_.first(); n; n = g_.next(n)) {
      bool uses = false;
      for (const Arg& a : g_.node(n).args) for_each_value(a, [&](ValueId v) { uses = uses || v == x; });
      if (!uses) continue;
      if (g_.node(n).op->name() != "quantized_decomposed.quantize_per_tensor") return;
      quantizes.push_back(n);
    }
    for (const Arg& a : g_.outputs) {
      bool uses = false;
      for_each_value(a, [&](ValueId v) { uses = uses || v == x; });
      if (uses) return;
    }
    if (quantizes.empty()) return;
    const std::vector<Arg> args = g_.node(quantizes[0]).args;
    for (NodeId n : quantizes)
      if (!std::equal(args.begin() + 1, args.end(), g_.node(n).args.begin() + 1)) return;
    declare("input", index, args);
    g_.value(x).type.tensor.dtype = g_.tensor(g_.node(quantizes[0]).results[0]).dtype;
    for (NodeId n : quantizes) rw.replace_node(n, std::array{x});
  }

  void output(Arg& out, size_t index) {
    const NodeId def = out.is_value() ? g_.value(out.value()).def : NodeId();
    if (!def || g_.node(def).op->name() != "quantized_decomposed.dequantize_per_tensor") return;
    declare("output", index, g_.node(def).args);
    out = g_.node(def).args[0];
  }

  void declare(std::string_view port, size_t index, const std::vector<Arg>& args) {
    changed_ = true;
    for (size_t k = 0; k < kKeys.size(); ++k) {
      Arg value = args[k + 1];
      if (auto* dtype = std::get_if<DType>(&value.state)) value = int64_t{c10_number(*dtype)};
      if (kKeys[k] == "scale" && value.is_expr()) value = static_cast<double>(*value.expr().constant());
      std::string name = fmt::format("{}_{}{}_{}", m_.name, port, index, kKeys[k]);
      for (const ConstantMethod& c : p_.constant_methods)
        if (c.name == name)
          return cx_.diag.error(nullptr, fmt::format("there is a constant method {} already, which quantized I/O needs", name));
      p_.constant_methods.push_back({std::move(name), {value}});
    }
  }

  Program& p_;
  Method& m_;
  Graph& g_;
  PassContext& cx_;
  bool changed_ = false;
};

}  // namespace

Status quantized_io(Program& p, PassContext& cx) {
  if (!cx.quantized_io) return {};
  for (auto& m : p.methods) {
    Border(p, *m, cx).run();
    remove_dead_nodes(*m->graph);
  }
  return outcome(cx);
}

}  // namespace edgec::passes
