#include <fmt/format.h>

#include <memory>

#include "cli/genai.h"
#include "genai/compilation_strategy.h"
#include "genai/errors.h"
#include "pipeline/constants.h"

namespace edgec::cli {
namespace {

struct CompileCommand {
  genai::ControlArgs args;
  std::map<genai::GraphName, std::string> graphs;        // .pt2 files
  std::map<genai::ArtifactKey, std::string> components;  // of artifacts with one graph
  std::vector<std::string> constants;
  std::optional<int> kv_bits, logits_bits;
  std::optional<size_t> num_sharding;
  bool max_seq_len_given = false;
};

constexpr genai::GraphName kGraphs[] = {genai::GraphName::KvForward, genai::GraphName::PrefillForward,
                                        genai::GraphName::TokEmbeddingKvForward, genai::GraphName::TokEmbeddingPrefillForward};
constexpr genai::ArtifactKey kComponents[] = {genai::ArtifactKey::AudioEncoder, genai::ArtifactKey::VisionEncoder,
                                              genai::ArtifactKey::TextEncoder, genai::ArtifactKey::AttentionSinkEvictor};

bool on_qnn(const std::string& backend) { return backend != "portable" && genai::resolve_backend_type(backend); }

// The graphs that a mode deploys must be there, and no others.
Status check_mode(const CompileCommand& c) {
  EDGEC_TRY(const genai::ModelMode mode, genai::model_mode(c.args.model_mode));
  const bool decode = c.graphs.count(genai::GraphName::KvForward), prefill = c.graphs.count(genai::GraphName::PrefillForward);
  if (c.graphs.empty() && c.components.empty())
    return usage_error("error: no graph given: --kv_forward FILE.pt2, --prefill_forward FILE.pt2, ...\nsee `edgec genai compile --help`");
  if (!decode && !prefill) return {};
  if (mode == genai::ModelMode::Kv && prefill) return usage_error("error: --model_mode kv has no --prefill_forward");
  if (mode != genai::ModelMode::Kv && !prefill)
    return usage_error(fmt::format("error: --model_mode {} needs --prefill_forward", c.args.model_mode));
  if (!decode) return usage_error("error: --kv_forward is missing");
  return {};
}

Result<genai::Meta> constants_of(const CompileCommand& c) {
  genai::Meta out;
  if (c.args.max_context_len) out.set("get_max_context_len", {Arg(*c.args.max_context_len)});
  if (c.max_seq_len_given) out.set("get_max_seq_len", {Arg(c.args.max_seq_len)});
  for (const std::string& text : c.constants) {
    const size_t eq = text.find('=');
    if (eq == std::string::npos || eq == 0) return usage_error(fmt::format("error: --constant wants NAME=JSON, not \"{}\"", text));
    EDGEC_TRY(auto values, pipeline::parse_constants(text.substr(eq + 1)));
    out.set(text.substr(0, eq), std::move(values));
  }
  return out;
}

Result<genai::GraphBundle> bundle_of(const std::string& pt2, const CompileCommand& c) {
  genai::GraphBundleFields fields;
  EDGEC_TRY(fields.module, genai::load_module(pt2));
  if (c.kv_bits || c.logits_bits) {
    EDGEC_TRY(const genai::QuantIoDtypes dtypes, genai::quant_io_dtypes(c.kv_bits, c.logits_bits));
    fields.quant_io_dtypes = {{"kv_type", dtypes.kv_type}, {"io_type", dtypes.io_type}};
  }
  auto bundle = genai::GraphBundle::make(std::move(fields));
  if (!bundle) return Failure{bundle.failure().kind, fmt::format("error: {}: {}", pt2, bundle.failure().message)};
  return bundle;
}

Status compile(const CompileCommand& c) {
  EDGEC_TRY_VOID(check_mode(c));
  const bool qnn = on_qnn(c.args.backend);
  if (!c.args.soc_model) return usage_error("error: --soc_model is required");
  genai::CompilationInputConfig input(*c.args.soc_model, qnn ? c.args.backend : "undefined");
  input.artifact_dir = c.args.artifact;
  if (!c.graphs.empty()) input.graphs.emplace();
  for (const auto& [graph, pt2] : c.graphs) {
    EDGEC_TRY(auto bundle, bundle_of(pt2, c));
    input.graphs->set(graph, std::move(bundle));
  }
  for (const auto& [key, pt2] : c.components) {
    EDGEC_TRY(auto bundle, bundle_of(pt2, c));
    input.components.set(key, std::move(bundle));
  }
  genai::CompilationPlan plan;
  plan.args = c.args;
  plan.num_sharding = c.num_sharding;
  plan.qnn = qnn;
  EDGEC_TRY(plan.constant_methods, constants_of(c));
  auto adapter = std::make_shared<genai::DefaultCompilerAdapter>(genai::lowering_to(qnn ? "qnn" : c.args.backend));
  genai::ExecuTorchCompilationStrategy strategy(std::move(adapter), std::move(plan));
  const genai::PipelineContext context(c.args.decoder_model, *c.args.soc_model, c.args.prompt, c.args.artifact);
  const auto out = strategy.invoke(context, input);
  if (!out) {  // the stage is no news here: what caused its failure is
    const auto* stage = genai::error_as<genai::StageError>(out.failure());
    return stage && stage->original() ? Failure(*stage->original()) : Failure(out.failure());
  }
  for (const auto& [key, path] : *out->artifact_paths) fmt::print("{} {}\n", name(key), path.string());
  return {};
}

constexpr const char* kFooter =
    "The graphs are .pt2 files of torch.export.save; NAME is a label, and 'stories260k' and the like cut the decoder as the official\n"
    "flow does. A hybrid decoder is one DIR/text_decoder.pte with the methods kv_forward and prefill_forward, which share weights and\n"
    "state. Each artifact written is a line on stdout: its key and its path. Options that only the official scripts' other stages read\n"
    "(data, training, evaluation, device) are accepted and change nothing here.";

}  // namespace

void add_genai_compile(CLI::App& genai, Invocation& invocation) {
  CLI::App* cmd = genai.add_subcommand("compile", "compile the graphs of a language model to its .pte artifacts");
  cmd->footer(kFooter);
  auto command = std::make_shared<CompileCommand>();
  genai::ParserTraits traits;
  traits.free_decoder_model = true;
  traits.prompt_required = false;
  traits.more_backends = {"xnnpack", "portable", "executor"};
  genai::add_control_args(*cmd, command->args, traits);
  const auto file = [&](std::string_view option, const char* what, auto store) {
    cmd->add_option_function<std::string>(fmt::format("--{}", option), store, what)->type_name("FILE.pt2");
  };
  for (const genai::GraphName graph : kGraphs)
    file(name(graph), "a graph of this name", [command, graph](const std::string& pt2) { command->graphs[graph] = pt2; });
  for (const genai::ArtifactKey key : kComponents)
    file(name(key), "the one graph of this artifact", [command, key](const std::string& pt2) { command->components[key] = pt2; });
  cmd->add_option("--constant", command->constants, "a constant method of the decoder, for example get_eos_id=2; repeatable")
      ->allow_extra_args(false)
      ->type_name("NAME=JSON");
  cmd->add_option("--num_sharding", command->num_sharding, "cut the decoder between layers into so many contexts (default: by NAME)")
      ->type_name("N")
      ->check(CLI::Range(size_t{1}, size_t{1} << 20));
  cmd->add_option("--kv_io_bit_width", command->kv_bits, "the graphs are quantized: bits of the KV caches at the border, 8 or 16")
      ->type_name("N");
  cmd->add_option("--logits_io_bit_width", command->logits_bits, "the graphs are quantized: bits of logits and masks at the border, 16")
      ->type_name("N");
  cmd->callback([cmd, command, &invocation] {
    command->max_seq_len_given = cmd->count("--max_seq_len") > 0;
    invocation.execute = [command] { return compile(*command); };
  });
}

}  // namespace edgec::cli
