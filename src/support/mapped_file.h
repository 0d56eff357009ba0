#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <edgec/result.h>

namespace edgec {

// The bytes of a file, read only. Regular files are mapped, so that pages come in when they are touched and cost no
// anonymous memory; pipes, devices and "-" (standard input) are read to their end. The file must not shrink while it is
// mapped.
class MappedFile {
 public:
  static Result<std::shared_ptr<const MappedFile>> open(const std::string& path);
  // Bytes that are in memory already, as if they had been read.
  static std::shared_ptr<const MappedFile> of(std::vector<std::byte> bytes);

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  MappedFile() = default;
  Status map_or_read(int fd, const std::string& path);
  Status read_all(int fd, const std::string& path, size_t limit);

  std::span<const std::byte> bytes_;
  std::vector<std::byte> owned_;  // what was read, when it could not be mapped
  bool mapped_ = false;
};

}  // namespace edgec
