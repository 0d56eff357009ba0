#include "genai/compilation_strategy.h"

#include <fmt/format.h>

#include <algorithm>

#include "genai/compile_spec_builder.h"
#include "genai/errors.h"

namespace edgec::genai {
namespace {

using Group = std::vector<std::pair<GraphName, const GraphBundle*>>;

// Graphs in the order of their artifact's name list, not of the map: decode is first, whatever order they came in.
Result<Group> ordered(ArtifactKey key, const GraphBundles& graphs) {
  Group out;
  for (const GraphName wanted : graph_names(key, 2))
    if (const GraphBundle* bundle = graphs.find(wanted)) out.emplace_back(wanted, bundle);
  return out;
}

// What the official flow refuses only when it lowers.
Status check_group(const Group& graphs, const CompileSpecs& specs) {
  if (specs.empty()) return {};
  EDGEC_TRY(const QnnOptions options, read_qnn_compile_specs(specs));
  if (graphs.size() > 1 && options.dump_intermediate_outputs)
    return usage_error("dump_intermediate_outputs works with one method, this artifact has several");
  if (graphs.size() > 1 && options.online_prepare)
    return model_error("online_prepare cannot be combined with the hybrid mode: several methods share one compiled context");
  return {};
}

}  // namespace

size_t num_sharding(std::string_view model, ArtifactKey key) {
  if (key == ArtifactKey::AudioEncoder && model == "granite_speech_3_3-2b") return 8;
  if (key != ArtifactKey::TextDecoder) return 1;
  if (model == "llama3_2-3b_instruct") return 3;
  if (model == "phi_4_mini") return 8;
  for (const std::string_view four : {"gemma-2b", "gemma2-2b", "smollm3-3b", "gemma4-e2b", "granite_speech_3_3-2b"})
    if (model == four) return 4;
  return 1;
}

size_t CompilationPlan::contexts(ArtifactKey key) const {
  return key == ArtifactKey::TextDecoder && num_sharding ? *num_sharding : genai::num_sharding(args.decoder_model, key);
}

Result<CompileSpecs> specs_for(ArtifactKey key, const CompilationPlan& plan, SocModel soc, BackendType backend) {
  const ControlArgs& args = plan.args;
  HtpRequest htp(false);
  SpecRequest spec;
  spec.shared_buffer = args.shared_buffer;
  spec.dump_intermediate_outputs = args.dump_intermediate_outputs;
  spec.profile_level = static_cast<int>(args.profile_level);
  switch (key) {
    case ArtifactKey::TextDecoder:
      htp.use_fp16 = args.use_fp16;
      htp.use_multi_contexts = plan.contexts(key) > 1;
      htp.use_weight_sharing = true;
      spec.use_mha2sha = true;
      spec.online_prepare = args.online_prepare;
      break;
    case ArtifactKey::TokEmbedding:
      htp.use_weight_sharing = true;
      spec.online_prepare = args.online_prepare;
      break;
    case ArtifactKey::AttentionSinkEvictor:
      break;
    default:
      htp.use_fp16 = args.image_path.size() > 1;  // several images: the encoder is not quantized
  }
  htp.performance_mode = HtpPerformance(args.htp_performance_mode);
  EDGEC_TRY(const BackendRequest request, backend_request(backend, htp));
  return QnnCompileSpecBuilder(args.enable_x86_64).build(soc, request, spec);
}

PipelineResult<CompilationOutputConfig> ExecuTorchCompilationStrategy::invoke(const PipelineContext&, const CompilationInputConfig& input) {
  auto result = compile(input);
  if (!result) return as_stage_error(std::string(kCompilation), "compilation failed", result.failure());
  return result;
}

PipelineResult<CompilationOutputConfig> ExecuTorchCompilationStrategy::compile(const CompilationInputConfig& input) {
  const auto missing = [](const char* what) {
    return failure_of(StageError(std::string(kCompilation), fmt::format("{} is missing", what)));
  };
  if (!adapter_) return missing("the compiler adapter");
  if (input.soc_model.empty()) return missing("soc_model");
  if (input.backend_type.empty()) return missing("backend_type");
  if (!input.model && !input.graphs && input.components.empty()) return missing("model");

  ArtifactMap artifacts;
  if (input.graphs) {
    for (const ArtifactKey key : {ArtifactKey::TextDecoder, ArtifactKey::TokEmbedding}) {
      EDGEC_TRY(const Group graphs, ordered(key, *input.graphs));
      if (!graphs.empty()) EDGEC_TRY_VOID(compile_group(key, graphs, input, artifacts));
    }
    if (input.graphs->contains(GraphName::Forward)) EDGEC_TRY_VOID(artifact_of(GraphName::Forward));
  } else if (input.model) {
    EDGEC_TRY(Module module, module_of(*input.model));
    EDGEC_TRY(const GraphBundle bundle, GraphBundle::make({std::move(module), input.example_inputs}));
    EDGEC_TRY_VOID(compile_group(ArtifactKey::TextDecoder, {{GraphName::KvForward, &bundle}}, input, artifacts));
  }
  for (const auto& [key, bundle] : input.components) EDGEC_TRY_VOID(compile_group(key, {{GraphName::Forward, &bundle}}, input, artifacts));
  CompilationOutputConfig out;
  out.artifact_paths = std::move(artifacts);
  return out;
}

Status ExecuTorchCompilationStrategy::compile_group(ArtifactKey key, const Group& graphs, const CompilationInputConfig& input,
                                                    ArtifactMap& artifacts) {
  CompileGraphsRequest request;
  for (const auto& [graph, bundle] : graphs)
    request.graphs.push_back({std::string(name(graph)), bundle->module(), bundle->quant_io_dtypes()});
  if (input.compile_specs) {
    request.compile_specs = *input.compile_specs;
  } else if (plan_.qnn) {
    EDGEC_TRY(const SocModel soc, resolve_soc_model(std::string_view(input.soc_model)));
    EDGEC_TRY(const BackendType backend, resolve_backend_type(std::string_view(input.backend_type)));
    EDGEC_TRY(request.compile_specs, specs_for(key, plan_, soc, backend));
  }
  EDGEC_TRY_VOID(check_group(graphs, request.compile_specs));
  request.artifact_key = key;
  request.artifact_dir = input.artifact_dir;
  request.file_name = std::string(name(key));
  request.target = {input.soc_model, input.backend_type};
  const GraphBundle& first = *graphs.front().second;
  if (key == ArtifactKey::TextDecoder) request.constant_methods = plan_.constant_methods;
  for (const auto& [constant, values] : first.meta()) request.constant_methods.set(constant, values);
  request.executorch_config = first.executorch_config();
  request.num_sharding = plan_.contexts(key);
  request.spill_fill = plan_.spill_fill;
  EDGEC_TRY(const CompilationResult compiled, adapter_->compile_graphs(request));
  for (const auto& [compiled_key, path] : compiled.artifact_paths) artifacts.set(compiled_key, path);
  return {};
}

}  // namespace edgec::genai
