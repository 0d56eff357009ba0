#include "cli/genai.h"

#include "cli/commands.h"

namespace edgec::cli {

void add_genai_command(CLI::App& app, Invocation& invocation) {
  CLI::App* genai = app.add_subcommand("genai", "language models: compile for Qualcomm targets, run with a prompt");
  genai->require_subcommand(1);
  add_genai_compile(*genai, invocation);
  add_genai_run(*genai, invocation);
  add_genai_specs(*genai, invocation);
}

}  // namespace edgec::cli
