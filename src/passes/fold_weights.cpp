#include "passes/registry.h"
#include "passes/weights.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include <edgec/rewriter.h>

// %f = aten._to_copy(%q, dtype=f32) : f32[8, 16]       %f = prim.constant(#2) : f32[8, 16]
// %w = aten.mul.Tensor(%f, %scales) : f32[8, 16]   ->    %w = prim.constant(#3) : f32[8, 16]
// %y = aten.linear(%x, %w)                               %y = aten.linear(%x, %w)
//
// Weights that are dequantized or scaled at run time are computed ahead of time, by sums and products in f32 as the kernels make them:
// they need no memory then. The program may grow by a limit (PassContext::weight_growth); integers of 8 bits become four times as large.
// Backends have taken what they want before: they know quantized weights.
namespace edgec::passes {
namespace {

constexpr int64_t kMaxBytes = 64ll << 20;        // of one weight
constexpr int64_t kMaxExactInteger = 1ll << 24;  // as f32

using Floats = std::vector<float>;

// Numbers of a weight, when f32 has all of them.
std::optional<Floats> floats_of(const TensorData& x) {
  if (x.nbytes() > kMaxBytes || is_complex(x.dtype) || (is_float(x.dtype) && x.dtype != DType::F32)) return std::nullopt;
  const auto bytes = gather(x);
  Floats out;
  for (int64_t i = 0; i < x.numel(); ++i) {
    if (is_float(x.dtype)) {
      out.push_back(static_cast<float>(read_element(bytes, x.dtype, i)));
      continue;
    }
    const int64_t n = read_integer(bytes, x.dtype, i);
    if (n > kMaxExactInteger || n < -kMaxExactInteger) return std::nullopt;
    out.push_back(static_cast<float>(n));
  }
  return out;
}

class Folder {
 public:
  Folder(Method& m, Graph& g, int64_t growth) : m_(m), g_(g), growth_(growth) {
    const auto counts = g.use_counts();
    for (uint32_t v = 0; v < counts.size(); ++v) uses_[ValueId(v)] = counts[v];
  }

  std::optional<TensorData> folded(const Node& n) {
    if (n.results.size() != 1 || n.args.empty() || !n.args[0].is_value() || !g_.type(n.results[0]).is_tensor()) return std::nullopt;
    const TensorType& t = g_.tensor(n.results[0]);
    const TensorData* x = m_.constant_of(g_, n.args[0].value());
    const auto sizes = static_sizes(t);
    const auto bytes = upper_bound_bytes(t);
    if (!x || !sizes || t.dtype != DType::F32 || !std::is_sorted(t.dim_order.begin(), t.dim_order.end()) || !bytes || *bytes > kMaxBytes)
      return std::nullopt;
    const int64_t more = *bytes - (uses_.at(n.args[0].value()) == 1 ? x->nbytes() : 0);  // a weight of one use goes
    if (more > growth_) return std::nullopt;
    auto made = computed(n, *x, *sizes);
    if (made) growth_ -= more;
    return made;
  }
  // `by` stands for `old` from now on.
  void replaced(ValueId old, ValueId by) { uses_[by] = uses_.at(old); }

 private:
  std::optional<TensorData> computed(const Node& n, const TensorData& x, const std::vector<int64_t>& sizes) const {
    const std::string& op = n.op->name();
    if (op == "aten.mul.Tensor" || op == "aten.sub.Tensor" || op == "aten.add.Tensor") {
      const auto arithmetic = arithmetic_of_weights(m_, g_, n);
      return arithmetic ? std::optional(arithmetic->compute()) : std::nullopt;
    }
    const Call c(g_, *n.op, n.args);
    std::optional<Floats> made;
    if (op == "dim_order_ops._to_dim_order_copy" || op == "aten._to_copy" || op == "aten.view") made = floats_of(x);
    if (op == "quantized_decomposed.dequantize_per_tensor") made = dequantized(c, x);
    if (op == "quantized_decomposed.dequantize_per_channel") made = dequantized_by_channel(c, x, sizes);
    return made ? std::optional(make_tensor_data(DType::F32, sizes, *made)) : std::nullopt;
  }

  // The kernel takes the zero point from the integer, both exact in f32 here, and multiplies by the scale in f32.
  std::optional<Floats> dequantized(const Call& c, const TensorData& x) const {
    auto out = is_float(x.dtype) ? std::nullopt : floats_of(x);
    const double zero = c.number("zero_point");
    if (!out || !(std::abs(zero) <= kMaxExactInteger / 2)) return std::nullopt;
    const auto scale = static_cast<float>(c.number("scale"));
    for (float& f : *out) f = (f - static_cast<float>(zero)) * scale;
    return out;
  }

  std::optional<Floats> dequantized_by_channel(const Call& c, const TensorData& x, const std::vector<int64_t>& sizes) const {
    auto out = is_float(x.dtype) ? std::nullopt : floats_of(x);
    const auto axis = c.axis("axis", sizes.size());
    const TensorData* scales = m_.constant_of(g_, c.value("scales"));
    const bool has_zeros = c.has("zero_points");
    const TensorData* zeros = has_zeros ? m_.constant_of(g_, c.value("zero_points")) : nullptr;
    if (!out || !axis || sizes.empty() || !scales || (has_zeros && !zeros) || !is_float(scales->dtype)) return std::nullopt;
    const int64_t channels = sizes[*axis];
    if (scales->numel() != channels || (zeros && zeros->numel() != channels)) return std::nullopt;
    const auto scale_bytes = gather(*scales), zero_bytes = zeros ? gather(*zeros) : std::vector<std::byte>();
    const int64_t inner = contiguous_strides(sizes)[*axis];
    for (size_t i = 0; i < out->size(); ++i) {
      const int64_t k = static_cast<int64_t>(i) / inner % channels;
      const double zero = !zeros                   ? 0
                          : is_float(zeros->dtype) ? read_element(zero_bytes, zeros->dtype, k)
                                                   : static_cast<double>(read_integer(zero_bytes, zeros->dtype, k));
      (*out)[i] = ((*out)[i] - static_cast<float>(zero)) * static_cast<float>(read_element(scale_bytes, scales->dtype, k));
    }
    return out;
  }

  Method& m_;
  Graph& g_;
  std::unordered_map<ValueId, uint32_t> uses_;
  int64_t growth_;  // bytes that may still be added to the method's weights
};

}  // namespace

Status fold_weights(Program& p, PassContext& cx) {
  for (auto& m : p.methods) {
    Graph& g = *m->graph;
    Folder folder(*m, g, cx.weight_growth);
    Rewriter rw(g);
    for (NodeId id : g.nodes_in_order()) {
      rw.refresh(id);
      auto data = folder.folded(g.node(id));
      if (!data) continue;
      const ValueId old = g.node(id).results[0];
      folder.replaced(old, replace_by_constant(*m, g, rw, id, *std::move(data)));
    }
    rw.finish();
  }
  return {};
}

}  // namespace edgec::passes
