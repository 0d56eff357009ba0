#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "pt2/weights.h"
#include "support/json.h"

namespace edgec::pt2 {

// Weights that are tensor subclasses. The graph takes them apart:
//
//   %q = export.access_subclass_inner_tensor(%p_0_weight, "qdata")
//
// Here each tensor that is taken out becomes a weight of its own, "0.weight.qdata", with an input at the place of the
// subclass; the node goes. Attributes may be subclasses again ("0.weight.inner.qdata").
class Subclasses {
 public:
  struct Inner {
    std::string input;   // name for the graph input: p_0_weight_qdata
    std::string weight;  // fully qualified name
    ConstId data;
    std::vector<std::string_view> values;  // what the graph calls it
  };

  static Result<Subclasses> resolve(JsonValue graph, JsonValue signature, const Weights& weights, Method& method);

  // What is taken out of a graph input, in the order of first use; null for inputs that are no subclass.
  const std::vector<Inner>* inner(std::string_view graph_input) const;
  // Does an input stand for this value, so that the node that makes it is not needed?
  bool resolved(std::string_view value) const { return resolved_.contains(value); }
  // For values that are a subclass as a whole: "0.weight (torchao.quantization.Int8Tensor)".
  std::optional<std::string> whole(std::string_view value) const;

 private:
  // A value of the graph that is a subclass.
  struct Part {
    std::shared_ptr<TorchFile> file;
    PickleValue value;
    std::string_view root;  // the graph input that it comes from
    std::string weight, input;
  };
  Status find_roots(JsonValue graph, JsonValue signature, const Weights& weights);
  Status take_out(JsonValue node, Method& method);

  std::unordered_map<std::string_view, Part> parts_;
  std::unordered_map<std::string_view, std::vector<Inner>> inner_;
  std::unordered_set<std::string_view> resolved_;
};

// The weight that an input spec names: {"parameter": {"parameter_name": ...}} and so on; empty for other specs.
std::optional<std::string_view> weight_of_spec(JsonValue spec);

}  // namespace edgec::pt2
