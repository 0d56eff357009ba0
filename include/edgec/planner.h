#pragma once
#include <edgec/result.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace edgec EDGEC_API {

// One kind of memory of the target: a memory id of the program with its own buffer.
struct MemoryLayer {
  uint32_t id = 1;
  std::string name;
  int64_t capacity = -1;   // bytes; -1: no limit
  int64_t alignment = 16;  // of every offset, bytes, a power of two
  double cost = 1;         // of an access, relative to the other layers
};

// Bytes of a block that are in use from instruction `first` to `last`, both included.
struct MemoryPart {
  int64_t offset = 0, bytes = 0;  // in the block
  uint32_t first = 0, last = 0;
};

// A piece of memory to be placed: live from instruction `first` to `last`, both included.
struct MemoryBlock {
  std::string name;  // of the tensor, for messages
  int64_t bytes = 0;
  uint32_t first = 0, last = 0;
  int64_t accesses = 0;  // bytes read and written over the lifetime
  // The answer.
  uint32_t memory_id = 1;
  int64_t offset = -1;
  // What of it is in use when, where that is not all of it all the time: tensors that are made inside a concatenation, memory that is dead
  // in a branch. The parts do not lie over each other. A planner may put other blocks where none of them is, or take no notice.
  std::vector<MemoryPart> parts = {};
};

// A memory planning algorithm: gives every block a layer and an offset there. What is in use at the same time may not overlap. What
// it answers is checked, so a wrong planner gives an error and never a program.
class MemoryPlanner {
 public:
  virtual ~MemoryPlanner() = default;
  virtual std::string name() const = 0;  // `--memory-plan NAME`
  virtual Status plan(std::span<MemoryBlock> blocks, std::span<const MemoryLayer> layers) const = 0;
};

}  // namespace EDGEC_API
