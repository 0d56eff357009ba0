#pragma once
#include <string>
#include <vector>

#include "cli/input_file.h"

namespace edgec::cli {

// Where a method of a program does not agree with the model it is said to come from, a line each: user inputs and
// outputs (number, dtype, shape, bounds of dynamic sizes), state and its initial content, weights. The method is
// "forward" or the only one when `method` is empty. The program must have no faults of its own.
Result<std::vector<std::string>> disagreements(const InputFile& model, const pte::Program& program, const std::string& method);

}  // namespace edgec::cli
