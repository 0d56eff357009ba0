#include "runtime/library.h"

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/kernel/operator_registry.h>
#include <fmt/format.h>

#include "runtime/runtime_log.h"
#include "support/shared_library.h"

namespace edgec::runtime {
namespace {

size_t registered() { return executorch::runtime::get_registered_kernels().size() + executorch::runtime::get_num_registered_backends(); }

}  // namespace

Status load_library(const std::string& path) {
  const auto fail = [&](const std::string& why) { return usage_error(fmt::format("error: --plugin {}: {}", path, why)); };
  start_runtime();
  const size_t before = registered();
  const auto library = open_library(path);
  if (!library) return fail(library.failure().message);
  if (!library->is_new) return {};  // given twice
  if (registered() == before)
    return fail(
        "registers no kernel and no delegate\n"
        "  it must link libexecutorch.so, the runtime of edgec, and register what it has when it is loaded");
  return {};
}

}  // namespace edgec::runtime
