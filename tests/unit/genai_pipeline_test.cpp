#include <gtest/gtest.h>

#include <type_traits>

#include "genai/errors.h"
#include "genai/executorch_strategies.h"

// Contexts, configs, names, stages, strategies, errors: the checklist of the official package's tests.
namespace edgec::genai {
namespace {

PipelineContext context() { return {"model", "SM8650", {"hello"}, "dir", {{"k", 1}}}; }

// ---- context

TEST(GenaiContext, FieldsAndDefaults) {
  const PipelineContext all = context();
  EXPECT_EQ(all.model_name(), "model");
  EXPECT_EQ(all.soc_model(), "SM8650");
  EXPECT_EQ(all.prompt(), std::vector<std::string>{"hello"});
  EXPECT_EQ(all.artifact_dir(), "dir");
  EXPECT_EQ(*option<int>(all.extra_options(), "k"), 1);
  const PipelineContext plain("", "", {});  // the constructor checks nothing
  EXPECT_EQ(plain.artifact_dir(), "./genai_artifacts");
  EXPECT_TRUE(plain.extra_options().empty());
  // Frozen: what it gives out is const.
  static_assert(std::is_same_v<decltype(all.prompt()), const std::vector<std::string>&>);
}

TEST(GenaiContextBuilder, BuildsWithChaining) {
  auto builder = PipelineContext::builder();
  EXPECT_EQ(&builder.with_model("m").with_soc("s").with_prompt("p").with_artifact_dir("d").with_extra_options({{"a", 2}}), &builder);
  const auto built = builder.build();
  ASSERT_TRUE(built) << built.failure().message;
  EXPECT_EQ(built->model_name(), "m");
  EXPECT_EQ(built->soc_model(), "s");
  EXPECT_EQ(built->prompt(), std::vector<std::string>{"p"});
  EXPECT_EQ(built->artifact_dir(), "d");
  EXPECT_EQ(*option<int>(built->extra_options(), "a"), 2);
}

TEST(GenaiContextBuilder, Prompts) {
  const auto with = [](auto prompt) { return PipelineContext::builder().with_model("m").with_soc("s").with_prompt(prompt).build(); };
  EXPECT_EQ(with(std::vector<std::string>{"a", "b"})->prompt(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(with(std::vector<PromptEntry>{std::string("a"), std::any(3), std::string(" \t"), std::string("b")})->prompt(),
            (std::vector<std::string>{"a", "b"}));
  const auto blank = with(std::string("  \n"));
  ASSERT_FALSE(blank);
  EXPECT_NE(blank.failure().message.find("empty or blank"), std::string::npos);
  EXPECT_EQ(blank.failure().kind, ErrorKind::Usage);
  const auto all_blank = with(std::vector<std::string>{" ", ""});
  ASSERT_FALSE(all_blank);
  EXPECT_NE(all_blank.failure().message.find("cannot be empty"), std::string::npos);
}

TEST(GenaiContextBuilder, MissingFieldsAreNamedTogether) {
  const auto message = [](const PipelineContextBuilder& b) {
    const auto r = b.build();
    EXPECT_FALSE(r);
    EXPECT_NE(error_as<ConfigValidationError>(r.failure()), nullptr);
    return r.failure().message;
  };
  const std::string all = message(PipelineContext::builder());
  for (const char* field : {"model_name", "soc_model", "prompt"}) EXPECT_NE(all.find(field), std::string::npos) << all;
  EXPECT_NE(message(PipelineContext::builder().with_soc("s").with_prompt("p")).find("model_name"), std::string::npos);
  EXPECT_NE(message(PipelineContext::builder().with_model("m").with_prompt("p")).find("soc_model"), std::string::npos);
  EXPECT_NE(message(PipelineContext::builder().with_model("m").with_soc("s")).find("prompt"), std::string::npos);
}

// ---- configs

TEST(GenaiConfigs, RequiredFieldsAreConstructorArguments) {
  static_assert(!std::is_default_constructible_v<ModelPreparationInputConfig>);
  static_assert(!std::is_default_constructible_v<QuantizationInputConfig>);
  static_assert(!std::is_default_constructible_v<CompilationInputConfig>);
  static_assert(!std::is_default_constructible_v<InferenceInputConfig>);
  static_assert(!std::is_constructible_v<QuantizationInputConfig, std::string>);
  static_assert(!std::is_constructible_v<CompilationInputConfig, std::string>);
}

TEST(GenaiConfigs, Defaults) {
  const CompilationInputConfig c("SM8650", "htp");
  EXPECT_EQ(c.artifact_dir, ".");
  EXPECT_FALSE(c.model || c.graphs || c.compile_specs || c.example_inputs);
  const QuantizationInputConfig q("SM8650", "htp");
  EXPECT_FALSE(q.model_module || q.calibration_data.has_value() || q.training_data.has_value() || q.quant_recipe.has_value());
  EXPECT_TRUE(q.extra_options.empty() && ModelPreparationInputConfig("m", "s").extra_options.empty());
  EXPECT_TRUE(InferenceInputConfig("s").inference_options.empty());
  const InferenceOutputConfig out;
  EXPECT_FALSE(out.inference_results || out.etdump);
  EXPECT_TRUE(out.performance_metrics.empty() && out.eval_results.empty());
  EXPECT_TRUE(CompilationResult{}.artifact_paths.empty());
  EXPECT_FALSE(InferenceResult{}.output_data);
}

TEST(GenaiConfigs, ContainersAreFreshAndTrainingDataIsCarried) {
  InferenceInputConfig one("s"), two("s");
  one.inference_options["x"] = 1;
  EXPECT_TRUE(two.inference_options.empty());
  QuantizationInputConfig q("s", "htp"), other("s", "htp");
  q.extra_options["x"] = 1;
  EXPECT_TRUE(other.extra_options.empty());
  q.training_data = Samples{{make_tensor_data(DType::I64, {1}, std::vector<int64_t>{7})}};
  EXPECT_EQ(std::any_cast<Samples>(q.training_data).size(), 1u);
}

// ---- names

TEST(GenaiNames, TwoSpacesThatDoNotMix) {
  static_assert(!std::is_convertible_v<ArtifactKey, GraphName> && !std::is_same_v<ArtifactKey, GraphName>);
  std::vector<std::string_view> keys, graphs;
  for (const ArtifactKey key : kAllArtifactKeys) {
    keys.push_back(name(key));
    EXPECT_EQ(*artifact_key(name(key)), key);
  }
  EXPECT_EQ(keys, (std::vector<std::string_view>{"text_decoder", "tok_embedding", "audio_encoder", "vision_encoder", "text_encoder",
                                                 "attention_sink_evictor"}));
  EXPECT_EQ(kDecodeQdqFilename, "decode_qdq.pt2");
  EXPECT_FALSE(artifact_key(kDecodeQdqFilename));
  EXPECT_FALSE(artifact_key("kv_forward"));
  EXPECT_EQ(name(kDecoderGraphNames[0]), "kv_forward");  // decode first
  EXPECT_EQ(name(kDecoderGraphNames[1]), "prefill_forward");
  EXPECT_EQ(name(kTokEmbeddingGraphNames[0]), "tok_embedding_kv_forward");
  EXPECT_EQ(name(kTokEmbeddingGraphNames[1]), "tok_embedding_prefill_forward");
  EXPECT_EQ(graph_names(ArtifactKey::TextDecoder, 1), std::vector{GraphName::KvForward});
  EXPECT_EQ(graph_names(ArtifactKey::TextDecoder, 5).size(), 2u);
  EXPECT_EQ(graph_names(ArtifactKey::VisionEncoder, 1), std::vector{GraphName::Forward});
  EXPECT_EQ(*artifact_of(GraphName::PrefillForward), ArtifactKey::TextDecoder);
  EXPECT_EQ(*artifact_of(GraphName::TokEmbeddingKvForward), ArtifactKey::TokEmbedding);
  EXPECT_FALSE(artifact_of(GraphName::Forward));
}

TEST(GenaiNames, ModesMethodsAndLengths) {
  EXPECT_EQ(static_cast<int>(*model_mode("kv")), 0);
  EXPECT_EQ(static_cast<int>(*model_mode("hybrid")), 1);
  EXPECT_EQ(static_cast<int>(*model_mode("lookahead")), 2);
  EXPECT_EQ(decoder_methods(ModelMode::Kv).prompt, GraphName::KvForward);
  EXPECT_EQ(decoder_methods(ModelMode::Hybrid).prompt, GraphName::PrefillForward);
  EXPECT_EQ(decoder_methods(ModelMode::Lookahead).generate, GraphName::KvForward);
  EXPECT_EQ(embedding_methods(ModelMode::Hybrid).prompt, GraphName::TokEmbeddingPrefillForward);
  EXPECT_EQ(ar_lengths(ModelMode::Hybrid, 32, 512).decode, 1);
  EXPECT_EQ(ar_lengths(ModelMode::Hybrid, 32, 512).prefill, 32);
  EXPECT_EQ(ar_lengths(ModelMode::Hybrid, 32, 512).calibration, 512);
  EXPECT_EQ(ar_lengths(ModelMode::Lookahead, 32, 512).decode, 64);
  EXPECT_TRUE(uses_kv_cache(1, 512));
  EXPECT_FALSE(uses_kv_cache(512, 512));
  EXPECT_EQ(script_file_name(ArtifactKey::TextDecoder, ModelMode::Hybrid, "llama3_2-1b_instruct"), "hybrid_llama_qnn");
  EXPECT_EQ(script_file_name(ArtifactKey::TextDecoder, ModelMode::Kv, "stories260k"), "stories260k_kv_llama_qnn");
  EXPECT_EQ(script_file_name(ArtifactKey::AudioEncoder, ModelMode::Kv, ""), "audio_encoder_qnn");
  EXPECT_EQ(script_file_name(ArtifactKey::AttentionSinkEvictor, ModelMode::Kv, ""), "attention_sink_evictor");
}

TEST(GenaiNames, MapsKeepTheirOrder) {
  ArtifactMap map;
  map.set(ArtifactKey::VisionEncoder, "b.pte");
  map.set(ArtifactKey::TextDecoder, "a.pte");
  map.set(ArtifactKey::VisionEncoder, "c.pte");
  ASSERT_EQ(map.size(), 2u);
  EXPECT_EQ(map.front().first, ArtifactKey::VisionEncoder);
  EXPECT_EQ(map.front().second, "c.pte");
  EXPECT_FALSE(map.contains(ArtifactKey::AudioEncoder));
}

// ---- errors

TEST(GenaiErrors, AllAreRootedInPipelineError) {
  static_assert(std::is_base_of_v<PipelineError, StageError> && std::is_base_of_v<PipelineError, ConfigValidationError> &&
                std::is_base_of_v<PipelineError, EngineNotAvailableError>);
  const TypedFailure f = failure_of(StageError("compilation", "no model", usage_error("bad soc")));
  const auto* error = error_as<StageError>(f);
  ASSERT_NE(error, nullptr);
  EXPECT_NE(error_as<PipelineError>(f), nullptr);
  EXPECT_EQ(error_as<EngineNotAvailableError>(f), nullptr);
  EXPECT_EQ(error->stage_name(), "compilation");
  ASSERT_TRUE(error->original());
  EXPECT_EQ(error->original()->message, "bad soc");
  EXPECT_EQ(f.message, "[compilation] no model (caused by ValueError: bad soc)");
  EXPECT_EQ(StageError("inference", "x").message(), "[inference] x");
  EXPECT_EQ(EngineNotAvailableError("other").message(), "Engine 'other' is not available");
  EXPECT_EQ(EngineNotAvailableError("other", "install it").message(), "Engine 'other' is not available: install it");
  // A StageError passes through another stage unchanged.
  EXPECT_EQ(as_stage_error("inference", "failed", f).message, f.message);
}

// ---- proxy

TEST(GenaiProxy, EnginesAreCopiedAndDefaulted) {
  std::map<std::string, EngineType> engines = {{"compilation", EngineType::Executorch}};
  const auto proxy = EngineProxy::make(engines, "htp");
  ASSERT_TRUE(proxy);
  engines.clear();
  auto copy = proxy->stage_engines();
  EXPECT_EQ(copy.size(), 1u);
  copy.clear();
  EXPECT_EQ(proxy->stage_engines().size(), 1u);
  EXPECT_EQ(proxy->engine("inference"), EngineType::Executorch);
  EXPECT_EQ(proxy->backend_type(), "htp");
  EXPECT_EQ(name(EngineType::Executorch), "executorch");
  EXPECT_TRUE(EngineProxy::make({}, "gpu"));
  const auto wrong = EngineProxy::make({{"training", EngineType::Executorch}}, "htp");
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.failure().message.find("Unknown stage"), std::string::npos);
  EXPECT_NE(wrong.failure().message.find("training"), std::string::npos);
}

// ---- stages and pipeline

struct Calls {
  std::vector<std::string> order;
  std::optional<QuantizationInputConfig> quantization;
  std::optional<CompilationInputConfig> compilation;
  std::optional<InferenceInputConfig> inference;
};

struct FakePreparation final : ModelPreparationStrategy {
  explicit FakePreparation(Calls& c) : calls(c) {}
  PipelineResult<ModelPreparationOutputConfig> invoke(const PipelineContext&, const ModelPreparationInputConfig& in) override {
    calls.order.push_back("preparation:" + in.model_name + ":" + in.soc_model);
    ModelPreparationOutputConfig out;
    out.model_module = ModelSource("prepared.pt2");
    out.calibration_data = 5;
    return out;
  }
  Calls& calls;
};
struct FakeQuantization final : QuantizationStrategy {
  FakeQuantization(Calls& c, bool quantizes) : calls(c), gives(quantizes) {}
  PipelineResult<QuantizationOutputConfig> invoke(const PipelineContext&, const QuantizationInputConfig& in) override {
    calls.quantization = in;
    QuantizationOutputConfig out;
    if (gives) out.quantized_model = ModelSource("quantized.pt2");
    return out;
  }
  Calls& calls;
  bool gives;
};
struct FakeCompilation final : CompilationStrategy {
  explicit FakeCompilation(Calls& c) : calls(c) {}
  PipelineResult<CompilationOutputConfig> invoke(const PipelineContext&, const CompilationInputConfig& in) override {
    calls.compilation = in;
    CompilationOutputConfig out;
    out.artifact_paths = ArtifactMap{{ArtifactKey::TextDecoder, "a.pte"}};
    return out;
  }
  Calls& calls;
};
struct FakeInference final : InferenceStrategy {
  explicit FakeInference(Calls& c) : calls(c) {}
  PipelineResult<InferenceOutputConfig> invoke(const PipelineContext&, const InferenceInputConfig& in) override {
    calls.inference = in;
    InferenceOutputConfig out;
    out.inference_results = std::vector<std::string>{"text"};
    return out;
  }
  Calls& calls;
};

StrategyRegistry registry(Calls& calls, bool quantizes = true) {
  StrategyRegistry r;
  r.entries[EngineType::Executorch] = {std::make_shared<FakePreparation>(calls), std::make_shared<FakeQuantization>(calls, quantizes),
                                       std::make_shared<FakeCompilation>(calls), std::make_shared<FakeInference>(calls)};
  return r;
}

TEST(GenaiStages, NamesAndDelegation) {
  static_assert(std::is_abstract_v<ModelPreparationStrategy> && std::is_abstract_v<QuantizationStrategy> &&
                std::is_abstract_v<CompilationStrategy> && std::is_abstract_v<InferenceStrategy>);
  struct Forgot : CompilationStrategy {};
  static_assert(std::is_abstract_v<Forgot>);  // a subclass must implement invoke
  Calls calls;
  EXPECT_EQ(ModelPreparationStage(std::make_shared<FakePreparation>(calls)).name(), "model_preparation");
  const QuantizationStage quantization(std::make_shared<FakeQuantization>(calls, true));
  EXPECT_EQ(quantization.name(), "quantization");
  EXPECT_TRUE(quantization.invoke(context(), QuantizationInputConfig("s", "htp")));
  EXPECT_EQ(calls.quantization->backend_type, "htp");
  const CompilationStage compilation(std::make_shared<FakeCompilation>(calls));
  EXPECT_EQ(compilation.name(), "compilation");
  EXPECT_TRUE(compilation.invoke(context(), CompilationInputConfig("s", "gpu")));
  EXPECT_EQ(calls.compilation->backend_type, "gpu");
  const InferenceStage inference(std::make_shared<FakeInference>(calls));
  EXPECT_EQ(inference.name(), "inference");
  EXPECT_EQ(inference.invoke(context(), InferenceInputConfig("s"))->inference_results->at(0), "text");
  EXPECT_EQ(kAllStages.size(), 4u);
}

TEST(GenaiPipeline, FromProxyMakesAllButSkippedStages) {
  Calls calls;
  const auto proxy = EngineProxy::make({}, "htp");
  const auto all = GenAIPipeline::from_proxy(*proxy, registry(calls));
  ASSERT_TRUE(all);
  EXPECT_EQ(all->stages(), (std::vector<std::string_view>{"model_preparation", "quantization", "compilation", "inference"}));
  const auto some = GenAIPipeline::from_proxy(*proxy, registry(calls), {"quantization", "inference"});
  EXPECT_EQ(some->stages(), (std::vector<std::string_view>{"model_preparation", "compilation"}));
  EXPECT_FALSE(GenAIPipeline::from_proxy(*proxy, registry(calls), {"nothing"}));
}

TEST(GenaiPipeline, AMissingStrategyIsNamedInFlowOrder) {
  Calls calls;
  const auto proxy = EngineProxy::make({}, "htp");
  const auto missing = [&](auto member) {
    StrategyRegistry r = registry(calls);
    (r.entries[EngineType::Executorch].*member).reset();
    const auto p = GenAIPipeline::from_proxy(*proxy, r);
    EXPECT_FALSE(p);
    return p.failure().message;
  };
  using Entry = StrategyRegistry::Entry;
  EXPECT_TRUE(missing(&Entry::model_preparation).starts_with("No model_preparation strategy"));
  EXPECT_TRUE(missing(&Entry::quantization).starts_with("No quantization strategy"));
  EXPECT_TRUE(missing(&Entry::compilation).starts_with("No compilation strategy"));
  EXPECT_TRUE(missing(&Entry::inference).starts_with("No inference strategy"));
  EXPECT_TRUE(GenAIPipeline::from_proxy(*proxy, {}).failure().message.starts_with("No model_preparation strategy"));
}

TEST(GenaiPipeline, InvokeWiresTheStages) {
  Calls calls;
  const auto proxy = EngineProxy::make({}, "htp");
  const auto pipeline = GenAIPipeline::from_proxy(*proxy, registry(calls));
  const auto result = pipeline->invoke(context());
  ASSERT_TRUE(result);
  EXPECT_EQ(result->inference_results->at(0), "text");
  EXPECT_EQ(calls.order, std::vector<std::string>{"preparation:model:SM8650"});
  EXPECT_EQ(calls.quantization->soc_model, "SM8650");
  EXPECT_EQ(calls.quantization->backend_type, "htp");
  EXPECT_EQ(std::any_cast<int>(calls.quantization->calibration_data), 5);
  EXPECT_EQ(calls.compilation->backend_type, "htp");
  EXPECT_EQ(calls.compilation->artifact_dir, "dir");
  EXPECT_EQ(std::get<std::string>(*calls.compilation->model), "quantized.pt2");
  EXPECT_EQ(calls.inference->prompt, std::vector<std::string>{"hello"});
  EXPECT_EQ(calls.inference->artifact_paths->front().second, "a.pte");
}

TEST(GenaiPipeline, InvokeWithoutStagesAndWithoutQuantizedModel) {
  Calls calls;
  const auto proxy = EngineProxy::make({}, "gpu");
  const auto none = GenAIPipeline::from_proxy(*proxy, registry(calls), {"model_preparation", "quantization", "compilation", "inference"});
  const auto empty = none->invoke(context());
  ASSERT_TRUE(empty);
  EXPECT_FALSE(empty->inference_results);
  const auto compile_only = GenAIPipeline::from_proxy(*proxy, registry(calls), {"model_preparation", "quantization", "inference"});
  ASSERT_TRUE(compile_only->invoke(context()));
  EXPECT_FALSE(calls.compilation->model);
  ASSERT_TRUE(GenAIPipeline::from_proxy(*proxy, registry(calls, false))->invoke(context()));
  EXPECT_EQ(std::get<std::string>(*calls.compilation->model), "prepared.pt2");  // fp16 and GPU flows
}

}  // namespace
}  // namespace edgec::genai
