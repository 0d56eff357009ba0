#pragma once
#include <vector>

#include "memory/problem.h"

namespace edgec::memory {

// What is placed so far, found by time: the cost of a look hangs on how much lives at the same time, not on how much there is.
template <class T>
class Occupancy {
 public:
  explicit Occupancy(uint32_t sections) : starts_(sections) {
    while (leaves_ < sections) leaves_ *= 2;
    covers_.resize(2 * static_cast<size_t>(leaves_));
  }
  void add(const T& what, uint32_t lo, uint32_t hi) {
    starts_[lo].push_back(what);
    for (uint32_t a = lo + leaves_, b = hi + leaves_ + 1; a < b; a /= 2, b /= 2) {
      if (a % 2 == 1) covers_[a++].push_back(what);
      if (b % 2 == 1) covers_[--b].push_back(what);
    }
  }
  void clear() {  // keeps its memory
    for (auto& node : covers_) node.clear();
    for (auto& section : starts_) section.clear();
  }
  // Calls fn once for each that was added and shares a section with [lo, hi].
  template <class Fn>
  void overlapping(uint32_t lo, uint32_t hi, Fn&& fn) const {
    for (uint32_t node = lo + leaves_; node > 0; node /= 2)
      for (const T& what : covers_[node]) fn(what);
    for (uint32_t s = lo + 1; s <= hi; ++s)
      for (const T& what : starts_[s]) fn(what);
  }

 private:
  uint32_t leaves_ = 1;
  std::vector<std::vector<T>> covers_;  // a tree over the sections: what lives in all sections below a node
  std::vector<std::vector<T>> starts_;  // by the first section
};

enum class Fit : uint8_t { Lowest, Tightest };  // which of the gaps that are large enough

// Places the items of a problem one after the other.
class Placer {
 public:
  explicit Placer(const Problem& problem);
  // Leaves off (an empty arrangement) when it gets higher than `limit`.
  Arrangement place(const std::vector<uint32_t>& order, Fit fit, int64_t limit = INT64_MAX);

 private:
  struct Stretch {
    int64_t begin = 0, end = 0;
  };
  struct Placed {
    Stretch at;
    uint32_t lo = 0, hi = 0;
  };
  int64_t find_gap(const Problem::Item& item, Fit fit);
  void add(const Problem::Part& part, Stretch at);

  const Problem& p_;
  const bool crowded_;  // much of all lives at the same time
  // What is placed: by time, or where it is crowded by offset, which costs a look at all of it but no sorting.
  Occupancy<Stretch> by_time_;
  std::vector<Placed> by_offset_;
  std::vector<Stretch> around_;  // the offsets of the item at hand that are too high for what lies above and too low for what lies below
};

// What it takes to place all items of a problem once: a look at each part that lives at the same time as one that is placed.
int64_t looks_of_a_pass(const Problem& p);

}  // namespace edgec::memory
