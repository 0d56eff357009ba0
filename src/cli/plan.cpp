#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/commands.h"
#include "cli/input_file.h"
#include "cli/plugins.h"
#include "memory/check_plan.h"
#include "memory/instance.h"
#include "memory/planners.h"
#include "pipeline/planner.h"
#include "support/output_file.h"

namespace edgec::cli {
namespace {

struct PlanArgs {
  std::string instance, output, planner = "best";
  std::vector<std::string> plugins;
  int64_t capacity = -1, effort = 2000;
  int64_t alignment = 1;
};

struct Done {
  int64_t bytes = 0;
  std::string note;  // on how good it is
};

// Our planners try harder than for a program, and stop when the capacity is met.
Result<Done> run_planner(const PlanArgs& args, std::vector<MemoryBlock>& blocks) {
  const MemoryLayer layer{1, "", -1, args.alignment, 1};
  EDGEC_TRY(const MemoryPlanner* planner, pipeline::find_planner(args.planner));
  Done done;
  const memory::Problem problem = memory::Problem::of(blocks, layer.alignment);
  if (planner == memory::built_in_planner("best")) {
    memory::Effort effort;
    const int64_t enough = args.capacity < 0 ? 0 : args.capacity / layer.alignment;
    const auto arrangement = memory::BestPlanner(args.effort * 1'000'000).arrange(problem, enough, effort);
    for (MemoryBlock& b : blocks) b.offset = 0;
    for (size_t i = 0; i < problem.items.size(); ++i) blocks[problem.items[i].block].offset = arrangement.offsets[i] * layer.alignment;
    done.note = fmt::format(", {} million steps of search; {} bytes are {}", effort.steps / 1'000'000, effort.bound * layer.alignment,
                            effort.proven ? "the least possible" : "not known to be impossible");
  } else {
    EDGEC_TRY_VOID(planner->plan(blocks, std::span(&layer, 1)));
    done.note = fmt::format("; {} bytes are live at most", problem.max_live() * layer.alignment);
  }
  if (Status ok = memory::check_plan(blocks, std::span(&layer, 1)); !ok)
    return model_error(fmt::format("error: the plan that \"{}\" made is wrong: {}", planner->name(), ok.failure().message));
  for (const MemoryBlock& b : blocks) done.bytes = std::max(done.bytes, b.offset + b.bytes);
  return done;
}

Status plan(const PlanArgs& args) {
  EDGEC_TRY_VOID(load_plugins(args.plugins));
  if ((args.alignment & (args.alignment - 1)) != 0) return usage_error("error: --align wants a power of two");
  EDGEC_TRY(const InputFile file, open_input(args.instance));
  const std::span<const std::byte> bytes = file.file->bytes();
  EDGEC_TRY(memory::Instance instance, memory::parse_instance({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, file.name));
  EDGEC_TRY(const Done done, run_planner(args, instance.blocks));
  fmt::print(stderr, "{} buffers in {} bytes{}\n", instance.blocks.size(), done.bytes, done.note);
  if (args.capacity >= 0 && done.bytes > args.capacity)
    return model_error(fmt::format("error: {} bytes are not within the capacity {}", done.bytes, args.capacity));
  EDGEC_TRY(OutputFile out, OutputFile::create(args.output));
  EDGEC_TRY_VOID(out.write(memory::solution_csv(instance)));
  return out.commit();
}

constexpr const char* kFooter =
    "INSTANCE.csv has a header with the columns id, lower, upper and size, in any order, and a row for each buffer: it is alive from\n"
    "lower to upper (excluded) and needs size bytes. The solution has the column offset as well. The same instance and options give the\n"
    "same solution. When the capacity cannot be met, nothing is written and the exit code is 1.";

}  // namespace

void add_plan_command(CLI::App& app, Invocation& invocation) {
  auto args = std::make_shared<PlanArgs>();
  CLI::App* cmd = app.add_subcommand("plan", "run a memory planner on an instance in MiniMalloc's CSV form");
  cmd->footer(kFooter);
  cmd->add_option("INSTANCE", args->instance, "the buffers with their lifetimes")->required()->type_name("INSTANCE.csv");
  cmd->add_option("-o,--output", args->output, "the solution to write")->required()->type_name("SOLUTION.csv");
  cmd->add_option("--capacity", args->capacity, "bytes that must be enough; the search stops when they are")
      ->type_name("BYTES")
      ->check(CLI::Range(int64_t{0}, INT64_MAX));
  cmd->add_option("--planner", args->planner, "best (default), greedy, naive or one of a plugin")->type_name("NAME");
  cmd->add_option("--align", args->alignment, "alignment of offsets in bytes: a power of two (default 1)")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 30));
  cmd->add_option("--effort", args->effort, "million steps of search before best gives up (default 2000, some seconds)")
      ->type_name("N")
      ->check(CLI::Range(int64_t{0}, int64_t{1000000}));
  add_plugin_option(*cmd, args->plugins);
  cmd->callback([args, &invocation] { invocation.execute = [args] { return plan(*args); }; });
}

}  // namespace edgec::cli
