#pragma once
#include "genai/device_runner.h"

namespace edgec::genai {

// This machine as the device: the workspace is a folder, programs run on the official runtime in this process. `input_list.txt` in the
// workspace names the inputs of a call a line, .npy files separated by spaces; without it the inputs are zeros, one call. Output i of call
// c becomes outputs/<c>/output_<i>.npy.
class LocalTransport final : public Transport {
 public:
  explicit LocalTransport(std::filesystem::path workspace) : workspace_(std::move(workspace)) {}
  Status push(const std::filesystem::path& file) override;
  Status run(const RunRequest& request) override;
  Result<std::vector<std::filesystem::path>> pull(const std::filesystem::path& to) override;

 private:
  std::filesystem::path workspace_;
};

}  // namespace edgec::genai
