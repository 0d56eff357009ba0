#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "memory/check_plan.h"
#include "memory/parts.h"
#include "memory/planners.h"
#include "memory/search.h"

// Blocks that are in use only in part, or not all the time.
namespace edgec::memory {
namespace {

using Blocks = std::vector<MemoryBlock>;
const MemoryLayer kOne{1, "", -1, 1, 1};

uint32_t below(std::mt19937& random, uint32_t k) { return static_cast<uint32_t>(random() % k); }

std::vector<MemoryPart> random_parts(std::mt19937& random, size_t n, uint32_t times, uint32_t bytes) {
  std::vector<MemoryPart> out;
  for (size_t i = 0; i < n; ++i) {
    const uint32_t offset = below(random, bytes), first = below(random, times);
    out.push_back({offset, 1 + below(random, bytes - offset), first, first + below(random, times - first)});
  }
  return out;
}

Blocks random_blocks(std::mt19937& random, size_t n, uint32_t times, uint32_t largest) {
  Blocks out;
  for (size_t i = 0; i < n; ++i) {
    MemoryBlock b;
    b.name = "b" + std::to_string(i);
    b.first = times;
    b.parts = disjoint(random_parts(random, 1 + below(random, 4), times, largest));
    for (const MemoryPart& p : b.parts) {
      b.bytes = std::max(b.bytes, p.offset + p.bytes);
      b.first = std::min(b.first, p.first);
      b.last = std::max(b.last, p.last);
    }
    if (below(random, 3) == 0) b.parts.clear();
    out.push_back(b);
  }
  return out;
}

// Every byte at every time has one owner at most.
bool is_right(const Blocks& blocks, uint32_t times) {
  std::vector<std::vector<bool>> taken(times);
  for (const MemoryBlock& b : blocks) {
    if (b.offset < 0) return false;
    for (const MemoryPart& p : parts_of(b))
      for (uint32_t t = p.first; t <= p.last; ++t)
        for (int64_t at = b.offset + p.offset; at < b.offset + p.offset + p.bytes; ++at) {
          const auto byte = static_cast<size_t>(at);
          if (taken[t].size() <= byte) taken[t].resize(byte + 1);
          if (taken[t][byte]) return false;
          taken[t][byte] = true;
        }
  }
  return true;
}

int64_t height(const Blocks& blocks) {
  int64_t out = 0;
  for (const MemoryBlock& b : blocks) out = std::max(out, b.offset + b.bytes);
  return out;
}

// Whether blocks from the k-th on fit: every offset of every block is tried. Bytes of a time are the bits of a number.
using Picture = std::vector<uint64_t>;
bool fits(const std::vector<std::pair<int64_t, Picture>>& blocks, size_t k, int64_t capacity, const Picture& taken) {
  if (k == blocks.size()) return true;
  const auto& [bytes, own] = blocks[k];
  for (int64_t offset = 0; offset + bytes <= capacity; ++offset) {
    Picture both = taken;
    bool free = true;
    for (size_t t = 0; t < own.size() && free; ++t) {
      free = !(both[t] & (own[t] << offset));
      both[t] |= own[t] << offset;
    }
    if (free && fits(blocks, k + 1, capacity, both)) return true;
  }
  return false;
}

bool fits(const Blocks& blocks, int64_t capacity, uint32_t times) {
  std::vector<std::pair<int64_t, Picture>> pictures;
  for (const MemoryBlock& b : blocks) {
    Picture own(times);
    for (const MemoryPart& p : parts_of(b))
      for (uint32_t t = p.first; t <= p.last; ++t) own[t] |= ((uint64_t{1} << p.bytes) - 1) << p.offset;
    pictures.emplace_back(b.bytes, own);
  }
  return fits(pictures, 0, capacity, Picture(times));
}

Blocks planned(const MemoryPlanner& planner, Blocks blocks) {
  const Status ok = planner.plan(blocks, std::span(&kOne, 1));
  EXPECT_TRUE(ok) << ok.failure().message;
  return blocks;
}

TEST(Parts, DisjointOnesAreTheSameBytesAtTheSameTimes) {
  std::mt19937 random(1);
  constexpr uint32_t kTimes = 9, kBytes = 7;
  for (int round = 0; round < 5'000; ++round) {
    const std::vector<MemoryPart> parts = random_parts(random, below(random, 7), kTimes, kBytes);
    int want[kTimes][kBytes] = {}, got[kTimes][kBytes] = {};
    const auto paint = [](auto& picture, const MemoryPart& p) {
      for (uint32_t t = p.first; t <= p.last; ++t)
        for (int64_t b = p.offset; b < p.offset + p.bytes; ++b) ++picture[t][b];
    };
    for (const MemoryPart& p : parts) paint(want, p);
    for (const MemoryPart& p : disjoint(parts)) paint(got, p);
    for (uint32_t t = 0; t < kTimes; ++t)
      for (uint32_t b = 0; b < kBytes; ++b) ASSERT_EQ(got[t][b], want[t][b] > 0) << "round " << round;
  }
}

TEST(Holes, TenThousandRandomSetsAreRightAndSmallOnesAreOptimal) {
  std::mt19937 random(2);
  int used = 0;
  for (int round = 0; round < 10'000; ++round) {
    const bool small = round % 4 != 0;
    const uint32_t times = small ? 5 : 25;
    const Blocks blocks = random_blocks(random, 1 + below(random, small ? 5 : 30), times, small ? 4 : 60);
    const auto check = [&](const MemoryPlanner& planner) {
      const Blocks got = planned(planner, blocks);
      EXPECT_TRUE(is_right(got, times)) << planner.name() << ", round " << round;
      EXPECT_TRUE(check_plan(got, std::span(&kOne, 1))) << planner.name() << ", round " << round;
      return height(got);
    };
    const int64_t naive = check(NaivePlanner()), greedy = check(GreedyPlanner());
    const int64_t best = check(small ? BestPlanner() : BestPlanner(10'000));
    ASSERT_LE(greedy, naive) << "round " << round;
    ASSERT_LE(best, greedy) << "round " << round;
    ASSERT_GE(best, Problem::of(blocks, 1).max_live()) << "round " << round;
    used += best < Problem::of(blocks, 1).filled().max_live();
    if (small) {
      ASSERT_FALSE(fits(blocks, best - 1, times)) << "round " << round;
    }
  }
  EXPECT_GT(used, 1000);
}

TEST(Holes, LayersStayWithinCapacities) {
  std::mt19937 random(3);
  const std::vector<MemoryLayer> layers = {{1, "", 100, 4, 1}, {2, "", 300, 16, 2}, {3, "", -1, 1, 3}};
  for (int round = 0; round < 60; ++round) {
    Blocks blocks = random_blocks(random, 1 + below(random, 30), 20, 60);
    for (const char* name : {"naive", "greedy", "best"}) {
      ASSERT_TRUE(built_in_planner(name)->plan(blocks, layers));
      ASSERT_TRUE(check_plan(blocks, layers)) << name << ", round " << round;
    }
  }
}

TEST(Holes, ThePlanCheckAgreesWithThePlainestOne) {
  std::mt19937 random(4);
  int right = 0;
  for (int round = 0; round < 10'000; ++round) {
    Blocks blocks = random_blocks(random, 2 + below(random, 3), 6, 5);
    for (MemoryBlock& b : blocks) b.offset = below(random, 10);
    ASSERT_EQ(bool(check_plan(blocks, std::span(&kOne, 1))), is_right(blocks, 6)) << "round " << round;
    right += is_right(blocks, 6);
  }
  EXPECT_GT(right, 500);
}

// One lies between two parts of the other: no order from low to high gives it.
TEST(Holes, OneLiesInTheOther) {
  Blocks blocks(2);
  blocks[0].name = "around", blocks[0].bytes = 3, blocks[0].first = 0, blocks[0].last = 2;
  blocks[0].parts = {{0, 1, 0, 0}, {2, 1, 2, 2}};
  blocks[1].name = "between", blocks[1].bytes = 2, blocks[1].first = 0, blocks[1].last = 2;
  blocks[1].parts = {{0, 1, 1, 2}, {0, 2, 0, 0}};
  const Blocks got = planned(BestPlanner(), blocks);
  EXPECT_TRUE(is_right(got, 3));
  EXPECT_EQ(height(got), 3);
  Arrangement found;
  int64_t steps = 1000;
  EXPECT_EQ(search_everything(Problem::of(blocks, 1), 3, steps, found), Verdict::Found);
  EXPECT_EQ(search_everything(Problem::of(blocks, 1), 2, steps, found), Verdict::Impossible);
}

}  // namespace
}  // namespace edgec::memory
