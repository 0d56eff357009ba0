#pragma once
#include <string_view>
#include <vector>

#include <edgec/arg.h>
#include <edgec/result.h>

namespace edgec::pipeline {

// The values of a constant method as JSON: a number, true, false, a string, or a list of them.
Result<std::vector<Arg>> parse_constants(std::string_view json);

}  // namespace edgec::pipeline
