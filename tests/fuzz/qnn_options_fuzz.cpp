#include <cstdlib>

#include "genai/spec_arguments.h"

// Compile specs: what reads back is written to what reads back to the same, and options that are found make the bytes they stand for.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto options = edgec::genai::decode_qnn_options(bytes);
  if (!options) return 0;
  const auto again = edgec::genai::decode_qnn_options(edgec::genai::encode(*options));
  if (!again || !(*again == *options)) std::abort();
  (void)edgec::genai::to_json(*options);
  (void)edgec::genai::arguments_of(bytes);
  return 0;
}
