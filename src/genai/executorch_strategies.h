#pragma once
#include "genai/device_runner.h"
#include "genai/model_adapters.h"
#include "genai/stages.h"

// The strategies of the engine "executorch" beside compilation (compilation_strategy.h). They check what they were given and turn every
// failure into a StageError of their stage.
namespace edgec::genai {

class ExecuTorchModelPreparationStrategy final : public ModelPreparationStrategy {
 public:
  explicit ExecuTorchModelPreparationStrategy(std::shared_ptr<ModelLoaderAdapter> adapter) : adapter_(std::move(adapter)) {}
  PipelineResult<ModelPreparationOutputConfig> invoke(const PipelineContext& context, const ModelPreparationInputConfig& input) override;

 private:
  std::shared_ptr<ModelLoaderAdapter> adapter_;
};

class ExecuTorchQuantizationStrategy final : public QuantizationStrategy {
 public:
  explicit ExecuTorchQuantizationStrategy(std::shared_ptr<QuantizerAdapter> adapter) : adapter_(std::move(adapter)) {}
  PipelineResult<QuantizationOutputConfig> invoke(const PipelineContext& context, const QuantizationInputConfig& input) override;

 private:
  std::shared_ptr<QuantizerAdapter> adapter_;
};

// Push, execute, pull into <artifact_dir>/inference_output. Without output data the results are the names of the files pulled.
class ExecuTorchInferenceStrategy final : public InferenceStrategy {
 public:
  explicit ExecuTorchInferenceStrategy(std::shared_ptr<DeviceRunnerAdapter> adapter) : adapter_(std::move(adapter)) {}
  PipelineResult<InferenceOutputConfig> invoke(const PipelineContext& context, const InferenceInputConfig& input) override;

 private:
  std::shared_ptr<DeviceRunnerAdapter> adapter_;
};

}  // namespace edgec::genai
