#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <sstream>

#include <edgec/extensions.h>
#include <edgec/partitioner.h>

#include "backends/registry.h"
#include "cli/commands.h"
#include "cli/input_file.h"
#include "cli/plugins.h"
#include "cli/report.h"
#include "memory/layers.h"
#include "passes/registry.h"
#include "pipeline/constants.h"
#include "pipeline/pipeline.h"
#include "pipeline/planner.h"
#include "support/output_file.h"
#include "support/text.h"

namespace edgec::cli {
namespace {

struct CompileArgs {
  std::string model, output;
  std::vector<std::string> methods, constants, bounds, disabled, dumps, ops, plugins, backends, passes;
  std::string depfile, report, planner, layers;
  int64_t weight_growth = 4 << 10;
  bool whole_graph = false, no_guards = false, quantized_io = false, timings = false, quiet = false, no_alloc_input = false,
       no_alloc_output = false, no_alloc_state = false, share_state = false, verify_passes = false;
  int64_t align_plan = 16;
  uint32_t align_segments = 128;
};

Result<int64_t> number(std::string_view text, std::string_view option) {
  int64_t v = 0;
  auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (ec != std::errc() || end != text.data() + text.size())
    return usage_error(fmt::format("error: {} wants a whole number, not \"{}\"", option, text));
  return v;
}

Result<std::vector<std::pair<std::string, std::string>>> methods_of(const CompileArgs& args) {
  std::vector<std::pair<std::string, std::string>> out;
  if (!args.model.empty()) out.emplace_back("forward", args.model);
  for (const std::string& m : args.methods) {
    const size_t eq = m.find('=');
    if (eq == std::string::npos || eq == 0 || eq + 1 == m.size())
      return usage_error(fmt::format("error: --method wants NAME=FILE.pt2, not \"{}\"", m));
    out.emplace_back(m.substr(0, eq), m.substr(eq + 1));
  }
  if (out.empty()) return usage_error("error: no model given\nsee `edgec compile --help`");
  for (size_t i = 0; i < out.size(); ++i)
    for (size_t k = 0; k < i; ++k)
      if (out[i].first == out[k].first) return usage_error(fmt::format("error: method {} is given twice", out[i].first));
  return out;
}

// NAME=JSON: a number, true/false, a string, or a list of them.
Result<ConstantMethod> constant_of(const std::string& text) {
  const size_t eq = text.find('=');
  if (eq == std::string::npos || eq == 0) return usage_error(fmt::format("error: --constant wants NAME=JSON, not \"{}\"", text));
  ConstantMethod out{text.substr(0, eq), {}};
  EDGEC_TRY(out.values, pipeline::parse_constants(text.substr(eq + 1)));
  return out;
}

// NAME[,key=value...]
Result<std::shared_ptr<const Partitioner>> partitioner_of(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> options;
  std::istringstream parts(text);
  std::string name;
  std::getline(parts, name, ',');
  for (std::string part; std::getline(parts, part, ',');) {
    const size_t eq = part.find('=');
    if (eq == std::string::npos || eq == 0)
      return usage_error(fmt::format("error: --backend {}: options are key=value, not \"{}\"", name, part));
    options.emplace_back(part.substr(0, eq), part.substr(eq + 1));
  }
  const auto backend = Extensions::global().find_backend(name);
  if (!backend) return usage_error(fmt::format("error: --backend {}: no such backend; `edgec backends` lists them", name));
  EDGEC_TRY(CompileSpecs specs, backend->parse_options(options));
  return partitioner_for(backend, std::move(specs));
}

// A pass of an extension, or one of ours that may run on the Edge graph once more.
Result<passes::PassInfo> pass_named(const std::string& name) {
  if (const auto* pass = Extensions::global().find_pass(name)) {
    if (pass->from != Stage::Edge && pass->from != Stage::Backend)
      return usage_error(
          fmt::format("error: --pass {}: it runs on the {} graph, not on the edge or backend graph", name, edgec::name(pass->from)));
    return *pass;
  }
  const auto* pass = passes::find_pass(name);
  if (!pass || !pipeline::is_lever(name))
    return usage_error(fmt::format("error: --pass {}: no such pass; `edgec passes` lists them", name));
  passes::PassInfo again = *pass;
  again.from = again.to = Stage::Edge;
  return again;
}

Status choose_planner(const CompileArgs& args, memory::PlanningOptions& plan) {
  if (!args.planner.empty()) {
    EDGEC_TRY(const MemoryPlanner* planner, pipeline::find_planner(args.planner));
    plan.planner = {planner, [](const MemoryPlanner*) {}};  // lives as long as the process
  }
  if (args.layers.empty()) return {};
  EDGEC_TRY(const InputFile file, open_input(args.layers));
  const std::span<const std::byte> bytes = file.file->bytes();
  EDGEC_TRY(plan.layers, memory::parse_memory_layers({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, file.name));
  return {};
}

Result<pipeline::Options> options_of(const CompileArgs& args) {
  pipeline::Options o;
  for (const std::string& b : args.bounds) {
    const size_t eq = b.find('=');
    EDGEC_TRY(int64_t n, number(eq == std::string::npos ? b : b.substr(eq + 1), "--bound"));
    if (n < 0 || n > INT32_MAX) return usage_error("error: --bound wants a size from 0 to 2147483647");
    if (eq == std::string::npos)
      o.bound_all = n;
    else
      o.bounds[b.substr(0, eq)] = n;
  }
  for (const std::string& p : args.disabled) {
    if (!passes::find_pass(p)) return usage_error(fmt::format("error: --no-pass {}: no such pass; `edgec passes` lists them", p));
    if (!pipeline::is_lever(p)) return usage_error(fmt::format("error: --no-pass {}: no program can be made without this pass", p));
    o.disabled_passes.insert(p);
  }
  for (const std::string& p : args.passes) {
    EDGEC_TRY(passes::PassInfo pass, pass_named(p));
    o.passes.push_back(std::move(pass));
  }
  for (const std::string& b : args.backends) {
    EDGEC_TRY(auto partitioner, partitioner_of(b));
    o.partitioners.push_back(std::move(partitioner));
  }
  o.whole_graph = args.whole_graph;
  if (args.whole_graph && o.partitioners.empty()) return usage_error("error: --whole-graph wants a --backend that takes the graph");
  if (args.report.ends_with(".html")) return usage_error("error: --report writes JSON; name the file F.json");
  o.guards = !args.no_guards;
  o.quantized_io = args.quantized_io;
  o.weight_growth = args.weight_growth;
  o.verify_every_pass = args.verify_passes;
  o.plan.alloc_graph_input = !args.no_alloc_input;
  o.plan.alloc_graph_output = !args.no_alloc_output;
  if (args.align_plan < 1 || (args.align_plan & (args.align_plan - 1)) != 0) return usage_error("error: --align-plan wants a power of two");
  if (args.align_segments < 1 || (args.align_segments & (args.align_segments - 1)) != 0)
    return usage_error("error: --align-segments wants a power of two");
  o.plan.alloc_mutable_buffers = !args.no_alloc_state;
  o.plan.share_state = args.share_state;
  EDGEC_TRY_VOID(choose_planner(args, o.plan));
  o.plan.alignment = std::max<int64_t>(args.align_plan, 16);
  o.write.segment_alignment = args.align_segments;
  return o;
}

Status write_text(const std::string& path, const std::string& text) {
  EDGEC_TRY(OutputFile file, OutputFile::create(path));
  EDGEC_TRY_VOID(file.write(text));
  return file.commit();
}

// --dump-ir STAGE[=FILE]: the text form when the stage is reached; without a file to stderr.
Status dump(const std::vector<std::string>& dumps, Stage stage, const Program& program) {
  for (const std::string& d : dumps) {
    const size_t eq = d.find('=');
    if (d.substr(0, eq) != name(stage)) continue;
    const std::string text = print(program);
    if (eq == std::string::npos) {
      fmt::print(stderr, "{}", text);
      continue;
    }
    EDGEC_TRY_VOID(write_text(d.substr(eq + 1), text));
  }
  return {};
}

std::string escaped_for_make(const std::string& path) {
  std::string out;
  for (char c : path) {
    if (c == ' ' || c == '#' || c == '\\') out += '\\';
    if (c == '$') out += '$';
    out += c;
  }
  return out;
}

Status add_constants(Program& program, const CompileArgs& args) {
  for (const std::string& c : args.constants) {
    EDGEC_TRY(ConstantMethod constant, constant_of(c));
    for (const auto& other : program.constant_methods)
      if (other.name == constant.name) return usage_error(fmt::format("error: constant method {} is given twice", constant.name));
    for (const auto& m : program.methods)
      if (m->name == constant.name) return usage_error(fmt::format("error: {} is a method and a constant method", constant.name));
    program.constant_methods.push_back(std::move(constant));
  }
  return {};
}

Status write_depfile(const CompileArgs& args, const std::vector<std::pair<std::string, std::string>>& methods) {
  std::string text = escaped_for_make(args.output) + ":";
  for (const auto& [_, path] : methods) text += " " + escaped_for_make(path);
  for (const std::string& path : args.ops) text += " " + escaped_for_make(path);
  return write_text(args.depfile, text + "\n");
}

Status compile(const CompileArgs& args) {
  backends::register_all();
  EDGEC_TRY(auto methods, methods_of(args));
  EDGEC_TRY_VOID(load_plugins(args.plugins));
  EDGEC_TRY(pipeline::Options options, options_of(args));
  EDGEC_TRY_VOID(load_user_operators(args.ops));
  for (const std::string& d : args.dumps)
    if (!stage_from_name(d.substr(0, d.find('='))))
      return usage_error(fmt::format("error: --dump-ir {}: the stages are aten, functional, core, edge, backend, exec", d));
  options.on_stage = [&](Stage stage, const Program& p) { return dump(args.dumps, stage, p); };

  std::vector<pipeline::Timing> timings;
  EDGEC_TRY(auto program, pipeline::load(methods, timings));
  EDGEC_TRY_VOID(add_constants(*program, args));
  EDGEC_TRY(pipeline::Outcome out, pipeline::compile(*program, options));
  if (!args.quiet) fmt::print(stderr, "{}", printable(delegation_summary(*program, out)));
  if (!out.warnings.empty() && !args.quiet) fmt::print(stderr, "{}\n", printable(out.warnings));
  EDGEC_TRY_VOID(pipeline::write_file(out.emitted.program, args.output, options.write));
  timings.insert(timings.end(), out.timings.begin(), out.timings.end());
  if (!args.depfile.empty()) EDGEC_TRY_VOID(write_depfile(args, methods));
  if (!args.report.empty()) EDGEC_TRY_VOID(write_text(args.report, report_json(*program, out, timings)));
  if (args.timings)
    for (const auto& t : timings) fmt::print(stderr, "{:>10.3f} ms  {}\n", t.seconds * 1e3, printable(t.what));
  return {};
}

constexpr const char* kFooter =
    "A program has one method \"forward\" from MODEL, or the methods given with --method; constant methods are added "
    "with\n"
    "--constant. Weights that are equal by content are stored once. Same input, options and version: same bytes.\n"
    "\n"
    "Sizes may stay dynamic. Memory is planned for the largest ones, so a size without an upper bound is an error "
    "that\n"
    "names the input and its dim; --bound gives the bound. The program starts with checks that each size is within the "
    "range\n"
    "it was exported with; --no-guards leaves them out.\n"
    "\n"
    "A message names the line of the model's Python code. The output keeps its old content unless all went well.";

}  // namespace

void add_compile_command(CLI::App& app, Invocation& invocation) {
  auto* cmd = app.add_subcommand("compile", "compile .pt2 models to one .pte program");
  auto args = std::make_shared<CompileArgs>();
  cmd->footer(kFooter);
  const auto repeatable = [cmd](const char* name, std::vector<std::string>& to, const char* value, const char* what) {
    cmd->add_option(name, to, what)->allow_extra_args(false)->type_name(value);
  };
  cmd->add_option("MODEL", args->model, "saved by torch.export.save; becomes method \"forward\"")->type_name("MODEL.pt2");
  cmd->add_option("-o,--output", args->output, "the program to write")->required()->type_name("OUT.pte");
  repeatable("--method", args->methods, "NAME=FILE.pt2", "a method of the program; repeatable");
  repeatable("--constant", args->constants, "NAME=JSON",
             "a method without inputs that gives this number, bool, string or list of them, for example "
             "get_max_seq_len=128; repeatable");
  repeatable("--bound", args->bounds, "[SYMBOL=]N", "upper bound of a size that the model leaves open, or of all of them; repeatable");
  repeatable("--backend", args->backends, "NAME[,key=value...]",
             "give the backend what it can take; repeatable, tried in order; see `edgec backends`");
  cmd->add_flag("--whole-graph", args->whole_graph,
                "the first backend takes all of every method, or it is an error that names what it does not take");
  cmd->add_flag("--no-guards", args->no_guards, "no range checks of sizes at the program's start");
  cmd->add_flag("--quantized-io", args->quantized_io,
                "inputs that the model quantizes first, and outputs that it dequantizes last, are integers; constant methods\n"
                "forward_input0_scale, _zp, _quant_min, _quant_max and _dtype give the parameters");
  cmd->add_option("--weight-growth", args->weight_growth, "bytes that weights dequantized ahead of time may add to a method (default 4096)")
      ->type_name("BYTES")
      ->check(CLI::Range(int64_t{0}, INT64_MAX));
  repeatable("--pass", args->passes, "NAME",
             "run this pass on the Edge or Backend graph: one of a plugin, or an optimizing pass once more; repeatable");
  repeatable("--no-pass", args->disabled, "NAME", "leave out an optimizing pass; repeatable; see `edgec passes`");
  repeatable("--ops", args->ops, "FILE", "user operators: schema, shapes, dtypes and kernel of each as text; repeatable");
  add_plugin_option(*cmd, args->plugins);
  cmd->add_flag("--no-alloc-graph-input", args->no_alloc_input, "inputs are not part of the memory plan: the caller's memory is used");
  cmd->add_flag("--no-alloc-graph-output", args->no_alloc_output, "outputs are not part of the memory plan: the caller gives memory");
  cmd->add_flag("--no-alloc-mutable-buffers", args->no_alloc_state,
                "state is not part of the memory plan (plain `Module` cannot run that)");
  cmd->add_flag("--share-state", args->share_state, "mutable buffers of equal name are one state for all methods, in memory 2");
  cmd->add_option("--memory-plan", args->planner, "the memory planner: best (default), greedy, naive or one of a plugin")
      ->type_name("NAME");
  cmd->add_option("--memory-layers", args->layers,
                  "the target's memories: [{\"id\": 1, \"name\": \"sram\", \"capacity\": 65536, \"alignment\": 16, \"cost\": 1}, ...]")
      ->type_name("F.json");
  cmd->add_option("--align-plan", args->align_plan, "alignment of planned tensors in bytes: a power of two, at least 16 (default 16)")
      ->type_name("N");
  cmd->add_option("--align-segments", args->align_segments, "alignment of the file's segments in bytes: a power of two (default 128)")
      ->type_name("N");
  repeatable("--dump-ir", args->dumps, "STAGE[=FILE]",
             "the program as text when it reaches a stage (aten, functional, core, edge, backend, exec), to stderr or "
             "to FILE; repeatable");
  cmd->add_option("--report", args->report, "write JSON: instructions with the model's lines, the memory plan, where the time went")
      ->type_name("F.json");
  cmd->add_option("--depfile", args->depfile, "write the models that the program depends on, for make")->type_name("F");
  cmd->add_flag("--verify-passes", args->verify_passes, "check the stage's rules after every pass");
  cmd->add_flag("--timings", args->timings, "where the time went, to stderr");
  cmd->add_flag("--quiet", args->quiet, "no warnings");
  cmd->callback([args, &invocation] { invocation.execute = [args] { return compile(*args); }; });
}

}  // namespace edgec::cli
