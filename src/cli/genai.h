#pragma once
#include "cli/command.h"

// The commands below `edgec genai`, one file each.
namespace edgec::cli {

void add_genai_compile(CLI::App& genai, Invocation& invocation);
void add_genai_run(CLI::App& genai, Invocation& invocation);
void add_genai_specs(CLI::App& genai, Invocation& invocation);  // compile-spec, show-spec

}  // namespace edgec::cli
