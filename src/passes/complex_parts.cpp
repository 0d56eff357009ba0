#include <fmt/format.h>

#include <algorithm>

#include "ir/complex_number.h"
#include "passes/complex_rules.h"
#include "passes/registry.h"

// %z = aten.view_as_complex(%x) : c64[4, 3]      ->   %zr = aten.select.int(%x, -1, 0)   %zi = aten.select.int(%x, -1, 1)
// %y = aten.mul.Tensor(%z, %w) : c64[4, 3]            %yr = %zr * %wr - %zi * %wi        %yi = %zr * %wi + %zi * %wr
//
// Every complex value is followed by its parts. The parts of a complex weight are two views of its bytes, every second
// number each.
namespace edgec::passes {
namespace {

class Splitter {
 public:
  Splitter(Method& m, Graph& g, PassContext& cx) : m_(m), g_(g), cx_(cx), rw_(g) {}

  void run() {
    bool any = false;
    for (uint32_t i = 0; i < g_.value_count(); ++i) any = any || complex(ValueId(i));
    for (NodeId id = g_.first(); id && !any; id = g_.next(id)) {
      const Node& n = g_.node(id);
      any = transforms(n);
      for (size_t i = 0; i < n.args.size(); ++i) any = any || is_complex_number(n.op->schema().params[i], n.args[i]);
    }
    if (!any) return;
    for (ValueId in : g_.inputs)
      if (complex(in)) take_input(in);
    for (NodeId id : g_.nodes_in_order()) visit(id);
    rw_.finish();
    for (const Arg& a : g_.outputs)
      for_each_value(a, [&](const ValueId& v) {
        if (complex(v))
          cx_.diag.error(nullptr, "an output is complex, which the runtime does not take", "give torch.view_as_real of it out");
      });
  }

 private:
  bool complex(ValueId v) const { return g_.type(v).is_tensor() && is_complex(g_.tensor(v).dtype); }

  // Real tensors are transformed by way of complex numbers.
  static bool transforms(const Node& n) {
    const std::string& op = n.op->name();
    return op.starts_with("aten.fft_") || op.starts_with("aten._fft_") || op.starts_with("aten.stft") || op == "aten.istft";
  }

  void take_input(ValueId in) {
    const InputSpec* spec = m_.spec_of(in);
    const TensorData* data = m_.constant_of(g_, in);
    if (&g_ != m_.graph.get() || !spec || !spec->is_weight())
      return cx_.diag.error(nullptr, fmt::format("input \"{}\" is complex, which the runtime does not take", g_.value(in).name),
                            "pass its parts as one real tensor and join them in the model by torch.view_as_complex");
    if (!data || spec->mutated)
      return cx_.diag.error(nullptr, fmt::format("the complex buffer \"{}\" is written, which is not supported", spec->name),
                            "keep it as a real tensor (torch.view_as_real)");
    const TensorData whole = *data;
    const TensorType type = g_.tensor(in);
    const std::string name = spec->name;
    const auto part = [&](int64_t k, const char* suffix) {
      TensorData half = whole;
      half.dtype = part_of(whole.dtype);
      for (int64_t& s : half.strides) s *= 2;
      half.offset = whole.offset * 2 + k;
      const TensorType t{half.dtype, type.sizes, {}, {}};
      const ConstId made = m_.add_constant(name + suffix, std::move(half));
      const NodeId n = g_.add_node(&Registry::global().get("prim.constant"), {made}, {Type::of(t)}, nullptr, g_.first());
      return g_.node(n).results[0];
    };
    parts_[in] = {part(0, ".real"), part(1, ".imag")};
  }

  void visit(NodeId id) {
    rw_.refresh(id);
    const Node n = g_.node(id);  // a copy: the graph grows
    bool takes = false, gives = false;
    for (size_t i = 0; i < n.args.size(); ++i) {
      for_each_value(n.args[i], [&](const ValueId& v) { takes = takes || complex(v); });
      takes = takes || is_complex_number(n.op->schema().params[i], n.args[i]);
    }
    for (ValueId r : n.results) gives = gives || complex(r);
    const ComplexRule* rule = find_complex_rule(n.op->name());
    if (!takes && !gives && !(transforms(n) && rule)) return;
    Builder b(g_, n.loc, id);
    std::vector<Parts> made;
    if (rule && n.op->known) {
      const ComplexCall call{m_, b, Call(g_, *n.op, n.args), n, [&](ValueId v) { return parts(v); }};
      made = (*rule)(call);
    } else if (is_componentwise(n.op->name())) {
      made = by_component(b, n);
    } else {
      b.fail(fmt::format("operator {} is not supported on complex tensors", n.op->name()));
    }
    if (b.failed() || made.size() < n.results.size()) {
      cx_.diag.error(n.loc,
                     b.failed() ? b.status().failure().message : fmt::format("{} of complex tensors gives too few results", n.op->name()));
      return;
    }
    finish(b, id, n, made);
  }

  Parts parts(ValueId v) const {
    auto it = parts_.find(v);
    return it == parts_.end() ? Parts{v, {}} : it->second;
  }

  void finish(Builder& b, NodeId id, const Node& n, std::vector<Parts>& made) {
    for (size_t i = 0; i < n.results.size(); ++i) {
      const ValueId r = n.results[i];
      if (!complex(r)) {
        rw_.replace(r, b.cast(made[i].re, g_.tensor(r).dtype));
        continue;
      }
      const DType d = part_of(g_.tensor(r).dtype);
      const Dims sizes = g_.tensor(r).sizes;
      const auto fitted = [&](ValueId v) { return v ? b.expand(b.cast(v, d), sizes) : b.full(sizes, 0, d); };
      parts_[r] = {fitted(made[i].re), fitted(made[i].im)};
    }
    if (b.failed()) cx_.diag.error(n.loc, b.status().failure().message);
    for (ValueId r : n.results)
      if (complex(r)) return;  // stays until its users have gone: remove_dead_nodes
    g_.erase(id);
  }

  // The same call on each part. A number that goes in (a padding, a fill) has no imaginary part.
  std::vector<Parts> by_component(Builder& b, const Node& n) {
    std::vector<std::vector<ValueId>> sides;
    for (const bool imaginary : {false, true}) {
      std::vector<Arg> args = n.args;
      for (size_t i = 0; i < args.size(); ++i) {
        const Param& p = n.op->schema().params[i];
        for_each_value(args[i], [&](ValueId& v) {
          if (!g_.type(v).is_tensor()) return;
          const DType d = g_.tensor(v).dtype;
          if (is_complex(d) || (p.name == "tensors" && parts(v).im))
            v = imaginary ? parts(v).im : parts(v).re;
          else if (is_float(d) && (p.name == "tensors" || p.name == "self" || p.name == "other" || p.name == "src" || p.name == "source"))
            v = imaginary ? b.call("aten.zeros_like", {v}) : v;
        });
        if (imaginary && (p.name == "value" || p.name == "fill_value") && args[i].is_number()) args[i] = 0;
        if (auto* d = std::get_if<DType>(&args[i].state); d && is_complex(*d)) args[i] = part_of(*d);
      }
      sides.push_back(b.call_all(n.op->name(), std::move(args)));
    }
    std::vector<Parts> out;
    for (size_t i = 0; i < sides[0].size() && i < sides[1].size(); ++i) out.push_back({sides[0][i], sides[1][i]});
    return out;
  }

  Method& m_;
  Graph& g_;
  PassContext& cx_;
  Rewriter rw_;
  std::unordered_map<ValueId, Parts> parts_;
};

}  // namespace

Status complex_parts(Program& p, PassContext& cx) {
  EDGEC_TRY_VOID(for_each_graph(p, [&](Method& m, Graph& g) -> Status {
    Splitter(m, g, cx).run();
    EDGEC_TRY_VOID(outcome(cx));
    remove_dead_nodes(g);
    return {};
  }));
  return {};
}

}  // namespace edgec::passes
