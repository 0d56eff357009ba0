#include "memory/placement.h"

#include <algorithm>

namespace edgec::memory {

Occupancy::Occupancy(uint32_t sections) : starts_(sections) {
  while (leaves_ < sections) leaves_ *= 2;
  covers_.resize(2 * static_cast<size_t>(leaves_));
}

void Occupancy::add(uint32_t item, uint32_t lo, uint32_t hi) {
  starts_[lo].push_back(item);
  for (uint32_t a = lo + leaves_, b = hi + leaves_ + 1; a < b; a /= 2, b /= 2) {
    if (a % 2 == 1) covers_[a++].push_back(item);
    if (b % 2 == 1) covers_[--b].push_back(item);
  }
}

Arrangement place_in_order(const Problem& problem, const std::vector<uint32_t>& order, Fit fit, int64_t limit) {
  Arrangement out{std::vector<int64_t>(problem.items.size()), 0};
  Occupancy occupied(problem.sections);
  std::vector<std::pair<int64_t, int64_t>> around;  // begin and end of what is in the way
  for (uint32_t i : order) {
    const Problem::Item& item = problem.items[i];
    around.clear();
    occupied.overlapping(item.lo, item.hi,
                         [&](uint32_t k) { around.emplace_back(out.offsets[k], out.offsets[k] + problem.items[k].size); });
    std::sort(around.begin(), around.end());
    int64_t at = -1, tightest = INT64_MAX, end = 0;
    for (const auto& [begin, next_end] : around) {
      if (const int64_t gap = begin - end; gap >= item.size && gap < tightest) {
        at = end, tightest = gap;
        if (fit == Fit::Lowest) break;
      }
      end = std::max(end, next_end);
    }
    out.offsets[i] = at >= 0 ? at : end;
    out.height = std::max(out.height, out.offsets[i] + item.size);
    if (out.height > limit) return {};
    occupied.add(i, item.lo, item.hi);
  }
  return out;
}

}  // namespace edgec::memory
