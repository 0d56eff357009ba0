#include "genai/runtime/local_transport.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>
#include <system_error>

#include "emit/runnable.h"
#include "runtime/npy.h"
#include "runtime/runner.h"
#include "support/mapped_file.h"

namespace edgec::genai {
namespace {

using Inputs = std::vector<runtime::Value>;

Status made(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return output_error(fmt::format("error: cannot make the folder {}: {}", folder.string(), error.message()));
  return {};
}

Status copied(const std::filesystem::path& from, const std::filesystem::path& to) {
  std::error_code error;
  std::filesystem::copy_file(from, to, std::filesystem::copy_options::overwrite_existing, error);
  if (error) return output_error(fmt::format("error: cannot copy {} to {}: {}", from.string(), to.string(), error.message()));
  return {};
}

Result<Inputs> zeros(const pte::Plan& plan) {
  Inputs out;
  for (const int32_t index : plan.inputs) {
    const auto* t = std::get_if<pte::Tensor>(&plan.values[static_cast<size_t>(index)]);
    const auto element = t ? runtime::element_of(t->scalar_type) : std::nullopt;
    if (!element) return model_error(fmt::format("error: method {} has an input that is no tensor; give it in input_list.txt", plan.name));
    runtime::Array array{*element, {t->sizes.begin(), t->sizes.end()}, {}};
    size_t bytes = runtime::size_of(*element);
    for (const int32_t size : t->sizes) bytes *= static_cast<size_t>(size);
    array.bytes.resize(bytes);
    out.push_back({std::move(array)});
  }
  return out;
}

Result<std::vector<Inputs>> calls_of(const std::filesystem::path& workspace, const pte::Plan& plan) {
  std::ifstream list(workspace / "input_list.txt");
  if (!list) {
    EDGEC_TRY(Inputs one, zeros(plan));
    return std::vector<Inputs>{std::move(one)};
  }
  std::vector<Inputs> calls;
  for (std::string line; std::getline(list, line);) {
    std::istringstream words(line);
    Inputs inputs;
    for (std::string file; words >> file;) {
      EDGEC_TRY(runtime::Array array, runtime::read_npy((workspace / file).string()));
      inputs.push_back({std::move(array)});
    }
    calls.push_back(std::move(inputs));
  }
  return calls;
}

}  // namespace

Status LocalTransport::push(const std::filesystem::path& file) {
  EDGEC_TRY_VOID(made(workspace_));
  return copied(file, workspace_ / file.filename());
}

Status LocalTransport::run(const RunRequest& request) {
  if (request.programs.empty()) return usage_error("nothing to run");
  EDGEC_TRY(const auto file, MappedFile::open((workspace_ / request.programs[0]).string()));
  EDGEC_TRY(const pte::Program program, pte::read(file->bytes(), file));
  EDGEC_TRY_VOID(pte::check_runnable(program, request.programs[0]));
  if (request.method_index >= program.plans.size())
    return usage_error(fmt::format("error: the program has {} methods, method_index is {}", program.plans.size(), request.method_index));
  const pte::Plan& plan = program.plans[request.method_index];
  EDGEC_TRY(const std::vector<Inputs> calls, calls_of(workspace_, plan));
  EDGEC_TRY(runtime::Runner runner, runtime::Runner::load(file));
  EDGEC_TRY_VOID(runner.load_methods(std::vector{plan.name}));
  for (size_t c = 0; c < calls.size(); ++c) {
    const auto folder = workspace_ / "outputs" / std::to_string(c);
    EDGEC_TRY_VOID(made(folder));
    EDGEC_TRY(const runtime::CallResult result, runner.call(plan.name, calls[c], std::max<size_t>(request.iteration, 1)));
    for (size_t i = 0; i < result.outputs.size(); ++i)
      if (const auto* array = std::get_if<runtime::Array>(&result.outputs[i].held))
        EDGEC_TRY_VOID(runtime::write_npy((folder / fmt::format("output_{}.npy", i)).string(), *array));
  }
  return {};
}

Result<std::vector<std::filesystem::path>> LocalTransport::pull(const std::filesystem::path& to) {
  std::vector<std::filesystem::path> names;
  std::error_code error;
  for (const auto& call : std::filesystem::directory_iterator(workspace_ / "outputs", error)) {
    if (!call.is_directory(error)) continue;
    const auto folder = call.path().filename();
    EDGEC_TRY_VOID(made(to / folder));
    for (const auto& file : std::filesystem::directory_iterator(call.path(), error)) {
      EDGEC_TRY_VOID(copied(file.path(), to / folder / file.path().filename()));
      names.push_back(folder / file.path().filename());
    }
  }
  return names;
}

}  // namespace edgec::genai
