#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "genai/configs.h"

namespace edgec::genai {

// What runs on the other end: the runner is told the programs in order; the first is the one it loads.
struct RunRequest {
  std::vector<std::string> programs;  // file names in the workspace
  size_t method_index = 0, iteration = 1;
};

// A way to a machine with a runtime and a folder there, the workspace.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual Status push(const std::filesystem::path& file) = 0;  // into the workspace, under its own name
  virtual Status run(const RunRequest& request) = 0;
  // Files of the workspace's output folder copied to `to`, which exists: names relative to it, folders one level deep.
  virtual Result<std::vector<std::filesystem::path>> pull(const std::filesystem::path& to) = 0;
};

struct ExecuteOptions {
  size_t method_index = 0, iteration = 1;
};

// push -> execute -> pull. Execute and pull before a push are failures (kind Model); pushing again replaces the session.
class DeviceRunnerAdapter {
 public:
  explicit DeviceRunnerAdapter(std::shared_ptr<Transport> transport) : transport_(std::move(transport)) {}
  virtual ~DeviceRunnerAdapter() = default;
  // Pushes the map's paths (its values) in the map's order, then the other files.
  virtual Status push_artifacts(const ArtifactMap& artifacts, const std::vector<std::filesystem::path>& input_data = {},
                                const std::vector<std::filesystem::path>& extra_files = {});
  // Both options are echoed in performance_metrics.
  virtual Result<InferenceResult> execute(const ExecuteOptions& options = {});
  // Makes the folder; gives its files, those of folders one level down included.
  virtual Result<std::vector<std::filesystem::path>> pull_results(const std::filesystem::path& folder);
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  std::shared_ptr<Transport> transport_;
  std::optional<std::vector<std::string>> pushed_;  // program names
  std::vector<std::string> warnings_;
};

}  // namespace edgec::genai
