#include "memory/placement.h"

#include <algorithm>

namespace edgec::memory {

Arrangement Placer::place(const std::vector<uint32_t>& order, Fit fit, int64_t limit) {
  Arrangement out{std::vector<int64_t>(p_.items.size()), 0};
  occupied_.clear();
  for (uint32_t i : order) {
    const Problem::Item& item = p_.items[i];
    around_.clear();
    for (const Problem::Part& own : p_.parts_of(item))
      occupied_.overlapping(own.lo, own.hi, [&](const Stretch& other) {
        if (other.end > own.offset) around_.push_back({other.begin - own.offset - own.size, other.end - own.offset});
      });
    std::sort(around_.begin(), around_.end(), [](const Stretch& a, const Stretch& b) { return a.begin < b.begin; });
    int64_t at = -1, tightest = INT64_MAX, free = 0;
    for (const auto& [below, above] : around_) {
      if (const int64_t gap = below - free; gap >= 0 && gap < tightest) {
        at = free, tightest = gap;
        if (fit == Fit::Lowest) break;
      }
      free = std::max(free, above);
    }
    out.offsets[i] = at >= 0 ? at : free;
    out.height = std::max(out.height, out.offsets[i] + item.size);
    if (out.height > limit) return {};
    for (const Problem::Part& own : p_.parts_of(item)) {
      const int64_t begin = out.offsets[i] + own.offset;
      occupied_.add({begin, begin + own.size}, own.lo, own.hi);
    }
  }
  return out;
}

}  // namespace edgec::memory
