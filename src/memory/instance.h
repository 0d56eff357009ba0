#pragma once
#include <edgec/planner.h>

#include <string>
#include <string_view>
#include <vector>

namespace edgec::memory {

// A planning problem as MiniMalloc's CSV has it: a header with the columns id, lower, upper and size in any order, then a row for each
// buffer, alive from `lower` to `upper`, which is excluded. Other columns are ignored.
struct Instance {
  std::vector<MemoryBlock> blocks;                 // times count from the first in the file (numbered, where 32 bits are too few)
  std::vector<std::pair<int64_t, int64_t>> times;  // lower and upper as they were
};

// Untrusted input; a failure (kind Input) says the line.
Result<Instance> parse_instance(std::string_view csv, std::string_view name);
// The rows with a column `offset` added.
std::string solution_csv(const Instance& instance);

}  // namespace edgec::memory
