#include "passes/orders.h"

#include <algorithm>
#include <utility>

#include "memory/sharing.h"
#include "passes/share_memory.h"

#include <edgec/op.h>

namespace edgec::passes {
namespace {

constexpr size_t kMaxNodes = 512;
constexpr size_t kWork = 2500;  // nodes looked at: an order that is tried costs as many as there are
constexpr size_t kMaxTried = 20;

class Namer {
 public:
  Namer(Method& m, const PassContext& cx) : m_(m), g_(*m.graph), cx_(cx) {}

  void run() {
    if (g_.node_count() > kMaxNodes) return;
    least_ = look();
    left_ = std::min(kMaxTried, kWork / (g_.node_count() + 1) + 1);
    before_ = g_.nodes_in_order();
    const MemoryNeed traced = least_;
    const int64_t planned = plan();
    while (least_.named < least_.most && improve()) continue;
    if (!least_.better_than(traced) || plan() > planned)
      for (NodeId n : before_) g_.move_before(n, {});
  }

 private:
  // What the order at hand needs, and what is not named at its fullest moment.
  MemoryNeed look() {
    const MemoryNeed need = when_shared(m_, cx_, [&] {
      const memory::Sharing sharing(m_, plan_options(cx_));
      seen_ = sharing.unnamed();
      return need_of(sharing);
    });
    // Sharing adds copies into concatenations, which this graph does not have.
    if (seen_.at && seen_.at.index >= g_.node_capacity()) seen_.at = {};
    std::erase_if(seen_.values, [&](ValueId v) { return v.index >= g_.value_count(); });
    return need;
  }

  int64_t plan() {
    return when_shared(m_, cx_, [&] { return quick_plan(m_, cx_); });
  }

  bool improve() {
    order_ = g_.nodes_in_order();
    place_.assign(g_.node_capacity(), 0);
    for (size_t i = 0; i < order_.size(); ++i) place_[order_[i].index] = i;
    const memory::Sharing::Unnamed now = seen_;
    if (!now.at) return false;
    std::vector<size_t> makers;
    for (ValueId v : now.values)
      if (const NodeId maker = maker_of(v); maker && place_[maker.index] < place_[now.at.index]) makers.push_back(place_[maker.index]);
    std::ranges::sort(makers);
    makers.erase(std::unique(makers.begin(), makers.end()), makers.end());
    const size_t at = place_[now.at.index];
    if (makers.size() > 1 && try_order(behind(makers, at), false)) return true;
    for (size_t maker : makers) {
      if (try_order(behind({maker}, at), false)) return true;
      for (size_t i = at; i > maker; --i)
        if (!is_view(order_[i]) && try_order(before(i, maker), false)) return true;
    }
    // What the moved node reads may be what is not named then: on to that one.
    return std::ranges::any_of(makers, [&](size_t maker) { return try_order(behind({maker}, at), true); });
  }

  // The node that writes what `v` shows; views stand between.
  NodeId maker_of(ValueId v) const {
    NodeId n = g_.value(v).def;
    while (n && is_view(n)) n = g_.value(g_.node(n).args[0].value()).def;
    return n;
  }
  bool is_view(NodeId n) const { return g_.node(n).op->memory_view || memory::window_offset(g_, n).has_value(); }
  bool reads(size_t user, size_t maker) const {
    bool any = false;
    for (const Arg& a : g_.node(order_[user]).args)
      for_each_value(a, [&](const ValueId& v) { any = any || g_.value(v).def == order_[maker]; });
    return any;
  }

  // The nodes at `places` and their views behind the one at `at`; nothing when something in between needs them.
  std::vector<NodeId> behind(const std::vector<size_t>& places, size_t at) const {
    std::vector<size_t> moved;
    std::vector<NodeId> out(order_.begin(), order_.begin() + static_cast<ptrdiff_t>(places.front()));
    for (size_t i = places.front(); i <= at; ++i) {
      const bool chosen = std::ranges::find(places, i) != places.end();
      const bool needs = std::ranges::any_of(moved, [&](size_t k) { return reads(i, k); });
      if (stays_in_order(g_, g_.node(order_[i])) || (needs && !chosen && !is_view(order_[i]))) return {};
      if (chosen || needs)
        moved.push_back(i);
      else
        out.push_back(order_[i]);
    }
    for (size_t i : moved) out.push_back(order_[i]);
    out.insert(out.end(), order_.begin() + static_cast<ptrdiff_t>(at) + 1, order_.end());
    return out;
  }

  // The node at `at` and the views that it reads before the one at `to`; nothing when it needs something in between.
  std::vector<NodeId> before(size_t at, size_t to) const {
    std::vector<size_t> moved;
    std::vector<NodeId> rest;
    for (size_t i = at + 1; i-- > to;) {
      const bool needed = i != at && std::ranges::any_of(moved, [&](size_t k) { return reads(k, i); });
      if (stays_in_order(g_, g_.node(order_[i])) || (needed && !is_view(order_[i]))) return {};
      if (i == at || needed)
        moved.push_back(i);
      else
        rest.push_back(order_[i]);
    }
    std::vector<NodeId> out(order_.begin(), order_.begin() + static_cast<ptrdiff_t>(to));
    for (size_t i = moved.size(); i-- > 0;) out.push_back(order_[moved[i]]);
    out.insert(out.end(), rest.rbegin(), rest.rend());
    out.insert(out.end(), order_.begin() + static_cast<ptrdiff_t>(at) + 1, order_.end());
    return out;
  }

  // `equal`: also when it is as good as the one before.
  bool try_order(const std::vector<NodeId>& order, bool equal) {
    if (order.empty() || left_ == 0) return false;
    --left_;
    for (NodeId n : order) g_.move_before(n, {});
    const memory::Sharing::Unnamed before = seen_;
    const MemoryNeed need = look();
    if (need.better_than(least_) || (equal && !least_.better_than(need))) {
      least_ = need;
      return true;
    }
    seen_ = before;
    for (NodeId n : order_) g_.move_before(n, {});
    return false;
  }

  Method& m_;
  Graph& g_;
  const PassContext& cx_;
  MemoryNeed least_;
  memory::Sharing::Unnamed seen_;
  std::vector<NodeId> order_, before_;
  std::vector<size_t> place_;  // by node: in the order
  size_t left_ = 0;
};

}  // namespace

void name_what_is_live(Method& m, const PassContext& cx) { Namer(m, cx).run(); }

}  // namespace edgec::passes
