#include "memory/layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "memory/planners.h"
#include "support/json.h"

namespace edgec::memory {
namespace {

constexpr uint32_t kMaxMemoryId = 255;  // the runtime makes a buffer for each id up to the highest
constexpr int64_t kMaxAlignment = int64_t{1} << 30;

// Adds what an item takes to the live units of each section, when they stay within the capacity.
bool add_within(std::vector<int64_t>& live, std::span<const Problem::Part> parts, int64_t capacity) {
  const auto change = [&](int64_t sign) {
    bool within = true;
    for (const Problem::Part& p : parts)
      for (uint32_t s = p.lo; s <= p.hi; ++s) within = (live[s] += sign * p.size) <= capacity && within;
    return within;
  };
  if (change(1)) return true;
  change(-1);
  return false;
}

// Which blocks of `candidates` (by preference) a layer takes: as many as could fit at every moment, if only they were arranged well.
std::vector<size_t> as_many_as_fit(std::span<const MemoryBlock> blocks, const std::vector<size_t>& candidates, const MemoryLayer& layer) {
  const Problem all = Problem::of(blocks, layer.alignment);
  std::vector<const Problem::Item*> item_of(blocks.size());
  for (const auto& i : all.items) item_of[i.block] = &i;
  std::vector<int64_t> live(all.sections);
  std::vector<size_t> taken;
  for (size_t k : candidates) {
    if (layer.capacity >= 0) {
      if (blocks[k].bytes > layer.capacity) continue;
      if (const Problem::Item* i = item_of[k]; i && !add_within(live, all.parts_of(*i), layer.capacity / layer.alignment)) continue;
    }
    taken.push_back(k);
  }
  return taken;
}

// Places blocks in a layer; of what would end after its capacity the coldest is left out, until all fit. `taken` keeps those placed.
void fill(std::span<MemoryBlock> blocks, std::vector<size_t>& taken, const MemoryLayer& layer, const ArrangingPlanner& planner) {
  constexpr int kTurns = 20;  // then all that does not fit is left out at once
  for (int turn = 0;; ++turn) {
    std::vector<MemoryBlock> here;
    for (size_t k : taken) here.push_back(blocks[k]);
    const Problem problem = Problem::of(here, layer.alignment);
    const int64_t room = layer.capacity < 0 ? 0 : layer.capacity / layer.alignment;
    const Arrangement arrangement = planner.arrange(problem, room);
    for (MemoryBlock& b : here) b.offset = 0;
    for (size_t i = 0; i < problem.items.size(); ++i) here[problem.items[i].block].offset = arrangement.offsets[i] * layer.alignment;
    const auto sticks_out = [&](size_t k) { return layer.capacity >= 0 && here[k].offset + here[k].bytes > layer.capacity; };
    std::vector<size_t> fit, out;
    for (size_t k = 0; k < taken.size(); ++k) (sticks_out(k) ? out : fit).push_back(taken[k]);
    if (out.empty()) {
      for (size_t k = 0; k < taken.size(); ++k) blocks[taken[k]].memory_id = layer.id, blocks[taken[k]].offset = here[k].offset;
      return;
    }
    if (turn < kTurns)
      std::erase(taken, out.back());
    else
      taken = fit;
  }
}

Failure no_room(std::span<const MemoryBlock> blocks, const std::vector<size_t>& left, std::span<const MemoryLayer> layers) {
  std::string message = "error: no memory has room for";
  for (size_t i = 0; i < left.size() && i < 10; ++i)
    message += fmt::format("{} %{} ({} bytes)", i ? "," : "", blocks[left[i]].name, blocks[left[i]].bytes);
  if (left.size() > 10) message += fmt::format(" and {} more", left.size() - 10);
  for (const MemoryLayer& l : layers)
    message += fmt::format("\n  memory {}{}: {} bytes", l.id, l.name.empty() ? "" : " (" + l.name + ")", l.capacity);
  return model_error(message);
}

}  // namespace

// What is read and written most for its size goes to the cheapest memory, what finds no room there to the next.
Status ArrangingPlanner::plan(std::span<MemoryBlock> blocks, std::span<const MemoryLayer> layers) const {
  std::vector<size_t> order(layers.size()), left(blocks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return layers[a].cost < layers[b].cost; });
  std::iota(left.begin(), left.end(), size_t{0});
  const auto heat = [&](size_t k) {
    return static_cast<double>(blocks[k].accesses) / static_cast<double>(std::max<int64_t>(blocks[k].bytes, 1));
  };
  if (layers.size() > 1 || layers[0].capacity >= 0)
    std::stable_sort(left.begin(), left.end(), [&](size_t a, size_t b) { return heat(a) > heat(b); });
  for (size_t k : order) {
    std::vector<size_t> taken = as_many_as_fit(blocks, left, layers[k]);
    fill(blocks, taken, layers[k], *this);
    const std::set<size_t> placed(taken.begin(), taken.end());
    std::erase_if(left, [&](size_t b) { return placed.contains(b); });
  }
  return left.empty() ? Status() : Status(no_room(blocks, left, layers));
}

Result<std::vector<MemoryLayer>> parse_memory_layers(std::string_view json, std::string_view name) {
  EDGEC_TRY(const JsonDocument document, JsonDocument::parse(json, std::string(name)));
  EDGEC_TRY(const JsonArray items, document.root().as_array());
  std::vector<MemoryLayer> layers;
  for (const JsonValue item : items) {
    if (layers.size() == kMaxMemoryId) return item.error("too many layers");
    MemoryLayer layer;
    EDGEC_TRY(const int64_t id, item.integer("id"));
    if (id < 1 || id > kMaxMemoryId) return item.error(fmt::format("id {} is not within 1 to {}", id, kMaxMemoryId));
    layer.id = static_cast<uint32_t>(id);
    if (item.find("name")) {
      EDGEC_TRY(const std::string_view text, item.string("name"));
      layer.name = text;
    }
    if (item.find("capacity")) {
      EDGEC_TRY(layer.capacity, item.integer("capacity"));
    }
    if (item.find("alignment")) {
      EDGEC_TRY(layer.alignment, item.integer("alignment"));
    }
    if (item.find("cost")) {
      EDGEC_TRY(layer.cost, item.number("cost"));
    }
    EDGEC_TRY(const JsonObject members, item.as_object());
    for (const auto& [key, value] : members)
      if (key != "id" && key != "name" && key != "capacity" && key != "alignment" && key != "cost")
        return value.error("is not known; a layer has id, name, capacity, alignment and cost");
    layers.push_back(std::move(layer));
  }
  if (layers.empty()) return document.root().error("no layers");
  if (Status ok = check_layers(layers); !ok) return input_error(fmt::format("error: {}: {}", name, ok.failure().message));
  return layers;
}

Status check_layers(std::span<const MemoryLayer> layers) {
  std::set<uint32_t> ids;
  for (const MemoryLayer& l : layers) {
    const auto fail = [&](std::string_view what) { return usage_error(fmt::format("memory {}: {}", l.id, what)); };
    if (l.id < 1 || l.id > kMaxMemoryId) return fail(fmt::format("the id is not within 1 to {}", kMaxMemoryId));
    if (!ids.insert(l.id).second) return fail("the id is given twice");
    if (l.capacity < -1) return fail("the capacity is negative");
    if (l.alignment < 1 || l.alignment > kMaxAlignment || (l.alignment & (l.alignment - 1)) != 0)
      return fail(fmt::format("the alignment {} is not a power of two up to 2^30", l.alignment));
    if (!std::isfinite(l.cost)) return fail("the cost is no number");
  }
  return {};
}

}  // namespace edgec::memory
