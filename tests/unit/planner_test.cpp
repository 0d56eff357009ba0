#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <numeric>
#include <random>

#include "memory/check_plan.h"
#include "memory/instance.h"
#include "memory/layers.h"
#include "memory/planners.h"
#include "memory/search.h"

namespace edgec::memory {
namespace {

using Blocks = std::vector<MemoryBlock>;
const MemoryLayer kOne{1, "", -1, 1, 1};

Blocks random_blocks(std::mt19937& random, size_t n, uint32_t times, int64_t largest) {
  const auto below = [&](uint32_t k) { return static_cast<uint32_t>(random() % k); };
  Blocks out;
  for (size_t i = 0; i < n; ++i) {
    MemoryBlock b;
    b.name = "b" + std::to_string(i);
    b.bytes = below(static_cast<uint32_t>(largest + 1));
    b.first = below(times);
    b.last = std::min(times - 1, b.first + below(below(4) ? 4 : times));
    b.accesses = below(1000);
    out.push_back(b);
  }
  return out;
}

bool overlap_in_time(const MemoryBlock& a, const MemoryBlock& b) { return a.first <= b.last && b.first <= a.last; }

// The plainest check there is.
bool is_right(const Blocks& blocks, std::span<const MemoryLayer> layers) {
  for (const MemoryBlock& b : blocks) {
    const auto layer = std::find_if(layers.begin(), layers.end(), [&](const auto& l) { return l.id == b.memory_id; });
    if (layer == layers.end() || b.offset < 0 || b.offset % layer->alignment) return false;
    if (layer->capacity >= 0 && b.offset + b.bytes > layer->capacity) return false;
    for (const MemoryBlock& o : blocks)
      if (&o != &b && o.memory_id == b.memory_id && o.bytes > 0 && b.bytes > 0 && overlap_in_time(b, o) && o.offset < b.offset + b.bytes &&
          b.offset < o.offset + o.bytes)
        return false;
  }
  return true;
}

int64_t height(const Blocks& blocks) {
  int64_t out = 0;
  for (const MemoryBlock& b : blocks) out = std::max(out, b.offset + b.bytes);
  return out;
}

// The least height: every arrangement can be pushed down to one that some order gives, each block as low as it can lie.
int64_t least_height(Blocks blocks) {
  std::vector<size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  int64_t best = INT64_MAX;
  do {
    int64_t top = 0;
    for (size_t k = 0; k < order.size(); ++k) {
      MemoryBlock& b = blocks[order[k]];
      b.offset = 0;
      for (bool moved = true; moved;) {
        moved = false;
        for (size_t o = 0; o < k; ++o) {
          const MemoryBlock& p = blocks[order[o]];
          if (!overlap_in_time(b, p) || p.offset >= b.offset + b.bytes || b.offset >= p.offset + p.bytes) continue;
          b.offset = p.offset + p.bytes;
          moved = true;
        }
      }
      top = std::max(top, b.offset + b.bytes);
    }
    best = std::min(best, top);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

Blocks planned(const MemoryPlanner& planner, Blocks blocks, const MemoryLayer& layer = kOne) {
  const Status ok = planner.plan(blocks, std::span(&layer, 1));
  EXPECT_TRUE(ok) << ok.failure().message;
  return blocks;
}

TEST(Planners, TenThousandRandomSetsAreRightAndSmallOnesAreOptimal) {
  std::mt19937 random(1);
  for (int round = 0; round < 10'000; ++round) {
    const bool small = round % 4 != 0;
    const size_t n = 1 + random() % (small ? 6 : 40);
    const Blocks blocks = random_blocks(random, n, small ? 6 : 25, small ? 9 : 1000);
    const MemoryLayer layer{1, "", -1, int64_t{1} << random() % 5, 1};
    for (const char* name : {"naive", "greedy", "best"}) {
      const Blocks got = planned(*built_in_planner(name), blocks, small ? kOne : layer);
      ASSERT_TRUE(is_right(got, std::span(small ? &kOne : &layer, 1))) << name << ", round " << round;
      ASSERT_TRUE(check_plan(got, std::span(small ? &kOne : &layer, 1)));
    }
    if (!small) continue;
    ASSERT_EQ(height(planned(BestPlanner(), blocks)), least_height(blocks)) << "round " << round;
  }
}

TEST(Planners, BestIsNeverAboveGreedy) {
  std::mt19937 random(2);
  for (int round = 0; round < 300; ++round) {
    const Blocks blocks = random_blocks(random, 5 + random() % 120, 10 + static_cast<uint32_t>(random() % 60), 5000);
    const int64_t greedy = height(planned(GreedyPlanner(), blocks));
    ASSERT_LE(height(planned(BestPlanner(200'000), blocks)), greedy) << "round " << round;
    ASSERT_LE(height(planned(BestPlanner(0), blocks)), greedy) << "round " << round;
  }
}

TEST(Planners, AreDeterministic) {
  std::mt19937 random(3);
  const Blocks blocks = random_blocks(random, 200, 80, 3000);
  const Blocks a = planned(BestPlanner(), blocks), b = planned(BestPlanner(), blocks);
  for (size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].offset, b[i].offset);
}

TEST(Planners, NothingAndNothingButEmptyBlocks) {
  for (const char* name : {"naive", "greedy", "best"}) {
    EXPECT_TRUE(planned(*built_in_planner(name), {}).empty());
    Blocks empty(3);
    EXPECT_EQ(height(planned(*built_in_planner(name), empty)), 0);
  }
}

// At every moment as much dies as is born: there is no room left at any time, though what dies need not lie together.
Blocks full_blocks(std::mt19937& random, int64_t height, uint32_t times) {
  Blocks out;
  std::vector<size_t> alive;
  int64_t room = height;
  for (uint32_t now = 0; now < times; ++now) {
    std::erase_if(alive, [&](size_t k) {
      if (random() % 3) return false;
      out[k].last = now - 1;
      room += out[k].bytes;
      return true;
    });
    while (room > 0) {
      const auto bytes = 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(std::min<int64_t>(room, 4)));
      alive.push_back(out.size());
      out.push_back({"b" + std::to_string(out.size()), bytes, now, times - 1, 0, 1, -1});
      room -= bytes;
    }
  }
  return out;
}

// Whether blocks, the earliest first, fit: every offset of every block is tried.
bool fits(Blocks& blocks, size_t k, int64_t capacity) {
  if (k == blocks.size()) return true;
  MemoryBlock& b = blocks[k];
  for (b.offset = 0; b.offset + b.bytes <= capacity; ++b.offset) {
    const bool free = std::none_of(blocks.begin(), blocks.begin() + static_cast<std::ptrdiff_t>(k), [&](const MemoryBlock& o) {
      return overlap_in_time(b, o) && o.offset < b.offset + b.bytes && b.offset < o.offset + o.bytes;
    });
    if (free && fits(blocks, k + 1, capacity)) return true;
  }
  return false;
}

// Sets whose bound is out of reach are rare; the search finds them, and trying everything agrees.
TEST(Search, SaysWhenACapacityIsImpossible) {
  std::mt19937 random(4);
  int impossible = 0;
  for (int round = 0; round < 2'000; ++round) {
    Blocks blocks = full_blocks(random, 8, 12);
    const Problem problem = Problem::of(blocks, 1);
    int64_t capacity = problem.max_live(), steps = 200'000'000;
    Search search(problem);
    Arrangement found;
    for (Verdict verdict; (verdict = search.run(capacity, steps, found)) != Verdict::Found; ++capacity, ++impossible) {
      ASSERT_EQ(verdict, Verdict::Impossible) << "round " << round << ", capacity " << capacity << ", steps left " << steps;
      ASSERT_FALSE(fits(blocks, 0, capacity)) << "round " << round;
    }
    if (capacity > problem.max_live()) {
      ASSERT_EQ(height(planned(BestPlanner(), blocks)), capacity) << "round " << round;
    }
    ASSERT_EQ(found.offsets.size(), problem.items.size()) << "round " << round;
    for (MemoryBlock& b : blocks) b.offset = 0;
    for (size_t i = 0; i < problem.items.size(); ++i) blocks[problem.items[i].block].offset = found.offsets[i];
    const MemoryLayer layer{1, "", capacity, 1, 1};
    ASSERT_TRUE(is_right(blocks, std::span(&layer, 1))) << "round " << round;
  }
  EXPECT_GT(impossible, 10);
}

std::string text_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// MiniMalloc's public ones.
TEST(Search, SolvesHardInstances) {
  for (const char* name : {"A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K"}) {
    const auto instance = parse_instance(text_of(std::string(EDGEC_TESTS_DIR "/data/minimalloc/") + name + ".1048576.csv"), name);
    ASSERT_TRUE(instance) << instance.failure().message;
    const Problem problem = Problem::of(instance->blocks, 1024);
    int64_t steps = 500'000'000;
    Arrangement found;
    ASSERT_EQ(Search(problem).run(1024, steps, found), Verdict::Found) << name;
    Blocks blocks = instance->blocks;
    for (size_t i = 0; i < problem.items.size(); ++i) blocks[problem.items[i].block].offset = found.offsets[i] * 1024;
    const MemoryLayer layer{1, "", 1048576, 1024, 1};
    EXPECT_TRUE(is_right(blocks, std::span(&layer, 1)));
  }
}

TEST(CheckPlan, AgreesWithThePlainestCheck) {
  std::mt19937 random(5);
  int right = 0;
  const std::vector<MemoryLayer> layers = {{1, "", 40, 4, 1}, {3, "", -1, 1, 2}};
  for (int round = 0; round < 20'000; ++round) {
    Blocks blocks = random_blocks(random, 1 + random() % 5, 6, 6);
    for (MemoryBlock& b : blocks) {
      b.memory_id = random() % 20 == 0 ? 2 : random() % 2 ? 1 : 3;
      b.offset = static_cast<int64_t>(random() % 12) * (random() % 9 ? 4 : 1) - (random() % 40 == 0);
    }
    ASSERT_EQ(bool(check_plan(blocks, layers)), is_right(blocks, layers)) << "round " << round;
    right += is_right(blocks, layers);
  }
  EXPECT_GT(right, 1000);
}

TEST(CheckPlan, NamesBothTensors) {
  Blocks blocks(2);
  blocks[0] = {"a", 8, 0, 4, 0, 1, 0};
  blocks[1] = {"b", 8, 4, 5, 0, 1, 4};
  const Status wrong = check_plan(blocks, std::span(&kOne, 1));
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.failure().message.find("%a"), std::string::npos);
  EXPECT_NE(wrong.failure().message.find("%b"), std::string::npos);
}

TEST(Layers, HotBlocksGoToFastMemoryAndTheRestToTheNext) {
  Blocks blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back({"t" + std::to_string(i), 64, 0, 9, 64 * (i + 1), 1, -1});
  const std::vector<MemoryLayer> layers = {{1, "dram", -1, 16, 10}, {2, "sram", 128, 16, 1}};
  ASSERT_TRUE(BestPlanner().plan(blocks, layers));
  EXPECT_TRUE(is_right(blocks, layers));
  EXPECT_EQ(blocks[0].memory_id, 1u);
  EXPECT_EQ(blocks[1].memory_id, 1u);
  EXPECT_EQ(blocks[2].memory_id, 2u);
  EXPECT_EQ(blocks[3].memory_id, 2u);
}

TEST(Layers, RandomSetsStayWithinCapacities) {
  std::mt19937 random(6);
  for (int round = 0; round < 500; ++round) {
    Blocks blocks = random_blocks(random, 1 + random() % 60, 30, 400);
    const std::vector<MemoryLayer> layers = {
        {1, "", static_cast<int64_t>(random() % 1000), 16, 1}, {2, "", 4000, 64, 2}, {5, "", -1, 16, 3}};
    for (const char* name : {"naive", "greedy", "best"}) {
      ASSERT_TRUE(built_in_planner(name)->plan(blocks, layers));
      ASSERT_TRUE(is_right(blocks, layers)) << name << ", round " << round;
    }
  }
}

TEST(Layers, NamesWhatFitsNowhere) {
  Blocks blocks = {{"big", 5000, 0, 1, 1, 1, -1}, {"small", 10, 0, 1, 1, 1, -1}};
  const std::vector<MemoryLayer> layers = {{1, "sram", 100, 16, 1}, {2, "dram", 4000, 16, 2}};
  const Status no = BestPlanner().plan(blocks, layers);
  ASSERT_FALSE(no);
  EXPECT_NE(no.failure().message.find("%big (5000 bytes)"), std::string::npos) << no.failure().message;
  EXPECT_EQ(no.failure().message.find("%small"), std::string::npos);
  EXPECT_NE(no.failure().message.find("sram"), std::string::npos);
}

TEST(Layers, AreReadFromJson) {
  const auto layers =
      parse_memory_layers(R"([{"id": 1, "name": "sram", "capacity": 65536, "alignment": 64, "cost": 1.5}, {"id": 3}])", "l");
  ASSERT_TRUE(layers);
  EXPECT_EQ((*layers)[0].capacity, 65536);
  EXPECT_EQ((*layers)[0].alignment, 64);
  EXPECT_EQ((*layers)[1].id, 3u);
  EXPECT_EQ((*layers)[1].capacity, -1);
}

TEST(Layers, HostileJsonIsRefused) {
  for (const char* json :
       {"", "{}", "[]", "[1]", "[{}]", R"([{"id": 0}])", R"([{"id": 256}])", R"([{"id": 1}, {"id": 1}])", R"([{"id": 1, "capacity": -5}])",
        R"([{"id": 1, "alignment": 3}])", R"([{"id": 1, "alignment": 0}])", R"([{"id": 1, "alignment": 4611686018427387904}])",
        R"([{"id": 1, "capacity": 1e30}])", R"([{"id": 1, "name": 7}])", R"([{"id": 1, "colour": 7}])", R"([{"id": "1"}])"}) {
    const auto layers = parse_memory_layers(json, "layers.json");
    ASSERT_FALSE(layers) << json;
    EXPECT_EQ(layers.failure().kind, ErrorKind::Input) << json;
  }
}

TEST(Instances, ColumnsComeInAnyOrder) {
  const auto i = parse_instance("size, id ,upper,lower,note\r\n4,a,3,0,x\r\n\n5,b,1000000000000,3,y", "i");
  ASSERT_TRUE(i) << i.failure().message;
  ASSERT_EQ(i->blocks.size(), 2u);
  EXPECT_EQ(i->blocks[0].bytes, 4);
  EXPECT_LT(i->blocks[0].last, i->blocks[1].first);
  EXPECT_EQ(solution_csv(*i), "id,lower,upper,size,offset\na,0,3,4,-1\nb,3,1000000000000,5,-1\n");
}

TEST(Instances, HostileCsvIsRefused) {
  for (const char* csv :
       {"", "id,lower,upper\n", "id,id,lower,upper,size\n", "id,lower,upper,size\na,0,1\n", "id,lower,upper,size\na,0,1,2,3\n",
        "id,lower,upper,size\na,1,1,2\n", "id,lower,upper,size\na,3,1,2\n", "id,lower,upper,size\na,0,1,-2\n",
        "id,lower,upper,size\na,0,1,x\n", "id,lower,upper,size\na,0,1,99999999999999999999\n", "id,lower,upper,size\na,,1,2\n",
        "id,lower,upper,size\na,0,1,1152921504606846976\nb,0,1,1\n"}) {
    const auto i = parse_instance(csv, "i.csv");
    ASSERT_FALSE(i) << csv;
    EXPECT_EQ(i.failure().kind, ErrorKind::Input) << csv;
    EXPECT_NE(i.failure().message.find("line"), std::string::npos) << i.failure().message;
  }
}

}  // namespace
}  // namespace edgec::memory
