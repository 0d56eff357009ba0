#pragma once
#include <optional>
#include <string_view>

#include "memory/problem.h"

namespace edgec::memory {

// How much a planner had to do, and how good the result is known to be.
struct Effort {
  int64_t steps = 0;    // of exact search
  int64_t bound = 0;    // units: no arrangement is known to be possible below
  bool proven = false;  // the bound is reached, or nothing between it and the result exists
};

// A planner that arranges one memory; how blocks are dealt to several is the same for all (layers.cpp).
class ArrangingPlanner : public MemoryPlanner {
 public:
  Status plan(std::span<MemoryBlock> blocks, std::span<const MemoryLayer> layers) const override;
  // An arrangement of all items. One that is no higher than `enough` need not be improved.
  virtual Arrangement arrange(const Problem& problem, int64_t enough) const = 0;
};

// One item after the other, nothing shared.
class NaivePlanner : public ArrangingPlanner {
 public:
  std::string name() const override { return "naive"; }
  Arrangement arrange(const Problem& problem, int64_t enough) const override;
};

// What ExecuTorch's exporter does (exir/memory_planning.py, `greedy`), for comparison: largest first, into buckets that are as large as
// their first item.
class GreedyPlanner : public ArrangingPlanner {
 public:
  std::string name() const override { return "greedy"; }
  Arrangement arrange(const Problem& problem, int64_t enough) const override;
};

// Several cheap orders; when none reaches the lower bound, `greedy` and a search. Never above `greedy`.
class BestPlanner : public ArrangingPlanner {
 public:
  explicit BestPlanner(int64_t steps = kCompileSteps) : steps_(steps) {}
  std::string name() const override { return "best"; }
  Arrangement arrange(const Problem& problem, int64_t enough) const override;
  Arrangement arrange(const Problem& problem, int64_t enough, Effort& effort) const;

  static constexpr int64_t kCompileSteps = 2'000'000;  // some 7 ms

 private:
  int64_t steps_;
};

// A planner of ours, or null.
const MemoryPlanner* built_in_planner(std::string_view name);

}  // namespace edgec::memory
