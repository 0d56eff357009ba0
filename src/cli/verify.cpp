#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "cli/commands.h"
#include "cli/input_file.h"
#include "cli/model_check.h"
#include "emit/verify.h"
#include "ops/user_ops.h"

namespace edgec::cli {
namespace {

struct VerifyArgs {
  std::vector<std::string> files, ops;
  std::string method;
};

Failure faulty(const InputFile& file, const std::vector<std::string>& faults) {
  return model_error(
      fmt::format("error: {}: {} {}\n  {}", file.name, faults.size(), faults.size() == 1 ? "fault" : "faults", fmt::join(faults, "\n  ")));
}

std::string counts_of(const pte::Program& program) {
  size_t values = 0, instructions = 0;
  for (const pte::Plan& p : program.plans) {
    values += p.values.size();
    instructions += p.instructions.size();
  }
  return fmt::format("methods {}, values {}, instructions {}, constants {}, states {}", program.plans.size(), values, instructions,
                     program.constants.size(), program.initial_states.size());
}

Status verify(const VerifyArgs& args) {
  EDGEC_TRY_VOID(load_user_operators(args.ops));
  const bool with_model = args.files.size() == 2;
  EDGEC_TRY(const InputFile file, open_input(args.files.back()));
  EDGEC_TRY(const pte::Program program, read_program(file));
  if (const auto faults = pte::faults(program, {.more_operators = ops::user_kernels()}); !faults.empty()) return faulty(file, faults);
  if (with_model) {
    EDGEC_TRY(const InputFile model, open_input(args.files.front()));
    EDGEC_TRY(const auto faults, disagreements(model, program, args.method));
    if (!faults.empty()) return faulty(file, faults);
  }
  fmt::print("ok: {}{}\n", counts_of(program), with_model ? "; agrees with the model" : "");
  return {};
}

constexpr const char* kFooter =
    "OUT.pte alone: structure, bounds, operators that the official runtime lacks, and a memory plan that keeps every\n"
    "value until its last use. With MODEL.pt2 also: the user's inputs and outputs (number, dtype, shape, upper bounds\n"
    "of dynamic sizes), state with its initial content, and weights are those of the model. Faults are printed to\n"
    "stderr, a line each, and the exit code is 1; otherwise one line says ok.";

}  // namespace

void add_verify_command(CLI::App& app, Invocation& invocation) {
  auto args = std::make_shared<VerifyArgs>();
  CLI::App* cmd = app.add_subcommand("verify", "check a program, also against its model");
  cmd->footer(kFooter);
  cmd->add_option("FILES", args->files, "[MODEL.pt2] OUT.pte")->required()->expected(1, 2)->type_name("");
  cmd->add_option("--method", args->method, "the method that MODEL.pt2 is (default: forward, or the only one)")->type_name("NAME");
  cmd->add_option("--ops", args->ops, "user operators, whose kernels the user's runtime has; repeatable")
      ->allow_extra_args(false)
      ->type_name("FILE");
  cmd->callback([args, &invocation] {
    if (!args->method.empty() && args->files.size() < 2) throw CLI::ValidationError("--method", "wants MODEL.pt2 before OUT.pte");
    if (args->files.size() == 2 && args->files[0] == "-" && args->files[1] == "-")
      throw CLI::ValidationError("FILES", "only one of them can be standard input");
    invocation.execute = [args] { return verify(*args); };
  });
}

}  // namespace edgec::cli
