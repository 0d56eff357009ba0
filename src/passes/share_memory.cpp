#include "passes/share_memory.h"

#include <algorithm>

#include "memory/planners.h"

namespace edgec::passes {
namespace {

constexpr int64_t kSearchSteps = 10'000;  // of a quick plan

}  // namespace

std::unique_ptr<Graph> shared_graph(Method& m, const PassContext& cx) {
  auto kept = std::exchange(m.graph, m.graph->clone(m.syms));
  alias_views(m, cx);
  place_results(m, cx);
  write_in_place(m, cx);
  concat_in_place(m, cx);
  reuse_operands(m, cx);
  return std::exchange(m.graph, std::move(kept));
}

MemoryNeed need_of(const memory::Sharing& sharing) { return {sharing.most_live(), sharing.most_named()}; }

MemoryNeed need_when_shared(Method& m, const PassContext& cx) {
  return when_shared(m, cx, [&] { return need_of(memory::Sharing(m, plan_options(cx))); });
}

int64_t quick_plan(const Method& m, const PassContext& cx) {
  const auto found = memory::lifetimes(m, plan_options(cx));
  if (!found) return 0;  // reported when memory is planned
  std::vector<MemoryBlock> blocks;
  for (const memory::Block& b : *found) {
    MemoryBlock& made = blocks.emplace_back();
    made.bytes = b.bytes, made.first = b.first, made.last = b.last, made.parts = b.parts;
  }
  const MemoryLayer layer;
  int64_t end = 0;
  if (memory::BestPlanner(kSearchSteps).plan(blocks, {&layer, 1}))
    for (const MemoryBlock& b : blocks) end = std::max(end, b.offset + b.bytes);
  return end;
}

}  // namespace edgec::passes
