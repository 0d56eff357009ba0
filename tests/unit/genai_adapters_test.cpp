#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <type_traits>

#include "genai/errors.h"
#include "genai/executorch_strategies.h"

// Data sets, tokenizers, calibration, the device runner and the strategies over them.
namespace edgec::genai {
namespace {

namespace fs = std::filesystem;

PipelineContext context() { return {"model", "SM8650", {"hello"}, "dir", {{"k", 1}}}; }

class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("edgec_genai_" + std::to_string(::getpid()) + "_" + std::to_string(next_++))) {
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }

 private:
  static inline int next_ = 0;
  fs::path path_;
};

// ---- data

TEST(GenaiData, CalibrationSamples) {
  const auto data = CalibrationDataAdapter::generate_calibration_data(50, 4, 16);
  ASSERT_TRUE(data);
  const auto samples = std::any_cast<Samples>(*data);
  ASSERT_EQ(samples.size(), 4u);
  for (const Sample& s : samples) {
    ASSERT_EQ(s.size(), 2u);
    EXPECT_EQ(s[0].dtype, DType::I64);
    EXPECT_EQ(s[0].sizes, (std::vector<int64_t>{1, 16}));
    EXPECT_EQ(s[1].sizes, (std::vector<int64_t>{1, 16}));
    const auto ids = gather(s[0]), ones = gather(s[1]);
    for (int64_t i = 0; i < 16; ++i) {
      EXPECT_GE(read_integer(ids, DType::I64, i), 0);
      EXPECT_LT(read_integer(ids, DType::I64, i), 50);
      EXPECT_EQ(read_integer(ones, DType::I64, i), 1);
    }
  }
  const auto again = std::any_cast<Samples>(*CalibrationDataAdapter::generate_calibration_data(50, 4, 16));
  EXPECT_EQ(gather(again[3][0]), gather(samples[3][0]));
  const auto other = std::any_cast<Samples>(*CalibrationDataAdapter::generate_calibration_data(50, 4, 16, {}, 43));
  EXPECT_NE(gather(other[3][0]), gather(samples[3][0]));
  EXPECT_EQ(std::any_cast<Samples>(*CalibrationDataAdapter::generate_calibration_data(50)).size(), 128u);
}

TEST(GenaiData, DataSetsPassUntouched) {
  const Samples list = {{make_tensor_data(DType::I64, {1}, std::vector<int64_t>{9})}};
  const auto same = CalibrationDataAdapter::generate_calibration_data({}, 1, 1, {{"dataset", list}});
  ASSERT_TRUE(same);
  EXPECT_EQ(gather(std::any_cast<Samples>(*same)[0][0]), gather(list[0][0]));
  const Loader loader = [] { return std::nullopt; };
  const auto kept = CalibrationDataAdapter::generate_calibration_data({}, 1, 1, {{"dataset", loader}});
  EXPECT_NE(std::any_cast<Loader>(&*kept), nullptr);
  EXPECT_FALSE(CalibrationDataAdapter::generate_calibration_data({}));
  EXPECT_FALSE(CalibrationDataAdapter::generate_calibration_data(0));
  EXPECT_FALSE(CalibrationDataAdapter::generate_calibration_data(-3));
  const auto labels = TrainingDataAdapter::training_data({{"training_data", list}});
  EXPECT_NE(std::any_cast<Samples>(&*labels), nullptr);
  const auto loaded = TrainingDataAdapter::training_data({{"training_data", loader}});
  EXPECT_NE(std::any_cast<Loader>(&*loaded), nullptr);
  EXPECT_FALSE(TrainingDataAdapter::training_data({}));
}

TEST(GenaiData, TokenizerExportGivesAFile) {
  const Folder folder;
  const fs::path into = folder.path() / "a" / "b";
  const auto two_files = [](const fs::path& f) -> Result<std::vector<fs::path>> {
    for (const char* n : {"config.json", "tokenizer.json"}) std::ofstream(f / n) << "{}";
    return std::vector{f / "config.json", f / "tokenizer.json"};
  };
  const auto file = ModelLoaderAdapter::export_tokenizer(two_files, into);
  ASSERT_TRUE(file) << file.failure().message;
  EXPECT_TRUE(fs::is_regular_file(*file));
  EXPECT_EQ(file->filename(), "tokenizer.json");  // the last one written
  EXPECT_TRUE(fs::is_directory(into));
  const auto none = ModelLoaderAdapter::export_tokenizer([](const fs::path&) { return std::vector<fs::path>(); }, into);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.failure().kind, ErrorKind::Input);
}

struct CountingModel final : CallableModel {
  Status forward(std::span<const TensorData> arguments) override {
    counts.push_back(arguments.size());
    return {};
  }
  std::vector<size_t> counts;
};

TEST(GenaiData, CalibrationRunsOneForwardASample) {
  const auto model = std::make_shared<CountingModel>();
  const TensorData t = make_tensor_data(DType::I64, {1}, std::vector<int64_t>{1});
  const auto back = QuantizerAdapter::calibrate(model, Samples{{t, t}, {t, t}, {t, t, t}});
  ASSERT_TRUE(back);
  EXPECT_EQ(back->get(), model.get());
  EXPECT_EQ(model->counts, (std::vector<size_t>{2, 2, 3}));
  int left = 2;
  const Loader loader = [&]() -> std::optional<Sample> { return left-- > 0 ? std::optional(Sample{t}) : std::nullopt; };
  EXPECT_TRUE(QuantizerAdapter::calibrate(model, loader));
  EXPECT_EQ(model->counts.size(), 5u);
  EXPECT_TRUE(QuantizerAdapter::calibrate(model, Samples{}));
  EXPECT_EQ(model->counts.size(), 5u);
  EXPECT_FALSE(QuantizerAdapter::calibrate(model, 17));
}

// ---- device runner

struct RecordingTransport final : Transport {
  Status push(const fs::path& file) override {
    pushed.push_back(file.string());
    return {};
  }
  Status run(const RunRequest& r) override {
    request = r;
    return {};
  }
  Result<std::vector<fs::path>> pull(const fs::path& to) override {
    pulled_into = to;
    return std::vector<fs::path>{"1/output_0.npy", "0/output_0.npy"};
  }
  std::vector<std::string> pushed;
  RunRequest request;
  fs::path pulled_into;
};

const ArtifactMap kArtifacts = {{ArtifactKey::TextDecoder, "x/hybrid.pte"}, {ArtifactKey::VisionEncoder, "x/vision.pte"}};

TEST(GenaiRunner, PushesValuesInOrder) {
  const auto transport = std::make_shared<RecordingTransport>();
  DeviceRunnerAdapter runner(transport);
  EXPECT_FALSE(runner.execute());  // before a push
  const Folder folder;
  EXPECT_FALSE(runner.pull_results(folder.path() / "r"));
  ASSERT_TRUE(runner.push_artifacts(kArtifacts, {"in.npy"}, {"tokenizer.model"}));
  EXPECT_EQ(transport->pushed, (std::vector<std::string>{"x/hybrid.pte", "x/vision.pte", "in.npy", "tokenizer.model"}));
  const auto result = runner.execute({.method_index = 1, .iteration = 3});
  ASSERT_TRUE(result);
  EXPECT_EQ(transport->request.programs, (std::vector<std::string>{"hybrid.pte", "vision.pte"}));
  EXPECT_EQ(result->performance_metrics, (Metrics{{"method_index", 1}, {"iteration", 3}}));
  EXPECT_FALSE(result->output_data);
  const auto files = runner.pull_results(folder.path() / "r" / "s");
  ASSERT_TRUE(files);
  EXPECT_TRUE(fs::is_directory(folder.path() / "r" / "s"));
  EXPECT_EQ(files->at(0), "0/output_0.npy");
  EXPECT_TRUE(runner.warnings().empty());
  ASSERT_TRUE(runner.push_artifacts(kArtifacts));
  EXPECT_EQ(runner.warnings().size(), 1u);
}

TEST(GenaiRunner, InferenceStrategy) {
  const Folder folder;
  const auto transport = std::make_shared<RecordingTransport>();
  ExecuTorchInferenceStrategy strategy(std::make_shared<DeviceRunnerAdapter>(transport));
  static_assert(std::is_base_of_v<InferenceStrategy, ExecuTorchInferenceStrategy>);
  InferenceInputConfig in("SM8650");
  in.artifact_dir = folder.path();
  const auto without = strategy.invoke(context(), in);
  ASSERT_FALSE(without);
  ASSERT_NE(error_as<StageError>(without.failure()), nullptr);
  EXPECT_EQ(error_as<StageError>(without.failure())->stage_name(), "inference");
  in.artifact_paths = kArtifacts;
  const auto out = strategy.invoke(context(), in);
  ASSERT_TRUE(out) << out.failure().message;
  EXPECT_EQ(transport->pulled_into, folder.path() / "inference_output");
  EXPECT_EQ(*out->inference_results, (std::vector<std::string>{"0/output_0.npy", "1/output_0.npy"}));
  EXPECT_FALSE(ExecuTorchInferenceStrategy(nullptr).invoke(context(), in));
}

struct FakeQuantizer final : QuantizerAdapter {
  Result<std::any> make_quantizer(const std::string& soc, const std::string& backend, const std::any&) override {
    steps.push_back("quantizer " + soc + " " + backend);
    return std::any(1);
  }
  Result<CallableModelPtr> export_model(const ModelSource&) override {
    steps.push_back("export");
    return CallableModelPtr(std::make_shared<CountingModel>());
  }
  Result<CallableModelPtr> prepare_pt2e(CallableModelPtr model, const std::any&) override {
    steps.push_back("prepare");
    return model;
  }
  Result<ModelSource> convert_pt2e(CallableModelPtr model) override {
    steps.push_back("convert after " + std::to_string(dynamic_cast<CountingModel&>(*model).counts.size()));
    return ModelSource("quantized.pt2");
  }
  std::vector<std::string> steps;
};

TEST(GenaiStrategies, QuantizationStepsInOrder) {
  const auto quantizer = std::make_shared<FakeQuantizer>();
  ExecuTorchQuantizationStrategy strategy(quantizer);
  QuantizationInputConfig in("SM8650", "htp");
  const auto missing = [&](const char* what) {
    const auto r = strategy.invoke(context(), in);
    ASSERT_FALSE(r);
    EXPECT_EQ(r.failure().message, std::string("[quantization] ") + what + " is missing");
  };
  missing("model_module");
  in.model_module = ModelSource("model.pt2");
  missing("example_inputs");
  in.example_inputs.emplace();  // a model without inputs is a model
  const TensorData t = make_tensor_data(DType::I64, {1}, std::vector<int64_t>{1});
  in.calibration_data = Samples{{t}, {t}};
  const auto out = strategy.invoke(context(), in);
  ASSERT_TRUE(out) << out.failure().message;
  EXPECT_EQ(std::get<std::string>(*out->quantized_model), "quantized.pt2");
  EXPECT_EQ(quantizer->steps, (std::vector<std::string>{"quantizer SM8650 htp", "export", "prepare", "convert after 2"}));
  in.calibration_data = 17;  // no data set: the adapter's failure becomes the stage's
  const auto wrong = strategy.invoke(context(), in);
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.failure().message.find("caused by ValueError"), std::string::npos) << wrong.failure().message;
  in.soc_model = "";
  in.calibration_data.reset();
  missing("soc_model");
}

TEST(GenaiStrategies, QuantizationChecksWhatItWasGiven) {
  static_assert(std::is_base_of_v<QuantizationStrategy, ExecuTorchQuantizationStrategy>);
  ExecuTorchQuantizationStrategy strategy(nullptr);
  const auto r = strategy.invoke(context(), QuantizationInputConfig("SM8650", "htp"));
  ASSERT_FALSE(r);
  EXPECT_EQ(error_as<StageError>(r.failure())->stage_name(), "quantization");
}

}  // namespace
}  // namespace edgec::genai
