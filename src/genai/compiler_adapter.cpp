#include "genai/compiler_adapter.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "genai/qnn_options.h"

namespace edgec::genai {

Status validate_target(const CompileSpecs& specs, const TargetText& target) {
  EDGEC_TRY(const SocModel soc, resolve_soc_model(std::string_view(target.soc_model)));
  EDGEC_TRY(const BackendType backend, resolve_backend_type(std::string_view(target.backend_type)));
  const auto has_entry = [](const CompileSpec& s) { return s.key == kQnnCompileSpecKey; };
  if (std::none_of(specs.begin(), specs.end(), has_entry)) return {};
  EDGEC_TRY(const QnnOptions options, read_qnn_compile_specs(specs));
  if (options.soc_model != soc)
    return usage_error(fmt::format("the compile specs are for the chipset {}, soc_model is {}", name(options.soc_model), name(soc)));
  if (options.backend_type != backend)
    return usage_error(
        fmt::format("the compile specs are for the backend {}, backend_type is {}", name(options.backend_type), name(backend)));
  return {};
}

Result<Module> module_of(const ModelSource& source) {
  if (const auto* path = std::get_if<std::string>(&source)) return load_module(*path);
  return std::get<Module>(source);
}

Result<CompilationResult> DefaultCompilerAdapter::compile_model(const CompileModelRequest& r) {
  if (r.generate_etrecord) return usage_error("edgec writes no etrecord");
  CompileGraphsRequest one;
  EDGEC_TRY(Module module, module_of(r.model));
  if (!module || module->methods.size() != 1) return usage_error("compile_model takes a module with one method");
  one.graphs.push_back({r.method, std::move(module), r.quant_io});
  one.compile_specs = r.compile_specs;
  one.artifact_key = r.artifact_key;
  one.artifact_dir = r.artifact_dir;
  one.file_name = r.file_name;
  one.target = r.target;
  one.constant_methods = r.constant_methods;
  one.executorch_config = r.executorch_config;
  return compile_graphs(one);
}

Result<CompilationResult> DefaultCompilerAdapter::compile_graphs(const CompileGraphsRequest& r) {
  EDGEC_TRY_VOID(validate_target(r.compile_specs, r.target));
  if (r.file_name.empty() || r.file_name.find('/') != std::string::npos)
    return usage_error(fmt::format("\"{}\" is no name for an artifact's file", r.file_name));
  std::error_code error;
  std::filesystem::create_directories(r.artifact_dir, error);
  if (error) return output_error(fmt::format("error: cannot make the folder {}: {}", r.artifact_dir.string(), error.message()));
  const std::filesystem::path output = r.artifact_dir / (r.file_name + ".pte");
  LoweringRequest request;
  request.graphs = r.graphs;
  request.constant_methods = r.constant_methods;
  request.compile_specs = r.compile_specs;
  request.emit = r.executorch_config.value_or(EmitOptions{});
  request.num_sharding = r.num_sharding;
  request.spill_fill = r.spill_fill;
  EDGEC_TRY_VOID(lowering_->lower(request, output));
  CompilationResult result;
  result.artifact_paths.set(r.artifact_key, output);
  return result;
}

}  // namespace edgec::genai
