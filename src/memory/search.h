#pragma once
#include "memory/problem.h"

namespace edgec::memory {

enum class Verdict : uint8_t { Found, Impossible, GaveUp };

// Problems with more items are given up at once.
constexpr size_t kMaxSearchItems = 2048;

// An exact search for an arrangement no higher than `capacity`. Deterministic; it takes from `steps` (about one for each look at an
// item) and gives up when none are left.
Verdict search_without_holes(const Problem& problem, int64_t capacity, int64_t& steps, Arrangement& found);

// The same for items with holes, by trying all that can be: for few items.
Verdict search_with_holes(const Problem& problem, int64_t capacity, int64_t& steps, Arrangement& found);

}  // namespace edgec::memory
