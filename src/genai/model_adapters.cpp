#include "genai/model_adapters.h"

#include <fmt/format.h>

#include <system_error>

namespace edgec::genai {

Result<std::filesystem::path> ModelLoaderAdapter::export_tokenizer(const TokenizerWriter& write, const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return output_error(fmt::format("error: cannot make the folder {}: {}", folder.string(), error.message()));
  EDGEC_TRY(const auto files, write(folder));
  if (files.empty()) return input_error(fmt::format("the tokenizer wrote no file into {}", folder.string()));
  return files.back();
}

Result<ModelSource> Pt2LoaderAdapter::load_model(const std::string& name, const Options& options) {
  const auto* file = option<std::string>(options, "model_file");
  EDGEC_TRY(Module module, load_module(file ? *file : name));
  return ModelSource(std::move(module));
}

Result<std::any> Pt2LoaderAdapter::load_tokenizer(const std::string&, const Options& options) {
  const auto* file = option<std::string>(options, "tokenizer_file");
  return file ? std::any(*file) : std::any();
}

Result<CallableModelPtr> QuantizerAdapter::calibrate(CallableModelPtr model, const Dataset& data) {
  if (const auto* samples = std::any_cast<Samples>(&data)) {
    for (const Sample& sample : *samples) EDGEC_TRY_VOID(model->forward(sample));
    return model;
  }
  if (const auto* loader = std::any_cast<Loader>(&data)) {
    while (auto sample = (*loader)()) EDGEC_TRY_VOID(model->forward(*sample));
    return model;
  }
  return usage_error("calibration data is a list of samples or a loader of them");
}

}  // namespace edgec::genai
