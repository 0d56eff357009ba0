#include "emit/delegates.h"

#include <fmt/format.h>

#include <algorithm>

namespace edgec::emit {

static bool same_data(const TensorData& a, const TensorData& b) {
  if (a.nbytes() != b.nbytes()) return false;
  const auto x = a.dense_bytes(), y = b.dense_bytes();
  if (!x.empty() && x.data() == y.data() && x.size() == y.size()) return true;
  return gather(a) == gather(b);
}

uint32_t DelegatePool::payload(const std::shared_ptr<const LoweredModule>& lowered) {
  const std::vector<std::byte>& bytes = lowered->payload.bytes;
  const Hash128 hash = hash128(bytes);
  for (auto [it, end] = by_hash_.equal_range(hash); it != end; ++it)
    if (std::ranges::equal(payloads_[it->second].view, bytes)) return it->second;
  const auto index = static_cast<uint32_t>(payloads_.size());
  by_hash_.emplace(hash, index);
  pte::Blob blob;
  blob.size = bytes.size();
  blob.view = bytes;
  blob.keep_alive = lowered;
  payloads_.push_back(std::move(blob));
  return index;
}

Result<pte::Delegate> DelegatePool::add(const std::shared_ptr<const LoweredModule>& module) {
  const LoweredModule& lowered = *module;
  pte::Delegate out;
  out.backend_id = lowered.backend_id;
  for (const CompileSpec& s : lowered.compile_specs) out.compile_specs.push_back({s.key, s.value});
  out.payload = payload(module);
  for (const NamedData& n : lowered.payload.named_data) {
    auto [it, fresh] = named_.try_emplace(n.key, n);
    if (!fresh && !same_data(it->second.data, n.data))
      return internal_error(fmt::format("backend {} gives two different data the key \"{}\"", lowered.backend_id, n.key));
    it->second.alignment = std::max(it->second.alignment, n.alignment);
  }
  return out;
}

std::vector<pte::NamedData> DelegatePool::take_named_data() {
  std::vector<pte::NamedData> out;
  for (auto& [key, named] : named_) {
    pte::Blob b;
    b.size = static_cast<uint64_t>(named.data.nbytes());
    b.view = named.data.dense_bytes();
    b.keep_alive = named.data.storage;
    if (b.view.size() != b.size) b.view = {};
    b.alignment = named.alignment;
    b.write = [data = named.data](pte::Sink& sink) {
      return stream(data, {}, [&](std::span<const std::byte> piece) { return sink.write(piece); });
    };
    out.push_back({key, std::move(b)});
  }
  return out;
}

}  // namespace edgec::emit
