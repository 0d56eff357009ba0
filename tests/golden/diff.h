#pragma once
#include <string>
#include <string_view>

namespace edgec {

// Unified diff of two texts with three lines of context; empty when they are equal.
std::string unified_diff(std::string_view expected, std::string_view actual);

}  // namespace edgec
