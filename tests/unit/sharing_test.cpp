#include <gtest/gtest.h>

#include <array>
#include <random>

#include <edgec/op.h>

#include "memory/sharing.h"
#include "memory/timeline.h"
#include "ops/table.h"

namespace edgec::memory {
namespace {

std::unique_ptr<Program> parsed(std::string_view text) {
  ops::register_all();
  auto p = parse_program(text);
  EXPECT_TRUE(p) << p.failure().message;
  return std::move(*p);
}

ValueId named(const Graph& g, std::string_view name) {
  for (uint32_t i = 0; i < g.value_count(); ++i)
    if (g.value(ValueId(i)).name == name) return ValueId(i);
  ADD_FAILURE() << "no value " << name;
  return {};
}

TEST(Timeline, GivesTheMostOfAnyStretch) {
  std::mt19937 random(1);
  constexpr uint32_t kSize = 37;
  Timeline t(kSize);
  std::vector<int64_t> plain(kSize);
  for (int i = 0; i < 500; ++i) {
    const uint32_t a = random() % kSize, b = random() % kSize, first = std::min(a, b), last = std::max(a, b);
    const int64_t bytes = static_cast<int64_t>(random() % 201) - 100;
    t.add(first, last, bytes);
    for (uint32_t k = first; k <= last; ++k) plain[k] += bytes;
    const uint32_t c = random() % kSize, d = random() % kSize;
    EXPECT_EQ(t.most(std::min(c, d), std::max(c, d)),
              *std::max_element(plain.begin() + std::min(c, d), plain.begin() + std::max(c, d) + 1));
  }
}

TEST(Storage, FollowsViewsWritesAndAliases) {
  auto p = parsed(
      "stage exec\n"
      "method @forward(%k: f32[4] = buffer \"k\" mutated, %x: f32[2, 2] = input \"x\") {\n"
      "  %v = aten.view(%x, [4]) : f32[4]\n"
      "  %s = aten.slice.Tensor(%v, 0, 2, 4) : f32[2] in %v+8\n"
      "  %t = aten.slice.Tensor(%s, 0, 1, 2) : f32[1] in %s+4\n"
      "  %c = aten.copy_(%k, %v) : f32[4]\n"
      "  return %t\n"
      "}\n");
  const Graph& g = *p->methods[0]->graph;
  const Storage s(g);
  EXPECT_EQ(s.of(named(g, "t")), (Storage::Where{named(g, "x"), 12}));
  EXPECT_EQ(s.of(named(g, "c")), (Storage::Where{named(g, "k"), 0}));
  EXPECT_EQ(window_offset(g, g.value(named(g, "s")).def), 8);
}

TEST(Storage, AliasesInEachOtherEnd) {  // text is untrusted
  auto p = parsed(
      "stage exec\n"
      "method @forward(%x: f32[4] = input \"x\") {\n"
      "  %a = aten.relu(%x) : f32[4] in %b+0\n"
      "  %b = aten.relu(%a) : f32[4] in %a+0\n"
      "  return %b\n"
      "}\n");
  const Graph& g = *p->methods[0]->graph;
  const Storage s(g);
  EXPECT_EQ(s.of(named(g, "a")).root, s.of(named(g, "b")).root);
}

TEST(Liveness, BranchesAndLoops) {
  auto p = parsed(
      "stage exec\n"
      "method @forward(%x: f32[4] = input \"x\", %r: f32[4] = input \"r\", %p: bool[] = input \"p\") {\n"
      "  %y = prim.alloc() : f32[4]\n"             // 1
      "  prim.branch(%p)\n"                        // 2
      "  %u = aten.relu(%x) : f32[4]\n"            // 3
      "  prim.assign(%y, %u)\n"                    // 4
      "  prim.otherwise()\n"                       // 5
      "  %v = aten.neg(%r) : f32[4]\n"             // 6
      "  prim.assign(%y, %v)\n"                    // 7
      "  prim.join([%y])\n"                        // 8
      "  %c = prim.alloc() : f32[4]\n"             // 9
      "  prim.assign(%c, %y)\n"                    // 10
      "  prim.loop([%c])\n"                        // 11
      "  %w = aten.add.Tensor(%c, %x) : f32[4]\n"  // 12
      "  %z = aten.neg(%w) : f32[4]\n"             // 13
      "  prim.assign(%c, %w)\n"                    // 14
      "  prim.repeat_until(%p, [%c])\n"            // 15
      "  return %c\n"
      "}\n");
  const Method& m = *p->methods[0];
  const Liveness live(m);
  const auto spans = [&](std::string_view name) {
    const Spans s = live.spans(named(*m.graph, name));
    return std::vector<Span>(s.begin(), s.end());
  };
  const auto span = [&](std::string_view name) { return std::pair(spans(name).front().first, spans(name).back().last); };
  EXPECT_EQ(spans("y"), (std::vector<Span>{{4, 5}, {7, 10}}));  // dead on the other side until it is assigned there
  EXPECT_EQ(span("u"), std::pair(3u, 4u));
  EXPECT_EQ(span("v"), std::pair(6u, 7u));
  EXPECT_EQ(spans("r"), (std::vector<Span>{{0, 2}, {6, 6}}));      // this side does not read it
  EXPECT_EQ(span("x"), std::pair(0u, 15u));                        // made before the loop: needed by the next turn
  EXPECT_EQ(spans("c"), (std::vector<Span>{{10, 12}, {14, 16}}));  // dead between its last read and the assignment
  EXPECT_EQ(spans("w"), (std::vector<Span>{{12, 14}}));
}

TEST(Sharing, RefusesWhatIsReadLaterAndWhatTheCallerOwns) {
  const char* text =
      "stage exec\n"
      "method @forward(%x: f32[4] = input \"x\") {\n"
      "  %a = aten.relu(%x) : f32[4]\n"
      "  %b = aten.neg(%a) : f32[4]\n"
      "  %c = aten.add.Tensor(%a, %b) : f32[4]\n"
      "  return %c\n"
      "}\n";
  auto p = parsed(text);
  Method& m = *p->methods[0];
  const Graph& g = *m.graph;
  const ValueId x = named(g, "x"), a = named(g, "a"), b = named(g, "b"), c = named(g, "c");
  Sharing all(m, {});
  EXPECT_FALSE(all.put(b, a, 0, Relation::Apart));  // %a is read by the add
  EXPECT_TRUE(all.put(c, b, 0, Relation::Apart));
  EXPECT_FALSE(all.put(c, a, 0, Relation::Apart));  // then %b would lie there too
  EXPECT_TRUE(all.put(a, x, 0, Relation::Apart));
  p = parsed(text);
  Sharing none(*p->methods[0], {16, false, false});
  EXPECT_FALSE(none.put(a, x, 0, Relation::Apart));
  EXPECT_FALSE(none.put(c, b, 0, Relation::Apart));
}

TEST(Sharing, APartOfTwoWholesDoesNotMakeThemEqual) {
  auto p = parsed(
      "stage exec\n"
      "method @forward(%x: f32[2] = input \"x\", %z: f32[1] = input \"z\") {\n"
      "  %d = aten.neg(%x) : f32[2]\n"
      "  %m = aten.neg(%z) : f32[1]\n"
      "  %a = aten.slice.Tensor(%d, 0, 0, 1) : f32[1] in %d+0\n"
      "  %b = aten.slice.Tensor(%d, 0, 1, 2) : f32[1]\n"
      "  %c = aten.cat([%a, %m, %b]) : f32[3]\n"
      "  return %c\n"
      "}\n");
  const Graph& g = *p->methods[0]->graph;
  Sharing s(*p->methods[0], {});
  EXPECT_TRUE(s.put(named(g, "a"), named(g, "c"), 0, Relation::Equal));
  EXPECT_FALSE(s.put(named(g, "m"), named(g, "c"), 4, Relation::Equal));  // the second half of %d is there and is read later
}

constexpr const char* kConcat =
    "stage exec\n"
    "method @forward(%x: f32[100] = input \"x\", %z: f32[8] = input \"z\") {\n"
    "  %a = aten.relu(%z) : f32[8]\n"
    "  %b = aten.relu(%x) : f32[100]\n"
    "  %d = aten.mean(%b) : f32[]\n"
    "  %e = aten.expand(%d, [92]) : f32[92]\n"
    "  %f = aten.cat([%a, %e]) : f32[100]\n"
    "  %h = aten.expand(%d, [2]) : f32[2]\n"
    "  %i = aten.cat([%h, %a]) : f32[10]\n"
    "  return %f, %i\n"
    "}\n";

TEST(Sharing, RefusesWhatTakesMoreMemory) {
  auto p = parsed(kConcat);
  const Graph& g = *p->methods[0]->graph;
  Sharing s(*p->methods[0], {});
  EXPECT_FALSE(s.put(named(g, "a"), named(g, "i"), 8, Relation::Equal));  // 32 bytes in three units of 16, beside %x and %b
  EXPECT_TRUE(s.put(named(g, "e"), named(g, "f"), 32, Relation::Equal));
}

TEST(Sharing, TheRestOfAConcatenationIsFreeUntilItIsMade) {
  auto p = parsed(kConcat);
  const Graph& g = *p->methods[0]->graph;
  Sharing s(*p->methods[0], {});
  const int64_t before = s.most_live();
  EXPECT_TRUE(s.put(named(g, "a"), named(g, "f"), 0, Relation::Equal));
  EXPECT_EQ(s.most_live(), before);
}

TEST(Lifetimes, PartsSayWhatIsInUse) {
  auto p = parsed(
      "stage exec\n"
      "method @forward(%x: f32[8] = input \"x\", %z: f32[8] = input \"z\") {\n"
      "  %a = aten.relu(%z) : f32[8] in %f+0\n"
      "  %b = aten.relu(%x) : f32[8]\n"
      "  %e = aten.neg(%b) : f32[8] in %f+32\n"
      "  %f = aten.cat([%a, %e]) : f32[16]\n"
      "  return %f\n"
      "}\n");
  const auto blocks = lifetimes(*p->methods[0], {});
  ASSERT_TRUE(blocks);
  const auto f = std::find_if(blocks->begin(), blocks->end(), [](const Block& b) { return b.bytes == 64; });
  ASSERT_NE(f, blocks->end());
  ASSERT_EQ(f->parts.size(), 2u);
  const auto shown = [](const MemoryPart& m) { return std::array<int64_t, 4>{m.offset, m.bytes, m.first, m.last}; };
  EXPECT_EQ(shown(f->parts[0]), (std::array<int64_t, 4>{0, 32, 1, 2}));
  EXPECT_EQ(shown(f->parts[1]), (std::array<int64_t, 4>{0, 64, 3, 5}));
}

// What waits under the name of a view is live and not named.
TEST(Sharing, TellsWhatIsLiveWithoutAName) {
  auto p = parsed(
      "stage exec method @forward(%x: f32[8] = input \"x\", %w: f32[64, 8] = parameter \"w\", %u: f32[1, 64] = parameter \"u\") {\n"
      "  %a = aten.linear(%x, %w) : f32[64] %v = aten.view(%a, [8, 8]) : f32[8, 8]\n"
      "  %b = aten.linear(%x, %w) : f32[64] %c = aten.linear(%b, %u) : f32[1]\n"
      "  %d = aten.sum.dim_IntList(%v, [0, 1]) : f32[] return %c, %d }\n");
  const Sharing s(*p->methods[0], {});
  EXPECT_EQ(s.most_live(), 2 * 256 + 32);
  EXPECT_EQ(s.most_named(), 256 + 32);
  const auto missing = s.unnamed();
  const Graph& g = *p->methods[0]->graph;
  EXPECT_EQ(missing.at, g.value(named(g, "b")).def);
  EXPECT_EQ(missing.values, (std::vector<ValueId>{named(g, "v")}));
}

}  // namespace
}  // namespace edgec::memory
