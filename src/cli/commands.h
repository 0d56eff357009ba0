#pragma once
#include "cli/command.h"

// One function per command, each in a file of its name. To add one: declare it here and add it to kCommands in
// main.cpp.
namespace edgec::cli {

void add_compile_command(CLI::App& app, Invocation& invocation);
void add_run_command(CLI::App& app, Invocation& invocation);

}  // namespace edgec::cli
