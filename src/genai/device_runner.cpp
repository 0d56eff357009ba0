#include "genai/device_runner.h"

#include <algorithm>
#include <system_error>

namespace edgec::genai {

Status DeviceRunnerAdapter::push_artifacts(const ArtifactMap& artifacts, const std::vector<std::filesystem::path>& input_data,
                                           const std::vector<std::filesystem::path>& extra_files) {
  if (artifacts.empty()) return usage_error("there are no artifacts to push");
  if (pushed_) warnings_.emplace_back("artifacts were pushed before: the session is replaced");
  pushed_.reset();
  std::vector<std::string> programs;
  for (const auto& [key, path] : artifacts) {
    EDGEC_TRY_VOID(transport_->push(path));
    programs.push_back(path.filename().string());
  }
  for (const auto* files : {&input_data, &extra_files})
    for (const std::filesystem::path& file : *files) EDGEC_TRY_VOID(transport_->push(file));
  pushed_ = std::move(programs);
  return {};
}

Result<InferenceResult> DeviceRunnerAdapter::execute(const ExecuteOptions& options) {
  if (!pushed_) return model_error("execute before push_artifacts");
  EDGEC_TRY_VOID(transport_->run({*pushed_, options.method_index, options.iteration}));
  InferenceResult result;
  result.performance_metrics = {{"method_index", static_cast<double>(options.method_index)},
                                {"iteration", static_cast<double>(options.iteration)}};
  return result;
}

Result<std::vector<std::filesystem::path>> DeviceRunnerAdapter::pull_results(const std::filesystem::path& folder) {
  if (!pushed_) return model_error("pull_results before push_artifacts");
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return output_error("error: cannot make the folder " + folder.string() + ": " + error.message());
  EDGEC_TRY(auto names, transport_->pull(folder));
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace edgec::genai
