#pragma once
#include <string>
#include <string_view>

namespace edgec {

// Text that may come from a damaged file, fit for a terminal: what is no valid UTF-8, and control characters other than new line and
// tab, become \xNN.
std::string printable(std::string_view text);

}  // namespace edgec
