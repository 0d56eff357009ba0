#include <gtest/gtest.h>

#include <edgec/program.h>

#include "ops/table.h"

// Operands that torch refuses, and that expansions are not written for: the rules of types say no.
namespace edgec {
namespace {

bool is_taken(const std::string& inputs, const std::string& call, const std::string& type) {
  ops::register_all();
  auto program = parse_program("stage aten\nmethod @forward(" + inputs + ") {\n  %r = " + call + " : " + type + "\n  return %r\n}\n");
  EXPECT_TRUE(program) << call;
  if (!program) return false;
  const Graph& g = *(*program)->methods[0]->graph;
  const Node& n = g.node(g.first());
  return static_cast<bool>(infer(g, *n.op, n.args));
}

TEST(OperandRules, TakeWhatTorchTakes) {
  const std::string x = "%x: f32[3, 4] = input \"x\", ";
  EXPECT_TRUE(is_taken(x + "%y: f32[4] = input \"y\"", "aten.trapz.x(%x, %y)", "f32[3]"));
  EXPECT_TRUE(is_taken(x + "%y: f32[] = input \"y\"", "aten.linspace.Tensor_Tensor(%y, %y, 3)", "f32[3]"));
  EXPECT_TRUE(is_taken(x + "%y: i64[3] = input \"y\"", "aten.multi_margin_loss(%x, %y)", "f32[]"));
  EXPECT_TRUE(is_taken(x + "%y: i32[2, 3] = input \"y\"", "aten.sum_to_size(%y, [1, 3])", "i64[1, 3]"));
}

TEST(OperandRules, RefuseWhatTorchRefuses) {
  const std::string x = "%x: f32[3, 4] = input \"x\", ";
  EXPECT_FALSE(is_taken(x + "%y: f32[3] = input \"y\"", "aten.trapz.x(%x, %y)", "f32[3]"));
  EXPECT_FALSE(is_taken(x + "%y: f32[] = input \"y\"", "aten.trapz.x(%x, %y)", "f32[3]"));
  EXPECT_FALSE(is_taken(x + "%y: bool[4] = input \"y\"", "aten.trapz.x(%y, %y)", "f32[]"));
  EXPECT_FALSE(is_taken(x + "%y: f32[2] = input \"y\"", "aten.logspace.Tensor_Tensor(%y, %y, 3)", "f32[3]"));
  EXPECT_FALSE(is_taken(x + "%y: f32[3] = input \"y\"", "aten.multi_margin_loss(%x, %y)", "f32[]"));
  EXPECT_FALSE(is_taken(x + "%y: f32[] = input \"y\"", "aten.sum_to_size(%y, [1, 4])", "f32[1, 4]"));
  EXPECT_FALSE(is_taken(x + "%y: f32[] = input \"y\"", "aten.conv2d(%x, %y)", "f32[]"));
  EXPECT_FALSE(is_taken(x + "%y: f16[] = input \"y\"", "aten.quantile(%x, %y)", "f32[]"));
  EXPECT_FALSE(is_taken(x + "%y: f32[3] = input \"y\"", "aten.unflatten_dense_tensors(%y, [%x])", "f32[3, 4]"));
  EXPECT_FALSE(is_taken(x + "%y: f32[4, 0, 2] = input \"y\"", "aten._pad_enum(%y, [1, 1, 0, 2], 1)", "f32[4, 2, 4]"));
}

}  // namespace
}  // namespace edgec
