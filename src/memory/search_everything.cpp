#include <algorithm>
#include <numeric>
#include <set>

#include "memory/placement.h"
#include "memory/search.h"

// Items with holes can lie in each other, so no order from low to high gives all arrangements. But each can be pushed down until every item
// rests on the ground or on a part of another, and what it rests on can be followed to the ground. So items are placed one after the other
// where they rest on what is placed. A place that was tried and failed is not tried again in what remains of that branch: each set of
// places is looked at once.
namespace edgec::memory {
namespace {

class AllPlaces {
 public:
  AllPlaces(const Problem& problem, int64_t capacity, int64_t& steps)
      : p_(problem), capacity_(capacity), steps_(steps), offsets_(problem.items.size(), kUnplaced), failed_(problem.items.size()) {
    order_.resize(p_.items.size());
    std::iota(order_.begin(), order_.end(), 0u);
    std::stable_sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) { return p_.items[a].size > p_.items[b].size; });
  }

  bool solve(size_t placed) {
    if (placed == p_.items.size()) return true;
    std::vector<Place> places;
    for (uint32_t i : order_)
      if (offsets_[i] == kUnplaced && !add_places(i, places)) return false;
    std::stable_sort(places.begin(), places.end(), [](const Place& a, const Place& b) { return a.offset < b.offset; });
    size_t tried = 0;
    bool found = false;
    for (; tried < places.size() && !found && steps_ > 0; ++tried) {
      const auto& [offset, item] = places[tried];
      offsets_[item] = offset;
      found = solve(placed + 1);
      if (found) break;
      offsets_[item] = kUnplaced;
      failed_[item].insert(offset);
    }
    for (size_t k = 0; k < tried; ++k) failed_[places[k].item].erase(places[k].offset);
    return found;
  }
  const std::vector<int64_t>& offsets() const { return offsets_; }

 private:
  static constexpr int64_t kUnplaced = -1;
  struct Place {
    int64_t offset;
    uint32_t item;
  };

  // Where an item rests on the ground or on what is placed, but for where that failed. False when there is no room for it at all.
  bool add_places(uint32_t i, std::vector<Place>& places) {
    const Problem::Item& item = p_.items[i];
    std::vector<std::pair<int64_t, int64_t>> around;  // offsets above the first and below the second are taken
    for (const Problem::Part& other : p_.parts) {
      if (offsets_[other.item] == kUnplaced) continue;
      for (const Problem::Part& own : p_.parts_of(item)) {
        const int64_t begin = offsets_[other.item] + other.offset - own.offset;
        if (own.lo <= other.hi && other.lo <= own.hi && begin + other.size > 0) around.emplace_back(begin - own.size, begin + other.size);
      }
    }
    steps_ -= static_cast<int64_t>(p_.parts.size() + around.size());
    std::sort(around.begin(), around.end());
    std::vector<int64_t> rests = {0};
    for (const auto& a : around) rests.push_back(a.second);
    std::sort(rests.begin(), rests.end());
    rests.erase(std::unique(rests.begin(), rests.end()), rests.end());
    bool room = false;
    for (int64_t at : rests) {
      if (at + item.size > capacity_) break;
      if (std::any_of(around.begin(), around.end(), [&](const auto& a) { return a.first < at && at < a.second; })) continue;
      room = true;
      if (!failed_[i].contains(at)) places.push_back({at, i});
    }
    return room;
  }

  const Problem& p_;
  const int64_t capacity_;
  int64_t& steps_;
  std::vector<uint32_t> order_;  // large ones first
  std::vector<int64_t> offsets_;
  std::vector<std::set<int64_t>> failed_;  // by item
};

}  // namespace

Verdict search_everything(const Problem& problem, int64_t capacity, int64_t& steps, Arrangement& found) {
  constexpr size_t kMaxItems = 256, kMaxParts = 2048;
  if (problem.items.size() > kMaxItems || problem.parts.size() > kMaxParts) return Verdict::GaveUp;
  if (problem.bound() > capacity) return Verdict::Impossible;
  AllPlaces search(problem, capacity, steps);
  if (!search.solve(0)) return steps > 0 ? Verdict::Impossible : Verdict::GaveUp;
  found = {search.offsets(), 0};
  for (size_t i = 0; i < problem.items.size(); ++i) found.height = std::max(found.height, found.offsets[i] + problem.items[i].size);
  return Verdict::Found;
}

}  // namespace edgec::memory
