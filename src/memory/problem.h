#pragma once
#include <edgec/planner.h>

#include <cstdint>
#include <span>
#include <vector>

namespace edgec::memory {

// The planning problem of one memory without what does not matter to it. Sizes and offsets are in units of the alignment. Time is cut
// into sections: the moments when nothing that was alive has yet died and something new has begun. Two items live at the same time
// exactly when they share a section (items with holes: when parts of them do), and whatever fits in all sections fits at all times.
struct Problem {
  struct Item {
    int64_t size = 0;         // at least 1
    int64_t duration = 0;     // from the first to the last time, both included
    uint32_t lo = 0, hi = 0;  // the first and the last section, both included
    uint32_t block = 0;       // which block it stands for
    uint32_t first_part = 0, parts = 0;
  };
  // What an item takes: one part for most, all of it in all its sections.
  struct Part {
    int64_t offset = 0, size = 0;  // in the item
    uint32_t lo = 0, hi = 0;
    uint32_t item = 0;
  };
  std::vector<Item> items;
  std::vector<Part> parts;  // by item
  uint32_t sections = 0;
  bool has_holes = false;  // in an item

  std::span<const Part> parts_of(const Item& i) const { return std::span(parts).subspan(i.first_part, i.parts); }
  // The same items without holes.
  Problem filled() const;

  // Blocks of size 0 have no item: any offset does. Sizes are checked to have a sum that fits in 62 bits before.
  static Problem of(std::span<const MemoryBlock> blocks, int64_t alignment);

  std::vector<int64_t> live() const;  // of each section
  int64_t max_live() const;           // at any time
  int64_t bound() const;              // no arrangement is lower: what is live, and the largest item, which may never be live as a whole

 private:
  void add_item(uint32_t block, int64_t size, int64_t duration, const std::vector<MemoryPart>& parts);
};

// Offsets of the items of a problem, and where the highest one ends.
struct Arrangement {
  std::vector<int64_t> offsets;
  int64_t height = 0;
};

}  // namespace edgec::memory
