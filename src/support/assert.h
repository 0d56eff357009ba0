#pragma once

namespace edgec {
// Prints what to report and ends the process with exit code 70. For our own mistakes only, never for bad input.
[[noreturn]] void assertion_failed(const char* what, const char* file, int line);
}  // namespace edgec

#define EDGEC_ASSERT(cond) ((cond) ? void(0) : ::edgec::assertion_failed(#cond, __FILE__, __LINE__))
