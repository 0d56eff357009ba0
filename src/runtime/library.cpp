#include "runtime/library.h"

#include <dlfcn.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/kernel/operator_registry.h>
#include <fmt/format.h>

#include "runtime/runtime_log.h"

namespace edgec::runtime {
namespace {

size_t registered() { return executorch::runtime::get_registered_kernels().size() + executorch::runtime::get_num_registered_backends(); }

}  // namespace

Status load_library(const std::string& path) {
  const auto fail = [&](const std::string& why) { return usage_error(fmt::format("error: --plugin {}: {}", path, why)); };
  start_runtime();
  const size_t before = registered();
  // Without a slash dlopen would look in the system's folders instead of the file.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  if (void* loaded = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD)) {
    dlclose(loaded);  // given twice
    return {};
  }
  if (!dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    const char* why = dlerror();
    return fail(fmt::format("cannot be loaded: {}", why ? why : "no reason given"));
  }
  if (registered() == before)
    return fail(
        "registers no kernel and no delegate\n"
        "  it must link libexecutorch.so, the runtime of edgec, and register what it has when it is loaded");
  return {};
}

}  // namespace edgec::runtime
