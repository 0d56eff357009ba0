#include "pipeline/planner.h"

#include <edgec/extensions.h>
#include <fmt/format.h>

#include "memory/planners.h"

namespace edgec::pipeline {

Result<const MemoryPlanner*> find_planner(std::string_view name) {
  if (const MemoryPlanner* p = memory::built_in_planner(name)) return p;
  if (const MemoryPlanner* p = Extensions::global().find_planner(name)) return p;
  std::string names = "best, greedy, naive";
  for (const auto& p : Extensions::global().planners()) names += ", " + p->name();
  return usage_error(fmt::format("error: there is no memory planner {}; there are: {}", name, names));
}

}  // namespace edgec::pipeline
