#include <gtest/gtest.h>

#include <filesystem>

#include "emit/program.h"
#include "genai/compilation_strategy.h"
#include "genai/compile_spec_builder.h"
#include "genai/decoder_program.h"
#include "genai/errors.h"
#include "genai/quant_io.h"
#include "genai/sampler.h"
#include "genai/tokenizer.h"
#include "genai_modules.h"
#include "support/mapped_file.h"

// Graph bundles, the compiler adapter, the multi-graph strategy, spill-fill sizes.
namespace edgec::genai {
namespace {

namespace fs = std::filesystem;

const char* kGraph = R"(method @forward(%x: f32[2, 3] = input "x") {
  %y = aten.relu(%x) : f32[2, 3]
  return %y
}
)";

TensorType type(DType dtype, std::initializer_list<int64_t> sizes) {
  TensorType t;
  t.dtype = dtype;
  for (int64_t s : sizes) t.sizes.push_back(Dim(s));
  return t;
}

CompileSpecs specs(SocModel soc = SocModel::SM8650) { return *QnnCompileSpecBuilder().build(soc, HtpRequest(false)); }

// ---- bundles

TEST(GenaiBundle, IsFrozenAndChecked) {
  static_assert(!std::is_default_constructible_v<GraphBundle>);
  static_assert(std::is_same_v<decltype(std::declval<GraphBundle&>().meta()), const Meta&>);
  const Module module = parsed(kGraph);
  const auto plain = GraphBundle::make({module});
  ASSERT_TRUE(plain) << plain.failure().message;
  EXPECT_EQ(plain->inputs(), std::vector{type(DType::F32, {2, 3})});
  EXPECT_TRUE(plain->meta().empty());
  EXPECT_FALSE(plain->is_quantized() || plain->executorch_config());
  EXPECT_TRUE(plain->modality_inputs().empty());

  GraphBundleFields quantized{module};
  quantized.quant_io_dtypes = {{"kv_type", DType::U8}, {"io_type", DType::U16}};
  EXPECT_EQ(GraphBundle::make(quantized)->quant_io_dtypes(), (QuantIoDtypes{DType::U8, DType::U16}));
  for (const char* one : {"kv_type", "io_type", "other"}) {
    quantized.quant_io_dtypes = {{one, DType::U8}};
    const auto r = GraphBundle::make(quantized);
    ASSERT_FALSE(r) << one;
    EXPECT_EQ(r.failure().kind, ErrorKind::Usage);
  }
  EXPECT_FALSE(GraphBundle::make({}));
  EXPECT_TRUE(GraphBundle::make({module, std::vector{type(DType::F32, {2, 3})}}));
  EXPECT_FALSE(GraphBundle::make({module, std::vector{type(DType::F32, {3, 2})}}));
  EXPECT_FALSE(GraphBundle::make({module, std::vector<TensorType>{}}));
}

TEST(GenaiBundle, DtypesOfTheReferenceFlow) {
  EXPECT_EQ(*quant_io_dtypes(std::optional<int>(), std::optional<int>()), (QuantIoDtypes{DType::F32, DType::F32}));
  EXPECT_EQ(*quant_io_dtypes(8, 16), (QuantIoDtypes{DType::U8, DType::U16}));
  EXPECT_EQ(quant_io_dtypes(16, 16)->kv_type, DType::U16);
  EXPECT_EQ(quant_io_dtypes(4, 16).failure().kind, ErrorKind::Model);
  EXPECT_FALSE(quant_io_dtypes(8, 8));
}

TEST(GenaiBundle, TagsByShape) {
  const DecoderShapes s{32, 512, 64, 1000};
  const QuantIoDtypes d{DType::U8, DType::U16};
  EXPECT_EQ(tag_of(type(DType::F32, {1, 1, 32, 512}), s, d), DType::U16);  // mask
  EXPECT_EQ(tag_of(type(DType::F32, {1, 32, 1000}), s, d), DType::U16);    // logits
  EXPECT_EQ(tag_of(type(DType::F32, {1, 8, 64, 480}), s, d), DType::U8);   // past keys
  EXPECT_EQ(tag_of(type(DType::F32, {1, 8, 480, 64}), s, d), DType::U8);   // past values
  EXPECT_EQ(tag_of(type(DType::F32, {1, 8, 64, 32}), s, d), DType::U8);    // new keys
  EXPECT_EQ(tag_of(type(DType::I32, {1, 32}), s, d), std::nullopt);        // tokens
  EXPECT_EQ(tag_of(type(DType::F32, {7}), s, d), std::nullopt);
}

TEST(GenaiBundle, ParametersOfQuantizedOutputsBecomeConstantMethods) {
  const Module module = parsed(
      R"(method @kv_forward(%t: i32[1, 1] = input "t", %m: f32[1, 1, 1, 9] = input "m", %k: f32[1, 2, 4, 8] = input "k", %l: u16[1, 1, 50] = input "l", %n: u8[1, 2, 4, 1] = input "n") {
  %y = quantized_decomposed.dequantize_per_tensor(%l, 0.5, 3, 0, 65535, u16) : f32[1, 1, 50]
  %z = quantized_decomposed.dequantize_per_tensor(%n, 0.25, 7, 0, 255, u8) : f32[1, 2, 4, 1]
  return %y, %z
}
)");
  const Method& m = *module->methods[0];
  const auto shapes = decoder_shapes(m);
  ASSERT_TRUE(shapes);
  EXPECT_EQ(shapes->context_len, 9);
  EXPECT_EQ(shapes->head_dim, 4);
  EXPECT_EQ(shapes->vocab_size, 50);
  Meta meta;
  ASSERT_TRUE(add_quant_attributes(m, {DType::U8, DType::U16}, meta));
  EXPECT_EQ(*meta.find("get_logits_scale"), std::vector<Arg>{0.5});
  EXPECT_EQ(*meta.find("get_logits_zero_point"), std::vector<Arg>{3});
  EXPECT_EQ(*meta.find("get_kv_output_0_quant_attr"), (std::vector<Arg>{0.25, 7, 0, 255, "uint8"}));
  EXPECT_FALSE(add_quant_attributes(m, {DType::U16, DType::U16}, meta));  // the bundle says another dtype
}

// ---- adapter

struct FakeLowering final : Lowering {
  Status lower(const LoweringRequest& r, const fs::path& output) const override {
    requests.push_back(r);
    outputs.push_back(output);
    return {};
  }
  mutable std::vector<LoweringRequest> requests;
  mutable std::vector<fs::path> outputs;
};

CompileModelRequest request(const fs::path& dir) {
  CompileModelRequest r;
  r.model = parsed(kGraph);
  r.compile_specs = specs();
  r.artifact_key = ArtifactKey::AudioEncoder;
  r.artifact_dir = dir;
  r.file_name = "audio_encoder_qnn";
  r.target = {"SM8650", "htp"};
  return r;
}

TEST(GenaiAdapter, PlansWithoutGraphIoUnderTheCallersKey) {
  const Folder folder;
  const auto lowering = std::make_shared<FakeLowering>();
  DefaultCompilerAdapter adapter(lowering);
  auto r = request(folder.path / "deep");
  r.constant_methods.set("get_ar_len", {Arg(1)});
  const auto result = adapter.compile_model(r);
  ASSERT_TRUE(result) << result.failure().message;
  ASSERT_EQ(result->artifact_paths.size(), 1u);
  EXPECT_EQ(*result->artifact_paths.find(ArtifactKey::AudioEncoder), folder.path / "deep" / "audio_encoder_qnn.pte");
  EXPECT_TRUE(fs::is_directory(folder.path / "deep"));
  EXPECT_FALSE(result->etrecord);
  ASSERT_EQ(lowering->requests.size(), 1u);
  const LoweringRequest& lowered = lowering->requests[0];
  EXPECT_FALSE(lowered.emit.alloc_graph_input || lowered.emit.alloc_graph_output);
  EXPECT_TRUE(lowered.emit.quantized_io);
  EXPECT_EQ(lowered.graphs[0].method, "forward");
  EXPECT_EQ(lowered.compile_specs, specs());
  EXPECT_TRUE(lowered.constant_methods.contains("get_ar_len"));
  r.executorch_config = EmitOptions{.alloc_graph_input = true, .alloc_graph_output = true, .quantized_io = false};
  ASSERT_TRUE(adapter.compile_model(r));
  EXPECT_TRUE(lowering->requests[1].emit.alloc_graph_input);
  r.generate_etrecord = true;
  EXPECT_NE(adapter.compile_model(r).failure().message.find("etrecord"), std::string::npos);
  EXPECT_FALSE(lowering->requests[1].emit.quantized_io);
}

TEST(GenaiAdapter, TargetsThatDisagreeAreRefused) {
  const Folder folder;
  const auto lowering = std::make_shared<FakeLowering>();
  DefaultCompilerAdapter adapter(lowering);
  auto r = request(folder.path);
  r.target.soc_model = "SM8750";
  const auto soc = adapter.compile_model(r);
  ASSERT_FALSE(soc);
  EXPECT_NE(soc.failure().message.find("SM8650"), std::string::npos);
  EXPECT_NE(soc.failure().message.find("SM8750"), std::string::npos);
  r.target = {"SM8650", "gpu"};
  EXPECT_FALSE(adapter.compile_model(r));
  r.target = {"sm8650", "htp"};
  EXPECT_FALSE(adapter.compile_model(r));
  r.target = {"SM8650", "HTP"};
  EXPECT_NE(adapter.compile_model(r).failure().message.find("lpai"), std::string::npos);  // the valid names
  EXPECT_TRUE(lowering->requests.empty());
  // Specs without the QNN entry are not checked.
  r.target = {"SM8750", "gpu"};
  r.compile_specs = {};
  EXPECT_TRUE(adapter.compile_model(r));
  r.compile_specs = {{"another", {}}};
  EXPECT_TRUE(adapter.compile_model(r));
}

TEST(GenaiAdapter, WritesAProgramWhoseBordersHaveNoPlace) {
  const Folder folder;
  DefaultCompilerAdapter adapter(lowering_to("portable"));
  auto r = request(folder.path);
  r.compile_specs = {};
  r.constant_methods.set("get_vocab_size", {Arg(7)});
  const auto result = adapter.compile_model(r);
  ASSERT_TRUE(result) << result.failure().message;
  auto file = MappedFile::open(result->artifact_paths.front().second.string());
  ASSERT_TRUE(file);
  const auto program = pte::read((*file)->bytes(), *file);
  ASSERT_TRUE(program);
  ASSERT_EQ(program->plans.size(), 2u);
  const pte::Plan& plan = program->plans[0];
  EXPECT_EQ(plan.name, "forward");
  EXPECT_EQ(program->plans[1].name, "get_vocab_size");
  for (const auto* list : {&plan.inputs, &plan.outputs})
    for (const int32_t index : *list) EXPECT_FALSE(std::get<pte::Tensor>(plan.values[static_cast<size_t>(index)]).place);
}

TEST(GenaiAdapter, AMissingBackendIsSaidPlainly) {
  const Folder folder;
  DefaultCompilerAdapter nowhere(lowering_to("no_such_backend"));
  auto r = request(folder.path);
  const auto unknown = nowhere.compile_model(r);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.failure().kind, ErrorKind::Model);
  EXPECT_NE(unknown.failure().message.find("no_such_backend"), std::string::npos);
}

// ---- strategy

GraphBundle bundle(Meta meta = {}) {
  GraphBundleFields fields{parsed(kGraph)};
  fields.meta = std::move(meta);
  return *GraphBundle::make(std::move(fields));
}

const PipelineContext kContext("label", "SM8650", {"p"});

TEST(GenaiStrategy, AHybridDecoderIsOneArtifact) {
  const Folder folder;
  const auto lowering = std::make_shared<FakeLowering>();
  CompilationPlan plan;
  plan.args.shared_buffer = true;
  plan.num_sharding = 3;
  ExecuTorchCompilationStrategy strategy(std::make_shared<DefaultCompilerAdapter>(lowering), plan);
  static_assert(std::is_base_of_v<CompilationStrategy, ExecuTorchCompilationStrategy>);
  CompilationInputConfig in("SM8650", "htp");
  in.artifact_dir = folder.path;
  in.graphs.emplace();
  in.graphs->set(GraphName::PrefillForward, bundle({{"get_ar_len", {Arg(32)}}, {"get_only_in_prefill", {Arg(1)}}}));
  in.graphs->set(GraphName::TokEmbeddingKvForward, bundle());
  in.graphs->set(GraphName::KvForward, bundle({{"get_ar_len", {Arg(1)}}}));
  in.components.set(ArtifactKey::AttentionSinkEvictor, bundle());
  const auto out = strategy.invoke(kContext, in);
  ASSERT_TRUE(out) << out.failure().message;
  std::vector<std::string_view> keys;
  for (const auto& [key, path] : *out->artifact_paths) keys.push_back(name(key));
  EXPECT_EQ(keys, (std::vector<std::string_view>{"text_decoder", "tok_embedding", "attention_sink_evictor"}));
  EXPECT_EQ(*out->artifact_paths->find(ArtifactKey::TextDecoder), folder.path / "text_decoder.pte");

  ASSERT_EQ(lowering->requests.size(), 3u);
  const LoweringRequest& decoder = lowering->requests[0];
  ASSERT_EQ(decoder.graphs.size(), 2u);
  EXPECT_EQ(decoder.graphs[0].method, "kv_forward");  // decode first, whatever order they came in
  EXPECT_EQ(decoder.graphs[1].method, "prefill_forward");
  EXPECT_EQ(*decoder.constant_methods.find("get_ar_len"), std::vector<Arg>{1});  // of the decode graph
  EXPECT_FALSE(decoder.constant_methods.contains("get_only_in_prefill"));
  const auto options = read_qnn_compile_specs(decoder.compile_specs);
  ASSERT_TRUE(options);
  EXPECT_TRUE(options->htp_options->use_multi_contexts && options->htp_options->use_weight_sharing && options->use_mha2sha);
  EXPECT_TRUE(options->shared_buffer);
  EXPECT_EQ(lowering->requests[1].graphs[0].method, "tok_embedding_kv_forward");
  EXPECT_TRUE(read_qnn_compile_specs(lowering->requests[1].compile_specs)->htp_options->use_weight_sharing);
  const auto evictor = read_qnn_compile_specs(lowering->requests[2].compile_specs);
  EXPECT_FALSE(evictor->htp_options->use_weight_sharing || evictor->use_mha2sha || evictor->htp_options->use_multi_contexts);
  EXPECT_EQ(lowering->requests[2].graphs[0].method, "forward");
}

TEST(GenaiStrategy, FailuresAreStageErrors) {
  const auto lowering = std::make_shared<FakeLowering>();
  const auto adapter = std::make_shared<DefaultCompilerAdapter>(lowering);
  const auto stage_of = [](const TypedFailure& f) {
    const auto* e = error_as<StageError>(f);
    return e ? e->stage_name() : std::string("no StageError");
  };
  CompilationInputConfig in("SM8650", "htp");
  const auto no_model = ExecuTorchCompilationStrategy(adapter, {}).invoke(kContext, in);
  ASSERT_FALSE(no_model);
  EXPECT_EQ(stage_of(no_model.failure()), "compilation");
  EXPECT_EQ(no_model.failure().message, "[compilation] model is missing");
  in.graphs = GraphBundles{{GraphName::KvForward, bundle()}, {GraphName::PrefillForward, bundle()}};
  EXPECT_EQ(stage_of(ExecuTorchCompilationStrategy(nullptr, {}).invoke(kContext, in).failure()), "compilation");
  EXPECT_EQ(stage_of(ExecuTorchCompilationStrategy(adapter, {}).invoke(kContext, CompilationInputConfig("", "htp")).failure()),
            "compilation");
  CompilationInputConfig wrong("SM1", "htp");
  wrong.graphs = in.graphs;
  const auto soc = ExecuTorchCompilationStrategy(adapter, {}).invoke(kContext, wrong);
  ASSERT_FALSE(soc);
  EXPECT_NE(soc.failure().message.find("caused by ValueError"), std::string::npos) << soc.failure().message;
  // Refused for several methods only.
  CompilationPlan online, dump;
  online.args.online_prepare = dump.args.dump_intermediate_outputs = true;
  EXPECT_NE(ExecuTorchCompilationStrategy(adapter, online).invoke(kContext, in).failure().message.find("online_prepare"),
            std::string::npos);
  EXPECT_NE(ExecuTorchCompilationStrategy(adapter, dump).invoke(kContext, in).failure().message.find("dump_intermediate"),
            std::string::npos);
  const Folder folder;
  in.artifact_dir = folder.path;
  in.graphs = GraphBundles{{GraphName::KvForward, bundle()}};
  EXPECT_TRUE(ExecuTorchCompilationStrategy(adapter, online).invoke(kContext, in));
  in.graphs = GraphBundles{{GraphName::Forward, bundle()}};
  EXPECT_FALSE(ExecuTorchCompilationStrategy(adapter, {}).invoke(kContext, in));  // of which artifact?
}

// ---- generation without a runtime

TEST(GenaiSampler, GreedySeededAndTopP) {
  const std::vector<float> logits = {0.1f, 2.0f, 1.9f, -5.0f};
  EXPECT_EQ(Sampler({.temperature = 0, .top_p = 1, .seed = 1}).choose(logits), 1);
  const auto draw = [&](SamplerOptions o) {
    Sampler s(o);
    std::vector<int64_t> out;
    for (int i = 0; i < 200; ++i) out.push_back(s.choose(logits));
    return out;
  };
  EXPECT_EQ(draw({1.0, 1.0, 5}), draw({1.0, 1.0, 5}));
  EXPECT_NE(draw({1.0, 1.0, 5}), draw({1.0, 1.0, 6}));
  for (const int64_t token : draw({1.0, 0.5, 9})) EXPECT_TRUE(token == 1 || token == 2);
  const auto all = draw({5.0, 1.0, 3});
  EXPECT_NE(std::find(all.begin(), all.end(), 0), all.end());
  const std::vector<float> odd = {std::numeric_limits<float>::quiet_NaN(), 1.0f, std::numeric_limits<float>::infinity()};
  EXPECT_EQ(Sampler({.temperature = 0, .top_p = 1, .seed = 0}).choose(odd), 2);
  EXPECT_LT(Sampler({.temperature = 1, .top_p = 1, .seed = 0}).choose(odd), 3);
}

struct Bytes final : Tokenizer {  // a token a byte
  Result<std::vector<int64_t>> encode(std::string_view) const override { return std::vector<int64_t>(); }
  std::string decode(std::span<const int64_t> ids) const override { return {ids.begin(), ids.end()}; }
  int64_t vocab_size() const override { return 256; }
  std::optional<int64_t> bos() const override { return std::nullopt; }
  std::optional<int64_t> eos() const override { return std::nullopt; }
};

TEST(GenaiTextStream, CharactersComeWhole) {
  const Bytes tokenizer;
  TextStream stream(tokenizer);
  EXPECT_EQ(stream.add('a'), "a");
  EXPECT_EQ(stream.add('\xc3'), "");
  EXPECT_EQ(stream.add('\xa4'), "\xc3\xa4");
  EXPECT_EQ(stream.add('b'), "b");
  EXPECT_EQ(stream.add('\xe2'), "");
  EXPECT_EQ(stream.rest(), "\xe2");
}

TEST(GenaiDecoder, OtherProgramsAreRefusedWithAReason) {
  pte::Program p;
  EXPECT_FALSE(describe_decoder(p));
  p.plans.emplace_back();
  p.plans[0].name = "kv_forward";
  EXPECT_FALSE(describe_decoder(p));
  pte::Tensor tokens, positions, logits;
  tokens.scalar_type = positions.scalar_type = 4;
  tokens.sizes = {1, 1};
  positions.sizes = {1};
  logits.scalar_type = 6;
  logits.sizes = {1, 50};
  p.plans[0].values = {tokens, positions, logits};
  p.plans[0].inputs = {0, 1};
  p.plans[0].outputs = {2};
  const auto good = describe_decoder(p);
  ASSERT_TRUE(good) << good.failure().message;
  EXPECT_EQ(good->decode.vocab_size, 50);
  EXPECT_FALSE(good->prefill);
  p.plans[0].outputs = {2, 2};
  EXPECT_FALSE(describe_decoder(p));
}

}  // namespace
}  // namespace edgec::genai
