#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <edgec/result.h>

namespace edgec {

// One record of a zip archive, as the central directory tells it.
struct ZipEntry {
  std::string_view name;  // inside the archive's bytes; '/' separates, never absolute, no '..', unique
  uint16_t method = 0;    // 0 stored, 8 deflate; others can be listed but not read
  uint32_t crc = 0;
  uint64_t compressed_size = 0;
  uint64_t size = 0;
  uint64_t header_offset = 0;  // of the local header
  uint64_t data_offset = 0;    // of the (compressed) bytes; with compressed_size within the archive

  bool stored() const { return method == 0; }
};

// Reads a zip archive that lies in memory (a mapped file) without copying it. All of the archive is untrusted: `open`
// checks the directory and every local header, so that afterwards each entry's bytes are known to lie inside, before
// the directory and apart from all others. ZIP64 is understood, and so are data descriptors (sizes come from the
// central directory alone). Refused: several disks, encryption, bytes in front of or behind the archive, equal names,
// names that leave their folder. The bytes must outlive the reader. Failures are of kind Input and name the archive,
// the record and the reason.
class ZipReader {
 public:
  static Result<ZipReader> open(std::span<const std::byte> archive, std::string name);

  const std::string& name() const { return name_; }
  const std::vector<ZipEntry>& entries() const { return entries_; }  // in the directory's order
  const ZipEntry* find(std::string_view name) const;                 // null when there is none

  // The bytes of a stored record, in place. Their CRC is not looked at: that is `check_crc`, or never for large
  // weights.
  Result<std::span<const std::byte>> bytes(const ZipEntry& entry) const;
  // A copy of a stored or deflated record of at most `max_size` bytes, with its CRC checked.
  Result<std::vector<std::byte>> read(const ZipEntry& entry, uint64_t max_size) const;
  // Whether the record holds what its CRC says (deflated ones are unpacked piece by piece for it).
  Status check_crc(const ZipEntry& entry) const;

 private:
  ZipReader(std::span<const std::byte> archive, std::string name) : archive_(archive), name_(std::move(name)) {}
  struct Directory;
  Result<Directory> find_directory() const;
  Status read_directory(const Directory& directory);
  Status read_local_header(ZipEntry& entry, uint64_t directory_offset) const;
  Status check_overlaps() const;
  Status check_name(std::string_view entry) const;
  std::span<const std::byte> packed(const ZipEntry& entry) const;
  Failure error(std::string_view what) const;
  Failure error(const ZipEntry& entry, std::string_view what) const;

  std::span<const std::byte> archive_;
  std::string name_;
  std::vector<ZipEntry> entries_;
  std::unordered_map<std::string_view, size_t> by_name_;
};

}  // namespace edgec
