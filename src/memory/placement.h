#pragma once
#include "memory/problem.h"

namespace edgec::memory {

// What is placed so far, found by time: the cost of a look hangs on how many parts of items live at the same time, not on how many there
// are.
class Occupancy {
 public:
  explicit Occupancy(uint32_t sections);
  void add(uint32_t part, uint32_t lo, uint32_t hi);
  // Calls fn(part) once for each added part that shares a section with [lo, hi].
  template <class Fn>
  void overlapping(uint32_t lo, uint32_t hi, Fn&& fn) const {
    for (uint32_t node = lo + leaves_; node > 0; node /= 2)
      for (uint32_t i : covers_[node]) fn(i);
    for (uint32_t s = lo + 1; s <= hi; ++s)
      for (uint32_t i : starts_[s]) fn(i);
  }

 private:
  uint32_t leaves_ = 1;
  std::vector<std::vector<uint32_t>> covers_;  // a tree over the sections: parts that live in all sections below a node
  std::vector<std::vector<uint32_t>> starts_;  // parts by their first section
};

enum class Fit : uint8_t { Lowest, Tightest };  // which of the gaps that are large enough

// Places the items one after the other. Leaves off (an empty arrangement) when it gets higher than `limit`.
Arrangement place_in_order(const Problem& problem, const std::vector<uint32_t>& order, Fit fit, int64_t limit = INT64_MAX);

}  // namespace edgec::memory
