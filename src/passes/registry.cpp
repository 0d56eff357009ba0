#include "passes/registry.h"

namespace edgec::passes {

const std::vector<PassInfo>& all_passes() {
  static const std::vector<PassInfo> passes = {
#define PASS(fn, name, from, to, summary) {name, Stage::from, Stage::to, summary, fn},
#include "passes/passes.def"
#undef PASS
  };
  return passes;
}

const PassInfo* find_pass(std::string_view name) {
  for (const PassInfo& p : all_passes())
    if (p.name == name) return &p;
  return nullptr;
}

}  // namespace edgec::passes
