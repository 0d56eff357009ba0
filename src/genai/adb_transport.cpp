#include "genai/adb_transport.h"

#include <fmt/format.h>

#include <charconv>

#include "genai/child_process.h"

namespace edgec::genai {
namespace {

constexpr std::string_view kStatusMark = "edgec-status:";
constexpr const char* kOutputs = "outputs";  // folder of the workspace that the runner writes to

}  // namespace

std::string shell_word(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

Result<std::string> AdbTransport::adb(const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {options_.client};
  if (options_.host) command.insert(command.end(), {"-H", *options_.host});
  if (options_.port) command.insert(command.end(), {"-P", std::to_string(*options_.port)});
  if (options_.serial) command.insert(command.end(), {"-s", *options_.serial});
  command.insert(command.end(), arguments.begin(), arguments.end());
  EDGEC_TRY(ChildResult result, run_child(command));
  if (result.exit_code != 0)
    return model_error(fmt::format("error: adb {} ended with {}: {}", arguments[0], result.exit_code, result.output));
  return std::move(result.output);
}

Result<std::string> AdbTransport::shell(const std::string& command) {
  EDGEC_TRY(std::string output, adb({"shell", fmt::format("({}); echo {}$?", command, kStatusMark)}));
  const size_t mark = output.rfind(kStatusMark);
  int status = -1;
  if (mark != std::string::npos) std::from_chars(output.data() + mark + kStatusMark.size(), output.data() + output.size(), status);
  if (status != 0) return model_error(fmt::format("error: the device's shell ended with {}: {}\n  {}", status, command, output));
  output.resize(mark);
  return output;
}

Status AdbTransport::push(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return input_error(fmt::format("error: {} is no file", file.string()));
  if (!workspace_made_) EDGEC_TRY_VOID(shell(fmt::format("mkdir -p {}", shell_word(options_.workspace + "/" + kOutputs))));
  workspace_made_ = true;
  EDGEC_TRY_VOID(adb({"push", file.string(), fmt::format("{}/{}", options_.workspace, file.filename().string())}));
  return {};
}

Status AdbTransport::run(const RunRequest& request) {
  if (request.programs.empty()) return usage_error("nothing to run");
  EDGEC_TRY_VOID(shell(fmt::format("cd {} && {} --model_path {} --method_index {} --iteration {} --output_folder_path {}",
                                   shell_word(options_.workspace), options_.runner, shell_word(request.programs[0]), request.method_index,
                                   request.iteration, kOutputs)));
  return {};
}

Result<std::vector<std::filesystem::path>> AdbTransport::pull(const std::filesystem::path& to) {
  std::vector<std::filesystem::path> names;
  EDGEC_TRY_VOID(adb({"pull", fmt::format("{}/{}/.", options_.workspace, kOutputs), to.string()}));
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(to, error)) {
    if (entry.is_regular_file(error)) names.push_back(entry.path().filename());
    if (!entry.is_directory(error)) continue;
    for (const auto& inner : std::filesystem::directory_iterator(entry.path(), error))
      if (inner.is_regular_file(error)) names.push_back(entry.path().filename() / inner.path().filename());
  }
  return names;
}

}  // namespace edgec::genai
