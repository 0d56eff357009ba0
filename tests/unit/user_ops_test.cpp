#include "ops/user_ops.h"

#include <edgec/op.h>
#include <gtest/gtest.h>

#include "ops/table.h"

namespace edgec {
namespace {

std::string refusal(const std::string& text) {
  ops::register_all();
  const Status read = ops::read_user_operators(text, "ops.txt");
  return read ? "read" : read.failure().message;
}

std::string declared(const std::string& schema, const std::string& shape = "like x", const std::string& dtype = "x",
                     const std::string& kernel = "t::k.out") {
  return schema + "\n  shape: " + shape + "\n  dtype: " + dtype + "\n  kernel: " + kernel + "\n";
}

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST(UserOps, TypesOfACall) {
  ASSERT_EQ(refusal("ut::two(Tensor x, Tensor? w, int n, int[] list, *, float f=1.0) -> (Tensor, Tensor)\n"
                    "  shape: max(x.shape[0], n), x.shape[ 1 ]*2 // (n + 1)   # a comment\n"
                    "  dtype: promote x w\n"
                    "  shape:\n"
                    "  dtype: int64\n"
                    "  kernel: ut::two.out\n"
                    "  layout: preserve\n"),
            "read");
  const OpDef* op = Registry::global().find("ut.two");
  ASSERT_NE(op, nullptr);
  EXPECT_TRUE(op->user);
  EXPECT_EQ(op->layout, LayoutRule::Preserve);
  auto syms = std::make_shared<sym::Context>();
  Graph g(syms);
  const sym::Expr s = syms->symbol("s0");
  const ValueId x = g.add_input("x", Type::of(TensorType{DType::F16, {s, Dim(6)}, {}, {}}));
  const ValueId w = g.add_input("w", Type::of(TensorType{DType::F32, {Dim(3)}, {}, {}}));
  const std::vector<Arg> args{x, w, Arg(2), Arg::ints({1}), Arg(1.0)};
  ASSERT_TRUE(check_args(g, *op, args));
  auto types = infer(g, *op, args);
  ASSERT_TRUE(types) << types.failure().message;
  ASSERT_EQ(types->size(), 2u);
  EXPECT_EQ(str((*types)[0].tensor), "f32[max(s0, 2), 4]");
  EXPECT_EQ(str((*types)[1].tensor), "i64[]");
  // A size that the operand does not have.
  const ValueId flat = g.add_input("flat", Type::of(TensorType{DType::F32, {Dim(6)}, {}, {}}));
  EXPECT_FALSE(infer(g, *op, std::vector<Arg>{flat, w, Arg(2), Arg::ints({1}), Arg(1.0)}));
}

TEST(UserOps, WritesToArguments) {
  ASSERT_EQ(refusal("ut::step(Tensor x, Tensor(a!) m, *, Tensor(b!) v, float f=0.5) -> ()\n  kernel: ut::step\n"), "read");
  const OpDef* op = Registry::global().find("ut.step");
  ASSERT_NE(op, nullptr);
  const OpDef* functional = Registry::global().find(op->functional);
  ASSERT_NE(functional, nullptr);
  EXPECT_EQ(functional->schema_text, "ut::step.functional(Tensor x, Tensor m, *, Tensor v, float f=0.5) -> (Tensor, Tensor)");
  EXPECT_EQ(functional->kernel_writes, (std::vector<size_t>{1, 2}));
}

TEST(UserOps, RefusalsNameTheLine) {
  EXPECT_HAS(refusal(""), "declares no operator");
  EXPECT_HAS(refusal("\n  shape: like x\n"), "ops.txt:2: an indented line");
  EXPECT_HAS(refusal("not a schema\n"), "ops.txt:1: not an operator schema");
  EXPECT_HAS(refusal(declared("aten::add.Tensor(Tensor x) -> Tensor")), "is in the table already");
  EXPECT_HAS(refusal(declared("ut::w(Tensor(a!) x) -> ()")), "0 results, 1 shape lines and 1 dtype lines");
  EXPECT_HAS(refusal("ut::w(Tensor(a!) x) -> ()\n"), "needs a kernel line");
  EXPECT_HAS(refusal("ut::w(Tensor(a!) x) -> Tensor(a!)\n  kernel: ut::w\n"), "is not a tensor of its own");
  EXPECT_HAS(refusal("ut::w(Tensor(a!)[] x) -> ()\n  kernel: ut::w\n"), "only tensors can be written to");
  EXPECT_HAS(refusal(declared("ut::v(Tensor(a) x) -> Tensor(a)")), "a view of an argument");
  EXPECT_HAS(refusal(declared("ut::n(Tensor x) -> int")), "is not a tensor");
  EXPECT_HAS(refusal("ut::m(Tensor x) -> Tensor\n  dtype: x\n  kernel: ut::m.out\n"), "1 results, 0 shape lines and 1 dtype lines");
  EXPECT_HAS(refusal(declared("ut::k(Tensor x) -> Tensor", "like x", "x", "nothing")), "needs a kernel line");
  EXPECT_HAS(refusal(declared("ut::d(Tensor x) -> Tensor", "like y")), "no tensor parameter \"y\"");
  EXPECT_HAS(refusal(declared("ut::d(Tensor x) -> Tensor", "like")), "names no tensor");
  EXPECT_HAS(refusal(declared("ut::d(Tensor x) -> Tensor", "y.shape[0]")), "there is no 'y");
  EXPECT_HAS(refusal(declared("ut::d(Tensor x, float f) -> Tensor", "f")), "there is no 'f'");
  EXPECT_HAS(refusal(declared("ut::d(Tensor x) -> Tensor", "x.shape[0] / 2")), "is not a whole number");
  EXPECT_HAS(refusal(declared("ut::d(Tensor x) -> Tensor", "x.shape[0] +")), "ends too early");
  EXPECT_HAS(refusal(declared("ut::d(Tensor x) -> Tensor", "x.shape[]")), "there is no");
  EXPECT_HAS(refusal(declared("ut::d(Tensor x) -> Tensor", "like x", "float33")), "no tensor parameter \"float33\"");
  EXPECT_HAS(refusal(declared("ut::d(Tensor x) -> Tensor", "like x", "")), "is neither a dtype");
  EXPECT_HAS(refusal("ut::d(Tensor x) -> Tensor\n  color: red\n"), "ops.txt:2: \"color: red\" is not understood");
  EXPECT_HAS(refusal("ut::d(Tensor x) -> Tensor\n  shape\n"), "ops.txt:2: wanted is \"shape:\"");
  EXPECT_EQ(refusal(declared("ut::d(Tensor x) -> Tensor")), "read");
}

}  // namespace
}  // namespace edgec
