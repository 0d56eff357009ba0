#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "support/result.h"

namespace edgec::runtime {

// The bytes of a file, mapped where possible ("-" is standard input, read to its end). Starts at a page or malloc
// boundary.
struct FileBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> keep_alive;
};
Result<FileBytes> read_file(const std::string& path);

// Creates or replaces the file ("-" is standard output).
Status write_file(const std::string& path, std::span<const std::span<const std::byte>> parts);

}  // namespace edgec::runtime
