#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "cli/input_file.h"
#include "cli/model_facts.h"
#include "emit/json.h"
#include "emit/text.h"

namespace edgec::cli {
namespace {

struct InspectArgs {
  std::string file;
  std::vector<std::string> ops;
  bool json = false, ir = false;
};

// Text from files may hold anything, so it is not a format.
void put(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

Status inspect(const InspectArgs& args) {
  EDGEC_TRY_VOID(load_user_operators(args.ops));
  EDGEC_TRY(const InputFile file, open_input(args.file));
  if (file.kind != FileKind::Archive) {
    EDGEC_TRY(const pte::Program program, read_program(file));
    put(args.json ? pte::describe_json(program) : pte::describe_text(program));
    return {};
  }
  EDGEC_TRY(auto model, read_model(file, "forward"));
  if (args.ir) {
    put(print(*model));
    return {};
  }
  EDGEC_TRY(const ModelFacts facts, facts_of(*model));
  put(args.json ? describe_json(facts) : describe_text(facts));
  return {};
}

constexpr const char* kFooter =
    "The content tells what the file is, not its name. Of a model: inputs, outputs, ranges of sizes, weights, state "
    "and\n"
    "operators; with --ir the graph as the archive has it. Of a program: the bytes of each part, and for each method "
    "the\n"
    "memory plan (planned bytes, and how many of them are live at most), inputs, outputs, operators, delegates, values "
    "and\n"
    "instructions. A size after \"up to\" is the bound that memory is planned for. A symbolic number that the user "
    "passes is\n"
    "a rank-0 tensor in the program; `edgec run` takes it as a plain number.";

}  // namespace

void add_inspect_command(CLI::App& app, Invocation& invocation) {
  auto args = std::make_shared<InspectArgs>();
  CLI::App* cmd = app.add_subcommand("inspect", "show what is in a model or a program");
  cmd->footer(kFooter);
  cmd->add_option("FILE", args->file, "a .pt2 model or a .pte program")->required();
  auto* json = cmd->add_flag("--json", args->json, "as one JSON object");
  cmd->add_flag("--ir", args->ir, "the graph as text (of a program: the same as without)")->excludes(json);
  cmd->add_option("--ops", args->ops, "user operators of the model; repeatable")->allow_extra_args(false)->type_name("FILE");
  cmd->callback([args, &invocation] { invocation.execute = [args] { return inspect(*args); }; });
}

}  // namespace edgec::cli
