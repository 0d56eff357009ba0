#include <edgec/backend.h>

#include "backends/registry.h"
#include "backends/xnnpack/lowering.h"
#include "backends/xnnpack/write.h"

namespace edgec::xnnpack {
namespace {

class XnnpackBackend : public Backend {
 public:
  std::string id() const override { return "XnnpackBackend"; }
  std::string name() const override { return "xnnpack"; }
  std::string summary() const override { return "XNNPACK's CPU kernels: float32, float16, int8 and 4-bit weights"; }

  Result<CompileSpecs> parse_options(std::span<const std::pair<std::string, std::string>> options) const override {
    return specs_of(options);
  }

  BackendTraits traits(const CompileSpecs& specs) const override {
    BackendTraits t;
    t.sym_inside = true;  // what a node is told of sizes follows from its operands
    t.joins_independent = !options_of(specs).per_op;
    return t;
  }

  std::vector<std::string> keeps_whole(const CompileSpecs&) const override {
    return {"aten.layer_norm",
            "aten.rms_norm",
            "aten.group_norm",
            "aten.gelu",
            "aten.silu",
            "aten.mish",
            "aten.softplus",
            "aten.elu",
            "aten.hardswish",
            "aten.hardsigmoid",
            "aten.log_sigmoid",
            "aten.prelu",
            "aten.linear",
            "aten.matmul",
            "aten.scaled_dot_product_attention",
            "edgec.multi_head_attention",
            "aten.softmax.int",
            "aten.max_pool2d",
            "aten.adaptive_avg_pool2d",
            "aten.upsample_bilinear2d.vec",
            "quantized_decomposed.choose_qparams.tensor",
            "quantized_decomposed.choose_qparams_symmetric.tensor",
            "quantized_decomposed.choose_qparams_per_token_asymmetric",
            "quantized_decomposed.dequantize_per_channel_group",
            "torchao.choose_qparams_affine",
            "torchao.quantize_affine",
            "torchao.dequantize_affine"};
  }

  std::optional<std::string> refuses(const Method& m, const Graph& g, NodeId n, const CompileSpecs& specs) const override {
    const Options options = options_of(specs);
    return xnnpack::refuses(Site{m, g, n, options});
  }

  std::optional<std::string> refuses_region(const Method& m, const Graph& g, std::span<const NodeId> nodes,
                                            const CompileSpecs&) const override {
    return region_refused(m, g, nodes);
  }

  NodeMap<uint32_t> groups(const Method& m, const Graph& g, const CompileSpecs& specs) const override {
    return options_of(specs).per_op ? groups_per_operator(m, g) : NodeMap<uint32_t>();
  }

  Result<Payload> preprocess(const Method& region, const CompileSpecs& specs) const override {
    const Options options = options_of(specs);
    Lowering lowering(region, options);
    EDGEC_TRY_VOID(lowering.run());
    return write(lowering.net());
  }
};

}  // namespace

}  // namespace edgec::xnnpack

namespace edgec::backends {

std::shared_ptr<const Backend> xnnpack() { return std::make_shared<edgec::xnnpack::XnnpackBackend>(); }

}  // namespace edgec::backends
