#pragma once
#include <cstddef>
#include <span>

#include <edgec/result.h>

namespace edgec {

// Receives bytes in order.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual Status write(std::span<const std::byte> bytes) = 0;
};

}  // namespace edgec
