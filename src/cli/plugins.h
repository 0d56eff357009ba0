#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include <edgec/result.h>

namespace edgec::cli {

// `--plugin LIB.so`, repeatable.
void add_plugin_option(CLI::App& command, std::vector<std::string>& paths);

// Loads the shared libraries and lets each add to `Extensions::global()` (include/edgec/extensions.h). They stay loaded until the
// process ends. Failure kind Usage: a file that is no plugin, or that adds a name which is taken.
Status load_plugins(const std::vector<std::string>& paths);

}  // namespace edgec::cli
