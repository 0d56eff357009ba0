#include "memory/parts.h"

#include <algorithm>
#include <map>

namespace edgec::memory {
namespace {

// What is live at one time, as stretches of bytes that do not touch.
class Live {
 public:
  void add(const MemoryPart& p, int64_t times = 1) {
    change(p.offset, times);
    change(p.offset + p.bytes, -times);
  }
  void remove(const MemoryPart& p) { add(p, -1); }
  std::vector<std::pair<int64_t, int64_t>> stretches() const {
    std::vector<std::pair<int64_t, int64_t>> out;
    int64_t depth = 0;
    for (const auto& [at, change] : counts_) {
      if (depth == 0 && change > 0) out.emplace_back(at, at);
      depth += change;
      if (depth == 0) out.back().second = at;
    }
    return out;
  }

 private:
  void change(int64_t at, int64_t by) {
    if ((counts_[at] += by) == 0) counts_.erase(at);
  }
  std::map<int64_t, int64_t> counts_;  // by byte: how many more parts are live from it on
};

}  // namespace

std::vector<MemoryPart> disjoint(std::vector<MemoryPart> parts) {
  std::erase_if(parts, [](const MemoryPart& p) { return p.bytes == 0; });
  if (parts.size() < 2) return parts;
  std::vector<const MemoryPart*> by_start, by_end;
  for (const MemoryPart& p : parts) by_start.push_back(&p);
  by_end = by_start;
  std::stable_sort(by_start.begin(), by_start.end(), [](auto* a, auto* b) { return a->first < b->first; });
  std::stable_sort(by_end.begin(), by_end.end(), [](auto* a, auto* b) { return a->last < b->last; });
  Live live;
  std::vector<MemoryPart> out;
  std::vector<std::pair<int64_t, int64_t>> before;
  std::map<std::pair<int64_t, int64_t>, size_t> open;  // of `out`, by their bytes
  auto start = by_start.begin(), end = by_end.begin();
  while (end != by_end.end()) {
    const uint64_t ends_at = uint64_t{(*end)->last} + 1;
    const uint64_t now = start == by_start.end() ? ends_at : std::min<uint64_t>(ends_at, (*start)->first);
    for (; end != by_end.end() && uint64_t{(*end)->last} + 1 == now; ++end) live.remove(**end);
    for (; start != by_start.end() && (*start)->first == now; ++start) live.add(**start);
    const auto stretches = live.stretches();
    for (const auto& s : before)
      if (!std::binary_search(stretches.begin(), stretches.end(), s)) {
        out[open[s]].last = static_cast<uint32_t>(now - 1);
        open.erase(s);
      }
    for (const auto& s : stretches)
      if (open.try_emplace(s, out.size()).second) out.push_back({s.first, s.second - s.first, static_cast<uint32_t>(now), 0});
    before = stretches;
  }
  return out;
}

std::vector<MemoryPart> parts_of(const MemoryBlock& b) {
  return b.parts.empty() ? std::vector<MemoryPart>{{0, b.bytes, b.first, b.last}} : b.parts;
}

}  // namespace edgec::memory
