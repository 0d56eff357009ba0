#pragma once
#include <executorch/runtime/core/error.h>

#include <string>
#include <string_view>

#include <edgec/result.h>

// The runtime reports an error as a number and logs the reason; both become one Failure. Private to this folder.
namespace edgec::runtime {

// Initialises the runtime and keeps its log from stderr. A fatal check inside the runtime ends the process with exit
// code 1.
void start_runtime();

void forget_log();  // before a step whose errors are to be explained

enum class Phase { Open, Load, Input, Execute };
Failure runtime_failure(executorch::runtime::Error, Phase, const std::string& doing);

}  // namespace edgec::runtime
