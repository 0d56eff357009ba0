#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>

#include <edgec/delegates.h>

#include "cli/commands.h"
#include "cli/crash_guard.h"
#include "cli/input_file.h"
#include "cli/method_io.h"
#include "cli/profile_map.h"
#include "cli/run_results.h"
#include "cli/run_values.h"
#include "memory/plan.h"
#include "runtime/library.h"
#include "runtime/runner.h"
#include "support/output_file.h"

namespace edgec::cli {
namespace {

struct CallText {
  std::string method;  // empty: the one of --method
  std::string values;
};

struct RunOptions {
  std::string program, data, method, output_dir, etdump, report;
  std::vector<CallText> calls;
  std::vector<std::string> plugins;
  size_t repeat = 1;
  bool profile = false;
};

#ifdef EDGEC_HAS_RUNTIME

// "forward", or the only method there is.
std::string default_method(const runtime::Runner& runner) {
  const std::vector<std::string> names = runner.method_names();
  return names.size() == 1 ? names.front() : "forward";
}

runtime::MethodIO io_of(const pte::Program& program, const std::string& method) {
  for (const pte::Plan& plan : program.plans)
    if (plan.name == method) return method_io(plan);
  return {};
}

// Whether memory 2 is state that methods share (`compile --share-state`): it holds nothing but state, and more than one method has it with
// the same states at the same places. `Module` shares it with share_memory_arenas.
bool shares_state(const pte::Program& program) {
  using Places = std::map<uint64_t, uint32_t>;  // offset -> initial state
  std::optional<Places> first;
  size_t methods = 0;
  for (const pte::Plan& plan : program.plans) {
    Places states;
    for (const pte::Value& v : plan.values) {
      const auto* t = std::get_if<pte::Tensor>(&v);
      if (t && t->place && t->place->memory_id == memory::kSharedStateId && t->data_buffer_idx > 0)
        states[t->place->offset] = t->data_buffer_idx;
    }
    for (const pte::Value& v : plan.values) {  // all else there is a view of a state
      const auto* t = std::get_if<pte::Tensor>(&v);
      if (!t || !t->place || t->place->memory_id != memory::kSharedStateId || t->data_buffer_idx > 0) continue;
      if (states.empty() || states.upper_bound(t->place->offset) == states.begin()) return false;
    }
    if (states.empty()) continue;
    ++methods;
    if (!first) first = states;
    for (const auto& [offset, state] : states)
      if (auto it = first->find(offset); it != first->end() && it->second != state) return false;
    first->insert(states.begin(), states.end());
  }
  return methods > 1;
}

Status execute(const RunOptions& options) {
  std::vector<std::vector<runtime::Value>> inputs;
  for (const CallText& call : options.calls) {
    EDGEC_TRY(inputs.emplace_back(), parse_values(call.values));
  }
  EDGEC_TRY(const InputFile file, open_input(options.program));
  EDGEC_TRY(const pte::Program program, read_runnable_program(file));
  blame_crashes_on_the_program();
  register_delegates();
  for (const std::string& plugin : options.plugins) EDGEC_TRY_VOID(runtime::load_library(plugin));
  runtime::RunnerOptions runner_options;
  runner_options.method_io = [&](const std::string& method) { return io_of(program, method); };
  runner_options.data_file = options.data;
  if (shares_state(program)) runner_options.shared_memory_ids = {memory::kSharedStateId};
  runner_options.time_operators = options.profile;
  runner_options.etdump = !options.etdump.empty();
  EDGEC_TRY(runtime::Runner runner, runtime::Runner::load(file.file, std::move(runner_options)));

  const std::string usual = options.method.empty() ? default_method(runner) : options.method;
  std::vector<NamedCall> calls;
  std::vector<std::string> methods;
  for (const CallText& call : options.calls) {
    calls.push_back({call.method.empty() ? usual : call.method, {}});
    methods.push_back(calls.back().method);
  }
  EDGEC_TRY_VOID(runner.load_methods(methods));  // all before the first call: loading sets the initial state
  for (size_t i = 0; i < calls.size(); ++i) {
    auto result = runner.call(calls[i].method, inputs[i], options.repeat);
    if (!result) return Failure{result.failure().kind, fmt::format("{}\n  in call {}", result.failure().message, i)};
    calls[i].result = *std::move(result);
  }

  if (!options.output_dir.empty())
    EDGEC_TRY_VOID(write_results(options.output_dir, calls));
  else
    fmt::print("{}", results_text(calls));
  if (options.profile) fmt::print("{}", profile_text(calls));
  if (options.profile && !options.report.empty()) {
    EDGEC_TRY(const std::string text, profile_by_line(options.report, calls));
    fmt::print("{}", text);
  }
  if (!options.etdump.empty()) {
    EDGEC_TRY(OutputFile dump, OutputFile::create(options.etdump));
    EDGEC_TRY_VOID(dump.write(runner.etdump()));
    EDGEC_TRY_VOID(dump.commit());
  }
  return {};
}

#else

Status execute(const RunOptions&) {
  return model_error(
      "error: this edgec was built without the ExecuTorch runtime, so it cannot run programs\n"
      "  unpack the `executorch` wheel and build with -DEDGEC_RUNTIME=ON -DEDGEC_EXECUTORCH_ROOT=<the wheel's "
      "executorch folder>");
}

#endif

constexpr const char* kFooter =
    "V is a .npy file, an int, a float, true, false or none. Each --inputs or --call is one call, in the order given, "
    "on the same\n"
    "loaded program: its state is kept from call to call. `--inputs ''` is a call without inputs; negative numbers are "
    "values; a\n"
    "comma in a file's name is written `\\,`. bfloat16 tensors travel as uint16. A .npy file holds the logical order; "
    "it is laid out\n"
    "as the program wants it. A plain number stands for a rank-0 int64, float64 or bool tensor input.\n"
    "\n"
    "With --output-dir, user output n of a call is DIR/<call>/<n>.npy, an input that the model writes to is\n"
    "DIR/<call>/mutated/<input>.npy, and DIR/outputs.json lists all outputs; calls count from 0. Without it, results "
    "are printed.";

void add_call(RunOptions& options, const std::string& text) {
  const size_t colon = text.find(':');
  if (colon == std::string::npos || colon == 0) throw CLI::ValidationError("--call", "wants METHOD:V,V,... and got " + text);
  options.calls.push_back({text.substr(0, colon), text.substr(colon + 1)});
}

}  // namespace

void add_run_command(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* run = app.add_subcommand("run", "run a program on the official runtime");
  run->footer(kFooter);
  run->add_option("program", options->program, "the .pte file")->required()->type_name("OUT.pte");
  run->add_option_function<std::string>(
         "--inputs",
         [options](const std::string& text) {
           options->calls.push_back({"", text});
         },
         "one call with these inputs; repeatable")
      ->trigger_on_parse()
      ->type_name("V,V,...");
  run->add_option_function<std::string>(
         "--call", [options](const std::string& text) { add_call(*options, text); },
         "one call of this method; repeatable, mixes with --inputs")
      ->trigger_on_parse()
      ->type_name("METHOD:V,V,...");
  run->add_option("--method", options->method, "the method that --inputs calls (default: forward, or the only one)")->type_name("NAME");
  run->add_option("--data", options->data, "external weights")->type_name("F.ptd");
  run->add_option("--plugin", options->plugins,
                  "load kernels and delegates of your own: a library that registers them with the runtime; repeatable")
      ->allow_extra_args(false)
      ->type_name("LIB.so");
  run->add_option("--output-dir", options->output_dir, "write the results there")->type_name("DIR");
  run->add_option("--repeat", options->repeat, "execute each call N times, state moves on each time; the last results count")
      ->type_name("N")
      ->check(CLI::Range(size_t{1}, size_t{1000000000}));
  run->add_flag("--profile", options->profile,
                "print wall times of the runs and the time in each operator (N > 1: measured in one run more, the last)");
  run->add_option("--report", options->report,
                  "with --profile: what `compile --report` wrote for the program; gives the time in each line of the model")
      ->type_name("F.json");
  run->add_option("--etdump", options->etdump, "write the runtime's ETDump for its inspector")->type_name("F");
  run->callback([options, &invocation] {
    if (options->calls.empty()) throw CLI::RequiredError("--inputs or --call");
    invocation.execute = [options] { return execute(*options); };
  });
}

}  // namespace edgec::cli
