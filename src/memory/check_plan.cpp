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

}  // namespace

Status check_plan(std::span<const MemoryBlock> blocks, std::span<const MemoryLayer> layers) {
  std::vector<const MemoryBlock*> by_start, by_end;
  for (const MemoryBlock& b : blocks) {
    EDGEC_TRY_VOID(check_place(b, layers));
    if (b.bytes > 0) by_start.push_back(&b);
  }
  by_end = by_start;
  std::stable_sort(by_start.begin(), by_start.end(), [](auto* a, auto* b) { return a->first < b->first; });
  std::stable_sort(by_end.begin(), by_end.end(), [](auto* a, auto* b) { return a->last < b->last; });
  // In the order of time: what is alive never overlaps, so its neighbours by address are all that can.
  std::map<std::pair<uint32_t, int64_t>, const MemoryBlock*> alive;
  auto dead = by_end.begin();
  for (const MemoryBlock* b : by_start) {
    for (; dead != by_end.end() && (*dead)->last < b->first; ++dead) alive.erase({(*dead)->memory_id, (*dead)->offset});
    const auto above = alive.lower_bound({b->memory_id, b->offset});
    const MemoryBlock* other = nullptr;
    if (above != alive.end() && above->second->memory_id == b->memory_id && above->second->offset < b->offset + b->bytes)
      other = above->second;
    if (above != alive.begin())
      if (const MemoryBlock* below = std::prev(above)->second; below->memory_id == b->memory_id && below->offset + below->bytes > b->offset)
        other = below;
    if (other) return model_error(fmt::format("{} and {} overlap", shown(*other), shown(*b)));
    alive[{b->memory_id, b->offset}] = b;
  }
  return {};
}

}  // namespace edgec::memory
