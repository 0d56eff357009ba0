#pragma once
#include <string>
#include <vector>

#include "emit/program.h"

namespace edgec::pte {

struct VerifyOptions {
  std::vector<std::string> more_operators;  // full names ("my::op.out") that the user's runtime has besides the official ones
  bool structure_only = false;              // leaves out what the runtime finds out itself (absent operators) and the memory plan
  size_t limit = 100;                       // faults to list; what exceeds it is one line with the count
};

// What is wrong with a program, a line each; none for one that the runtime can load and whose memory plan keeps every
// value until its last use. Checks structure, tensors, data, places, operators and the plan (plan_check.h). Safe for
// any content.
std::vector<std::string> faults(const Program& program, const VerifyOptions& options = {});

}  // namespace edgec::pte
