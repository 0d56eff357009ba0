#include "genai/stages.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace edgec::genai {
namespace {

bool is_stage(std::string_view stage) { return std::find(kAllStages.begin(), kAllStages.end(), stage) != kAllStages.end(); }

Status check_stage(std::string_view stage) {
  if (is_stage(stage)) return {};
  return usage_error(fmt::format("Unknown stage \"{}\"; the stages are {}", stage, fmt::join(kAllStages, ", ")));
}

template <class Stage, class S>
Status resolve(std::optional<Stage>& stage, std::string_view stage_name, const EngineProxy& proxy, const StrategyRegistry& registry,
               std::shared_ptr<S> StrategyRegistry::Entry::*strategy, const std::set<std::string>& skip) {
  if (skip.count(std::string(stage_name))) return {};
  const EngineType engine = proxy.engine(stage_name);
  const auto entry = registry.entries.find(engine);
  if (entry == registry.entries.end() || !(entry->second.*strategy))
    return usage_error(fmt::format("No {} strategy for engine {}", stage_name, name(engine)));
  stage.emplace(entry->second.*strategy);
  return {};
}

}  // namespace

std::string_view name(EngineType) { return "executorch"; }

Result<EngineProxy> EngineProxy::make(std::map<std::string, EngineType> stage_engines, std::string backend_type) {
  for (const auto& entry : stage_engines) EDGEC_TRY_VOID(check_stage(entry.first));
  return EngineProxy(std::move(stage_engines), std::move(backend_type));
}

EngineType EngineProxy::engine(std::string_view stage) const {
  const auto it = engines_.find(std::string(stage));
  return it == engines_.end() ? EngineType::Executorch : it->second;
}

Result<GenAIPipeline> GenAIPipeline::from_proxy(const EngineProxy& proxy, const StrategyRegistry& registry,
                                                const std::set<std::string>& skip_stages) {
  for (const std::string& stage : skip_stages) EDGEC_TRY_VOID(check_stage(stage));
  GenAIPipeline p(proxy.backend_type());
  using Entry = StrategyRegistry::Entry;
  EDGEC_TRY_VOID(resolve(p.preparation_, kModelPreparation, proxy, registry, &Entry::model_preparation, skip_stages));
  EDGEC_TRY_VOID(resolve(p.quantization_, kQuantization, proxy, registry, &Entry::quantization, skip_stages));
  EDGEC_TRY_VOID(resolve(p.compilation_, kCompilation, proxy, registry, &Entry::compilation, skip_stages));
  EDGEC_TRY_VOID(resolve(p.inference_, kInference, proxy, registry, &Entry::inference, skip_stages));
  return p;
}

PipelineResult<InferenceOutputConfig> GenAIPipeline::invoke(const PipelineContext& context) const {
  ModelPreparationOutputConfig prepared;
  if (preparation_) {
    ModelPreparationInputConfig in(context.model_name(), context.soc_model());
    in.extra_options = context.extra_options();
    EDGEC_TRY(prepared, preparation_->invoke(context, in));
  }
  QuantizationOutputConfig quantized;
  if (quantization_) {
    QuantizationInputConfig in(context.soc_model(), backend_type_);
    in.model_module = prepared.model_module;
    in.calibration_data = prepared.calibration_data;
    in.example_inputs = prepared.example_inputs;
    in.extra_options = context.extra_options();
    EDGEC_TRY(quantized, quantization_->invoke(context, in));
  }
  CompilationOutputConfig compiled;
  if (compilation_) {
    CompilationInputConfig in(context.soc_model(), backend_type_);
    in.model = quantized.quantized_model ? quantized.quantized_model : prepared.model_module;  // fp16 and GPU flows do not quantize
    in.artifact_dir = context.artifact_dir();
    in.example_inputs = prepared.example_inputs;
    EDGEC_TRY(compiled, compilation_->invoke(context, in));
  }
  InferenceOutputConfig result;
  if (inference_) {
    InferenceInputConfig in(context.soc_model());
    in.artifact_paths = compiled.artifact_paths;
    in.tokenizer = prepared.tokenizer;
    in.runtime_tokenizer_path = prepared.runtime_tokenizer_path;
    in.prompt = context.prompt();
    in.artifact_dir = context.artifact_dir();
    EDGEC_TRY(result, inference_->invoke(context, in));
  }
  return result;
}

std::vector<std::string_view> GenAIPipeline::stages() const {
  std::vector<std::string_view> out;
  if (preparation_) out.push_back(preparation_->name());
  if (quantization_) out.push_back(quantization_->name());
  if (compilation_) out.push_back(compilation_->name());
  if (inference_) out.push_back(inference_->name());
  return out;
}

}  // namespace edgec::genai
