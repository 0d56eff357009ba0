#include <edgec/extensions.h>

#include <algorithm>
#include <vector>

// Memory planners from outside: one that is right, and ones that are wrong, each in its own way.
namespace {

using namespace edgec;

int64_t aligned(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// A stack in order of the first use: each block above all that are alive with it.
struct Stack : MemoryPlanner {
  std::string name() const override { return "stack"; }
  Status plan(std::span<MemoryBlock> blocks, std::span<const MemoryLayer> layers) const override {
    std::vector<MemoryBlock*> order;
    for (MemoryBlock& b : blocks) order.push_back(&b);
    std::stable_sort(order.begin(), order.end(), [](auto* a, auto* b) { return a->first < b->first; });
    for (size_t i = 0; i < order.size(); ++i) {
      MemoryBlock& b = *order[i];
      b.memory_id = layers[0].id;
      b.offset = 0;
      for (size_t k = 0; k < i; ++k)
        if (order[k]->last >= b.first) b.offset = std::max(b.offset, aligned(order[k]->offset + order[k]->bytes, layers[0].alignment));
    }
    return {};
  }
};

// The same place for all, `step` bytes apart.
struct Wrong : MemoryPlanner {
  Wrong(std::string name, int64_t step, uint32_t memory_id) : name_(std::move(name)), step_(step), memory_id_(memory_id) {}
  std::string name() const override { return name_; }
  Status plan(std::span<MemoryBlock> blocks, std::span<const MemoryLayer>) const override {
    int64_t at = 0;
    for (MemoryBlock& b : blocks) {
      b.memory_id = memory_id_;
      b.offset = at;
      at += step_ < 0 ? b.bytes - step_ : step_;
    }
    return {};
  }
  std::string name_;
  int64_t step_;
  uint32_t memory_id_;
};

struct GivesUp : MemoryPlanner {
  std::string name() const override { return "gives_up"; }
  Status plan(std::span<MemoryBlock>, std::span<const MemoryLayer>) const override { return model_error("no idea where to put them"); }
};

}  // namespace

extern "C" EDGEC_API void edgec_register_extensions(edgec::Extensions& extensions) {
  extensions.add(std::make_shared<Stack>());
  extensions.add(std::make_shared<Wrong>("all_at_zero", 0, 1));
  extensions.add(std::make_shared<Wrong>("unaligned", -1, 1));
  extensions.add(std::make_shared<Wrong>("no_such_memory", 0, 7));
  extensions.add(std::make_shared<GivesUp>());
}
