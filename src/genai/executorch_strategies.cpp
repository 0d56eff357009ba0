#include "genai/executorch_strategies.h"

#include <fmt/format.h>

#include "genai/errors.h"

namespace edgec::genai {
namespace {

TypedFailure missing(std::string_view stage, const char* what) {
  return failure_of(StageError(std::string(stage), fmt::format("{} is missing", what)));
}

template <class T>
PipelineResult<T> with_stage(std::string_view stage, Result<T> result) {
  if (!result) return as_stage_error(std::string(stage), fmt::format("{} failed", stage), result.failure());
  return result;
}

Result<ModelPreparationOutputConfig> prepare(ModelLoaderAdapter& adapter, const ModelPreparationInputConfig& input) {
  ModelPreparationOutputConfig out;
  EDGEC_TRY(out.model_module, adapter.load_model(input.model_name, input.extra_options));
  EDGEC_TRY(out.tokenizer, adapter.load_tokenizer(input.model_name, input.extra_options));
  if (const auto* path = std::any_cast<std::string>(&out.tokenizer)) out.runtime_tokenizer_path = *path;
  if (const auto* module = std::get_if<Module>(&*out.model_module)) {
    EDGEC_TRY(const GraphBundle bundle, GraphBundle::make({*module}));
    out.example_inputs = bundle.inputs();
  }
  return out;
}

Result<QuantizationOutputConfig> quantize(QuantizerAdapter& adapter, const QuantizationInputConfig& input) {
  EDGEC_TRY(const std::any quantizer, adapter.make_quantizer(input.soc_model, input.backend_type, input.quant_recipe));
  EDGEC_TRY(CallableModelPtr model, adapter.export_model(*input.model_module));
  EDGEC_TRY(model, adapter.prepare_pt2e(std::move(model), quantizer));
  if (input.calibration_data.has_value()) {
    EDGEC_TRY(model, QuantizerAdapter::calibrate(std::move(model), input.calibration_data));
  }
  QuantizationOutputConfig out;
  EDGEC_TRY(out.quantized_model, adapter.convert_pt2e(std::move(model)));
  return out;
}

Result<InferenceOutputConfig> infer(DeviceRunnerAdapter& adapter, const InferenceInputConfig& input) {
  EDGEC_TRY_VOID(adapter.push_artifacts(*input.artifact_paths));
  ExecuteOptions options;
  if (const auto* index = option<int>(input.inference_options, "method_index")) options.method_index = static_cast<size_t>(*index);
  if (const auto* n = option<int>(input.inference_options, "iteration")) options.iteration = static_cast<size_t>(*n);
  EDGEC_TRY(InferenceResult ran, adapter.execute(options));
  EDGEC_TRY(const auto files, adapter.pull_results(input.artifact_dir / "inference_output"));
  InferenceOutputConfig out;
  out.inference_results = std::move(ran.output_data);
  if (!out.inference_results) {
    out.inference_results.emplace();
    for (const auto& file : files) out.inference_results->push_back(file.string());
  }
  out.performance_metrics = std::move(ran.performance_metrics);
  out.etdump = std::move(ran.etdump);
  return out;
}

}  // namespace

PipelineResult<ModelPreparationOutputConfig> ExecuTorchModelPreparationStrategy::invoke(const PipelineContext&,
                                                                                        const ModelPreparationInputConfig& input) {
  if (!adapter_) return missing(kModelPreparation, "the model loader");
  if (input.model_name.empty()) return missing(kModelPreparation, "model_name");
  return with_stage(kModelPreparation, prepare(*adapter_, input));
}

PipelineResult<QuantizationOutputConfig> ExecuTorchQuantizationStrategy::invoke(const PipelineContext&,
                                                                                const QuantizationInputConfig& input) {
  if (!adapter_) return missing(kQuantization, "the quantizer");
  if (!input.model_module) return missing(kQuantization, "model_module");
  if (!input.example_inputs) return missing(kQuantization, "example_inputs");
  if (input.soc_model.empty()) return missing(kQuantization, "soc_model");
  if (input.backend_type.empty()) return missing(kQuantization, "backend_type");
  return with_stage(kQuantization, quantize(*adapter_, input));
}

PipelineResult<InferenceOutputConfig> ExecuTorchInferenceStrategy::invoke(const PipelineContext&, const InferenceInputConfig& input) {
  if (!adapter_) return missing(kInference, "the device runner");
  if (!input.artifact_paths || input.artifact_paths->empty()) return missing(kInference, "artifact_paths");
  return with_stage(kInference, infer(*adapter_, input));
}

}  // namespace edgec::genai
