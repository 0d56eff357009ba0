#include "memory/problem.h"

#include <algorithm>

namespace edgec::memory {
namespace {

// The times that begin a section.
std::vector<uint32_t> section_starts(std::span<const MemoryBlock> blocks) {
  std::vector<uint32_t> starts, ends;
  for (const MemoryBlock& b : blocks)
    if (b.bytes > 0) starts.push_back(b.first), ends.push_back(b.last);
  std::sort(starts.begin(), starts.end());
  std::sort(ends.begin(), ends.end());
  starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
  std::vector<uint32_t> out;
  for (size_t i = 0; i < starts.size(); ++i) {
    const auto end = std::lower_bound(ends.begin(), ends.end(), starts[i]);
    if (i + 1 == starts.size() || *end < starts[i + 1]) out.push_back(starts[i]);
  }
  return out;
}

}  // namespace

Problem Problem::of(std::span<const MemoryBlock> blocks, int64_t alignment) {
  const std::vector<uint32_t> starts = section_starts(blocks);
  Problem p;
  p.sections = static_cast<uint32_t>(starts.size());
  for (size_t i = 0; i < blocks.size(); ++i) {
    const MemoryBlock& b = blocks[i];
    if (b.bytes == 0) continue;
    const auto lo = std::lower_bound(starts.begin(), starts.end(), b.first) - starts.begin();
    const auto hi = std::upper_bound(starts.begin(), starts.end(), b.last) - starts.begin() - 1;
    p.items.push_back({(b.bytes - 1) / alignment + 1, static_cast<uint32_t>(lo), static_cast<uint32_t>(hi), static_cast<uint32_t>(i)});
  }
  return p;
}

std::vector<int64_t> Problem::live() const {
  std::vector<int64_t> change(sections + 1);
  for (const Item& i : items) change[i.lo] += i.size, change[i.hi + 1] -= i.size;
  for (size_t s = 1; s < change.size(); ++s) change[s] += change[s - 1];
  if (!change.empty()) change.pop_back();
  return change;
}

int64_t Problem::max_live() const {
  int64_t most = 0;
  for (int64_t n : live()) most = std::max(most, n);
  return most;
}

}  // namespace edgec::memory
