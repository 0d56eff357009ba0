#include "memory/timeline.h"

#include <algorithm>
#include <limits>

namespace edgec::memory {

Timeline::Timeline(uint32_t instructions) {
  while (size_ < instructions) size_ *= 2;
  nodes_.resize(2 * size_);
}

void Timeline::add(uint32_t first, uint32_t last, int64_t bytes) { add(1, 0, size_, first, last, bytes); }
int64_t Timeline::most(uint32_t first, uint32_t last) const { return most(1, 0, size_, first, last); }

void Timeline::add(size_t node, uint32_t begin, uint32_t end, uint32_t first, uint32_t last, int64_t bytes) {
  if (last < begin || end <= first) return;
  Node& n = nodes_[node];
  if (first <= begin && end - 1 <= last) {
    n.added += bytes;
    n.most += bytes;
    return;
  }
  const uint32_t middle = begin + (end - begin) / 2;
  add(2 * node, begin, middle, first, last, bytes);
  add(2 * node + 1, middle, end, first, last, bytes);
  n.most = std::max(nodes_[2 * node].most, nodes_[2 * node + 1].most) + n.added;
}

int64_t Timeline::most(size_t node, uint32_t begin, uint32_t end, uint32_t first, uint32_t last) const {
  if (last < begin || end <= first) return std::numeric_limits<int64_t>::min() / 2;
  const Node& n = nodes_[node];
  if (first <= begin && end - 1 <= last) return n.most;
  const uint32_t middle = begin + (end - begin) / 2;
  return n.added + std::max(most(2 * node, begin, middle, first, last), most(2 * node + 1, middle, end, first, last));
}

}  // namespace edgec::memory
