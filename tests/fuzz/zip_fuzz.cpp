// Any bytes as an archive: opened or refused, and every record within the bytes.
#include "support/zip.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto zip = edgec::ZipReader::open(std::as_bytes(std::span(data, size)), "fuzz");
  if (!zip) return zip.failure().message.empty() ? __builtin_trap(), 0 : 0;
  for (const auto& entry : zip->entries()) {
    if (zip->find(entry.name) != &entry) __builtin_trap();
    bool intact = static_cast<bool>(zip->check_crc(entry));
    auto copy = zip->read(entry, 1 << 20);
    if (copy && (!intact || copy->size() != entry.size)) __builtin_trap();
    if (auto bytes = zip->bytes(entry))
      for (std::byte b : *bytes) asm volatile("" : : "r"(b));  // touches each byte
  }
  return 0;
}
