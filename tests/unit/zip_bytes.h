#pragma once
#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace edgec::testing {

// One record to write; the optional parts make archives that are odd or wrong.
struct ZipRecord {
  std::string name;
  std::string data;
  bool deflate = false;
  bool descriptor = false;       // sizes behind the data, zeros in the local header
  bool zip64 = false;            // sizes and offset in the ZIP64 field
  std::string local_name = {};   // when the local header is to say another name
  std::string local_extra = {};  // padding as torch writes it
  uint16_t flags = 0;
  int method = -1;
  int64_t crc = -1, size = -1, packed_size = -1, offset = -1, disk = 0;
};

struct ZipArchive {
  std::vector<ZipRecord> records;
  bool zip64_end = false;
  std::string comment = {};
  int64_t count = -1, directory_offset = -1, directory_size = -1;
};

inline void put(std::string& out, uint64_t v, int width) {
  for (int i = 0; i < width; ++i) out += static_cast<char>(v >> (8 * i));
}

inline std::string deflated(std::string_view data) {
  z_stream z{};
  deflateInit2(&z, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&z, data.size()), '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  z.avail_in = static_cast<uInt>(data.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  deflate(&z, Z_FINISH);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

inline std::string write_zip(const ZipArchive& a) {
  auto or_else = [](int64_t chosen, uint64_t real) { return chosen >= 0 ? static_cast<uint64_t>(chosen) : real; };
  std::string out, directory;
  for (const auto& r : a.records) {
    std::string packed = r.deflate ? deflated(r.data) : r.data;
    uint64_t crc = or_else(r.crc, crc32_z(0, reinterpret_cast<const Bytef*>(r.data.data()), r.data.size()));
    uint64_t size = or_else(r.size, r.data.size()), packed_size = or_else(r.packed_size, packed.size());
    uint64_t offset = or_else(r.offset, out.size()), method = or_else(r.method, r.deflate ? 8 : 0);
    uint64_t flags = r.flags | (r.descriptor ? 8u : 0u);
    const std::string& local = r.local_name.empty() ? r.name : r.local_name;
    put(out, 0x04034b50, 4), put(out, 20, 2), put(out, flags, 2), put(out, method, 2), put(out, 0, 4);
    put(out, r.descriptor ? 0 : crc, 4), put(out, r.descriptor ? 0 : packed_size, 4), put(out, r.descriptor ? 0 : size, 4);
    put(out, local.size(), 2), put(out, r.local_extra.size(), 2);
    out += local + r.local_extra + packed;
    if (r.descriptor) put(out, 0x08074b50, 4), put(out, crc, 4), put(out, packed_size, 4), put(out, size, 4);

    std::string extra;
    if (r.zip64) put(extra, 1, 2), put(extra, 24, 2), put(extra, size, 8), put(extra, packed_size, 8), put(extra, offset, 8);
    put(directory, 0x02014b50, 4), put(directory, 20, 2), put(directory, 20, 2), put(directory, flags, 2), put(directory, method, 2);
    put(directory, 0, 4), put(directory, crc, 4), put(directory, r.zip64 ? 0xffffffff : packed_size, 4);
    put(directory, r.zip64 ? 0xffffffff : size, 4), put(directory, r.name.size(), 2), put(directory, extra.size(), 2);
    put(directory, 0, 2), put(directory, r.disk, 2), put(directory, 0, 6), put(directory, r.zip64 ? 0xffffffff : offset, 4);
    directory += r.name + extra;
  }
  uint64_t at = or_else(a.directory_offset, out.size()), size = or_else(a.directory_size, directory.size());
  uint64_t count = or_else(a.count, a.records.size());
  out += directory;
  if (a.zip64_end) {
    uint64_t end64 = out.size();
    put(out, 0x06064b50, 4), put(out, 44, 8), put(out, 45, 2), put(out, 45, 2), put(out, 0, 8);
    put(out, count, 8), put(out, count, 8), put(out, size, 8), put(out, at, 8);
    put(out, 0x07064b50, 4), put(out, 0, 4), put(out, end64, 8), put(out, 1, 4);
    count = 0xffff, size = at = 0xffffffff;
  }
  put(out, 0x06054b50, 4), put(out, 0, 4), put(out, count, 2), put(out, count, 2), put(out, size, 4), put(out, at, 4);
  put(out, a.comment.size(), 2);
  return out + a.comment;
}

inline std::span<const std::byte> as_bytes(std::string_view s) { return std::as_bytes(std::span(s)); }

}  // namespace edgec::testing
