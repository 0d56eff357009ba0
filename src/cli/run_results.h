#pragma once
#include <string>
#include <vector>

#include <edgec/result.h>
#include "runtime/runner.h"

namespace edgec::cli {

struct NamedCall {
  std::string method;
  runtime::CallResult result;
};

// DIR/<call>/<n>.npy, DIR/<call>/mutated/<input>.npy and DIR/outputs.json.
Status write_results(const std::string& dir, const std::vector<NamedCall>& calls);

std::string results_text(const std::vector<NamedCall>& calls);  // shapes and first values, for people
std::string profile_text(const std::vector<NamedCall>& calls);  // times

}  // namespace edgec::cli
