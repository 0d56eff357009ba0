#include <edgec/op.h>
#include <fmt/format.h>

#include <charconv>

#include "backends/registry.h"

// The compiler half of ExecuTorch's BackendWithCompilerDemo. The payload is a text of operators without operands: the delegate knows them
// by position, so a region is one sin, or a product with a sum behind it. Debug handles count the region's nodes from 1.
namespace edgec::backends {
namespace {

constexpr int64_t kLargest = 4;  // of max_value: the delegate refuses more

const char* const kPatterns[] = {
    "method @mm_add(%a: f32[2, 2], %x: f32[2, 2], %b: f32[2, 2]) {\n"
    "  %y = aten.mm(%a, %x) : f32[2, 2]\n"
    "  %z = aten.add.Tensor(%y, %b) : f32[2, 2]\n"
    "  return %z\n"
    "}\n",
    "method @sin(%x: f32[1]) {\n"
    "  %y = aten.sin(%x) : f32[1]\n"
    "  return %y\n"
    "}\n",
};

std::string torch_text(DType d) { return fmt::format("torch.{}", torch_name(d)); }

class Demo final : public Backend {
 public:
  std::string id() const override { return "BackendWithCompilerDemo"; }
  std::string name() const override { return "demo"; }
  std::string summary() const override {
    return "ExecuTorch's example backend: sin, and products of 2x2 matrices with a sum behind them, in f32; max_value=N up to 4";
  }

  // The first spec is read by the delegate as a 32-bit number, whatever its key.
  Result<CompileSpecs> parse_options(std::span<const std::pair<std::string, std::string>> options) const override {
    int64_t max_value = kLargest;
    for (const auto& [key, value] : options) {
      const auto [end, ec] = std::from_chars(value.data(), value.data() + value.size(), max_value);
      if (key != "max_value" || ec != std::errc() || end != value.data() + value.size() || max_value < 0 || max_value > kLargest)
        return usage_error(fmt::format("error: the backend demo takes max_value=N with N from 0 to {}, not {}={}", kLargest, key, value));
    }
    const char bytes[] = {static_cast<char>(max_value), 0, 0, 0};
    return CompileSpecs{compile_spec("max_value", std::string_view(bytes, sizeof bytes))};
  }

  BackendTraits traits(const CompileSpecs&) const override {
    BackendTraits t;
    t.dynamic_shapes = false;
    return t;
  }

  std::vector<std::string> patterns(const CompileSpecs&) const override { return {std::begin(kPatterns), std::end(kPatterns)}; }

  std::optional<std::string> refuses(const Method&, const Graph& g, NodeId n, const CompileSpecs&) const override {
    const Node& node = g.node(n);
    const std::string& op = node.op->name();
    if (op != "aten.sin" && op != "aten.mm" && op != "aten.add.Tensor") return "the demo compiler knows sin, mm and add";
    const TensorType& result = g.tensor(node.results[0]);
    for (const Arg& a : node.args)
      if (a.is_value() &&
          (g.tensor(a.value()).dtype != DType::F32 || g.tensor(a.value()).sizes != result.sizes || !result.dim_order.empty()))
        return "its operands are not contiguous f32 tensors of one shape";
    if (op != "aten.sin" && result.sizes != Dims{2, 2}) return "its delegate computes 2x2 matrices only";
    return std::nullopt;
  }

  Result<Payload> preprocess(const Method& region, const CompileSpecs&) const override {
    const Graph& g = *region.graph;
    for (const InputSpec& input : region.inputs)
      if (input.kind != InputSpec::Kind::UserInput) return model_error("weights cannot be part of the payload");
    std::string ops;
    Payload payload;
    for (NodeId n = g.first(); n; n = g.next(n)) {
      const auto handle = static_cast<uint32_t>(payload.debug_handles.size() + 1);
      payload.debug_handles.push_back({handle, {n}});
      const TensorType& t = g.tensor(g.node(n).results[0]);
      std::string name = g.node(n).op->name();
      if (g.node(n).op->schema().overload.empty()) name += ".default";
      ops += fmt::format("op:demo::{}, numel:{}, dtype:{}<debug_handle>{}#", name, *numel(t.sizes).constant(), torch_text(t.dtype), handle);
    }
    const std::string text = fmt::format("{}version:0#{}", payload.debug_handles.size(), ops);
    const auto bytes = std::as_bytes(std::span(text));
    payload.bytes.assign(bytes.begin(), bytes.end());
    return payload;
  }
};

}  // namespace

std::shared_ptr<const Backend> demo() { return std::make_shared<Demo>(); }

}  // namespace edgec::backends
