#include "memory/problem.h"

#include <algorithm>

#include "memory/parts.h"

namespace edgec::memory {
namespace {

// The times that begin a section.
std::vector<uint32_t> section_starts(std::span<const MemoryBlock> blocks) {
  std::vector<uint32_t> starts, ends;
  for (const MemoryBlock& b : blocks)
    for (const MemoryPart& p : parts_of(b))
      if (p.bytes > 0) starts.push_back(p.first), ends.push_back(p.last);
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
  const auto first_section = [&](uint32_t t) {
    return static_cast<uint32_t>(std::lower_bound(starts.begin(), starts.end(), t) - starts.begin());
  };
  const auto last_section = [&](uint32_t t) {
    return static_cast<uint32_t>(std::upper_bound(starts.begin(), starts.end(), t) - starts.begin()) - 1;
  };
  const auto units = [&](int64_t bytes) { return bytes / alignment + (bytes % alignment != 0); };
  Problem p;
  p.sections = static_cast<uint32_t>(starts.size());
  for (size_t i = 0; i < blocks.size(); ++i) {
    const MemoryBlock& b = blocks[i];
    if (b.bytes == 0) continue;
    std::vector<MemoryPart> parts = memory::parts_of(b);
    for (MemoryPart& m : parts) {
      const int64_t end = units(m.offset + m.bytes);
      m.offset /= alignment;
      m = {m.offset, end - m.offset, first_section(m.first), last_section(m.last)};
    }
    p.add_item(static_cast<uint32_t>(i), units(b.bytes), int64_t{b.last} - b.first + 1, disjoint(std::move(parts)));
  }
  return p;
}

void Problem::add_item(uint32_t block, int64_t size, int64_t duration, const std::vector<MemoryPart>& its_parts) {
  if (its_parts.empty()) return;  // what nothing of is ever in use
  const auto index = static_cast<uint32_t>(items.size());
  Item item{size, duration, sections, 0, block, static_cast<uint32_t>(parts.size()), static_cast<uint32_t>(its_parts.size())};
  for (const MemoryPart& m : its_parts) {
    parts.push_back({m.offset, m.bytes, m.first, m.last, index});
    item.lo = std::min(item.lo, m.first);
    item.hi = std::max(item.hi, m.last);
  }
  has_holes = has_holes || its_parts.size() > 1 || its_parts[0].bytes < size;
  items.push_back(item);
}

Problem Problem::filled() const {
  Problem p;
  p.sections = sections;
  for (const Item& i : items) p.add_item(i.block, i.size, i.duration, {{0, i.size, i.lo, i.hi}});
  return p;
}

std::vector<int64_t> Problem::live() const {
  std::vector<int64_t> change(sections + 1);
  for (const Part& p : parts) change[p.lo] += p.size, change[p.hi + 1] -= p.size;
  for (size_t s = 1; s < change.size(); ++s) change[s] += change[s - 1];
  if (!change.empty()) change.pop_back();
  return change;
}

int64_t Problem::max_live() const {
  int64_t most = 0;
  for (int64_t n : live()) most = std::max(most, n);
  return most;
}

int64_t Problem::bound() const {
  int64_t least = max_live();
  for (const Item& i : items) least = std::max(least, i.size);
  return least;
}

}  // namespace edgec::memory
