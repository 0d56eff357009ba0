#include "emit/constants.h"

#include <algorithm>
#include <cstring>

namespace edgec::emit {

bool ConstantPool::same_view(const Entry& a, const Entry& b) {
  return a.data.storage->bytes.data() == b.data.storage->bytes.data() && a.data.dtype == b.data.dtype && a.data.offset == b.data.offset &&
         a.data.sizes == b.data.sizes && a.data.strides == b.data.strides && a.order == b.order;
}

Hash128 ConstantPool::hash_of(const Entry& e) {
  Hasher128 h;
  Status s = stream(e.data, e.order, [&](std::span<const std::byte> piece) {
    h.add(piece);
    return Status();
  });
  (void)s;  // the sink never fails
  return h.digest();
}

bool ConstantPool::same_bytes(const Entry& a, const Entry& b) {
  const auto da = a.data.dense_bytes(a.order), db = b.data.dense_bytes(b.order);
  if (!da.empty() && !db.empty()) return da.size() == db.size() && std::memcmp(da.data(), db.data(), da.size()) == 0;
  return gather(a.data, a.order) == gather(b.data, b.order);
}

uint32_t ConstantPool::add(const TensorData& data, const DimOrder& order) {
  Entry e{data, order, std::nullopt};
  auto& candidates = by_size_[data.nbytes()];
  for (uint32_t i : candidates)
    if (same_view(entries_[i], e)) return i;
  if (!candidates.empty()) e.hash = hash_of(e);
  for (uint32_t i : candidates) {
    Entry& other = entries_[i];
    if (!other.hash) other.hash = hash_of(other);
    if (*other.hash == *e.hash && same_bytes(other, e)) return i;
  }
  const auto index = static_cast<uint32_t>(entries_.size());
  candidates.push_back(index);
  entries_.push_back(std::move(e));
  return index;
}

std::vector<pte::Blob> ConstantPool::take_blobs() {
  std::vector<pte::Blob> blobs;
  for (Entry& e : entries_) {
    pte::Blob b;
    b.size = static_cast<uint64_t>(e.data.nbytes());
    b.view = e.data.dense_bytes(e.order);
    b.keep_alive = e.data.storage;
    if (b.view.size() != b.size) b.view = {};
    b.write = [data = std::move(e.data), order = std::move(e.order)](pte::Sink& sink) {
      return stream(data, order, [&](std::span<const std::byte> piece) { return sink.write(piece); });
    };
    blobs.push_back(std::move(b));
  }
  return blobs;
}

}  // namespace edgec::emit
