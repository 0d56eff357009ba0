#ifdef EDGEC_HAS_RUNTIME
#include <gtest/gtest.h>

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "genai/compilation_strategy.h"
#include "genai/executorch_strategies.h"
#include "genai/runtime/local_transport.h"
#include "runtime/npy.h"
#include "support/mapped_file.h"

// The pipeline on this machine: prepared from a .pt2, compiled with the portable kernels, run in a local folder on the official runtime.
namespace edgec::genai {
namespace {

namespace fs = std::filesystem;

const fs::path kModel = fs::path(EDGEC_TESTS_DIR) / "models/data/mlp";

struct Folder {
  fs::path path = fs::temp_directory_path() / ("edgec_genai_runtime_" + std::to_string(::getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
};

void expect_close(const runtime::Array& got, const runtime::Array& expected) {
  ASSERT_EQ(got.shape, expected.shape);
  for (size_t i = 0; i < expected.count(); ++i) EXPECT_NEAR(got.at(i), expected.at(i), 1e-5);
}

TEST(GenaiRuntime, ALocalFolderIsADevice) {
  const Folder folder;
  DefaultCompilerAdapter adapter(lowering_to("portable"));
  CompileModelRequest request;
  request.model = (kModel / "model.pt2").string();
  request.artifact_key = ArtifactKey::VisionEncoder;
  request.artifact_dir = folder.path / "artifacts";
  request.file_name = "vision_encoder";
  request.target = {"SM8650", "undefined"};
  const auto compiled = adapter.compile_model(request);
  ASSERT_TRUE(compiled) << compiled.failure().message;

  DeviceRunnerAdapter runner(std::make_shared<LocalTransport>(folder.path / "workspace"));
  std::ofstream(folder.path / "input_list.txt") << "0.npy\n0.npy\n";
  const Status pushed = runner.push_artifacts(compiled->artifact_paths, {kModel / "inputs/0.npy"}, {folder.path / "input_list.txt"});
  ASSERT_TRUE(pushed) << pushed.failure().message;
  const auto ran = runner.execute({.method_index = 0, .iteration = 2});
  ASSERT_TRUE(ran) << ran.failure().message;
  const auto files = runner.pull_results(folder.path / "results");
  ASSERT_TRUE(files) << files.failure().message;
  EXPECT_EQ(*files, (std::vector<fs::path>{"0/output_0.npy", "1/output_0.npy"}));
  const auto expected = runtime::read_npy((kModel / "expected/0.npy").string());
  for (const fs::path& file : *files) {
    const auto got = runtime::read_npy((folder.path / "results" / file).string());
    ASSERT_TRUE(got && expected);
    expect_close(*got, *expected);
  }
  EXPECT_FALSE(runner.execute({.method_index = 7, .iteration = 1}));
}

// A program file in which an input of the first method is a value that does not exist.
std::vector<std::byte> damaged(pte::Program program) {
  program.plans[0].inputs[0] = 1 << 20;
  BytesSink sink;
  EXPECT_TRUE(pte::write(program, sink));
  return std::move(sink.bytes);
}

TEST(GenaiRuntime, DamagedProgramsAreRefusedBeforeTheyRun) {
  const Folder folder;
  DefaultCompilerAdapter adapter(lowering_to("executor"));
  CompileModelRequest request;
  request.model = (kModel / "model.pt2").string();
  request.artifact_dir = folder.path;
  request.file_name = "good";
  request.target = {"SM8650", "undefined"};
  ASSERT_TRUE(adapter.compile_model(request));
  auto file = MappedFile::open((folder.path / "good.pte").string());
  ASSERT_TRUE(file);
  pte::Program program = *pte::read((*file)->bytes(), *file);
  const auto refusal = [&](const std::vector<std::byte>& bytes) {
    std::ofstream(folder.path / "bad.pte").write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    const Status ran = LocalTransport(folder.path).run({.programs = {"bad.pte"}});
    return ran ? "ran" : ran.failure().message;
  };
  EXPECT_NE(refusal(damaged(program)).find("bad.pte cannot be run"), std::string::npos);
  const pte::Program nested = *pte::read(program.payloads[program.plans[0].delegates[0].payload].view);
  program.payloads[program.plans[0].delegates[0].payload] = pte::blob_of(damaged(nested));
  BytesSink sink;
  ASSERT_TRUE(pte::write(program, sink));
  EXPECT_NE(refusal(sink.bytes).find("nested program of bad.pte"), std::string::npos);
}

TEST(GenaiRuntime, TheWholePipeline) {
  const Folder folder;
  CompilationPlan plan;
  plan.qnn = false;
  StrategyRegistry registry;
  registry.entries[EngineType::Executorch] = {
      std::make_shared<ExecuTorchModelPreparationStrategy>(std::make_shared<Pt2LoaderAdapter>()), nullptr,
      std::make_shared<ExecuTorchCompilationStrategy>(std::make_shared<DefaultCompilerAdapter>(lowering_to("portable")), plan),
      std::make_shared<ExecuTorchInferenceStrategy>(
          std::make_shared<DeviceRunnerAdapter>(std::make_shared<LocalTransport>(folder.path / "workspace")))};
  const auto pipeline = GenAIPipeline::from_proxy(*EngineProxy::make({}, "undefined"), registry, {"quantization"});
  ASSERT_TRUE(pipeline) << pipeline.failure().message;
  const auto context = PipelineContext::builder()
                           .with_model("mlp")
                           .with_soc("SM8650")
                           .with_prompt("unused")
                           .with_artifact_dir((folder.path / "artifacts").string())
                           .with_extra_options({{"model_file", (kModel / "model.pt2").string()}})
                           .build();
  ASSERT_TRUE(context);
  const auto result = pipeline->invoke(*context);
  ASSERT_TRUE(result) << result.failure().message;
  EXPECT_EQ(*result->inference_results, std::vector<std::string>{"0/output_0.npy"});  // of zeros
  EXPECT_TRUE(fs::exists(folder.path / "artifacts/text_decoder.pte"));
  EXPECT_TRUE(fs::exists(folder.path / "artifacts/inference_output/0/output_0.npy"));
}

}  // namespace
}  // namespace edgec::genai
#endif
