#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "genai/configs.h"

// Stage -> strategy -> adapter: a stage is a name and one strategy, a strategy fans out over graphs and validates, an adapter wraps one
// outside operation.
namespace edgec::genai {

inline constexpr std::string_view kModelPreparation = "model_preparation", kQuantization = "quantization", kCompilation = "compilation",
                                  kInference = "inference";
inline constexpr std::array kAllStages = {kModelPreparation, kQuantization, kCompilation, kInference};  // in flow order

template <class In, class Out>
class Strategy {
 public:
  using Input = In;
  using Output = Out;
  virtual ~Strategy() = default;
  virtual PipelineResult<Out> invoke(const PipelineContext& context, const In& input) = 0;
};
class ModelPreparationStrategy : public Strategy<ModelPreparationInputConfig, ModelPreparationOutputConfig> {};
class QuantizationStrategy : public Strategy<QuantizationInputConfig, QuantizationOutputConfig> {};
class CompilationStrategy : public Strategy<CompilationInputConfig, CompilationOutputConfig> {};
class InferenceStrategy : public Strategy<InferenceInputConfig, InferenceOutputConfig> {};

// Forwards context and config to its strategy, unchanged.
template <class S>
class StageOf {
 public:
  StageOf(std::string_view name, std::shared_ptr<S> strategy) : name_(name), strategy_(std::move(strategy)) {}
  std::string_view name() const { return name_; }
  PipelineResult<typename S::Output> invoke(const PipelineContext& context, const typename S::Input& input) const {
    return strategy_->invoke(context, input);
  }

 private:
  std::string_view name_;
  std::shared_ptr<S> strategy_;
};
struct ModelPreparationStage : StageOf<ModelPreparationStrategy> {
  explicit ModelPreparationStage(std::shared_ptr<ModelPreparationStrategy> s) : StageOf(kModelPreparation, std::move(s)) {}
};
struct QuantizationStage : StageOf<QuantizationStrategy> {
  explicit QuantizationStage(std::shared_ptr<QuantizationStrategy> s) : StageOf(kQuantization, std::move(s)) {}
};
struct CompilationStage : StageOf<CompilationStrategy> {
  explicit CompilationStage(std::shared_ptr<CompilationStrategy> s) : StageOf(kCompilation, std::move(s)) {}
};
struct InferenceStage : StageOf<InferenceStrategy> {
  explicit InferenceStage(std::shared_ptr<InferenceStrategy> s) : StageOf(kInference, std::move(s)) {}
};

enum class EngineType : uint8_t { Executorch };
std::string_view name(EngineType);  // "executorch"

// Which engine does which stage, and for which backend.
class EngineProxy {
 public:
  // Kind Usage ("Unknown stage ...") when a name is none of kAllStages.
  static Result<EngineProxy> make(std::map<std::string, EngineType> stage_engines, std::string backend_type);
  EngineType engine(std::string_view stage) const;  // Executorch unless said otherwise
  std::map<std::string, EngineType> stage_engines() const { return engines_; }
  const std::string& backend_type() const { return backend_type_; }

 private:
  EngineProxy(std::map<std::string, EngineType> engines, std::string backend)
      : engines_(std::move(engines)), backend_type_(std::move(backend)) {}
  std::map<std::string, EngineType> engines_;
  std::string backend_type_;
};

// The strategies that exist, by engine. One that is not set is missing.
struct StrategyRegistry {
  struct Entry {
    std::shared_ptr<ModelPreparationStrategy> model_preparation;
    std::shared_ptr<QuantizationStrategy> quantization;
    std::shared_ptr<CompilationStrategy> compilation;
    std::shared_ptr<InferenceStrategy> inference;
  };
  std::map<EngineType, Entry> entries;
};

class GenAIPipeline {
 public:
  // A stage that is not skipped and has no strategy is a failure of kind Usage, "No <stage> strategy ...": the first in flow order.
  static Result<GenAIPipeline> from_proxy(const EngineProxy& proxy, const StrategyRegistry& registry,
                                          const std::set<std::string>& skip_stages = {});
  // A skipped stage contributes an empty output. Always gives an InferenceOutputConfig.
  PipelineResult<InferenceOutputConfig> invoke(const PipelineContext& context) const;
  std::vector<std::string_view> stages() const;

 private:
  explicit GenAIPipeline(std::string backend_type) : backend_type_(std::move(backend_type)) {}
  std::string backend_type_;
  std::optional<ModelPreparationStage> preparation_;
  std::optional<QuantizationStage> quantization_;
  std::optional<CompilationStage> compilation_;
  std::optional<InferenceStage> inference_;
};

}  // namespace edgec::genai
