#pragma once
#include <string_view>
#include <vector>

#include "ir/program.h"
#include "support/diag.h"

namespace edgec::passes {

// What a pass may ask for and where it reports.
struct PassContext {
  Diagnostics diag;
  bool guards = true;  // range checks at the program's start
};

// Transforms all methods. Findings go to `cx.diag`; the failure then comes from `diag.failure()`.
using PassFn = Status (*)(Program&, PassContext&);

struct PassInfo {
  std::string_view name;
  Stage from, to;
  std::string_view summary;
  PassFn fn;
};

const std::vector<PassInfo>& all_passes();         // in the order of passes.def
const PassInfo* find_pass(std::string_view name);  // null when there is none

#define PASS(fn, name, from, to, summary) Status fn(Program&, PassContext&);
#include "passes/passes.def"
#undef PASS

}  // namespace edgec::passes
