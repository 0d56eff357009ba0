#pragma once
#include <string>
#include <vector>

#include <edgec/result.h>

namespace edgec::genai {

struct ChildResult {
  int exit_code = 0;   // 128 + signal when it was killed
  std::string output;  // stdout and stderr
};
// Runs a program of PATH to its end, without a shell; at most 16 MB of output are kept. Kind Model when it cannot be started.
Result<ChildResult> run_child(const std::vector<std::string>& command);

}  // namespace edgec::genai
