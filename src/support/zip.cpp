#include "support/zip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>

namespace edgec {

namespace {

constexpr uint32_t kLocalHeader = 0x04034b50, kCentralHeader = 0x02014b50, kEnd = 0x06054b50;
constexpr uint32_t kEnd64 = 0x06064b50, kEnd64Locator = 0x07064b50;
constexpr size_t kLocalSize = 30, kCentralSize = 46, kEndSize = 22, kEnd64Size = 56, kLocatorSize = 20;
constexpr uint16_t kEncrypted = 1u << 0 | 1u << 6 | 1u << 13;  // plain, strong, and a masked directory
constexpr uint32_t kMax32 = 0xffffffff;                        // "see the ZIP64 field"
constexpr uint16_t kMax16 = 0xffff;

// Little-endian fields; callers have checked that they lie inside.
uint64_t little(std::span<const std::byte> b, size_t at, size_t width) {
  uint64_t v = 0;
  for (size_t i = width; i-- > 0;) v = v << 8 | std::to_integer<uint64_t>(b[at + i]);
  return v;
}
uint16_t u16(std::span<const std::byte> b, size_t at) { return static_cast<uint16_t>(little(b, at, 2)); }
uint32_t u32(std::span<const std::byte> b, size_t at) { return static_cast<uint32_t>(little(b, at, 4)); }
uint64_t u64(std::span<const std::byte> b, size_t at) { return little(b, at, 8); }

std::string_view text(std::span<const std::byte> b) { return {reinterpret_cast<const char*>(b.data()), b.size()}; }

// Names come from the file: shown without control characters and not endlessly.
std::string shown(std::string_view name) {
  std::string out;
  for (char c : name.substr(0, 200)) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return name.size() > 200 ? out + "..." : out;
}

// Is [offset, offset + size) within `whole` bytes?
bool inside(uint64_t offset, uint64_t size, uint64_t whole) { return offset <= whole && size <= whole - offset; }

// The ZIP64 field (id 1) of a central header's extra part. It holds, in this order, only the values that are saturated
// in the header.
bool read_zip64(std::span<const std::byte> extra, ZipEntry& e, uint32_t& disk) {
  bool needs = e.size == kMax32 || e.compressed_size == kMax32 || e.header_offset == kMax32 || disk == kMax16;
  while (extra.size() >= 4) {
    size_t id = u16(extra, 0), size = u16(extra, 2);
    if (size > extra.size() - 4) return !needs;
    if (id != 1) {
      extra = extra.subspan(4 + size);
      continue;
    }
    auto field = extra.subspan(4, size);
    for (uint64_t* value : {&e.size, &e.compressed_size, &e.header_offset}) {
      if (*value != kMax32) continue;
      if (field.size() < 8) return false;
      *value = u64(field, 0);
      field = field.subspan(8);
    }
    if (disk == kMax16) {
      if (field.size() < 4) return false;
      disk = u32(field, 0);
    }
    return true;
  }
  return !needs;  // the values may really be that large only with the field
}

// Unpacks a raw deflate stream piece by piece; `sink` gets each piece. Empty on success, else the reason.
std::optional<std::string> inflate_pieces(std::span<const std::byte> packed, uint64_t size,
                                          const std::function<void(std::span<const std::byte>)>& sink) {
  z_stream z{};
  if (inflateInit2(&z, -MAX_WBITS) != Z_OK) return "no memory to unpack it";
  std::vector<std::byte> buffer(1 << 16);
  uint64_t done = 0;
  int code = Z_OK;
  std::optional<std::string> fault;
  while (code != Z_STREAM_END && !fault) {
    if (z.avail_in == 0) {
      size_t piece = std::min<size_t>(packed.size(), 1u << 30);
      z.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data()));
      z.avail_in = static_cast<uInt>(piece);
      packed = packed.subspan(piece);
    }
    z.next_out = reinterpret_cast<Bytef*>(buffer.data());
    z.avail_out = static_cast<uInt>(buffer.size());
    code = inflate(&z, Z_NO_FLUSH);
    size_t got = buffer.size() - z.avail_out;
    if (code == Z_BUF_ERROR || (code == Z_OK && got == 0 && z.avail_in == 0 && packed.empty()))
      fault = fmt::format("its deflated data ends after {} of {} bytes", done + got, size);
    else if (code != Z_OK && code != Z_STREAM_END)
      fault = fmt::format("its deflated data is damaged ({})", z.msg ? z.msg : "zlib refuses it");
    else if (got > size - done)
      fault = fmt::format("it unpacks to more than the {} bytes that the directory says", size);
    else
      sink(std::span(buffer).first(got)), done += got;
  }
  if (!fault && done != size) fault = fmt::format("it unpacks to {} bytes, the directory says {}", done, size);
  if (!fault && (z.avail_in || !packed.empty())) fault = "there are bytes behind its deflated data";
  inflateEnd(&z);
  return fault;
}

uint32_t crc_of(std::span<const std::byte> bytes, uint32_t seed = 0) {
  return static_cast<uint32_t>(crc32_z(seed, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace

struct ZipReader::Directory {
  uint64_t entries = 0, offset = 0, size = 0;
};

Failure ZipReader::error(std::string_view what) const { return input_error(fmt::format("{}: {}", name_, what)); }
Failure ZipReader::error(const ZipEntry& entry, std::string_view what) const {
  return input_error(fmt::format("{}: record \"{}\": {}", name_, shown(entry.name), what));
}

Result<ZipReader> ZipReader::open(std::span<const std::byte> archive, std::string name) {
  ZipReader zip(archive, std::move(name));
  EDGEC_TRY(Directory directory, zip.find_directory());
  EDGEC_TRY_VOID(zip.read_directory(directory));
  EDGEC_TRY_VOID(zip.check_overlaps());
  return zip;
}

const ZipEntry* ZipReader::find(std::string_view name) const {
  auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : &entries_[it->second];
}

// The end record is the last thing of the file, followed only by its own comment; the directory ends where the end
// records start. Both are checked exactly: so the end record of an archive within this one (a stored pickle) is never
// taken for ours.
Result<ZipReader::Directory> ZipReader::find_directory() const {
  const auto& b = archive_;
  auto cut_short = [&] { return error(fmt::format("not a zip archive or cut short ({} bytes)", b.size())); };
  if (b.size() < kEndSize) return cut_short();
  size_t lowest = b.size() - kEndSize > kMax16 ? b.size() - kEndSize - kMax16 : 0;
  std::optional<size_t> end;
  for (size_t at = b.size() - kEndSize; !end; --at) {
    if (u32(b, at) == kEnd && u16(b, at + 20) == b.size() - kEndSize - at) end = at;
    if (at == lowest) break;
  }
  if (!end) return cut_short();
  auto record = b.subspan(*end, kEndSize);
  uint64_t disk = u16(record, 4), directory_disk = u16(record, 6), here = u16(record, 8);
  Directory d{u16(record, 10), u32(record, 16), u32(record, 12)};
  uint64_t directory_end = *end;

  bool locator = *end >= kLocatorSize && u32(b, *end - kLocatorSize) == kEnd64Locator;
  bool saturated = here == kMax16 || d.entries == kMax16 || d.offset == kMax32 || d.size == kMax32;
  if (locator) {
    size_t locator_at = *end - kLocatorSize;
    uint64_t at = u64(b, locator_at + 8);
    if (u32(b, locator_at + 4) != 0 || u32(b, locator_at + 16) > 1) return error("a zip archive in several parts is not supported");
    if (!inside(at, kEnd64Size, locator_at) || u32(b, at) != kEnd64)
      return error(fmt::format("damaged zip archive: no ZIP64 end record at offset {}", at));
    auto r = b.subspan(at, kEnd64Size);
    if (u64(r, 4) != locator_at - at - 12) return error(fmt::format("damaged zip archive: the ZIP64 end record says {} bytes", u64(r, 4)));
    Directory wide{u64(r, 32), u64(r, 48), u64(r, 40)};
    if ((d.entries != kMax16 && d.entries != wide.entries) || (d.offset != kMax32 && d.offset != wide.offset) ||
        (d.size != kMax32 && d.size != wide.size))
      return error("damaged zip archive: its two end records disagree");
    disk = u32(r, 16), directory_disk = u32(r, 20), here = u64(r, 24);
    d = wide, directory_end = at;
  } else if (saturated && (d.offset == kMax32 || d.size == kMax32)) {
    return error("damaged zip archive: the ZIP64 end record is missing");
  }

  if (disk != 0 || directory_disk != 0 || here != d.entries) return error("a zip archive in several parts is not supported");
  if (!inside(d.offset, d.size, directory_end) || d.offset + d.size != directory_end)
    return error(fmt::format("damaged zip archive: its directory ({} bytes at offset {}) does not end where the end record starts ({})",
                             d.size, d.offset, directory_end));
  if (d.entries > d.size / kCentralSize)
    return error(fmt::format("damaged zip archive: {} records do not fit into a directory of {} bytes", d.entries, d.size));
  return d;
}

Status ZipReader::read_directory(const Directory& directory) {
  auto b = archive_.subspan(directory.offset, directory.size);
  entries_.reserve(directory.entries);
  by_name_.reserve(directory.entries);
  for (uint64_t i = 0; i < directory.entries; ++i) {
    auto damaged = [&](std::string_view why) {
      return error(fmt::format("damaged zip archive: directory record {} of {} {}", i, directory.entries, why));
    };
    if (b.size() < kCentralSize) return damaged("is cut short");
    if (u32(b, 0) != kCentralHeader) return damaged("has no signature");
    size_t name_size = u16(b, 28), extra_size = u16(b, 30), comment_size = u16(b, 32);
    if (name_size + extra_size + comment_size > b.size() - kCentralSize) return damaged("is cut short");
    ZipEntry e;
    e.name = text(b.subspan(kCentralSize, name_size));
    e.method = u16(b, 10);
    e.crc = u32(b, 16);
    e.compressed_size = u32(b, 20);
    e.size = u32(b, 24);
    e.header_offset = u32(b, 42);
    uint32_t disk = u16(b, 34);
    if (!read_zip64(b.subspan(kCentralSize + name_size, extra_size), e, disk)) return error(e, "its ZIP64 sizes are missing or cut short");
    if (u16(b, 8) & kEncrypted) return error(e, "it is encrypted, which is not supported");
    if (disk != 0) return error("a zip archive in several parts is not supported");
    EDGEC_TRY_VOID(check_name(e.name));
    if (e.stored() && e.size != e.compressed_size)
      return error(e, fmt::format("stored, but with two sizes ({} and {} bytes)", e.size, e.compressed_size));
    EDGEC_TRY_VOID(read_local_header(e, directory.offset));
    if (!by_name_.emplace(e.name, entries_.size()).second) return error(e, "the archive has two records of this name");
    entries_.push_back(e);
    b = b.subspan(kCentralSize + name_size + extra_size + comment_size);
  }
  if (!b.empty()) return error(fmt::format("damaged zip archive: {} unexplained bytes in its directory", b.size()));
  return {};
}

// Only the lengths of the local header's own name and extra field count here: they say where the data starts.
Status ZipReader::read_local_header(ZipEntry& e, uint64_t directory_offset) const {
  if (!inside(e.header_offset, kLocalSize, directory_offset))
    return error(e, fmt::format("its header (offset {}) lies outside of the archive", e.header_offset));
  auto b = archive_.subspan(e.header_offset, directory_offset - e.header_offset);
  if (u32(b, 0) != kLocalHeader) return error(e, fmt::format("no record starts at offset {}", e.header_offset));
  size_t name_size = u16(b, 26), extra_size = u16(b, 28);
  if (!inside(kLocalSize + name_size + extra_size, e.compressed_size, b.size()))
    return error(e, fmt::format("its {} bytes at offset {} do not fit before the directory (offset {})", e.compressed_size, e.header_offset,
                                directory_offset));
  if (text(b.subspan(kLocalSize, name_size)) != e.name) return error(e, "its header has another name than the directory");
  if (u16(b, 8) != e.method) return error(e, "its header has another compression method than the directory");
  e.data_offset = e.header_offset + kLocalSize + name_size + extra_size;
  return {};
}

Status ZipReader::check_overlaps() const {
  std::vector<const ZipEntry*> order;
  order.reserve(entries_.size());
  for (const auto& e : entries_) order.push_back(&e);
  std::ranges::sort(order, {}, &ZipEntry::header_offset);
  for (size_t i = 1; i < order.size(); ++i)
    if (order[i]->header_offset < order[i - 1]->data_offset + order[i - 1]->compressed_size)
      return error(*order[i], fmt::format("it overlaps the record \"{}\"", shown(order[i - 1]->name)));
  return {};
}

Status ZipReader::check_name(std::string_view name) const {
  auto bad = [&](std::string_view why) { return error(fmt::format("record \"{}\": {}", shown(name), why)); };
  if (name.empty()) return bad("a record without a name");
  if (name.find('\0') != name.npos) return bad("its name holds a NUL");
  if (name.front() == '/' || name.front() == '\\' || (name.size() > 2 && name[1] == ':' && (name[2] == '/' || name[2] == '\\')))
    return bad("its name is an absolute path");
  for (std::string_view rest = name; !rest.empty();) {
    size_t slash = std::min(rest.find_first_of("/\\"), rest.size());
    if (rest.substr(0, slash) == "..") return bad("its name leaves the archive's folder");
    rest.remove_prefix(std::min(slash + 1, rest.size()));
  }
  return {};
}

std::span<const std::byte> ZipReader::packed(const ZipEntry& e) const { return archive_.subspan(e.data_offset, e.compressed_size); }

Result<std::span<const std::byte>> ZipReader::bytes(const ZipEntry& entry) const {
  if (!entry.stored()) return error(entry, fmt::format("it must be stored without compression, not by method {}", entry.method));
  return packed(entry);
}

Result<std::vector<std::byte>> ZipReader::read(const ZipEntry& entry, uint64_t max_size) const {
  if (entry.size > max_size) return error(entry, fmt::format("{} bytes, at most {} make sense here", entry.size, max_size));
  std::vector<std::byte> out;
  if (entry.stored()) {
    auto b = packed(entry);
    out.assign(b.begin(), b.end());
  } else if (entry.method == 8) {
    // Deflate packs at most 1032 to 1: a larger claim is false, and no memory is taken for it.
    if (entry.size / 1040 > entry.compressed_size)
      return error(entry, fmt::format("{} bytes cannot unpack to {}", entry.compressed_size, entry.size));
    out.reserve(entry.size);
    auto fault = inflate_pieces(packed(entry), entry.size, [&](auto piece) { out.insert(out.end(), piece.begin(), piece.end()); });
    if (fault) return error(entry, *fault);
  } else {
    return error(entry, fmt::format("compression method {} is not supported", entry.method));
  }
  if (crc_of(out) != entry.crc) return error(entry, "damaged: its CRC does not fit its bytes");
  return out;
}

Status ZipReader::check_crc(const ZipEntry& entry) const {
  uint32_t crc = 0;
  if (entry.stored()) {
    crc = crc_of(packed(entry));
  } else if (entry.method == 8) {
    auto fault = inflate_pieces(packed(entry), entry.size, [&](auto piece) { crc = crc_of(piece, crc); });
    if (fault) return error(entry, *fault);
  } else {
    return error(entry, fmt::format("compression method {} is not supported", entry.method));
  }
  if (crc != entry.crc) return error(entry, "damaged: its CRC does not fit its bytes");
  return {};
}

}  // namespace edgec
