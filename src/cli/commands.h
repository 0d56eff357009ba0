#pragma once
#include "cli/command.h"

// One function per command, each in a file of its name. To add one: declare it here and add it to kCommands in
// main.cpp.
namespace edgec::cli {

void add_compile_command(CLI::App& app, Invocation& invocation);
void add_inspect_command(CLI::App& app, Invocation& invocation);
void add_verify_command(CLI::App& app, Invocation& invocation);
void add_run_command(CLI::App& app, Invocation& invocation);
void add_genai_command(CLI::App& app, Invocation& invocation);
void add_plan_command(CLI::App& app, Invocation& invocation);
void add_list_commands(CLI::App& app, Invocation& invocation);  // ops, passes, backends

}  // namespace edgec::cli
