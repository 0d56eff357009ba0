#include "cli/plugins.h"

#include <dlfcn.h>
#include <edgec/extensions.h>
#include <fmt/format.h>

#include <exception>
#include <set>

#include "support/shared_library.h"

namespace edgec::cli {
namespace {

constexpr const char* kEntry = "edgec_register_extensions";

// Names that two extensions of the same kind have.
std::string taken_twice(const Extensions& all) {
  std::string out;
  std::set<std::string> seen;
  const auto see = [&](std::string kind_and_name) {
    if (!seen.insert(kind_and_name).second) out += (out.empty() ? "" : ", ") + kind_and_name;
  };
  for (const auto& p : all.passes()) see("pass " + p.name);
  for (const auto& b : all.backends()) see("backend " + b->name());
  for (const auto& p : all.planners()) see("memory planner " + p->name());
  return out;
}

Status load_plugin(const std::string& path) {
  const auto fail = [&](std::string_view why) { return usage_error(fmt::format("error: --plugin {}: {}", path, why)); };
  const auto library = open_library(path);
  if (!library) return fail(library.failure().message);
  if (!library->is_new) return {};
  auto* entry = reinterpret_cast<RegisterExtensions>(dlsym(library->handle, kEntry));
  if (!entry) return fail(fmt::format("is no plugin of edgec: it has no function {}", kEntry));
  try {
    entry(Extensions::global());
  } catch (const std::exception& e) {
    return fail(fmt::format("{} threw: {}", kEntry, e.what()));
  }
  if (const std::string twice = taken_twice(Extensions::global()); !twice.empty()) return fail("adds what is there already: " + twice);
  return {};
}

}  // namespace

void add_plugin_option(CLI::App& command, std::vector<std::string>& paths) {
  command.add_option("--plugin", paths, "load passes, backends, memory planners and operators from a shared library; repeatable")
      ->allow_extra_args(false)
      ->type_name("LIB.so");
}

Status load_plugins(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) EDGEC_TRY_VOID(load_plugin(path));
  return {};
}

}  // namespace edgec::cli
