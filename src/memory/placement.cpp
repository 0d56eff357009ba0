#include "memory/placement.h"

#include <algorithm>

namespace edgec::memory {

Occupancy::Occupancy(uint32_t sections) : starts_(sections) {
  while (leaves_ < sections) leaves_ *= 2;
  covers_.resize(2 * static_cast<size_t>(leaves_));
}

void Occupancy::add(uint32_t part, uint32_t lo, uint32_t hi) {
  starts_[lo].push_back(part);
  for (uint32_t a = lo + leaves_, b = hi + leaves_ + 1; a < b; a /= 2, b /= 2) {
    if (a % 2 == 1) covers_[a++].push_back(part);
    if (b % 2 == 1) covers_[--b].push_back(part);
  }
}

Arrangement place_in_order(const Problem& problem, const std::vector<uint32_t>& order, Fit fit, int64_t limit) {
  Arrangement out{std::vector<int64_t>(problem.items.size()), 0};
  Occupancy occupied(problem.sections);
  std::vector<std::pair<int64_t, int64_t>> around;  // what is in the way: offsets of the item above the first and below the second
  for (uint32_t i : order) {
    const Problem::Item& item = problem.items[i];
    around.clear();
    for (const Problem::Part& own : problem.parts_of(item))
      occupied.overlapping(own.lo, own.hi, [&](uint32_t k) {
        const Problem::Part& other = problem.parts[k];
        const int64_t begin = out.offsets[other.item] + other.offset - own.offset;
        if (begin + other.size > 0) around.emplace_back(begin - own.size, begin + other.size);
      });
    std::sort(around.begin(), around.end());
    int64_t at = -1, tightest = INT64_MAX, free = 0;
    for (const auto& [below, above] : around) {
      if (const int64_t gap = below - free; gap >= 0 && gap < tightest) {
        at = free, tightest = gap;
        if (fit == Fit::Lowest) break;
      }
      free = std::max(free, above);
    }
    out.offsets[i] = at >= 0 ? at : free;
    out.height = std::max(out.height, out.offsets[i] + item.size);
    if (out.height > limit) return {};
    for (uint32_t k = item.first_part; k < item.first_part + item.parts; ++k) occupied.add(k, problem.parts[k].lo, problem.parts[k].hi);
  }
  return out;
}

}  // namespace edgec::memory
