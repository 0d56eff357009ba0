#pragma once
#include <edgec/planner.h>

#include <cstdint>
#include <span>
#include <vector>

namespace edgec::memory {

// The planning problem of one memory without what does not matter to it. Sizes and offsets are in units of the alignment. Time is cut
// into sections: the moments when nothing that was alive has yet died and something new has begun. Two items live at the same time
// exactly when they share a section, and whatever fits in all sections fits at all times.
struct Problem {
  struct Item {
    int64_t size = 0;         // at least 1
    uint32_t lo = 0, hi = 0;  // the first and the last section, both included
    uint32_t block = 0;       // which block it stands for
  };
  std::vector<Item> items;
  uint32_t sections = 0;

  // Blocks of size 0 have no item: any offset does. Sizes are checked to have a sum that fits in 62 bits before.
  static Problem of(std::span<const MemoryBlock> blocks, int64_t alignment);

  std::vector<int64_t> live() const;  // of each section
  int64_t max_live() const;           // no arrangement is lower
};

// Offsets of the items of a problem, and where the highest one ends.
struct Arrangement {
  std::vector<int64_t> offsets;
  int64_t height = 0;
};

}  // namespace edgec::memory
