#pragma once
#include <edgec/planner.h>

#include <string_view>

namespace edgec::pipeline {

// A memory planner of ours or of `Extensions`, alive as long as the process; a failure (kind Usage) lists the names there are.
Result<const MemoryPlanner*> find_planner(std::string_view name);

}  // namespace edgec::pipeline
