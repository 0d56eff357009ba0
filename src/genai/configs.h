#pragma once
#include <any>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <edgec/backend.h>
#include "genai/context.h"
#include "genai/graph_bundle.h"

// What each stage takes and gives. Fields without default are constructor arguments; an empty optional (or std::any) in an output means
// that the stage did not run.
namespace edgec::genai {

// Presence of a key tells that the artifact exists, so there are no empty paths.
using ArtifactMap = OrderedMap<ArtifactKey, std::filesystem::path>;
// A loaded module, or the .pt2 file it lies in.
using ModelSource = std::variant<Module, std::string>;
using Metrics = std::map<std::string, double>;

struct ModelPreparationInputConfig {
  ModelPreparationInputConfig(std::string model, std::string soc) : model_name(std::move(model)), soc_model(std::move(soc)) {}
  std::string model_name, soc_model;
  Options extra_options;
};

struct ModelPreparationOutputConfig {
  std::optional<ModelSource> model_module;
  std::any tokenizer, calibration_data;
  std::optional<std::string> runtime_tokenizer_path, chat_template;
  std::optional<std::vector<TensorType>> example_inputs;  // from the model, never from calibration data; none and no inputs differ
};

struct QuantizationInputConfig {
  QuantizationInputConfig(std::string soc, std::string backend) : soc_model(std::move(soc)), backend_type(std::move(backend)) {}
  std::string soc_model, backend_type;
  std::optional<ModelSource> model_module;
  std::any calibration_data, training_data, quant_recipe;
  std::optional<std::vector<TensorType>> example_inputs;
  Options extra_options;
};

struct QuantizationOutputConfig {
  std::optional<ModelSource> quantized_model;
};

struct CompilationInputConfig {
  CompilationInputConfig(std::string soc, std::string backend) : soc_model(std::move(soc)), backend_type(std::move(backend)) {}
  std::string soc_model, backend_type;
  std::optional<ModelSource> model;  // one graph; `graphs` and `components` hold several
  std::filesystem::path artifact_dir = ".";
  std::optional<CompileSpecs> compile_specs;
  std::optional<std::vector<TensorType>> example_inputs;
  // Decoder and token embedding, whose graph names tell the artifact.
  std::optional<GraphBundles> graphs;
  // Artifacts of one graph `forward`: encoders and the attention-sink evictor.
  OrderedMap<ArtifactKey, GraphBundle> components;
};

struct CompilationOutputConfig {
  std::optional<ArtifactMap> artifact_paths;
  std::optional<std::string> etrecord;
};

struct InferenceInputConfig {
  explicit InferenceInputConfig(std::string soc) : soc_model(std::move(soc)) {}
  std::string soc_model;
  std::optional<ArtifactMap> artifact_paths;
  std::any tokenizer;
  std::optional<std::string> runtime_tokenizer_path;
  std::optional<std::vector<std::string>> prompt;
  std::filesystem::path artifact_dir = ".";
  Options inference_options;
};

struct InferenceOutputConfig {
  std::optional<std::vector<std::string>> inference_results;
  Metrics performance_metrics, eval_results;
  std::optional<std::string> etdump;
};

// What an adapter gives for one compilation and one run.
struct CompilationResult {
  ArtifactMap artifact_paths;
  std::optional<std::string> etrecord;
};
struct InferenceResult {
  std::optional<std::vector<std::string>> output_data;
  Metrics performance_metrics;
  std::optional<std::string> etdump;
};

}  // namespace edgec::genai
