#include <gtest/gtest.h>

#include <set>

#include "ops/table.h"
#include "passes/registry.h"

// Composite operators that decomposition leaves to a backend.
namespace edgec::passes {
namespace {

std::set<std::string> operators(const Graph& g) {
  std::set<std::string> out;
  for (NodeId n = g.first(); n; n = g.next(n)) out.insert(g.node(n).op->name());
  return out;
}

std::unique_ptr<Program> decomposed(PassContext& cx) {
  ops::register_all();
  auto p = parse_program(R"(stage functional
method @forward(%x: f32[1, 2, 6, 6] = input "x", %w: f32[4, 2, 3, 3] = parameter "w") {
  %a = aten.square(%x)
  %s = aten.silu(%a)
  %c = aten.conv2d(%s, %w)
  %m = aten.mish(%c)
  return %m
})");
  EXPECT_TRUE(p) << (p ? "" : p.failure().message);
  if (!p) return nullptr;
  const Status done = find_pass("decompose")->fn(**p, cx);
  EXPECT_TRUE(done) << (done ? "" : done.failure().message);
  return *std::move(p);
}

// A backend's answer may depend on the nodes around: it sees what they become, and operands that the graph still has.
TEST(KeepsWhole, IsAskedWhenAllElseIsExpanded) {
  PassContext cx;
  cx.may_keep_whole = {"aten.silu", "aten.mish"};
  size_t asked = 0;
  cx.keeps_whole = [&](const Method&, const Graph& g, NodeId n) {
    ++asked;
    const auto all = operators(g);
    EXPECT_EQ(all.count("aten.square") + all.count("aten.conv2d"), 0u);
    EXPECT_EQ(all.count("aten.convolution"), 1u);
    const NodeId before = g.value(g.node(n).args[0].value()).def;
    EXPECT_TRUE(before && !g.node(before).args.empty());
    return true;
  };
  const auto p = decomposed(cx);
  ASSERT_TRUE(p);
  EXPECT_EQ(asked, 2u);
  const auto all = operators(*p->methods[0]->graph);
  EXPECT_TRUE(all.count("aten.silu") && all.count("aten.mish"));
}

TEST(KeepsWhole, WhatIsRefusedIsExpandedAndWhatItBecomesAskedForAgain) {
  PassContext cx;
  cx.may_keep_whole = {"aten.mish", "aten.softplus"};
  std::vector<std::string> asked;
  cx.keeps_whole = [&](const Method&, const Graph& g, NodeId n) {
    asked.push_back(g.node(n).op->name());
    return asked.back() == "aten.softplus";
  };
  const auto p = decomposed(cx);
  ASSERT_TRUE(p);
  EXPECT_EQ(asked, (std::vector<std::string>{"aten.mish", "aten.softplus"}));
  const auto all = operators(*p->methods[0]->graph);
  EXPECT_TRUE(all.count("aten.softplus") && !all.count("aten.mish") && !all.count("aten.silu"));
}

}  // namespace
}  // namespace edgec::passes
