#pragma once
#include <map>

#include "genai/device_runner.h"

namespace edgec::genai {

struct AdbOptions {
  std::string client = "adb";         // looked up in PATH
  std::optional<std::string> serial;  // ControlArgs.device
  std::optional<std::string> host;    // of the adb server
  std::optional<int> port;            // of the adb server
  std::string workspace = "/data/local/tmp/genai_pipeline";
  std::string runner = "./qnn_executor_runner";  // in the workspace
};

// Android devices, by the adb client. Failures are of kind Model and carry what the client said.
class AdbTransport final : public Transport {
 public:
  explicit AdbTransport(AdbOptions options) : options_(std::move(options)) {}
  Status push(const std::filesystem::path& file) override;
  Status run(const RunRequest& request) override;
  Result<std::vector<std::filesystem::path>> pull(const std::filesystem::path& to) override;
  // What a command prints on the device. Its exit status must be 0: the client passes it on only with newer servers, so it travels with the
  // text.
  Result<std::string> shell(const std::string& command);

 private:
  Result<std::string> adb(const std::vector<std::string>& arguments);
  AdbOptions options_;
  bool workspace_made_ = false;
};

// A text as one word of a POSIX shell.
std::string shell_word(const std::string& text);

}  // namespace edgec::genai
