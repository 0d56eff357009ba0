#include "memory/plan.h"

#include <algorithm>

namespace edgec::memory {

namespace {

int64_t aligned(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

}  // namespace

void place_greedy(std::vector<Block>& blocks, int64_t alignment) {
  std::vector<size_t> order(blocks.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return blocks[a].bytes > blocks[b].bytes; });
  std::vector<size_t> placed;  // by offset
  for (size_t i : order) {
    Block& b = blocks[i];
    int64_t at = 0;
    for (size_t k : placed) {
      const Block& p = blocks[k];
      if (p.last < b.first || b.last < p.first || p.bytes == 0) continue;
      if (at + b.bytes <= p.offset) break;
      at = std::max(at, aligned(p.offset + p.bytes, alignment));
    }
    b.offset = at;
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), i, [&](size_t x, size_t y) { return blocks[x].offset < blocks[y].offset; }), i);
  }
}

static int64_t max_live(const std::vector<Block>& blocks, int64_t alignment) {
  std::vector<std::pair<uint32_t, int64_t>> events;
  for (const Block& b : blocks) {
    events.emplace_back(b.first, aligned(b.bytes, alignment));
    events.emplace_back(b.last + 1, -aligned(b.bytes, alignment));
  }
  std::sort(events.begin(), events.end());
  int64_t live = 0, peak = 0;
  for (auto [time, change] : events) peak = std::max(peak, live += change);
  return peak;
}

Result<Plan> plan(Method& m, const PlanOptions& options) {
  Graph& g = *m.graph;
  EDGEC_TRY(std::vector<Block> blocks, lifetimes(m, options));
  place_greedy(blocks, options.alignment);
  Plan p;
  for (const Block& b : blocks) {
    g.value(b.value).place = MemoryPlace{1, b.offset};
    p.arena_bytes = std::max(p.arena_bytes, b.offset + b.bytes);
  }
  const Storage storage(g);
  for (uint32_t i = 0; i < g.value_count(); ++i) {
    const ValueId v(i);
    const auto [root, offset] = storage.of(v);
    if (const auto& place = g.value(root).place; place && root != v)
      g.value(v).place = MemoryPlace{place->memory_id, place->offset + offset};
  }
  p.arena_bytes = aligned(p.arena_bytes, options.alignment);
  p.max_live_bytes = max_live(blocks, options.alignment);
  p.blocks = std::move(blocks);
  return p;
}

}  // namespace edgec::memory
