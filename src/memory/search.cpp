#include "memory/search.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

// Places items one upon another, from low to high: every solution can be pushed down until each item lies on others or at 0. What makes
// this fast is for the most part MiniMalloc's (Moffitt, ASPLOS 2023):
//
// - Rising. Offsets never fall from one item to the next, and those at one offset come in the order of their ranks: of all orders that
//   lead to the same places one is tried.
// - Dominance. What lies higher than another item of those left would end is not next: that one would still fit below.
// - Groups. What is left falls apart into groups of items that share no section. Each is solved by itself, and ranked anew.
// - Sections. What is left of a section must fit above the floor, each item not below the lowest place that it can have.
// - No hat. Where nothing is left that could lie on an item, it was not its place that made the rest fail.
// - Turns. How long a search takes hangs much on the ranks, so it starts again and again with others.
//
// Holes: what lies in a hole below other parts of an item is placed before it, and what has a part on both sides of another item is not
// found. With holes there is no proof that nothing is possible.
namespace edgec::memory {
namespace {

constexpr int64_t kUnplaced = -1;
constexpr int64_t kShortTurn = 25'000'000;  // steps
constexpr double kNoise = 0.2;

// By which item comes first where several would do. Total: the most that is left in one of its sections. No order is good on all of
// MiniMalloc's hard instances.
enum class Order : uint8_t { WidthAreaTotal, TotalAreaWidth, TotalWidthArea };
constexpr std::array kOrders = {Order::TotalWidthArea, Order::TotalAreaWidth, Order::WidthAreaTotal};
constexpr uint32_t kExactTurns = kOrders.size();  // later ones have some noise in the order

// 1 1 2 1 1 2 4 ...: most turns short, some long; about as good as any fixed series when the length hangs on luck.
int64_t luby(uint32_t turn) {
  int64_t i = turn + 1;
  for (;;) {
    int64_t whole = 1;
    while (2 * whole <= i + 1) whole *= 2;  // the series up to a power of two has a length one below it
    if (whole == i + 1) return std::max<int64_t>(whole / 2, 1);
    i -= whole - 1;
  }
}

}  // namespace

class Search::Turn {
 public:
  explicit Turn(const Problem& problem) : p_(problem), live_(problem.live()) {
    in_section_.resize(p_.sections);
    for (const Problem::Part& part : p_.parts)
      for (uint32_t s = part.lo; s <= part.hi; ++s) in_section_[s].push_back({part.item, part.offset, part.size});
    find_neighbours();
  }

  Verdict run(int64_t capacity, uint32_t turn, int64_t steps) {
    capacity_ = capacity;
    const auto n = static_cast<uint32_t>(p_.items.size());
    steps_ = steps;
    offsets_.assign(n, kUnplaced);
    lowest_.assign(n, 0);
    rank_.assign(n, 0);
    left_ = live_;
    floor_.assign(p_.sections, 0);
    looked_.assign(p_.sections, 0);
    crossing_.assign(p_.sections, 0);
    for (const auto& i : p_.items)
      for (uint32_t s = i.lo; s < i.hi; ++s) ++crossing_[s];
    placed_.clear(), raised_.clear(), floors_.clear(), ranks_.clear();
    last_ = {};
    order_ = kOrders[turn % kOrders.size()];
    make_noise(turn);
    pool_.resize(n);
    std::iota(pool_.begin(), pool_.end(), 0u);
    rank({0, n});
    if (solve_groups({0, n}, 0, p_.sections)) return Verdict::Found;
    return steps_ <= 0 ? Verdict::GaveUp : Verdict::Impossible;
  }

  const std::vector<int64_t>& offsets() const { return offsets_; }
  int64_t steps_left() const { return steps_; }

 private:
  struct Range {  // of pool_
    size_t begin = 0, end = 0;
  };

  void find_neighbours() {
    std::vector<Problem::Part> parts = p_.parts;
    std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.lo < b.lo; });
    const auto for_pairs = [&](auto&& fn) {
      for (auto a = parts.begin(); a != parts.end(); ++a)
        for (auto b = a + 1; b != parts.end() && b->lo <= a->hi; ++b)
          if (a->item != b->item) fn(*a, *b), fn(*b, *a);
    };
    std::vector<size_t> count(p_.items.size());
    for_pairs([&](const auto& a, const auto&) { ++count[a.item]; });
    neighbours_.resize(p_.items.size());
    for (size_t i = 0; i < count.size(); ++i) neighbours_[i].reserve(count[i]);
    for_pairs([&](const auto& a, const auto& b) { neighbours_[a.item].push_back({b.item, a.offset + a.size - b.offset}); });
    if (!p_.has_holes) return;
    for (auto& all : neighbours_) {  // of the parts of two items the two that need the most
      std::sort(all.begin(), all.end(), [](auto& a, auto& b) { return a.item != b.item ? a.item < b.item : a.above > b.above; });
      all.erase(std::unique(all.begin(), all.end(), [](auto& a, auto& b) { return a.item == b.item; }), all.end());
    }
  }

  void make_noise(uint32_t turn) {
    uint64_t random = turn;
    noise_.assign(p_.items.size(), 1);
    if (turn < kExactTurns) return;
    for (double& x : noise_) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      x += kNoise * (static_cast<double>(random >> 40) / static_cast<double>(1 << 24) - 0.5);
    }
  }

  // Sorts a list by which item comes first where both would do.
  void rank(Range items) {
    keyed_.clear();
    for (size_t k = items.begin; k < items.end; ++k) {
      const uint32_t i = pool_[k];
      const Problem::Item& item = p_.items[i];
      const auto total = static_cast<double>(*std::max_element(left_.begin() + item.lo, left_.begin() + item.hi + 1));
      const double width = static_cast<double>(item.duration) * noise_[i], area = width * static_cast<double>(item.size);
      switch (order_) {
        case Order::WidthAreaTotal:
          keyed_.push_back({{width, area, total}, i});
          break;
        case Order::TotalAreaWidth:
          keyed_.push_back({{total, area, width}, i});
          break;
        case Order::TotalWidthArea:
          keyed_.push_back({{total, width, area}, i});
          break;
      }
      steps_ -= item.hi - item.lo + 4;
    }
    std::sort(keyed_.begin(), keyed_.end(),
              [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
    for (size_t k = 0; k < keyed_.size(); ++k) {
      pool_[items.begin + k] = keyed_[k].second;
      rank_[keyed_[k].second] = static_cast<uint32_t>(k);
    }
  }

  int64_t top(uint32_t i) const { return lowest_[i] + p_.items[i].size; }
  bool is_left(uint32_t i) const { return offsets_[i] == kUnplaced; }

  // Solves items within sections [from, to), in groups that share no section.
  bool solve_groups(Range items, uint32_t from, uint32_t to) {
    for (uint32_t begin = from; begin < to;) {
      uint32_t end = begin + 1;
      while (end < to && crossing_[end - 1] > 0) ++end;
      if (begin == from && end == to) return solve(items, from, to);
      const size_t mark = pool_.size();
      for (size_t k = items.begin; k < items.end; ++k)
        if (is_left(pool_[k]) && p_.items[pool_[k]].lo >= begin && p_.items[pool_[k]].lo < end) pool_.push_back(pool_[k]);
      const bool ok = pool_.size() == mark || solve_apart({mark, pool_.size()}, begin, end);
      pool_.resize(mark);
      if (!ok) return false;
      begin = end;
    }
    return true;
  }

  bool solve_apart(Range group, uint32_t from, uint32_t to) {
    const size_t mark = ranks_.size();
    for (size_t k = group.begin; k < group.end; ++k) ranks_.emplace_back(pool_[k], rank_[pool_[k]]);
    rank(group);
    const Last before = std::exchange(last_, {last_.at, 0});  // the ranks of before do not count
    const bool ok = solve(group, from, to);
    last_ = before;
    for (; ranks_.size() > mark; ranks_.pop_back()) rank_[ranks_.back().first] = ranks_.back().second;
    return ok;
  }

  // Groups may hold items that are placed by now.
  bool solve(Range group, uint32_t from, uint32_t to) {
    steps_ -= (to - from) / 4 + static_cast<int64_t>(group.end - group.begin);
    const int64_t highest = capacity_ - *std::max_element(left_.begin() + from, left_.begin() + to);
    if (last_.at > highest) return false;
    int64_t lowest_top = INT64_MAX;
    for (size_t k = group.begin; k < group.end; ++k)
      if (is_left(pool_[k])) lowest_top = std::min(lowest_top, top(pool_[k]));
    if (lowest_top == INT64_MAX) return true;
    const size_t mark = pool_.size();
    for (size_t k = group.begin; k < group.end; ++k) {
      const uint32_t i = pool_[k];
      if (is_left(i) && lowest_[i] < lowest_top && lowest_[i] <= highest && !(Last{lowest_[i], rank_[i]} < last_)) pool_.push_back(i);
    }
    const size_t end = pool_.size();
    std::sort(pool_.begin() + static_cast<std::ptrdiff_t>(mark), pool_.end(), [&](uint32_t a, uint32_t b) {
      return Last{lowest_[a], rank_[a]} < Last{lowest_[b], rank_[b]};
    });
    bool ok = false;
    for (size_t k = mark; k < end && !ok && steps_ > 0; ++k) {
      const uint32_t c = pool_[k];
      ok = place(c, group, from, to);
      const auto& on = neighbours_[c];
      if (!ok && std::none_of(on.begin(), on.end(), [&](const Neighbour& z) { return is_left(z.item); })) break;
    }
    pool_.resize(mark);
    return ok;
  }

  bool place(uint32_t c, Range group, uint32_t from, uint32_t to) {
    const size_t placed = placed_.size();
    const Last before = std::exchange(last_, {lowest_[c], rank_[c]});
    const bool ok = put(c, lowest_[c]) && solve_groups(group, from, to);
    last_ = before;
    if (!ok)
      while (placed_.size() > placed) take_back();
    return ok;
  }

  bool put(uint32_t c, int64_t at) {
    const Problem::Item& item = p_.items[c];
    steps_ -= static_cast<int64_t>(neighbours_[c].size());
    placed_.push_back({c, raised_.size(), floors_.size()});
    const uint64_t look = ++looks_;
    offsets_[c] = at;
    changed_.clear();
    const auto change = [&](uint32_t s) {
      if (looked_[s] != look) looked_[s] = look, changed_.push_back(s);
    };
    for (const Problem::Part& part : p_.parts_of(item))
      for (uint32_t s = part.lo; s <= part.hi; ++s) {
        left_[s] -= part.size;
        raise_floor(s, at + part.offset + part.size);
        change(s);
      }
    for (uint32_t s = item.lo; s < item.hi; ++s) --crossing_[s];
    for (const auto& [k, above] : neighbours_[c]) {
      if (!is_left(k) || lowest_[k] >= at + above) continue;
      raised_.emplace_back(k, lowest_[k]);
      lowest_[k] = at + above;
      if (top(k) > capacity_) return false;
      for (const Problem::Part& part : p_.parts_of(p_.items[k]))
        for (uint32_t s = part.lo; s <= part.hi; ++s) change(s);
    }
    return std::all_of(changed_.begin(), changed_.end(), [&](uint32_t s) { return fits(s); });
  }

  void raise_floor(uint32_t s, int64_t at) {
    if (floor_[s] >= at) return;
    floors_.emplace_back(s, floor_[s]);
    floor_[s] = at;
  }

  // Whether what is left of a section fits when all else does not matter: each item as low as the ones that may lie lower let it.
  bool fits(uint32_t s) {
    if (left_[s] == 0) return true;
    int64_t floor = INT64_MAX;
    for (const auto& [i, offset, size] : in_section_[s])
      if (is_left(i)) floor = std::min(floor, lowest_[i] + offset);
    steps_ -= static_cast<int64_t>(in_section_[s].size());
    raise_floor(s, std::max(floor, last_.at));
    const int64_t room = capacity_ - left_[s];
    if (floor_[s] > room) return false;
    high_.clear();  // what leaves too large a gap below itself if not enough comes before it
    for (const auto& [i, offset, size] : in_section_[s])
      if (is_left(i) && lowest_[i] + offset > room) high_.emplace_back(lowest_[i] + offset, size);
    steps_ -= static_cast<int64_t>(in_section_[s].size() + high_.size());
    std::sort(high_.begin(), high_.end());
    int64_t end = 0;
    for (const auto& [lowest, size] : high_) end = std::max(end, lowest) + size;
    return end <= capacity_;
  }

  void take_back() {
    const Placed p = placed_.back();
    placed_.pop_back();
    const Problem::Item& item = p_.items[p.item];
    for (const Problem::Part& part : p_.parts_of(item))
      for (uint32_t s = part.lo; s <= part.hi; ++s) left_[s] += part.size;
    for (uint32_t s = item.lo; s < item.hi; ++s) ++crossing_[s];
    for (; floors_.size() > p.floors; floors_.pop_back()) floor_[floors_.back().first] = floors_.back().second;
    for (; raised_.size() > p.raised; raised_.pop_back()) lowest_[raised_.back().first] = raised_.back().second;
    offsets_[p.item] = kUnplaced;
  }

  struct Here {  // a part of an item in a section
    uint32_t item = 0;
    int64_t offset = 0, size = 0;
  };
  struct Neighbour {  // an item that lives with another one
    uint32_t item = 0;
    int64_t above = 0;  // how far from the other's offset its own is at least, when it lies on it
  };
  struct Last {
    int64_t at = 0;
    uint32_t rank = 0;
    bool operator<(const Last& o) const { return at != o.at ? at < o.at : rank < o.rank; }
  };
  struct Placed {
    uint32_t item = 0;
    size_t raised = 0, floors = 0;  // how long those were before
  };

  const Problem& p_;
  int64_t capacity_ = 0;
  const std::vector<int64_t> live_;
  std::vector<std::vector<Here>> in_section_;
  std::vector<std::vector<Neighbour>> neighbours_;
  Order order_ = kOrders[0];
  std::vector<double> noise_;  // of items
  Last last_;                  // what was placed last

  std::vector<int64_t> offsets_, lowest_;  // of items; how low they may lie on what is placed
  std::vector<uint32_t> rank_;             // of items, in their group
  std::vector<int64_t> left_, floor_;      // of sections: what is still to come, and how low it may lie
  std::vector<uint32_t> crossing_;         // of sections: items left that go on into the next
  std::vector<Placed> placed_;
  std::vector<std::pair<uint32_t, int64_t>> raised_, floors_;  // what `lowest_` and `floor_` were
  std::vector<std::pair<uint32_t, uint32_t>> ranks_;           // and `rank_`
  std::vector<uint32_t> pool_;                                 // a stack of lists of items
  std::vector<uint32_t> changed_;                              // sections
  std::vector<uint64_t> looked_;
  uint64_t looks_ = 0;
  std::vector<std::pair<std::array<double, 3>, uint32_t>> keyed_;
  std::vector<std::pair<int64_t, int64_t>> high_;
  int64_t steps_ = 0;
};

Search::Search(const Problem& problem) : p_(problem) {
  if (problem.items.size() <= kMaxSearchItems) turn_ = std::make_unique<Turn>(problem);
}
Search::~Search() = default;

Verdict Search::run(int64_t capacity, int64_t& steps, Arrangement& found) {
  if (!turn_) return Verdict::GaveUp;
  if (p_.bound() > capacity) return Verdict::Impossible;
  const auto orders = static_cast<int64_t>(kOrders.size());
  const int64_t short_turn = std::clamp<int64_t>(steps / orders, 1, kShortTurn);
  for (uint32_t turn = 0; steps > 0; ++turn) {
    const int64_t budget = std::min(short_turn * luby(turn / static_cast<uint32_t>(orders)), steps);
    const Verdict verdict = turn_->run(capacity, turn, budget);
    steps -= budget - turn_->steps_left();
    if (verdict == Verdict::GaveUp) continue;
    if (verdict == Verdict::Found) {
      found = {turn_->offsets(), 0};
      for (size_t i = 0; i < p_.items.size(); ++i) found.height = std::max(found.height, found.offsets[i] + p_.items[i].size);
    }
    return verdict == Verdict::Impossible && p_.has_holes ? Verdict::GaveUp : verdict;
  }
  return Verdict::GaveUp;
}

}  // namespace edgec::memory
