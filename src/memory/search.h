#pragma once
#include "memory/problem.h"

namespace edgec::memory {

enum class Verdict : uint8_t { Found, Impossible, GaveUp };

// Problems with more items are given up at once.
constexpr size_t kMaxSearchItems = 2048;

// A search for an arrangement no higher than `capacity`, exact for items without holes. Deterministic; it takes from `steps` (about one for
// each look at an item) and gives up when none are left.
Verdict search(const Problem& problem, int64_t capacity, int64_t& steps, Arrangement& found);

// The same, exact for items with holes too, by trying all that can be: for few items.
Verdict search_everything(const Problem& problem, int64_t capacity, int64_t& steps, Arrangement& found);

}  // namespace edgec::memory
