#pragma once
#include <string>
#include <vector>

#include <edgec/result.h>

namespace edgec::cli {

// Replaces each argument "@file" by the arguments in the file: separated by white space, '...' and "..." keep it, a
// backslash outside of '...' takes the next character as it is. Files may name further files. "@@x" is the plain
// argument "@x".
Result<std::vector<std::string>> expand_response_files(const std::vector<std::string>& arguments);

}  // namespace edgec::cli
