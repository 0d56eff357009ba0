#include "memory/check_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace edgec::memory {
namespace {

std::string shown(const MemoryBlock& b) {
  return fmt::format("%{} (bytes {} to {} of memory {}, alive from {} to {})", b.name, b.offset, b.offset + b.bytes, b.memory_id, b.first,
                     b.last);
}

Status check_place(const MemoryBlock& b, std::span<const MemoryLayer> layers) {
  const auto layer = std::find_if(layers.begin(), layers.end(), [&](const MemoryLayer& l) { return l.id == b.memory_id; });
  if (layer == layers.end()) return model_error(fmt::format("%{} is in memory {}, which there is not", b.name, b.memory_id));
  if (b.offset < 0) return model_error(fmt::format("%{} has no place (offset {})", b.name, b.offset));
  if (b.offset > INT64_MAX - b.bytes) return model_error(fmt::format("%{} is at {}, behind all memory", b.name, b.offset));
  if (b.offset % layer->alignment != 0)
    return model_error(
        fmt::format("%{} is at {} of memory {}, which is not a multiple of {}", b.name, b.offset, b.memory_id, layer->alignment));
  if (layer->capacity >= 0 && b.offset + b.bytes > layer->capacity)
    return model_error(fmt::format("{} ends after the {} bytes that this memory has", shown(b), layer->capacity));
  return {};
}

struct Rectangle {  // what a part takes
  const MemoryBlock* block = nullptr;
  int64_t begin = 0, end = 0;
  uint32_t first = 0, last = 0;
};

}  // namespace

Status check_plan(std::span<const MemoryBlock> blocks, std::span<const MemoryLayer> layers) {
  std::vector<Rectangle> all;
  for (const MemoryBlock& b : blocks) {
    EDGEC_TRY_VOID(check_place(b, layers));
    if (b.parts.empty() && b.bytes > 0) all.push_back({&b, b.offset, b.offset + b.bytes, b.first, b.last});
    for (const MemoryPart& p : b.parts)
      if (p.bytes > 0) all.push_back({&b, b.offset + p.offset, b.offset + p.offset + p.bytes, p.first, p.last});
  }
  std::vector<const Rectangle*> by_start, by_end;
  for (const Rectangle& r : all) by_start.push_back(&r);
  by_end = by_start;
  std::stable_sort(by_start.begin(), by_start.end(), [](auto* a, auto* b) { return a->first < b->first; });
  std::stable_sort(by_end.begin(), by_end.end(), [](auto* a, auto* b) { return a->last < b->last; });
  // In the order of time: what is alive never overlaps, so its neighbours by address are all that can.
  std::map<std::pair<uint32_t, int64_t>, const Rectangle*> alive;
  auto dead = by_end.begin();
  for (const Rectangle* r : by_start) {
    const uint32_t memory = r->block->memory_id;
    for (; dead != by_end.end() && (*dead)->last < r->first; ++dead) alive.erase({(*dead)->block->memory_id, (*dead)->begin});
    const auto above = alive.lower_bound({memory, r->begin});
    const Rectangle* other = nullptr;
    if (above != alive.end() && above->first.first == memory && above->second->begin < r->end) other = above->second;
    if (above != alive.begin())
      if (const auto below = std::prev(above); below->first.first == memory && below->second->end > r->begin) other = below->second;
    if (other) return model_error(fmt::format("{} and {} overlap", shown(*other->block), shown(*r->block)));
    alive[{memory, r->begin}] = r;
  }
  return {};
}

}  // namespace edgec::memory
