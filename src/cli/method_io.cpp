#include "cli/method_io.h"

#include <algorithm>
#include <optional>

#include "support/json.h"

namespace edgec::cli {
namespace {

// Leaves of a pytree: nodes whose type is null.
Result<size_t> leaves_of(JsonValue node) {
  EDGEC_TRY(const JsonValue type, node.at("type"));
  if (type.is_null()) return size_t{1};
  EDGEC_TRY(const JsonArray children, node.array("children_spec"));
  size_t sum = 0;
  for (const JsonValue child : children) {
    EDGEC_TRY(const size_t leaves, leaves_of(child));
    sum += leaves;
  }
  return sum;
}

// The spec is [1, {"type": ..., "context": ..., "children_spec": [...]}].
std::optional<size_t> leaves_of_spec(const std::string& spec) {
  const auto document = JsonDocument::parse(spec, "out_spec");
  if (!document) return std::nullopt;
  const auto parts = document->root().as_array();
  if (!parts || parts->size() != 2) return std::nullopt;
  const auto leaves = leaves_of(*++parts->begin());
  return leaves ? std::optional(*leaves) : std::nullopt;
}

}  // namespace

runtime::MethodIO method_io(const pte::Plan& plan) {
  runtime::MethodIO io;
  const auto leaves = leaves_of_spec(plan.out_spec);
  if (!leaves || *leaves > plan.outputs.size()) return io;
  for (size_t i = 0; i + *leaves < plan.outputs.size(); ++i) {
    const auto input = std::ranges::find(plan.inputs, plan.outputs[i]);
    // Programs of other compilers may copy instead; then the input's name is not known.
    io.mutated_inputs.push_back(input == plan.inputs.end() ? "output" + std::to_string(i) : std::to_string(input - plan.inputs.begin()));
  }
  return io;
}

}  // namespace edgec::cli
