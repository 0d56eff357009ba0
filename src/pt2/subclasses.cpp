#include "pt2/subclasses.h"

#include <fmt/format.h>

#include <algorithm>

namespace edgec::pt2 {

namespace {
constexpr std::string_view kAccess = "torch.ops.export.access_subclass_inner_tensor.default";
}

std::optional<std::string_view> weight_of_spec(JsonValue spec) {
  for (std::string_view kind : {"parameter", "buffer", "tensor_constant"}) {
    auto v = spec.find(kind);
    if (!v) continue;
    auto name = v->string(std::string(kind) + "_name");
    if (name) return *name;
  }
  return std::nullopt;
}

Result<Subclasses> Subclasses::resolve(JsonValue graph, JsonValue signature, const Weights& weights, Method& method) {
  Subclasses s;
  EDGEC_TRY_VOID(s.find_roots(graph, signature, weights));
  if (s.parts_.empty()) return s;
  EDGEC_TRY(JsonArray nodes, graph.array("nodes"));
  for (JsonValue node : nodes) {
    EDGEC_TRY(std::string_view target, node.string("target"));
    if (target == kAccess) EDGEC_TRY_VOID(s.take_out(node, method));
  }
  return s;
}

// Graph inputs and input specs run in parallel.
Status Subclasses::find_roots(JsonValue graph, JsonValue signature, const Weights& weights) {
  EDGEC_TRY(JsonArray inputs, graph.array("inputs"));
  EDGEC_TRY(JsonArray specs, signature.array("input_specs"));
  if (specs.size() != inputs.size())
    return specs.value().error(fmt::format("{} input specs for {} graph inputs", specs.size(), inputs.size()));
  auto spec = specs.begin();
  for (JsonValue input : inputs) {
    const auto name = weight_of_spec(*spec);
    ++spec;
    if (!name) continue;
    const Weights::Weight* w = weights.find(*name);
    if (!w || !w->is_subclass()) continue;
    EDGEC_TRY(JsonValue tensor, input.at("as_tensor"));
    EDGEC_TRY(std::string_view arg, tensor.string("name"));
    if (!parts_.try_emplace(arg, Part{w->file, *w->pickled, arg, std::string(*name), std::string(arg)}).second)
      return input.error(fmt::format("value \"{}\" is defined twice", arg));
    inner_[arg];
  }
  return {};
}

Status Subclasses::take_out(JsonValue node, Method& method) {
  EDGEC_TRY(JsonArray inputs, node.array("inputs"));
  EDGEC_TRY(JsonArray outputs, node.array("outputs"));
  if (inputs.size() != 2 || outputs.size() != 1) return node.error("expected two inputs and one output");
  auto input = inputs.begin();
  EDGEC_TRY(JsonValue from, (*input).at("arg", "as_tensor"));
  EDGEC_TRY(std::string_view source, from.string("name"));
  ++input;
  EDGEC_TRY(JsonValue held, (*input).at("arg", "as_string"));
  EDGEC_TRY(std::string_view attribute, held.as_string());
  EDGEC_TRY(JsonValue output, (*outputs.begin()).at("as_tensor"));
  EDGEC_TRY(std::string_view result, output.string("name"));

  auto at = parts_.find(source);
  if (at == parts_.end()) return node.error(fmt::format("\"{}\" is no tensor subclass of the archive", source));
  if (parts_.contains(result) || resolved_.contains(result)) return node.error(fmt::format("value \"{}\" is defined twice", result));
  const Part& part = at->second;
  auto value = TorchFile::attribute(part.value, attribute);
  if (!value)
    return node.error(fmt::format("{} of class {} has no attribute \"{}\"", part.weight, TorchFile::class_of(part.value), attribute));
  std::string weight = fmt::format("{}.{}", part.weight, attribute), name = fmt::format("{}_{}", part.input, attribute);
  switch (TorchFile::kind_of(*value)) {
    case TorchFile::Kind::Subclass:
      parts_.emplace(result, Part{part.file, *value, part.root, std::move(weight), std::move(name)});
      return {};
    case TorchFile::Kind::Other:
      return node.error(fmt::format("attribute \"{}\" of {} is {}, not a tensor", attribute, part.weight, name_of(value->kind())));
    case TorchFile::Kind::Tensor:
      break;
  }
  auto& list = inner_[part.root];
  auto same = std::ranges::find(list, weight, &Inner::weight);
  if (same == list.end()) {
    EDGEC_TRY(TensorData data, part.file->tensor(*value));
    const ConstId id = method.add_constant(weight, std::move(data));
    list.push_back({std::move(name), std::move(weight), id, {}});
    same = list.end() - 1;
  }
  same->values.push_back(result);
  resolved_.insert(result);
  return {};
}

const std::vector<Subclasses::Inner>* Subclasses::inner(std::string_view graph_input) const {
  auto it = inner_.find(graph_input);
  return it == inner_.end() ? nullptr : &it->second;
}

std::optional<std::string> Subclasses::whole(std::string_view value) const {
  auto it = parts_.find(value);
  if (it == parts_.end()) return std::nullopt;
  return fmt::format("{} ({})", it->second.weight, TorchFile::class_of(it->second.value));
}

}  // namespace edgec::pt2
