#pragma once
#include <memory>

#include "memory/problem.h"

namespace edgec::memory {

enum class Verdict : uint8_t { Found, Impossible, GaveUp };

// Problems with more items are given up at once.
constexpr size_t kMaxSearchItems = 2048;

// A search for arrangements, exact for items without holes. Deterministic; it takes from `steps` (about one for each look at an item) and
// gives up when none are left.
class Search {
 public:
  explicit Search(const Problem& problem);  // which must outlive it
  ~Search();
  // No higher than `capacity`.
  Verdict run(int64_t capacity, int64_t& steps, Arrangement& found);

 private:
  class Turn;
  const Problem& p_;
  std::unique_ptr<Turn> turn_;
};

// A search that is exact for items with holes too, by trying all that can be: for few items.
Verdict search_everything(const Problem& problem, int64_t capacity, int64_t& steps, Arrangement& found);

}  // namespace edgec::memory
