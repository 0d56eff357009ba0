#pragma once
#include <edgec/pass.h>

#include <memory>
#include <utility>

#include "memory/lifetimes.h"
#include "memory/sharing.h"

namespace edgec::passes {

// How the program's memory will be planned, as far as sharing depends on it.
inline memory::PlanOptions plan_options(const PassContext& cx) {
  memory::PlanOptions out;
  out.alloc_graph_input = cx.alloc_graph_input;
  out.alloc_graph_output = cx.alloc_graph_output;
  out.alloc_mutable_buffers = cx.alloc_mutable_buffers;
  return out;
}

// What the passes that share memory do to one method (each pass has a file of its own).
void alias_views(Method& m, const PassContext& cx);
void place_results(Method& m, const PassContext& cx);
void write_in_place(Method& m, const PassContext& cx);
void concat_in_place(Method& m, const PassContext& cx);
void reuse_operands(Method& m, const PassContext& cx);

// A copy of the method's graph in which all of these have shared what they can. The method stays as it is.
std::unique_ptr<Graph> shared_graph(Method& m, const PassContext& cx);

// What `look` says of the method while its graph is that one.
template <class Look>
auto when_shared(Method& m, const PassContext& cx, Look&& look) {
  auto kept = std::exchange(m.graph, shared_graph(m, cx));
  auto said = look();
  m.graph = std::move(kept);
  return said;
}

// The most bytes that live at the same time, and how many of those the program's instructions name (memory/sharing.h).
struct MemoryNeed {
  int64_t most = 0, named = 0;
  bool better_than(const MemoryNeed& o) const { return most != o.most ? most < o.most : named > o.named; }
};
MemoryNeed need_of(const memory::Sharing& sharing);
MemoryNeed need_when_shared(Method& m, const PassContext& cx);

// Bytes of a plan of the method as it is, without much of a search: more than the most that is live where memory falls to pieces.
int64_t quick_plan(const Method& m, const PassContext& cx);

}  // namespace edgec::passes
