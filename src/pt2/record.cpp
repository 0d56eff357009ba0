#include "pt2/record.h"

#include <fmt/format.h>

namespace edgec::pt2 {

namespace {
constexpr uint64_t kMaxUnpacked = uint64_t{4} << 30;  // of one archive; larger models are stored, as torch does
}

Result<std::shared_ptr<const Storage>> read_record(const ZipReader& zip, const ZipEntry& entry, std::shared_ptr<const void> keep_alive,
                                                   std::string name) {
  auto s = std::make_shared<Storage>();
  s->name = std::move(name);
  if (entry.stored()) {
    EDGEC_TRY(s->bytes, zip.bytes(entry));
    s->keep_alive = std::move(keep_alive);
  } else {
    auto copy = std::make_shared<std::vector<std::byte>>();
    EDGEC_TRY(*copy, zip.read(entry, kMaxUnpacked));
    s->bytes = *copy;
    s->keep_alive = std::move(copy);
  }
  return std::shared_ptr<const Storage>(std::move(s));
}

Status check_unpacked_size(const ZipReader& zip) {
  uint64_t total = 0;
  for (const ZipEntry& e : zip.entries()) {
    if (e.stored()) continue;
    if (e.size > kMaxUnpacked - total)
      return model_error(fmt::format("{}: its compressed records unpack to more than {} GB; torch.export.save stores records as they are",
                                     zip.name(), kMaxUnpacked >> 30));
    total += e.size;
  }
  return {};
}

}  // namespace edgec::pt2
