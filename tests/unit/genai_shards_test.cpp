#include <gtest/gtest.h>

#include <cstring>

#include "emit/program.h"
#include "genai/compilation_strategy.h"
#include "genai/compile_spec_builder.h"
#include "genai/shards.h"
#include "genai/spill_fill.h"
#include "genai_modules.h"
#include "support/mapped_file.h"

// Decoders cut into several contexts, and their spill-fill sizes.
namespace edgec::genai {
namespace {

const PipelineContext kContext("label", "SM8650", {"p"});

TEST(GenaiShards, ShardingByModel) {
  EXPECT_EQ(num_sharding("llama3_2-3b_instruct", ArtifactKey::TextDecoder), 3u);
  EXPECT_EQ(num_sharding("phi_4_mini", ArtifactKey::TextDecoder), 8u);
  EXPECT_EQ(num_sharding("granite_speech_3_3-2b", ArtifactKey::AudioEncoder), 8u);
  EXPECT_EQ(num_sharding("granite_speech_3_3-2b", ArtifactKey::TextDecoder), 4u);
  EXPECT_EQ(num_sharding("mine", ArtifactKey::TextDecoder), 1u);
}

// The module path of every node, in order.
void put_in_modules(Method& m, const std::vector<const char*>& paths) {
  size_t i = 0;
  for (const NodeId n : m.graph->nodes_in_order()) {
    auto loc = std::make_shared<SourceLocation>();
    loc->module_path = paths.at(i++);
    m.graph->node(n).loc = loc;
  }
}

std::vector<uint32_t> shards_in_order(const Method& m, const ShardPlan& plan) {
  const NodeMap<uint32_t> shards = shards_of(*m.graph, plan);
  std::vector<uint32_t> out;
  for (const NodeId n : m.graph->nodes_in_order()) out.push_back(shards.at(n));
  return out;
}

Result<int64_t> size_in(std::span<const std::byte> context) {
  int64_t size = 0;
  std::memcpy(&size, context.data(), sizeof size);
  return size;
}

TEST(GenaiShards, ShardsAreCutBetweenLayers) {
  auto program = clone(*parsed(R"(method @forward(%x: f32[4] = input "x") {
  %a = aten.relu(%x) : f32[4]
  %b = aten.relu(%a) : f32[4]
  %c = aten.relu(%b) : f32[4]
  %d = aten.relu(%c) : f32[4]
  %e = aten.relu(%d) : f32[4]
  return %e
}
)"));
  Method& m = *program->methods[0];
  put_in_modules(m, {"tok", "layers.0.norm", "layers.1.mlp", "layers.2", "head"});
  const auto plan = plan_shards(m, 2);
  ASSERT_TRUE(plan) << plan.failure().message;
  EXPECT_EQ(plan->layers, 3u);
  EXPECT_EQ(plan->first_layer, (std::vector<size_t>{0, 1}));
  EXPECT_EQ(shards_in_order(m, *plan), (std::vector<uint32_t>{0, 0, 1, 1, 1}));
  EXPECT_FALSE(plan_shards(m, 4));
  EXPECT_FALSE(plan_shards(m, 0));
}

TEST(GenaiShards, IntegersCrossTheBorderBetweenShards) {
  auto program = clone(*parsed(R"(method @forward(%x: f32[4] = input "x") {
  %a = aten.relu(%x) : f32[4]
  %q = quantized_decomposed.quantize_per_tensor(%a, 0.5, 0, 0, 255, u8) : u8[4]
  %b = quantized_decomposed.dequantize_per_tensor(%q, 0.5, 0, 0, 255, u8) : f32[4]
  %c = aten.relu(%b) : f32[4]
  return %c
}
)"));
  Method& m = *program->methods[0];
  put_in_modules(m, {"layers.0", "layers.0", "layers.0", "layers.1"});
  EXPECT_EQ(shards_in_order(m, *plan_shards(m, 2)), (std::vector<uint32_t>{0, 0, 1, 1}));
}

// Takes everything; a payload is a context whose spill-fill size is 1000 bytes a node of the region.
class FakeQnn final : public Backend {
 public:
  std::string id() const override { return std::string(kQnnBackendId); }
  std::string name() const override { return "qnn"; }
  std::string summary() const override { return "fake"; }
  Result<CompileSpecs> parse_options(std::span<const std::pair<std::string, std::string>>) const override { return CompileSpecs(); }
  std::optional<std::string> refuses(const Method&, const Graph&, NodeId, const CompileSpecs&) const override { return std::nullopt; }
  Result<Payload> preprocess(const Method& region, const CompileSpecs&) const override {
    const int64_t size = 1000 * static_cast<int64_t>(region.graph->nodes_in_order().size());
    Payload payload;
    payload.bytes = with_context_header(std::as_bytes(std::span(&size, 1)));
    return payload;
  }
};

Module three_layers() {
  auto program = clone(*parsed(R"(method @forward(%x: f32[4] = input "x") {
  %a = aten.relu(%x) : f32[4]
  %b = aten.sin(%a) : f32[4]
  %c = aten.cos(%b) : f32[4]
  %d = aten.exp(%c) : f32[4]
  return %d
}
)"));
  put_in_modules(*program->methods[0], {"layers.0", "layers.1", "layers.1", "layers.2"});
  return Module(std::move(program));
}

TEST(GenaiShards, ACutDecoderHasADelegateAContextAndOneSpillFillSize) {
  const Folder folder;
  CompilationInputConfig in("SM8650", "htp");
  in.artifact_dir = folder.path;
  in.graphs = GraphBundles{{GraphName::KvForward, *GraphBundle::make({three_layers()})},
                           {GraphName::PrefillForward, *GraphBundle::make({three_layers()})}};
  const auto compiled = [&](const CompilationPlan& plan) {
    const auto adapter = std::make_shared<DefaultCompilerAdapter>(lowering_to(std::make_shared<FakeQnn>()));
    const auto out = ExecuTorchCompilationStrategy(adapter, plan).invoke(kContext, in);
    EXPECT_TRUE(out) << out.failure().message;
    auto file = MappedFile::open(out->artifact_paths->front().second.string());
    return *pte::read((*file)->bytes(), *file);
  };
  const auto sizes = [](const pte::Plan& plan) {
    std::vector<int32_t> out;
    for (const pte::Delegate& d : plan.delegates) out.push_back(decode_qnn_options(d.compile_specs[0].value)->htp_options->max_sf_buf_size);
    return out;
  };
  CompilationPlan plan;
  plan.num_sharding = 3;
  plan.spill_fill = size_in;
  const pte::Program cut = compiled(plan);
  ASSERT_EQ(cut.plans.size(), 2u);
  for (const pte::Plan& method : cut.plans) EXPECT_EQ(sizes(method), (std::vector<int32_t>{2000, 2000, 2000}));  // the middle layer's
  plan.spill_fill = nullptr;
  EXPECT_EQ(sizes(compiled(plan).plans[0]), (std::vector<int32_t>{0, 0, 0}));
  plan.spill_fill = size_in;
  plan.num_sharding = std::nullopt;  // the name has no entry in the official table
  EXPECT_EQ(sizes(compiled(plan).plans[0]), std::vector<int32_t>{0});
  plan.args.decoder_model = "llama3_2-3b_instruct";
  EXPECT_EQ(sizes(compiled(plan).plans[1]).size(), 3u);
  plan.num_sharding = 4;
  const auto adapter = std::make_shared<DefaultCompilerAdapter>(lowering_to(std::make_shared<FakeQnn>()));
  const auto too_many = ExecuTorchCompilationStrategy(adapter, plan).invoke(kContext, in);
  ASSERT_FALSE(too_many);
  EXPECT_NE(too_many.failure().message.find("3 layers"), std::string::npos) << too_many.failure().message;
}

// ---- spill-fill

pte::Program sharded(const std::vector<int64_t>& sizes, bool multi_contexts = true) {
  HtpRequest htp(false);
  htp.use_multi_contexts = multi_contexts;
  const CompileSpecs s = *QnnCompileSpecBuilder().build(SocModel::SM8650, htp);
  pte::Program p;
  p.plans.emplace_back();
  for (const int64_t size : sizes) {
    std::vector<std::byte> context(8);
    std::memcpy(context.data(), &size, sizeof size);
    pte::Delegate d;
    d.backend_id = "QnnBackend";
    d.payload = static_cast<uint32_t>(p.payloads.size());
    d.compile_specs = {{s[0].key, s[0].value}};
    p.plans[0].delegates.push_back(d);
    p.payloads.push_back(pte::blob_of(with_context_header(context)));
  }
  return p;
}

TEST(GenaiSpillFill, TheLargestOfTheGroup) {
  pte::Program one = sharded({100, 8388608}), two = sharded({7});
  pte::Program* programs[] = {&one, &two};
  const auto largest = share_spill_fill(programs, size_in);
  ASSERT_TRUE(largest) << largest.failure().message;
  EXPECT_EQ(*largest, 8388608);
  for (const pte::Program* p : programs)
    for (const pte::Delegate& d : p->plans[0].delegates)
      EXPECT_EQ(decode_qnn_options(d.compile_specs[0].value)->htp_options->max_sf_buf_size, 8388608);
}

TEST(GenaiSpillFill, OnlyGroupsOfContexts) {
  pte::Program alone = sharded({100}, false);
  const pte::Program before = alone;
  pte::Program* programs[] = {&alone};
  EXPECT_EQ(*share_spill_fill(programs, size_in), 0);
  EXPECT_EQ(alone.plans[0].delegates[0].compile_specs[0].value, before.plans[0].delegates[0].compile_specs[0].value);

  pte::Program large = sharded({int64_t{1} << 31, 5});
  const auto kept = large.plans[0].delegates[1].compile_specs[0].value;
  pte::Program* too_large[] = {&large};
  EXPECT_FALSE(share_spill_fill(too_large, size_in));
  EXPECT_EQ(large.plans[0].delegates[1].compile_specs[0].value, kept);

  pte::Program uncompiled = sharded({1});
  uncompiled.payloads[0] = pte::blob_of(std::vector<std::byte>(300));
  pte::Program* no_context[] = {&uncompiled};
  EXPECT_FALSE(share_spill_fill(no_context, size_in));
  EXPECT_FALSE(context_of({}));
}

}  // namespace
}  // namespace edgec::genai
