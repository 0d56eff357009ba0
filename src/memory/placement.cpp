#include "memory/placement.h"

#include <algorithm>

namespace edgec::memory {
namespace {

// The gap that an item goes into, of those between stretches that come in order.
struct Gap {
  Fit fit = Fit::Lowest;
  int64_t at = -1, tightest = INT64_MAX, free = 0;
  // The offsets above `below` and below `above` are taken. True when what comes after does not matter.
  bool ends_search(int64_t below, int64_t above) {
    if (const int64_t gap = below - free; gap >= 0 && gap < tightest) {
      at = free, tightest = gap;
      if (fit == Fit::Lowest) return true;
    }
    free = std::max(free, above);
    return false;
  }
};

bool is_crowded(const Problem& p) {
  const auto parts = static_cast<int64_t>(p.parts.size());
  return !p.has_holes && looks_of_a_pass(p) > parts * parts / 16;
}

}  // namespace

int64_t looks_of_a_pass(const Problem& p) {
  std::vector<int64_t> begin(p.sections), living(p.sections + 1);
  for (const Problem::Part& part : p.parts) ++begin[part.lo], ++living[part.lo], --living[part.hi + 1];
  int64_t looks = 1, now = 0;
  for (uint32_t s = 0; s < p.sections; ++s) looks += begin[s] * (now += living[s]);
  return looks;
}

Placer::Placer(const Problem& problem) : p_(problem), crowded_(is_crowded(problem)), by_time_(problem.sections) {}

int64_t Placer::find_gap(const Problem::Item& item, Fit fit) {
  Gap gap{fit};
  if (crowded_) {
    for (const auto& [other, lo, hi] : by_offset_)
      if (lo <= item.hi && item.lo <= hi && gap.ends_search(other.begin - item.size, other.end)) break;
  } else {
    around_.clear();
    for (const Problem::Part& own : p_.parts_of(item))
      by_time_.overlapping(own.lo, own.hi, [&](const Stretch& other) {
        if (other.end > own.offset) around_.push_back({other.begin - own.offset - own.size, other.end - own.offset});
      });
    std::sort(around_.begin(), around_.end(), [](const Stretch& a, const Stretch& b) { return a.begin < b.begin; });
    for (const auto& [below, above] : around_)
      if (gap.ends_search(below, above)) break;
  }
  return gap.at >= 0 ? gap.at : gap.free;
}

void Placer::add(const Problem::Part& part, Stretch at) {
  if (!crowded_) return by_time_.add(at, part.lo, part.hi);
  const auto higher = [](int64_t begin, const Placed& p) { return begin < p.at.begin; };
  by_offset_.insert(std::upper_bound(by_offset_.begin(), by_offset_.end(), at.begin, higher), {at, part.lo, part.hi});
}

Arrangement Placer::place(const std::vector<uint32_t>& order, Fit fit, int64_t limit) {
  Arrangement out{std::vector<int64_t>(p_.items.size()), 0};
  by_time_.clear(), by_offset_.clear();
  for (uint32_t i : order) {
    const Problem::Item& item = p_.items[i];
    const int64_t at = out.offsets[i] = find_gap(item, fit);
    out.height = std::max(out.height, at + item.size);
    if (out.height > limit) return {};
    for (const Problem::Part& part : p_.parts_of(item)) add(part, {at + part.offset, at + part.offset + part.size});
  }
  return out;
}

}  // namespace edgec::memory
