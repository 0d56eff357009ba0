#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include <edgec/result.h>

namespace edgec {

// Receives bytes in order.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual Status write(std::span<const std::byte> bytes) = 0;
};

// Keeps them.
class BytesSink final : public Sink {
 public:
  Status write(std::span<const std::byte> more) override {
    bytes.insert(bytes.end(), more.begin(), more.end());
    return {};
  }
  std::vector<std::byte> bytes;
};

}  // namespace edgec
