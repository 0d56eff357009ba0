// Any bytes as IR text: refused with a place, or a program that prints, reads back equal and prints the same again.
#include <edgec/program.h>
#include "ops/table.h"
#include "verify/verify.h"

using namespace edgec;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ops::register_all();
  auto first = parse_program({reinterpret_cast<const char*>(data), size});
  if (!first) {
    if (first.failure().message.find(':') == std::string::npos) __builtin_trap();
    return 0;
  }
  const std::string text = print(**first);
  auto second = parse_program(text);
  if (!second || print(**second) != text || !same_program(**first, **second)) __builtin_trap();
  Diagnostics diag;
  (void)verify(**first, diag);
  return 0;
}
