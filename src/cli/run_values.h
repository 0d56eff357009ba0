#pragma once
#include <string>
#include <vector>

#include <edgec/result.h>
#include "runtime/array.h"

namespace edgec::cli {

// "V,V,...": each V is a .npy file ("-" is standard input), an int, a float, true, false or none; a comma within a
// file's name is written "\,". Empty text is no value.
Result<std::vector<runtime::Value>> parse_values(const std::string& text);

}  // namespace edgec::cli
