#pragma once
#include <CLI/CLI.hpp>
#include <functional>

#include <edgec/result.h>

namespace edgec::cli {

// What the command line asked for. A command's add_<name>_command() registers its options and, as the subcommand's
// callback, sets `execute`; main runs it after all of the command line is known to be right. Its Failure is printed to
// stderr (an empty message prints nothing) and its kind is the exit code. Results go to stdout.
struct Invocation {
  std::function<Status()> execute;
};

}  // namespace edgec::cli
