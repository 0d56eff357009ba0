#include "emit/memory_use.h"
#include "emit/plan_check.h"

#include <gtest/gtest.h>

namespace edgec::pte {
namespace {

Tensor floats(int32_t count, uint64_t offset) {
  Tensor t;
  t.scalar_type = 6;
  t.sizes = {count};
  t.dim_order = {0};
  t.place = Place{1, offset};
  return t;
}

// A chain of calls f(value, value): each reads the value before and writes the next.
Plan chain(std::vector<Tensor> values) {
  Plan p;
  p.name = "forward";
  p.operators = {{"aten::relu", "out"}};
  for (Tensor& t : values) p.values.emplace_back(std::move(t));
  const auto n = static_cast<int32_t>(p.values.size());
  for (int32_t i = 1; i < n; ++i) p.instructions.push_back(KernelCall{0, {i - 1, i, i}});
  p.inputs = {0};
  p.outputs = {n - 1};
  p.buffer_sizes = {0, 1 << 20};
  return p;
}

TEST(MemoryUse, TwoNeighboursOfAChainLiveAtOnce) {
  EXPECT_EQ(max_live_bytes(chain({floats(4, 0), floats(8, 64), floats(2, 0)})), 16u + 32u);
}

TEST(MemoryUse, ResultOverItsOperandCountsOnce) { EXPECT_EQ(max_live_bytes(chain({floats(4, 0), floats(4, 0), floats(4, 0)})), 16u); }

TEST(MemoryUse, ViewsKeepTheBytesThatTheyShow) {
  Plan p = chain({floats(4, 0), floats(8, 64), floats(2, 128)});
  p.values.emplace_back(floats(2, 64));  // nothing writes it: the first half of value 1, read at the end
  p.outputs = {2, 3};
  EXPECT_EQ(max_live_bytes(p), 16u + 32u);
  p.values.emplace_back(floats(32, 256));
  p.instructions.push_back(KernelCall{0, {2, 4, 4}});
  EXPECT_EQ(max_live_bytes(p), 128u + 8u + 8u);  // of value 1 the view alone
}

TEST(MemoryUse, StateLivesAlways) {
  Plan p = chain({floats(4, 0), floats(4, 64)});
  Tensor state = floats(100, 4096);
  state.data_buffer_idx = 1;
  p.values.emplace_back(state);
  EXPECT_EQ(max_live_bytes(p), 16u + 16u + 400u);
}

TEST(MemoryUse, WhatALoopReadsLastsUntilItsEnd) {
  Plan p = chain({floats(4, 0), floats(4, 64), floats(64, 256), floats(4, 1024)});
  EXPECT_EQ(max_live_bytes(p), 16u + 256u);
  p.values.emplace_back(false);
  p.instructions.push_back(JumpFalse{4, 1});  // value 1 is read again
  EXPECT_EQ(max_live_bytes(p), 16u + 256u + 16u);
}

TEST(MemoryUse, RowsThatALoopWritesStayUntilItsEnd) {
  Plan p = chain({floats(4, 0), floats(64, 256), floats(4, 1024)});
  p.operators.push_back({"executorch_prim::et_copy_index", "tensor"});
  p.values.emplace_back(floats(100, 4096));
  p.values.emplace_back(int64_t{0});
  p.instructions.push_back(KernelCall{1, {3, 2, 4}});
  EXPECT_EQ(max_live_bytes(p), 400u + 16u);  // 256 + 16 before
  p.values.emplace_back(false);
  p.instructions.push_back(JumpFalse{5, 0});
  p.outputs = {3};
  EXPECT_EQ(max_live_bytes(p), 400u + 256u + 16u + 16u);
}

TEST(MemoryUse, CountsInUnits) {
  EXPECT_EQ(max_live_bytes(chain({floats(1, 0), floats(2, 16), floats(1, 32)})), 12u);
  EXPECT_EQ(max_live_bytes(chain({floats(1, 0), floats(2, 16), floats(1, 32)}), 16), 32u);
}

// Value 2 shows value 1, which nothing else reads: met in a list before, it is no output of the delegate.
TEST(PlanFaults, WhatAListHadIsAnInputOfADelegate) {
  Plan p = chain({floats(4, 0), floats(4, 64)});
  for (const uint64_t offset : {64, 128, 256}) p.values.emplace_back(floats(4, offset));
  p.values.emplace_back(TensorList{{0, 2}});
  p.operators.push_back({"aten::cat", "out"});
  p.delegates.resize(1);
  p.instructions.push_back(KernelCall{1, {5, 3, 3}});
  p.instructions.push_back(DelegateCall{0, {2, 4}});
  p.outputs = {3, 4};
  EXPECT_EQ(plan_faults(p), std::vector<std::string>{});
}

// relu(x) over x, then a product of that: the tensor is read and written by one call.
TEST(MemoryUse, ATensorThatACallReadsAndWritesIsLiveBefore) {
  Plan p = chain({floats(4, 0), floats(100, 64)});
  p.instructions.insert(p.instructions.begin(), KernelCall{0, {0, 0, 0}});
  EXPECT_EQ(max_live_bytes(p), 16u + 400u);
  p.inputs = {};  // nothing gives it a content before: live from the first write
  p.instructions.insert(p.instructions.begin(), KernelCall{0, {1, 1, 1}});
  EXPECT_EQ(max_live_bytes(p), 400u + 16u);
}

TEST(PlanFaults, ATensorIsNoResultOfWhatReadsItAgain) {
  Plan p = chain({floats(4, 0), floats(4, 64)});
  p.instructions.insert(p.instructions.begin(), KernelCall{0, {0, 0, 0}});
  EXPECT_EQ(plan_faults(p), std::vector<std::string>{});
  p.operators[0] = {"aten::mm", "out"};
  const auto faults = plan_faults(p);
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_NE(faults[0].find("writes value 0 (memory 1, bytes 0 to 16) over its own input"), std::string::npos) << faults[0];
}

// Value 2 is the second half of value 1, first as a view of it, then with a content of its own; so in each run.
TEST(PlanFaults, AViewMayBeWrittenOver) {
  Plan p = chain({floats(8, 0), floats(8, 64)});
  p.values.emplace_back(floats(4, 80));
  p.instructions.push_back(KernelCall{0, {2, 2, 2}});
  p.outputs = {2};
  EXPECT_EQ(plan_faults(p), std::vector<std::string>{});
  p.values.emplace_back(floats(4, 80));
  p.instructions.push_back(KernelCall{0, {0, 3, 3}});  // foreign
  EXPECT_EQ(plan_faults(p).size(), 1u);
}

TEST(MemoryUse, BrokenPlansAreAnsweredToo) {
  Plan p = chain({floats(4, 0), floats(4, UINT64_MAX - 3), floats(-1, 0)});
  p.instructions.push_back(KernelCall{7, {-1, 99}});
  p.instructions.push_back(MoveCall{-5, 1000});
  p.instructions.push_back(JumpFalse{99, -7});
  p.instructions.push_back(DelegateCall{3, {0, 1, 2, 77}});
  EXPECT_EQ(max_live_bytes(p), 16u);
  EXPECT_EQ(max_live_bytes(Plan{}), 0u);
}

}  // namespace
}  // namespace edgec::pte
