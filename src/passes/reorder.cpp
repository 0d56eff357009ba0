#include "passes/registry.h"

#include <utility>

#include "passes/orders.h"
#include "passes/share_memory.h"

#include <edgec/op.h>

// Nodes move to where less memory is live at the same time: the traced order stays unless another one needs less. What has effects
// (asserts, random numbers, branches and loops) keeps its place among all others; state is written earlier when that saves memory.
namespace edgec::passes {
namespace {

constexpr size_t kMaxNodes = 20000;  // larger methods keep their order
constexpr int kMaxRounds = 4;        // of moving nodes to where they are wanted

class Reorder {
 public:
  Reorder(Method& m, const PassContext& cx) : m_(m), g_(*m.graph), cx_(cx) {}

  void run() {
    if (g_.node_count() > kMaxNodes) return;
    best_ = g_.nodes_in_order();
    least_ = need_when_shared(m_, cx_);
    const std::vector<NodeId> traced = best_;
    const Orders orders(m_, cx_);
    for (Prefer prefer : {Prefer::Smallest, Prefer::Newest}) {
      try_order(orders.forwards(traced, prefer));
      try_order(orders.backwards(traced, prefer));
    }
    for (int round = 0; round < kMaxRounds && try_order(orders.late(best_)); ++round) continue;
    apply(best_);
    write_early(g_);
    try_order(g_.nodes_in_order());
    apply(best_);
    if (least_.named < least_.most) name_what_is_live(m_, cx_);
  }

 private:
  bool try_order(std::vector<NodeId> order) {
    if (order == best_) return false;
    apply(order);
    const MemoryNeed need = need_when_shared(m_, cx_);
    if (!need.better_than(least_)) return false;
    least_ = need, best_ = std::move(order);
    return true;
  }

  void apply(const std::vector<NodeId>& order) {
    for (NodeId n : order) g_.move_before(n, {});
  }

  Method& m_;
  Graph& g_;
  const PassContext& cx_;
  std::vector<NodeId> best_;
  MemoryNeed least_;
};

}  // namespace

Status reorder(Program& p, PassContext& cx) {
  for (auto& m : p.methods) Reorder(*m, cx).run();
  return {};
}

}  // namespace edgec::passes
