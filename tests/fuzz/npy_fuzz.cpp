// Any bytes as a .npy file: refused with a message, or an array that is written and read back the same.
#include "runtime/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto array = edgec::runtime::parse_npy(std::as_bytes(std::span(data, size)), "fuzz");
  if (!array) return array.failure().message.empty() ? __builtin_trap(), 0 : 0;
  for (size_t i = 0; i < array->count(); ++i) (void)array->at(i);
  auto again = edgec::runtime::parse_npy(edgec::runtime::npy_bytes(*array), "fuzz");
  if (!again || again->shape != array->shape || again->bytes != array->bytes) __builtin_trap();
  return 0;
}
