#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <string_view>

#include "cli/commands.h"
#include "cli/response_file.h"
#include "support/output_file.h"
#include "support/text.h"

namespace edgec::cli {
namespace {

using AddCommand = void (*)(CLI::App&, Invocation&);
struct Command {
  std::string_view name;  // empty: several
  AddCommand add;
};
constexpr Command kCommands[] = {
    {"compile", add_compile_command}, {"run", add_run_command},     {"inspect", add_inspect_command}, {"verify", add_verify_command},
    {"plan", add_plan_command},       {"genai", add_genai_command}, {"", add_list_commands},
};

// The command that the arguments name, or all: options of the others would be made for nothing, genai alone has a hundred.
void add_commands(const std::vector<std::string>& arguments, CLI::App& app, Invocation& invocation) {
  const bool asks_for_all = std::find(arguments.begin(), arguments.end(), "--help-all") != arguments.end();
  const auto* named = std::find_if(std::begin(kCommands), std::end(kCommands), [&](const Command& c) {
    return !asks_for_all && !arguments.empty() && !c.name.empty() && c.name == arguments.front();
  });
  for (const Command& c : kCommands)
    if (named == std::end(kCommands) || &c == named) c.add(app, invocation);
}

constexpr const char* kExitCodes =
    "Exit codes:\n"
    "  0    done\n"
    "  1    the model cannot be compiled as asked, `verify` found a fault, or the runtime refused or failed a run\n"
    "  2    wrong usage\n"
    "  3    an input cannot be read or is corrupt\n"
    "  4    an output could not be written\n"
    "  70   a bug of edgec\n"
    "  130  interrupted\n"
    "Results go to stdout, everything else to stderr. `-` is standard input or output where a file is wanted;\n"
    "@FILE anywhere on the command line stands for the arguments in FILE.";

// Diagnostics carry the model's line before the word "error"; other messages may lack it.
int report(const Failure& failure) {
  const bool says_error = failure.message.substr(0, failure.message.find('\n')).find("error: ") != std::string::npos;
  if (!failure.message.empty()) fmt::print(stderr, "{}{}\n", says_error ? "" : "error: ", printable(failure.message));
  return static_cast<int>(failure.kind);
}

// Results that did not reach stdout (a full disk, a closed pipe) are an output that could not be written.
int finish(int code) {
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return code;
  return code ? code : report(output_error("error: cannot write to standard output"));
}

const CLI::App& innermost(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : innermost(*chosen.front());
}

std::string full_name(const CLI::App& app) {
  return app.get_parent() ? full_name(*app.get_parent()) + " " + app.get_name() : app.get_name();
}

int wrong_usage(const CLI::App& app, const CLI::ParseError& error) {
  return report(usage_error(fmt::format("error: {}\nsee `{} --help`", error.what(), full_name(innermost(app)))));
}

int run(const std::vector<std::string>& arguments) {
  CLI::App app("edgec compiles models saved by torch.export.save (.pt2) to ExecuTorch programs (.pte)", "edgec");
  Invocation invocation;
  app.set_version_flag("--version", "edgec " EDGEC_VERSION);
  app.set_help_all_flag("--help-all", "the help of all commands");
  app.require_subcommand(1);
  app.footer(kExitCodes);
  app.get_formatter()->column_width(34);

  auto expanded = expand_response_files(arguments);
  if (!expanded) return report(expanded.failure());
  add_commands(*expanded, app, invocation);
  if (expanded->empty()) {
    fmt::print(stderr, "{}", app.help());
    return static_cast<int>(ErrorKind::Usage);
  }
  std::reverse(expanded->begin(), expanded->end());  // CLI11 wants the last argument first
  try {
    app.parse(*std::move(expanded));
  } catch (const CLI::Success& help_or_version) {
    return app.exit(help_or_version);
  } catch (const CLI::ParseError& error) {
    return wrong_usage(app, error);
  }
  const Status done = invocation.execute ? invocation.execute() : Status(internal_error("error: the command does nothing"));
  return done ? 0 : report(done.failure());
}

}  // namespace
}  // namespace edgec::cli

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  edgec::install_interrupt_handler();
  try {
    return edgec::cli::finish(edgec::cli::run({argv + std::min(argc, 1), argv + argc}));
  } catch (const std::exception& e) {
    fmt::print(stderr, "edgec: internal error: {}\nplease report this with the command line and the file\n", e.what());
    return static_cast<int>(edgec::ErrorKind::Internal);
  }
}
