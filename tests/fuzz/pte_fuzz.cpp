// Any bytes as a program file: read or refused; what is read can be checked, shown, written and read again.
#include <cstdint>

#include "emit/json.h"
#include "emit/program.h"
#include "emit/text.h"
#include "emit/verify.h"

namespace {

struct MemorySink final : edgec::Sink {
  std::vector<std::byte> bytes;
  edgec::Status write(std::span<const std::byte> more) override {
    bytes.insert(bytes.end(), more.begin(), more.end());
    return {};
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto program = edgec::pte::read(std::as_bytes(std::span(data, size)));
  if (!program) return program.failure().message.empty() ? __builtin_trap(), 0 : 0;
  bool sound = edgec::pte::faults(*program).empty();
  if (edgec::pte::describe_text(*program).empty() || edgec::pte::describe_json(*program).empty()) __builtin_trap();
  MemorySink sink;
  if (!edgec::pte::write(*program, sink)) return 0;
  auto again = edgec::pte::read(sink.bytes);
  if (!again || edgec::pte::faults(*again).empty() != sound) __builtin_trap();
  return 0;
}
