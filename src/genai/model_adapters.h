#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "genai/configs.h"
#include "genai/datasets.h"

// Thin wrappers over what happens outside: loading, tokenizers, quantizers. edgec reads exported graphs and does not quantize, so the
// defaults are few; a test or an application injects its own.
namespace edgec::genai {

class ModelLoaderAdapter {
 public:
  virtual ~ModelLoaderAdapter() = default;
  virtual Result<ModelSource> load_model(const std::string& name, const Options& options) = 0;
  virtual Result<std::any> load_tokenizer(const std::string& name, const Options& options) = 0;
  // Writes a tokenizer's files into a folder and gives their paths in the order written.
  using TokenizerWriter = std::function<Result<std::vector<std::filesystem::path>>(const std::filesystem::path& folder)>;
  // The folder is made; the answer is one file, the last one written. None written: kind Input.
  static Result<std::filesystem::path> export_tokenizer(const TokenizerWriter& write, const std::filesystem::path& folder);
};

// Models are .pt2 files: the option "model_file", or else the name itself. The option "tokenizer_file" is the tokenizer.
class Pt2LoaderAdapter final : public ModelLoaderAdapter {
 public:
  Result<ModelSource> load_model(const std::string& name, const Options& options) override;
  Result<std::any> load_tokenizer(const std::string& name, const Options& options) override;
};

// A model that can be called with positional arguments.
class CallableModel {
 public:
  virtual ~CallableModel() = default;
  virtual Status forward(std::span<const TensorData> arguments) = 0;
};
using CallableModelPtr = std::shared_ptr<CallableModel>;

class QuantizerAdapter {
 public:
  virtual ~QuantizerAdapter() = default;
  virtual Result<std::any> make_quantizer(const std::string& soc_model, const std::string& backend_type, const std::any& recipe) = 0;
  virtual Result<CallableModelPtr> export_model(const ModelSource& model) = 0;
  virtual Result<CallableModelPtr> prepare_pt2e(CallableModelPtr model, const std::any& quantizer) = 0;
  virtual Result<ModelSource> convert_pt2e(CallableModelPtr model) = 0;
  // One forward pass a sample, its tensors as positional arguments; gives the model back. A data set of another kind than Samples or Loader
  // is a failure of kind Usage.
  static Result<CallableModelPtr> calibrate(CallableModelPtr model, const Dataset& data);
};

}  // namespace edgec::genai
