#include <algorithm>
#include <numeric>

#include "memory/placement.h"
#include "memory/planners.h"

namespace edgec::memory {
namespace {

// Stretches of memory, each as large as the item that it was made for.
struct Buckets {
  struct Place {
    uint32_t bucket = 0;
    int64_t offset = 0;  // in the bucket
  };
  std::vector<int64_t> sizes;
  std::vector<Place> places;         // of items
  std::vector<int64_t> used;         // of buckets: end of what lives at the same time as the item at hand; 0 for nothing
  std::vector<uint32_t> in_the_way;  // buckets with `used` above 0
};

// The first bucket where nothing lives at the same time; else the first with room above what does; else a new one.
Buckets::Place pick(Buckets& b, int64_t size) {
  uint32_t free = 0;
  while (free < b.sizes.size() && b.used[free] > 0) ++free;
  if (free < b.sizes.size()) return {free, 0};
  for (uint32_t k = 0; k < b.sizes.size(); ++k)
    if (b.used[k] + size <= b.sizes[k]) return {k, b.used[k]};
  b.sizes.push_back(size);
  b.used.push_back(0);
  return {static_cast<uint32_t>(b.sizes.size() - 1), 0};
}

}  // namespace

Arrangement GreedyPlanner::arrange(const Problem& problem, int64_t) const {
  const size_t n = problem.items.size();
  std::vector<uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0u);
  std::reverse(order.begin(), order.end());  // of equal sizes the last comes first, as there
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return problem.items[a].size > problem.items[b].size; });
  Buckets buckets;
  buckets.places.resize(n);
  Occupancy<uint32_t> occupied(problem.sections);
  for (uint32_t i : order) {
    const Problem::Item& item = problem.items[i];
    occupied.overlapping(item.lo, item.hi, [&](uint32_t k) {
      const Buckets::Place& p = buckets.places[k];
      if (buckets.used[p.bucket] == 0) buckets.in_the_way.push_back(p.bucket);
      buckets.used[p.bucket] = std::max(buckets.used[p.bucket], p.offset + problem.items[k].size);
    });
    buckets.places[i] = pick(buckets, item.size);
    for (uint32_t k : buckets.in_the_way) buckets.used[k] = 0;
    buckets.in_the_way.clear();
    occupied.add(i, item.lo, item.hi);
  }
  std::vector<int64_t> base(buckets.sizes.size());
  std::exclusive_scan(buckets.sizes.begin(), buckets.sizes.end(), base.begin(), int64_t{0});
  Arrangement out;
  for (uint32_t i = 0; i < n; ++i) {
    out.offsets.push_back(base[buckets.places[i].bucket] + buckets.places[i].offset);
    out.height = std::max(out.height, out.offsets[i] + problem.items[i].size);
  }
  return out;
}

}  // namespace edgec::memory
