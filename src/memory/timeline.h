#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace edgec::memory {

// Live bytes by instruction, with the most of any stretch in logarithmic time.
class Timeline {
 public:
  explicit Timeline(uint32_t instructions);
  void add(uint32_t first, uint32_t last, int64_t bytes);  // to the instructions from first to last, both included
  int64_t most(uint32_t first, uint32_t last) const;

 private:
  // A tree over 2^k instructions, one node's halves at 2i and 2i + 1: what was added to the whole stretch, and the most below it
  // including that.
  struct Node {
    int64_t added = 0, most = 0;
  };
  void add(size_t node, uint32_t begin, uint32_t end, uint32_t first, uint32_t last, int64_t bytes);
  int64_t most(size_t node, uint32_t begin, uint32_t end, uint32_t first, uint32_t last) const;
  std::vector<Node> nodes_;
  uint32_t size_ = 1;
};

}  // namespace edgec::memory
