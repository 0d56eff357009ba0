#include "emit/runnable.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "emit/verify.h"

namespace edgec::pte {
namespace {

constexpr int kMaxDepth = 16;  // of programs in each other

// What the runtime takes on trust.
std::vector<std::string> faults_of_structure(const Program& program) {
  VerifyOptions options;
  options.structure_only = true;
  options.limit = 5;
  return faults(program, options);
}

Status check_nested(const Program& program, const std::string& name, int depth) {
  if (depth > kMaxDepth) return model_error(fmt::format("error: {} has programs in each other more than {} deep", name, kMaxDepth));
  for (const Plan& plan : program.plans)
    for (const Delegate& d : plan.delegates) {
      if (d.backend_id != "ExecutorBackend") continue;  // whose payload is a program
      auto nested = read(program.payloads[d.payload].view);
      if (!nested) return model_error(fmt::format("error: a nested program of {}: {}", name, nested.failure().message));
      if (const auto wrong = faults_of_structure(*nested); !wrong.empty())
        return model_error(fmt::format("error: a nested program of {} cannot be run:\n  {}", name, fmt::join(wrong, "\n  ")));
      EDGEC_TRY_VOID(check_nested(*nested, name, depth + 1));
    }
  return {};
}

}  // namespace

Status check_runnable(const Program& program, const std::string& name) {
  if (const auto wrong = faults_of_structure(program); !wrong.empty())
    return model_error(fmt::format("error: {} cannot be run:\n  {}\n`edgec verify` lists all faults", name, fmt::join(wrong, "\n  ")));
  return check_nested(program, name, 0);
}

}  // namespace edgec::pte
