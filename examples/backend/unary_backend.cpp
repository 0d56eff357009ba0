#include "unary_backend.h"

#include <edgec/op.h>

#include <algorithm>
#include <unordered_map>

// Chains of elementwise functions of one f32 tensor. The payload is one line a step: result, function, operand; 0 is the input.
namespace {

using namespace edgec;

constexpr std::pair<const char*, const char*> kFunctions[] = {{"aten.sin", "sin"}, {"aten.cos", "cos"}, {"aten.exp", "exp"}};

const char* function_of(const Node& n) {
  for (const auto& [op, name] : kFunctions)
    if (n.op->name() == op) return name;
  return nullptr;
}

class Unary final : public Backend {
 public:
  std::string id() const override { return "UnaryExample"; }
  std::string name() const override { return "unary"; }
  std::string summary() const override { return "sin, cos and exp of f32 tensors: the example of a backend from outside"; }
  Result<CompileSpecs> parse_options(std::span<const std::pair<std::string, std::string>> options) const override {
    if (!options.empty()) return usage_error("error: the backend unary takes no options");
    return CompileSpecs{};
  }

  std::optional<std::string> refuses(const Method&, const Graph& g, NodeId n, const CompileSpecs&) const override {
    if (!function_of(g.node(n))) return "it is none of sin, cos and exp";
    if (g.tensor(g.node(n).results[0]).dtype != DType::F32) return "it is not in f32";
    return std::nullopt;
  }

  Result<Payload> preprocess(const Method& region, const CompileSpecs&) const override {
    const Graph& g = *region.graph;
    std::unordered_map<ValueId, size_t> number;
    for (ValueId v : g.inputs) number[v] = number.size();
    std::string text = std::to_string(g.inputs.size()) + "\n";
    Payload payload;
    for (NodeId n = g.first(); n; n = g.next(n)) {
      const size_t result = number.size();
      text += std::to_string(result) + " " + function_of(g.node(n)) + " " + std::to_string(number.at(g.node(n).args[0].value())) + "\n";
      number[g.node(n).results[0]] = result;
      payload.debug_handles.push_back({static_cast<uint32_t>(result), {n}});
    }
    for (const Arg& a : g.outputs) text += "return " + std::to_string(number.at(a.value())) + "\n";
    std::transform(text.begin(), text.end(), std::back_inserter(payload.bytes), [](char c) { return static_cast<std::byte>(c); });
    return payload;
  }
};

}  // namespace

std::shared_ptr<const Backend> unary_backend() { return std::make_shared<Unary>(); }
