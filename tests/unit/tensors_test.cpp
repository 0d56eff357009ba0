#include <gtest/gtest.h>

#include <edgec/op.h>

#include "emit/tensors.h"
#include "memory/plan.h"
#include "ops/table.h"

namespace edgec::emit {
namespace {

// By name: the value whose tensor stands for it.
std::map<std::string, std::string> tensors(std::string_view text) {
  ops::register_all();
  auto p = parse_program(text);
  EXPECT_TRUE(p) << p.failure().message;
  std::map<std::string, std::string> out;
  if (!p || !memory::plan(**p)) return out;
  const Graph& g = *(*p)->methods[0]->graph;
  const auto all = tensors_of(g, memory::Storage(g), std::vector<bool>(g.value_count()));
  for (uint32_t i = 0; i < all.size(); ++i) out[g.value(ValueId(i)).name] = g.value(all[i]).name;
  return out;
}

TEST(Tensors, ResultsOverTheirOperandsAreTheSame) {
  auto t = tensors(
      "stage exec method @forward(%x: f32[8] = input \"x\") {\n"
      "  %a = aten.relu(%x) : f32[8] in %x+0 %b = aten.neg(%a) : f32[8] in %a+0 %c = aten.neg(%b) : f32[8] return %c }\n");
  EXPECT_EQ(t["a"], "x");
  EXPECT_EQ(t["b"], "x");
  EXPECT_EQ(t["c"], "c");
}

// The second view shows what was written over the first one's operand, under another name.
TEST(Tensors, AViewIsTheSameWhileTheContentIs) {
  auto t = tensors(
      "stage exec method @forward(%x: f32[8] = input \"x\") {\n"
      "  %v = aten.view(%x, [2, 4]) : f32[2, 4] %w = aten.view(%v, [8]) : f32[8]\n"
      "  %a = aten.relu(%v) : f32[2, 4] in %v+0 %u = aten.view(%a, [8]) : f32[8] %y = aten.sum.dim_IntList(%w, [0]) : f32[]\n"
      "  %z = aten.sum.dim_IntList(%u, [0]) : f32[] return %y, %z }\n");
  EXPECT_EQ(t["w"], "x");
  EXPECT_EQ(t["a"], "v");
  EXPECT_EQ(t["u"], "u");
}

// Given back at the end, an input's memory is the input's tensor with what has been written to it.
TEST(Tensors, AnOutputInAnInputIsTheInput) {
  auto t = tensors(
      "stage exec method @forward(%x: f32[2, 4] = input \"x\") {\n"
      "  %a = aten.slice.Tensor(%x, 0, 0, 1) : f32[1, 4] in %x+0 %b = aten.slice.Tensor(%x, 0, 1, 2) : f32[1, 4] in %x+16\n"
      "  %c = aten.relu(%a) : f32[1, 4] in %a+0 %d = aten.neg(%b) : f32[1, 4] in %b+0\n"
      "  %y = aten.cat([%c, %d]) : f32[2, 4] in %x+0 return %y }\n");
  EXPECT_EQ(t["c"], "a");
  EXPECT_EQ(t["d"], "b");
  EXPECT_EQ(t["y"], "x");
}

TEST(Tensors, APartOfWhatIsWrittenOverAnInputIsNotTheInput) {
  auto t = tensors(
      "stage exec method @forward(%x: f32[1, 4] in %c+0 = input \"x\", %w: f32[2, 4] = input \"w\") {\n"
      "  %a = aten.relu(%x) : f32[1, 4] %c = aten.neg(%w) : f32[2, 4]\n"
      "  %y = aten.slice.Tensor(%c, 0, 0, 1) : f32[1, 4] in %c+0 return %a, %c, %y }\n");
  EXPECT_EQ(t["y"], "y");
}

TEST(Tensors, WhatABranchPutsTogetherOfPartsIsNotWhatWasThereBefore) {
  auto t = tensors(
      "stage exec method @forward(%x: f32[2, 4] in %y+0 = input \"x\", %w: f32[1, 4] = input \"w\", %p: bool[] = input \"p\") {\n"
      "  %y = prim.alloc() : f32[2, 4] prim.branch(%p) %v = aten.neg(%x) : f32[2, 4] in %y+0 prim.assign(%y, %v) prim.otherwise()\n"
      "  %a = aten.relu(%w) : f32[1, 4] in %y+0 %b = aten.neg(%w) : f32[1, 4] in %y+16\n"
      "  %c = aten.cat([%a, %b]) : f32[2, 4] in %y+0 prim.assign(%y, %c) prim.join([%y]) return %y }\n");
  EXPECT_EQ(t["y"], "y");
}

TEST(Tensors, WhatBothSidesOfABranchGiveIsOne) {
  auto t = tensors(
      "stage exec method @forward(%x: f32[8] = input \"x\", %p: bool[] = input \"p\") {\n"
      "  %y = prim.alloc() : f32[8] prim.branch(%p) %u = aten.relu(%x) : f32[8] in %y+0 prim.assign(%y, %u) prim.otherwise()\n"
      "  %v = aten.neg(%x) : f32[8] in %y+0 prim.assign(%y, %v) prim.join([%y]) return %y }\n");
  EXPECT_EQ(t["u"], "y");
  EXPECT_EQ(t["v"], "y");
}

TEST(Tensors, OtherTypesAndDynamicSizesStayApart) {
  auto t = tensors(
      "stage exec method @forward(%x: f32[8] = input \"x\", %d: f32[s0] = input \"d\") where s0 in 1..8 {\n"
      "  %a = aten.relu(%d) : f32[s0] in %d+0 %b = aten.gt.Scalar(%x, 0) : bool[8] in %x+0 return %a, %b }\n");
  EXPECT_EQ(t["a"], "a");
  EXPECT_EQ(t["b"], "b");
}

}  // namespace
}  // namespace edgec::emit
