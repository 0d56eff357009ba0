#include <algorithm>
#include <array>
#include <numeric>

#include "memory/placement.h"
#include "memory/planners.h"
#include "memory/search.h"

namespace edgec::memory {
namespace {

enum class Order : uint8_t { Size, Area, Width, Peak, SizeThenWidth };
constexpr int64_t kTurns = 60;
constexpr int64_t kManyItems = 3000;  // more are placed in the cheap orders only
constexpr std::array kOrders = {Order::Size, Order::Area, Order::Width, Order::Peak, Order::SizeThenWidth};

// The items in the order in which they are placed. What lives always goes to the bottom in any: it is in the way of everything.
std::vector<uint32_t> sorted(const Problem& p, Order order) {
  std::vector<uint32_t> out(p.items.size());
  std::iota(out.begin(), out.end(), 0u);
  std::vector<int64_t> peak;
  if (order == Order::Peak) {
    const std::vector<int64_t> live = p.live();
    for (const auto& i : p.items) peak.push_back(*std::max_element(live.begin() + i.lo, live.begin() + i.hi + 1));
  }
  const auto width = [](const auto& i) { return int64_t{i.hi} - i.lo + 1; };
  const auto area = [&](const Problem::Item& i) {
    int64_t sum = 0;
    for (const Problem::Part& part : p.parts_of(i)) {
      if (part.size > (INT64_MAX - sum) / width(part)) return INT64_MAX;
      sum += part.size * width(part);
    }
    return sum;
  };
  const auto key = [&](uint32_t k) -> std::array<int64_t, 3> {
    const Problem::Item& i = p.items[k];
    const bool always = i.lo == 0 && i.hi + 1 == p.sections;
    switch (order) {
      case Order::Size:
        return {always, i.size, -int64_t{i.lo}};
      case Order::Area:
        return {always, area(i), i.size};
      case Order::Width:
        return {always, width(i), i.size};
      case Order::Peak:
        return {always, peak[k], i.size};
      case Order::SizeThenWidth:
        return {always, i.size, width(i)};
    }
    return {};
  };
  std::vector<std::pair<std::array<int64_t, 3>, uint32_t>> keyed;
  for (uint32_t k : out) keyed.emplace_back(key(k), k);
  std::stable_sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  for (size_t k = 0; k < out.size(); ++k) out[k] = keyed[k].second;
  return out;
}

// How often all items can be placed to improve on the cheap orders before it takes too long.
int64_t passes_in_time(const Problem& p, int64_t looks) {
  const auto parts = static_cast<int64_t>(p.parts.size());
  return std::min<int64_t>(3'000'000, 300'000'000 / std::max<int64_t>(parts, 1)) / looks;  // some 30 ms; 3 for a thousand parts
}

// Takes what sticks out first next time: most of what the orders leave open is a few items that came too late.
void improve_by_turns(const Problem& p, Placer& placer, std::vector<uint32_t> order, int64_t enough, int64_t turns, Arrangement& best) {
  if (turns == 0) return;
  Arrangement now = placer.place(order, Fit::Lowest);
  for (int64_t turn = 0; turn < turns && best.height > enough; ++turn) {
    if (now.height < best.height) best = now;
    std::stable_partition(order.begin(), order.end(), [&](uint32_t i) { return now.offsets[i] + p.items[i].size > best.height - 1; });
    now = placer.place(order, Fit::Lowest);
  }
  if (now.height < best.height) best = now;
}

// Moves one item at a time to another place in the order, mostly one that sticks out to an earlier place, and keeps what is no worse.
void improve_by_moves(const Problem& p, Placer& placer, std::vector<uint32_t> order, int64_t enough, int64_t moves, Arrangement& best) {
  if (moves == 0) return;
  uint64_t random = 1;
  const auto below = [&](size_t k) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    return static_cast<size_t>(random >> 33) % k;
  };
  Arrangement now = placer.place(order, Fit::Lowest);
  std::vector<size_t> high;
  for (int64_t move = 0; move < moves && best.height > enough; ++move) {
    high.clear();
    for (size_t k = 0; k < order.size(); ++k)
      if (now.offsets[order[k]] + p.items[order[k]].size == now.height) high.push_back(k);
    const size_t from = below(4) == 0 ? below(order.size()) : high[below(high.size())];
    const size_t to = below(5) == 0 ? below(order.size()) : below(from + 1);
    std::vector<uint32_t> next = order;
    next.erase(next.begin() + static_cast<std::ptrdiff_t>(from));
    next.insert(next.begin() + static_cast<std::ptrdiff_t>(to), order[from]);
    Arrangement then = placer.place(next, Fit::Lowest, now.height);
    if (then.offsets.size() != p.items.size()) continue;
    order = std::move(next), now = std::move(then);
    if (now.height < best.height) best = now;
  }
}

// Closes the gap between the bound and what was found, from both sides.
void search_between(const Problem& p, int64_t enough, int64_t steps, Arrangement& best, Effort& effort) {
  Search search(p);
  int64_t target = std::max(enough, effort.bound);
  int64_t open = effort.bound;  // below it nothing is possible, or nothing was found
  while (best.height > std::max(enough, open) && steps > 0) {
    // A target that is given needs no proof that less is impossible.
    int64_t turn = enough > effort.bound || best.height - open <= 1 ? steps : std::max<int64_t>(steps / 2, 1);
    const int64_t before = turn;
    const Verdict verdict = search.run(target, turn, best);
    steps -= before - turn;
    effort.steps += before - turn;
    if (verdict == Verdict::Impossible && effort.bound == open) effort.bound = target + 1;
    if (verdict != Verdict::Found) open = target + 1;
    if (verdict == Verdict::GaveUp && p.items.size() > kMaxSearchItems) break;
    target = std::max(enough, open + (best.height - 1 - open) / 2);
  }
}

// Items with holes: an arrangement that makes no use of them may be found more easily, and few items can be tried in all ways.
void search_around_holes(const Problem& p, int64_t enough, int64_t steps, Arrangement& best, Effort& effort) {
  const Problem filled = p.filled();
  Effort apart{0, filled.bound(), false};
  if (apart.bound < best.height) search_between(filled, std::max(enough, apart.bound), steps / 2, best, apart);
  effort.steps += apart.steps;
  if (best.height > enough) search_between(p, enough, steps / 2, best, effort);
  constexpr int64_t kStepsForAll = 500'000;
  int64_t left = std::min(steps, kStepsForAll);
  while (best.height > std::max(enough, effort.bound) && left > 0) {
    const Verdict verdict = search_everything(p, std::max(enough, effort.bound), left, best);
    if (verdict == Verdict::GaveUp || enough > effort.bound) break;
    if (verdict == Verdict::Impossible) ++effort.bound;
  }
}

// The cheap orders, until one is good enough; with one fit only where a pass takes long.
Arrangement in_good_order(const Problem& problem, Placer& placer, int64_t enough, int64_t looks) {
  constexpr int64_t kManyLooks = 100'000;  // some ms
  Arrangement best{{}, INT64_MAX};
  for (Order order : kOrders) {
    const std::vector<uint32_t> items = sorted(problem, order);
    for (Fit fit : {Fit::Lowest, Fit::Tightest}) {
      if (best.height <= enough) return best;
      if (fit == Fit::Tightest && looks > kManyLooks) continue;
      Arrangement a = placer.place(items, fit, best.height - 1);
      if (a.offsets.size() == problem.items.size() && a.height < best.height) best = std::move(a);
    }
  }
  return best;
}

}  // namespace

Arrangement BestPlanner::arrange(const Problem& problem, int64_t enough, Effort& effort) const {
  effort.bound = problem.bound();
  enough = std::max(enough, effort.bound);
  Placer placer(problem);
  const int64_t looks = looks_of_a_pass(problem);
  Arrangement best = in_good_order(problem, placer, enough, looks);
  if (best.height > enough) {
    if (Arrangement greedy = GreedyPlanner().arrange(problem, enough); greedy.height < best.height) best = std::move(greedy);
    const auto items = static_cast<int64_t>(problem.items.size());
    const int64_t in_time = items <= kManyItems ? passes_in_time(problem, looks) : 0;
    const int64_t moves = std::min(in_time, 50 * items) * std::min(steps_, kCompileSteps) / kCompileSteps;
    improve_by_turns(problem, placer, sorted(problem, Order::Size), enough, std::min(in_time, kTurns), best);
    improve_by_moves(problem, placer, sorted(problem, Order::Area), enough, moves, best);
    if (best.height > enough) (problem.has_holes ? search_around_holes : search_between)(problem, enough, steps_, best, effort);
  }
  effort.proven = best.height <= effort.bound;
  return best;
}

Arrangement BestPlanner::arrange(const Problem& problem, int64_t enough) const {
  Effort effort;
  return arrange(problem, enough, effort);
}

const MemoryPlanner* built_in_planner(std::string_view name) {
  static const NaivePlanner naive;
  static const GreedyPlanner greedy;
  static const BestPlanner best;
  for (const MemoryPlanner* p :
       {static_cast<const MemoryPlanner*>(&best), static_cast<const MemoryPlanner*>(&greedy), static_cast<const MemoryPlanner*>(&naive)})
    if (p->name() == name) return p;
  return nullptr;
}

}  // namespace edgec::memory
