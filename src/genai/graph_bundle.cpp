#include "genai/graph_bundle.h"

#include <fmt/format.h>

#include "pipeline/pipeline.h"

namespace edgec::genai {
namespace {

Result<std::vector<TensorType>> signature_of(const Method& m) {
  std::vector<TensorType> out;
  for (size_t i = 0; i < m.inputs.size(); ++i) {
    if (m.inputs[i].kind != InputSpec::Kind::UserInput) continue;
    const Type& type = m.graph->type(m.graph->inputs[i]);
    if (!type.is_tensor()) return usage_error(fmt::format("input \"{}\" of a graph is no tensor", m.inputs[i].name));
    if (!type.tensor.is_static())
      return usage_error(fmt::format("input \"{}\" is {}: deployed graphs have static sizes", m.inputs[i].name, str(type.tensor)));
    out.push_back(type.tensor);
  }
  return out;
}

Status check_inputs(const std::vector<TensorType>& given, const std::vector<TensorType>& wanted) {
  if (given.size() != wanted.size())
    return usage_error(fmt::format("the graph takes {} inputs, {} are given", wanted.size(), given.size()));
  for (size_t i = 0; i < given.size(); ++i)
    if (given[i].dtype != wanted[i].dtype || given[i].sizes != wanted[i].sizes)
      return usage_error(fmt::format("input {} of the graph is {}, {} is given", i, str(wanted[i]), str(given[i])));
  return {};
}

}  // namespace

Result<Module> load_module(const std::string& pt2) {
  std::vector<pipeline::Timing> timings;
  EDGEC_TRY(auto program, pipeline::load({{std::string(name(GraphName::Forward)), pt2}}, timings));
  return Module(std::move(program));
}

Result<QuantIoDtypes> quant_io_dtypes(const std::map<std::string, DType>& by_key) {
  QuantIoDtypes out;
  bool kv = false, io = false;
  for (const auto& [key, dtype] : by_key) {
    if (key == "kv_type")
      kv = true, out.kv_type = dtype;
    else if (key == "io_type")
      io = true, out.io_type = dtype;
    else
      return usage_error(fmt::format("quant_io_dtypes has the key \"{}\"; the keys are kv_type and io_type", key));
  }
  if (!kv || !io)
    return usage_error(fmt::format("quant_io_dtypes lacks {}: kv_type and io_type go together", kv   ? "io_type"
                                                                                                : io ? "kv_type"
                                                                                                     : "kv_type and io_type"));
  return out;
}

Result<QuantIoDtypes> quant_io_dtypes(std::optional<int> kv_bits, std::optional<int> logits_bits) {
  QuantIoDtypes out;
  if (kv_bits) {
    if (*kv_bits != 8 && *kv_bits != 16) return model_error(fmt::format("a KV cache of {} bits: 8 and 16 are known", *kv_bits));
    out.kv_type = *kv_bits == 8 ? DType::U8 : DType::U16;
  }
  if (logits_bits) {
    if (*logits_bits != 16) return model_error(fmt::format("logits of {} bits: 16 is known", *logits_bits));
    out.io_type = DType::U16;
  }
  return out;
}

Result<GraphBundle> GraphBundle::make(GraphBundleFields fields) {
  if (!fields.module || fields.module->methods.size() != 1) return usage_error("a graph bundle wants a module with one method");
  EDGEC_TRY(std::vector<TensorType> signature, signature_of(*fields.module->methods[0]));
  if (fields.inputs) EDGEC_TRY_VOID(check_inputs(*fields.inputs, signature));
  fields.inputs = std::move(signature);
  std::optional<QuantIoDtypes> quant_io;
  if (!fields.quant_io_dtypes.empty()) {
    EDGEC_TRY(quant_io, genai::quant_io_dtypes(fields.quant_io_dtypes));
  }
  return GraphBundle(std::move(fields), std::move(quant_io));
}

}  // namespace edgec::genai
