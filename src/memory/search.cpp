#include "memory/search.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

// Places items one upon another, from low to high: every solution can be pushed down until each item lies on others or at 0.
//
// - What comes next. Of all items left, let j be one that would end lowest. Either j lies as low as it can, or one of its neighbours
//   (items that live with it) that start below its end does; nothing that is still to come fits under them. So only these are tried.
// - No order twice. An item that was tried and failed sleeps: it is not tried again before something raised it.
// - Back jumps. A failure knows the placed items that caused it (`why_`). Where one is undone that is not among them, its other
//   places need no look.
// - Groups of items that share no section are solved each by itself.
// - Sections. What is left of a section must fit above the lowest place that any of it can have.
// - Rising. In some turns offsets never fall from one item to the next instead, which says the same without sleep: then all that is left
//   must fit above the last one, in every section.
// - Holes. What lies in a hole below other parts of an item is placed before it, and what has a part on both sides of another item is not
//   found: with holes there is no proof that nothing is possible.
// - Turns. How long a search takes hangs much on the order of trials, so it starts again and again; items that were left over where
//   something failed come earlier in later turns.
namespace edgec::memory {
namespace {

constexpr int64_t kUnplaced = -1;
constexpr int64_t kShortTurn = 2'000'000;  // steps

// How a turn chooses what comes next, and what is tried first where several items would do. Learned: what was left over where something
// failed, with some noise. No way is good on all of MiniMalloc's hard instances; the list and the length of a turn were chosen by trying
// some on them.
enum class Next : uint8_t { LowestEnd, FromLowest, Rising };
enum class Order : uint8_t { WidthAreaTotal, TotalWidthArea, LearnedArea, LearnedSize, Learned };
struct Way {
  Next next = Next::Rising;
  Order order = Order::Learned;
};
constexpr std::array kWays = {
    Way{Next::Rising, Order::TotalWidthArea}, Way{Next::Rising, Order::WidthAreaTotal},  Way{Next::Rising, Order::LearnedArea},
    Way{Next::LowestEnd, Order::LearnedSize}, Way{Next::FromLowest, Order::LearnedArea}, Way{Next::Rising, Order::Learned},
};

// For items with holes: the others go by what lies on what, which is not the order of offsets there.
constexpr std::array kRisingWays = {kWays[0], kWays[1], kWays[2], kWays[5]};

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

class ItemSet {
 public:
  explicit ItemSet(size_t n = 0) : words_(n / 64 + 1) {}
  void clear() { std::fill(words_.begin(), words_.end(), 0); }
  void add(uint32_t i) { words_[i / 64] |= bit(i); }
  void remove(uint32_t i) { words_[i / 64] &= ~bit(i); }
  bool has(uint32_t i) const { return words_[i / 64] & bit(i); }
  void add(const ItemSet& o) {
    for (size_t w = 0; w < words_.size(); ++w) words_[w] |= o.words_[w];
  }

 private:
  static uint64_t bit(uint32_t i) { return uint64_t{1} << (i % 64); }
  std::vector<uint64_t> words_;
};

class Search {
 public:
  Search(const Problem& problem, int64_t capacity) : p_(problem), capacity_(capacity), live_(problem.live()) {
    const size_t n = p_.items.size();
    in_section_.resize(p_.sections);
    for (uint32_t k = 0; k < p_.parts.size(); ++k)
      for (uint32_t s = p_.parts[k].lo; s <= p_.parts[k].hi; ++s) in_section_[s].push_back({p_.parts[k].item, p_.parts[k].offset});
    neighbours_.resize(n);
    weight_.assign(n, 1);
    std::vector<uint32_t> at(n);  // in the list of neighbours, counted from 1
    for (uint32_t i = 0; i < n; ++i) {
      for (const Problem::Part& own : p_.parts_of(p_.items[i]))
        for (uint32_t s = own.lo; s <= own.hi; ++s)
          for (const Here& other : in_section_[s]) {
            if (other.item == i) continue;
            if (at[other.item] == 0) {
              neighbours_[i].push_back({other.item, INT64_MIN});
              at[other.item] = static_cast<uint32_t>(neighbours_[i].size());
            }
            int64_t& above = neighbours_[i][at[other.item] - 1].above;
            above = std::max(above, own.offset + own.size - other.offset);
          }
      for (const Neighbour& k : neighbours_[i]) at[k.item] = 0;
    }
  }

  Verdict run(uint32_t turn, int64_t steps) {
    const auto n = static_cast<uint32_t>(p_.items.size());
    steps_ = steps;
    offsets_.assign(n, kUnplaced);
    lowest_.assign(n, 0);
    support_.assign(n, 0);
    asleep_at_.assign(n, kUnplaced);
    asleep_why_.assign(n, ItemSet(n));
    why_ = ItemSet(n);
    left_ = live_;
    floor_.assign(p_.sections, 0);
    looked_.assign(p_.sections, 0);
    crossing_.assign(p_.sections, 0);
    for (const auto& i : p_.items)
      for (uint32_t s = i.lo; s < i.hi; ++s) ++crossing_[s];
    placed_.clear(), raised_.clear(), floors_.clear();
    rank_items(turn);
    pool_.resize(n);
    std::iota(pool_.begin(), pool_.end(), 0u);
    std::sort(pool_.begin(), pool_.end(), [&](uint32_t a, uint32_t b) { return rank_[a] < rank_[b]; });
    if (solve_groups({0, n}, 0, p_.sections)) return Verdict::Found;
    return steps_ <= 0 ? Verdict::GaveUp : Verdict::Impossible;
  }

  const std::vector<int64_t>& offsets() const { return offsets_; }
  int64_t steps_left() const { return steps_; }

 private:
  struct Range {  // of pool_
    size_t begin = 0, end = 0;
  };

  double noise() {
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;
    return 0.7 + 0.6 * static_cast<double>(random_ >> 40) / static_cast<double>(1 << 24);
  }

  // Which of two items comes first where both would do.
  void rank_items(uint32_t turn) {
    way_ = p_.has_holes ? kRisingWays[turn % kRisingWays.size()] : kWays[turn % kWays.size()];
    random_ = turn + 12345;
    const size_t n = p_.items.size();
    std::vector<std::array<double, 3>> keys(n);
    for (size_t i = 0; i < n; ++i) {
      const auto& item = p_.items[i];
      const auto most = static_cast<double>(*std::max_element(live_.begin() + item.lo, live_.begin() + item.hi + 1));
      const auto width = static_cast<double>(item.hi - item.lo + 1), size = static_cast<double>(item.size), area = width * size;
      switch (way_.order) {
        case Order::WidthAreaTotal:
          keys[i] = {width, area, most};
          break;
        case Order::TotalWidthArea:
          keys[i] = {most, width, area};
          break;
        case Order::LearnedArea:
          keys[i] = {weight_[i] * area * noise(), width, 0};
          break;
        case Order::LearnedSize:
          keys[i] = {weight_[i] * size * noise(), width, 0};
          break;
        case Order::Learned:
          keys[i] = {weight_[i] * noise(), width, 0};
          break;
      }
    }
    std::vector<uint32_t> by(n);
    std::iota(by.begin(), by.end(), 0u);
    std::stable_sort(by.begin(), by.end(), [&](uint32_t a, uint32_t b) { return keys[a] > keys[b]; });
    rank_.resize(n);
    for (uint32_t r = 0; r < n; ++r) rank_[by[r]] = r;
  }

  int64_t top(uint32_t i) const { return lowest_[i] + p_.items[i].size; }
  bool is_left(uint32_t i) const { return offsets_[i] == kUnplaced; }

  // Solves items within sections [from, to), in groups that share no section. Lists in the pool are in order of rank.
  bool solve_groups(Range items, uint32_t from, uint32_t to) {
    for (uint32_t begin = from; begin < to;) {
      uint32_t end = begin + 1;
      while (end < to && crossing_[end - 1] > 0) ++end;
      if (begin == from && end == to) return solve(items, from, to);
      const size_t mark = pool_.size();
      for (size_t i = items.begin; i < items.end; ++i)
        if (p_.items[pool_[i]].lo >= begin && p_.items[pool_[i]].lo < end) pool_.push_back(pool_[i]);
      const bool ok = pool_.size() == mark || solve({mark, pool_.size()}, begin, end);
      pool_.resize(mark);
      if (!ok) return false;
      begin = end;
    }
    return true;
  }

  bool solve(Range group, uint32_t from, uint32_t to) {
    return way_.next == Next::Rising ? solve_rising(group, from, to) : solve_near(group);
  }

  // Offsets never fall: of two orders of the same places only one is tried.
  bool solve_rising(Range group, uint32_t from, uint32_t to) {
    steps_ -= (to - from) / 4;
    for (uint32_t s = from; s < to; ++s)
      if (left_[s] > 0 && std::max(last_.at, floor_[s]) + left_[s] > capacity_) return learn(s), false;
    int64_t lowest_top = INT64_MAX;
    for (size_t k = group.begin; k < group.end; ++k) lowest_top = std::min(lowest_top, top(pool_[k]));
    const size_t mark = pool_.size();
    for (size_t k = group.begin; k < group.end; ++k) {
      const uint32_t i = pool_[k];
      if (lowest_[i] < lowest_top && !(Last{lowest_[i], rank_[i]} < last_)) pool_.push_back(i);
    }
    std::sort(pool_.begin() + static_cast<std::ptrdiff_t>(mark), pool_.end(), [&](uint32_t a, uint32_t b) {
      return Last{lowest_[a], rank_[a]} < Last{lowest_[b], rank_[b]};
    });
    const size_t end = pool_.size();
    bool ok = false;
    for (size_t k = mark; k < end && !ok && steps_ > 0; ++k) ok = place(pool_[k], group);
    pool_.resize(mark);
    return ok;
  }

  bool solve_near(Range group) {
    const uint32_t j = lowest_end(group);
    const size_t mark = pool_.size();
    pool_.push_back(j);
    for (const auto& [z, above] : neighbours_[j])
      if (is_left(z) && lowest_[z] < top(j)) pool_.push_back(z);
    std::sort(pool_.begin() + static_cast<std::ptrdiff_t>(mark), pool_.end(),
              [&](uint32_t a, uint32_t b) { return lowest_[a] != lowest_[b] ? lowest_[a] < lowest_[b] : rank_[a] < rank_[b]; });
    const bool ok = try_each({mark, pool_.size()}, group, j);
    pool_.resize(mark);
    return ok;
  }

  bool try_each(Range candidates, Range group, uint32_t j) {
    struct Slept {
      uint32_t item = 0;
      int64_t at = 0;
      ItemSet why;
    };
    std::vector<Slept> slept;
    ItemSet whys(p_.items.size());
    bool ok = false, jump = false;
    for (size_t k = candidates.begin; k < candidates.end && !ok && !jump && steps_ > 0; ++k) {
      const uint32_t c = pool_[k];
      if (asleep_at_[c] == lowest_[c]) {
        whys.add(asleep_why_[c]);
        continue;
      }
      ok = place(c, group);
      jump = !ok && !why_.has(c);  // it fails whatever is done here
      if (ok || jump) break;
      why_.remove(c);
      whys.add(why_);
      slept.push_back({c, asleep_at_[c], std::move(asleep_why_[c])});
      asleep_at_[c] = lowest_[c];
      asleep_why_[c] = why_;
    }
    for (; !slept.empty(); slept.pop_back()) {
      asleep_at_[slept.back().item] = slept.back().at;
      asleep_why_[slept.back().item] = std::move(slept.back().why);
    }
    if (!ok && !jump && steps_ > 0) {
      why_ = whys;
      explain_candidates(j);
    }
    return ok;
  }

  // The item that would end lowest, of all or of those around the one that can lie lowest. Nothing next to its candidates may end lower.
  uint32_t lowest_end(Range group) {
    uint32_t j = pool_[group.begin];
    for (size_t k = group.begin; k < group.end; ++k) {
      const uint32_t i = pool_[k];
      if (way_.next == Next::FromLowest ? lowest_[i] < lowest_[j] : top(i) < top(j)) j = i;
    }
    steps_ -= static_cast<int64_t>(group.end - group.begin + neighbours_[j].size());
    for (uint32_t next = j; way_.next == Next::FromLowest; j = next) {
      steps_ -= static_cast<int64_t>(neighbours_[j].size());
      for (const auto& [z, above] : neighbours_[j])
        if (is_left(z) && (top(z) < top(next) || (top(z) == top(next) && rank_[z] < rank_[next]))) next = z;
      if (top(next) < top(j)) continue;
      next = j;
      for (const auto& [z, above] : neighbours_[j]) {
        if (!is_left(z) || lowest_[z] >= top(j)) continue;
        steps_ -= static_cast<int64_t>(neighbours_[z].size());
        for (const auto& [w, over] : neighbours_[z])
          if (is_left(w) && top(w) < top(next)) next = w;
      }
      if (next == j) break;
    }
    return j;
  }

  // Why nothing but the candidates of `solve` can come next.
  void explain_candidates(uint32_t j) {
    because(j, lowest_[j]);
    for (const auto& [z, above] : neighbours_[j]) {
      if (!is_left(z)) continue;
      because(z, std::min(lowest_[z], top(j)));
      if (lowest_[z] >= top(j)) continue;
      steps_ -= static_cast<int64_t>(neighbours_[z].size());
      for (const auto& [w, over] : neighbours_[z])
        if (is_left(w)) because(w, top(j) - p_.items[w].size);
    }
  }

  bool place(uint32_t c, Range group) {
    const Problem::Item& item = p_.items[c];
    const int64_t at = lowest_[c];
    steps_ -= static_cast<int64_t>(neighbours_[c].size() + group.end - group.begin);
    for (uint32_t s = item.lo; s <= item.hi; ++s)
      if (at + left_[s] > capacity_) {
        learn(s);
        return blame(c);
      }
    const size_t placed = placed_.size(), mark = pool_.size();
    bool ok = put(c, at);
    if (ok) {
      uint32_t from = UINT32_MAX, to = 0;
      for (size_t k = group.begin; k < group.end; ++k) {
        const uint32_t i = pool_[k];
        if (i != c) pool_.push_back(i), from = std::min(from, p_.items[i].lo), to = std::max(to, p_.items[i].hi + 1);
      }
      const Last before = std::exchange(last_, {at, rank_[c]});
      ok = pool_.size() == mark || solve_groups({mark, pool_.size()}, from, to);
      last_ = before;
      pool_.resize(mark);
    }
    if (!ok)
      while (placed_.size() > placed) take_back();
    return ok;
  }

  bool put(uint32_t c, int64_t at) {
    const Problem::Item& item = p_.items[c];
    placed_.push_back({c, raised_.size(), floors_.size()});
    const uint64_t look = ++looks_;
    offsets_[c] = at;
    for (const Problem::Part& part : p_.parts_of(item))
      for (uint32_t s = part.lo; s <= part.hi; ++s) {
        const int64_t end = at + part.offset + part.size;
        left_[s] -= part.size;
        if (floor_[s] >= end) continue;  // its lowest item lies higher already
        floors_.emplace_back(s, floor_[s]);
        floor_[s] = end;
      }
    for (uint32_t s = item.lo; s < item.hi; ++s) --crossing_[s];
    changed_.clear();
    for (const auto& [k, above] : neighbours_[c]) {
      const int64_t end = at + above;
      if (!is_left(k) || lowest_[k] >= end) continue;
      const Problem::Item& other = p_.items[k];
      const int64_t before = lowest_[k];
      raised_.push_back({k, support_[k], before});
      lowest_[k] = end;
      support_[k] = c;
      if (end + other.size > capacity_) {
        weight_[k] += bump_;
        return blame(c);
      }
      for (const Problem::Part& part : p_.parts_of(other))
        for (uint32_t s = part.lo; s <= part.hi; ++s)
          if (before + part.offset <= floor_[s] && looked_[s] != look) looked_[s] = look, changed_.push_back(s);
    }
    return std::all_of(changed_.begin(), changed_.end(), [&](uint32_t s) { return raise_floor(s); });
  }

  // The floor of a section: where its lowest item that is left may lie.
  bool raise_floor(uint32_t s) {
    int64_t low = INT64_MAX;
    for (const auto& [i, offset] : in_section_[s])
      if (is_left(i)) low = std::min(low, lowest_[i] + offset);
    steps_ -= static_cast<int64_t>(in_section_[s].size());
    if (left_[s] == 0 || low <= floor_[s]) return true;
    floors_.emplace_back(s, floor_[s]);
    floor_[s] = low;
    if (low + left_[s] <= capacity_) return true;
    learn(s);
    why_.clear();
    for (const auto& [i, offset] : in_section_[s])
      if (is_left(i)) because(i, capacity_ - left_[s] + 1);
    return false;
  }

  void take_back() {
    const Placed p = placed_.back();
    placed_.pop_back();
    const Problem::Item& item = p_.items[p.item];
    for (const Problem::Part& part : p_.parts_of(item))
      for (uint32_t s = part.lo; s <= part.hi; ++s) left_[s] += part.size;
    for (uint32_t s = item.lo; s < item.hi; ++s) ++crossing_[s];
    for (; floors_.size() > p.floors; floors_.pop_back()) floor_[floors_.back().first] = floors_.back().second;
    for (; raised_.size() > p.raised; raised_.pop_back()) {
      const Raised& r = raised_.back();
      lowest_[r.item] = r.from;
      support_[r.item] = r.support;
    }
    offsets_[p.item] = kUnplaced;
  }

  // Adds to `why_` what keeps an item from lying lower than `at`.
  void because(uint32_t i, int64_t at) {
    if (at > 0) why_.add(support_[i]);
  }
  bool blame(uint32_t c) {
    why_.clear();
    why_.add(c);
    return false;
  }

  // What is left of a section that failed comes earlier in later turns; late failures count more.
  void learn(uint32_t s) {
    for (const auto& [i, offset] : in_section_[s])
      if (is_left(i)) weight_[i] += bump_;
    bump_ *= 1.0001;
    if (bump_ < 1e100) return;
    for (double& w : weight_) w *= 1e-100;
    bump_ *= 1e-100;
  }

  struct Here {  // a part of an item in a section
    uint32_t item = 0;
    int64_t offset = 0;
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
  struct Raised {
    uint32_t item = 0, support = 0;
    int64_t from = 0;
  };

  const Problem& p_;
  const int64_t capacity_;
  const std::vector<int64_t> live_;
  std::vector<std::vector<Here>> in_section_;
  std::vector<std::vector<Neighbour>> neighbours_;
  std::vector<uint32_t> rank_;
  std::vector<double> weight_;
  double bump_ = 1;
  uint64_t random_ = 0;
  Way way_;
  Last last_;  // what was placed last, in a turn of rising offsets

  std::vector<int64_t> offsets_, lowest_;  // of items; how low they may lie on what is placed
  std::vector<uint32_t> support_;          // the placed item that gave `lowest_`, when it is above 0
  std::vector<int64_t> asleep_at_;         // `lowest_` at which an item is not tried
  std::vector<ItemSet> asleep_why_;        // and the placed items that this relies on
  std::vector<int64_t> left_, floor_;      // of sections: what is still to come, and how low it may lie
  std::vector<uint32_t> crossing_;         // of sections: items left that go on into the next
  ItemSet why_;                            // the placed items that caused the last failure
  std::vector<Placed> placed_;
  std::vector<Raised> raised_;
  std::vector<std::pair<uint32_t, int64_t>> floors_;
  std::vector<uint32_t> pool_;     // a stack of lists of items
  std::vector<uint32_t> changed_;  // sections
  std::vector<uint64_t> looked_;
  uint64_t looks_ = 0;
  int64_t steps_ = 0;
};

}  // namespace

Verdict search(const Problem& problem, int64_t capacity, int64_t& steps, Arrangement& found) {
  if (problem.items.size() > kMaxSearchItems) return Verdict::GaveUp;
  if (problem.bound() > capacity) return Verdict::Impossible;
  Search search(problem, capacity);
  for (uint32_t turn = 0; steps > 0; ++turn) {
    const int64_t budget = std::min(kShortTurn * luby(turn / static_cast<uint32_t>(kWays.size())), steps);
    const Verdict verdict = search.run(turn, budget);
    steps -= budget - search.steps_left();
    if (verdict == Verdict::GaveUp) continue;
    if (verdict == Verdict::Found) {
      found = {search.offsets(), 0};
      for (size_t i = 0; i < problem.items.size(); ++i) found.height = std::max(found.height, found.offsets[i] + problem.items[i].size);
    }
    return verdict == Verdict::Impossible && problem.has_holes ? Verdict::GaveUp : verdict;
  }
  return Verdict::GaveUp;
}

}  // namespace edgec::memory
