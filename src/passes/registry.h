#pragma once
#include <edgec/pass.h>

#include <string_view>
#include <vector>

namespace edgec::passes {

const std::vector<PassInfo>& all_passes();         // in the order of passes.def
const PassInfo* find_pass(std::string_view name);  // null when there is none

#define PASS(fn, name, from, to, summary) Status fn(Program&, PassContext&);
#include "passes/passes.def"
#undef PASS

}  // namespace edgec::passes
