#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include <edgec/extensions.h>

#include "backends/registry.h"
#include "backends/xnnpack/lowering.h"
#include "backends/xnnpack/write.h"
#include "ops/table.h"
#include "passes/registry.h"

// What the XNNPACK backend makes of small graphs, and what it refuses and why. That payloads run and compute what torch does is
// tested with all operators' cases (tests/ops --backend xnnpack) and with the models.
namespace edgec::xnnpack {
namespace {

std::unique_ptr<Program> parse(const std::string& method) {
  ops::register_all();
  auto p = parse_program("stage edge\n" + method);
  EXPECT_TRUE(p) << (p ? "" : p.failure().message);
  return p ? *std::move(p) : nullptr;
}

Net lowered(const std::string& method, const Options& options = {}) {
  const auto p = parse(method);
  if (!p) return {};
  const Method& m = *p->methods[0];
  for (NodeId n = m.graph->first(); n; n = m.graph->next(n)) EXPECT_EQ(refuses(Site{m, *m.graph, n, options}), std::nullopt);
  Lowering l(m, options);
  const Status ok = l.run();
  EXPECT_TRUE(ok) << (ok ? "" : ok.failure().message);
  return std::move(l.net());
}

std::vector<Op> operators(const Net& net) {
  std::vector<Op> out;
  for (const NetNode& n : net.nodes()) out.push_back(n.op);
  return out;
}
using Ops = std::vector<Op>;

std::vector<double> numbers(const Net& net, Id id) { return numbers_of(*net.value(id).data); }

// Why the last node of a method is refused; empty when it is taken.
std::string refusal(const std::string& method, const Options& options = {}) {
  const auto p = parse(method);
  if (!p) return "does not parse";
  const Method& m = *p->methods[0];
  const auto nodes = m.graph->nodes_in_order();
  return refuses(Site{m, *m.graph, nodes.back(), options}).value_or("");
}

TEST(XnnpackLowering, RangesJoinTheNodeBefore) {
  const Net net = lowered(R"(method @forward(%x: f32[2, 8] = input "x", %w: f32[4, 8] = parameter "w", %b: f32[4] = parameter "b") {
  %y = edge.aten.linear(%x, %w, %b) : f32[2, 4]
  %r = edge.aten.relu(%y) : f32[2, 4]
  %z = edge.aten.hardtanh(%r, -1.0, 6.0) : f32[2, 4]
  return %z
})");
  ASSERT_EQ(operators(net), Ops{Op::FullyConnected});
  EXPECT_EQ(net.nodes()[0].min, 0);
  EXPECT_EQ(net.nodes()[0].max, 6);
  EXPECT_EQ(net.nodes()[0].sources.size(), 3u);
}

TEST(XnnpackLowering, ARangeStaysWhereTheValueIsUsedElsewhere) {
  const Net net = lowered(R"(method @forward(%x: f32[2, 8] = input "x") {
  %y = edge.aten.add.Tensor(%x, %x) : f32[2, 8]
  %r = edge.aten.relu(%y) : f32[2, 8]
  return %y, %r
})");
  EXPECT_EQ(operators(net), (Ops{Op::Add, Op::Clamp}));
}

TEST(XnnpackLowering, ANetworkOfImagesHasOneTransposeAtEachEnd) {
  const Net net = lowered(R"(method @forward(
    %x: f32[1, 3, 8, 8] = input "x", %w: f32[4, 3, 3, 3] = parameter "w", %g: f32[4] = parameter "g", %h: f32[4] = parameter "h",
    %mean: f32[4] = buffer "mean", %var: f32[4] = buffer "var", %v: f32[4, 4, 3, 3] = parameter "v") {
  %c = edge.aten.convolution(%x, %w, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 1) : f32[1, 4, 8, 8]
  %n, %s, %t = edge.aten._native_batch_norm_legit_no_training(%c, %g, %h, %mean, %var, 0.1, 1e-05) : f32[1, 4, 8, 8], f32[0], f32[0]
  %r = edge.aten.relu(%n) : f32[1, 4, 8, 8]
  %d = edge.aten.convolution(%r, %v, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 1) : f32[1, 4, 8, 8]
  %a = edge.aten.add.Tensor(%d, %r) : f32[1, 4, 8, 8]
  return %a
})");
  EXPECT_EQ(operators(net), (Ops{Op::Transpose, Op::Conv, Op::Conv, Op::Add, Op::Transpose}));
  EXPECT_EQ(net.nodes()[1].min, 0);
  EXPECT_NE(net.nodes()[1].in[2], kNone) << "the batch norm's shift is the convolution's bias";
}

// Down, up again, and joined with what was there: an encoder and decoder with a skip.
TEST(XnnpackLowering, AUNetHasOneTransposeAtEachEnd) {
  const Net net = lowered(R"(method @forward(
    %x: f32[1, 3, 8, 8] = input "x", %w: f32[4, 3, 3, 3] = parameter "w", %v: f32[8, 4, 3, 3] = parameter "v",
    %u: f32[8, 4, 2, 2] = parameter "u", %z: f32[2, 8, 1, 1] = parameter "z") {
  %a = edge.aten.convolution(%x, %w, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 1) : f32[1, 4, 8, 8]
  %b = edge.aten.relu(%a) : f32[1, 4, 8, 8]
  %p, %i = edge.aten.max_pool2d_with_indices(%b, [2, 2], [2, 2]) : f32[1, 4, 4, 4], i64[1, 4, 4, 4]
  %c = edge.aten.convolution(%p, %v, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 1) : f32[1, 8, 4, 4]
  %d = edge.aten.relu(%c) : f32[1, 8, 4, 4]
  %e = edge.aten.convolution(%d, %u, none, [2, 2], [0, 0], [1, 1], true, [0, 0], 1) : f32[1, 4, 8, 8]
  %j = edge.aten.cat([%e, %b], 1) : f32[1, 8, 8, 8]
  %y = edge.aten.convolution(%j, %z, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1) : f32[1, 2, 8, 8]
  return %y
})");
  const Ops ops = operators(net);
  EXPECT_EQ(std::count(ops.begin(), ops.end(), Op::Transpose), 2);
  EXPECT_EQ(ops.front(), Op::Transpose);
  EXPECT_EQ(ops.back(), Op::Transpose);
}

TEST(XnnpackLowering, ZerosAroundAnImageAreTheConvolutionsPadding) {
  const Net net = lowered(R"(method @forward(%x: f32[1, 2, 6, 6] = input "x", %w: f32[4, 2, 3, 3] = parameter "w") {
  %p = edge.aten.constant_pad_nd(%x, [1, 2, 0, 1], 0.0) : f32[1, 2, 7, 9]
  %y = edge.aten.convolution(%p, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1) : f32[1, 4, 5, 7]
  return %y
})");
  ASSERT_EQ(operators(net), (Ops{Op::Transpose, Op::Conv, Op::Transpose}));
  const auto& a = std::get<ConvAttrs>(net.nodes()[1].attrs);
  EXPECT_EQ(std::vector<uint32_t>(std::begin(a.padding), std::end(a.padding)), (std::vector<uint32_t>{0, 2, 1, 1}));
}

TEST(XnnpackLowering, ArithmeticOnChannelsJoinsTheProductBefore) {
  const Net net = lowered(R"(method @forward(
    %x: f32[1, 2, 6, 6] = input "x", %w: f32[4, 2, 3, 3] = parameter "w", %m: f32[4, 1, 1] = parameter "m", %s: f32[4, 1, 1] = parameter "s") {
  %c = edge.aten.convolution(%x, %w, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 1) : f32[1, 4, 6, 6]
  %p = edge.aten.mul.Tensor(%c, %m) : f32[1, 4, 6, 6]
  %q = edge.aten.add.Tensor(%s, %p) : f32[1, 4, 6, 6]
  %h = edge.aten.mul.Scalar(%q, 0.5) : f32[1, 4, 6, 6]
  %r = edge.aten.relu(%h) : f32[1, 4, 6, 6]
  return %r
})");
  ASSERT_EQ(operators(net), (Ops{Op::Transpose, Op::Conv, Op::Transpose}));
  EXPECT_EQ(net.nodes()[1].min, 0);
  EXPECT_NE(net.nodes()[1].in[2], kNone);
}

// 4 columns are as many as there are channels, and are not those.
TEST(XnnpackLowering, ABatchNormBehindAReluScalesTheConvolutionAndIsAddedBehindThePool) {
  const Net net = lowered(R"(constant #0 "g" f32[2] = [2.0, 4.0]
constant #1 "h" f32[2] = [1.0, 3.0]
constant #2 "mean" f32[2] = [0.0, 0.0]
constant #3 "var" f32[2] = [1.0, 1.0]
constant #4 "w" f32[2, 1, 1, 1] = [1.0, 1.0]
method @forward(%x: f32[1, 1, 4, 4] = input "x", %g: f32[2] = parameter "g" #0, %h: f32[2] = parameter "h" #1,
    %m: f32[2] = buffer "mean" #2, %v: f32[2] = buffer "var" #3, %w: f32[2, 1, 1, 1] = parameter "w" #4) {
  %c = edge.aten.convolution(%x, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1) : f32[1, 2, 4, 4]
  %r = edge.aten.relu(%c) : f32[1, 2, 4, 4]
  %n, %s, %t = edge.aten._native_batch_norm_legit_no_training(%r, %g, %h, %m, %v, 0.1, 0.0) : f32[1, 2, 4, 4], f32[0], f32[0]
  %p, %i = edge.aten.max_pool2d_with_indices(%n, [2, 2], [2, 2]) : f32[1, 2, 2, 2], i64[1, 2, 2, 2]
  return %p
})");
  std::vector<Op> ops = operators(net);
  std::erase_if(ops, [](Op op) { return op == Op::Transpose || op == Op::Reshape; });
  EXPECT_EQ(ops, (Ops{Op::Conv, Op::MaxPool, Op::Add}));
  const auto conv = std::find_if(net.nodes().begin(), net.nodes().end(), [](const NetNode& n) { return n.op == Op::Conv; });
  ASSERT_NE(conv, net.nodes().end());
  EXPECT_EQ(numbers(net, conv->in[1]), (std::vector<double>{2, 4}));
}

TEST(XnnpackLowering, ArithmeticOnAnotherDimStays) {
  const Net net = lowered(R"(method @forward(
    %x: f32[1, 4, 4, 8] = input "x", %w: f32[4, 8] = parameter "w", %m: f32[4, 1] = parameter "m") {
  %c = edge.aten.linear(%x, %w) : f32[1, 4, 4, 4]
  %p = edge.aten.mul.Tensor(%c, %m) : f32[1, 4, 4, 4]
  return %p
})");
  EXPECT_EQ(operators(net), (Ops{Op::FullyConnected, Op::Multiply}));
}

TEST(XnnpackLowering, WeightsOfInt8StayIntegersBesideFloats) {
  const Net net = lowered(R"(constant #0 "s" f32[4] = [0.1, 0.2, 0.3, 0.4]
method @forward(
    %x: f32[2, 8] = input "x", %w: i8[4, 8] = parameter "w", %s: f32[4] = buffer "s" #0, %z: i64[4] = buffer "z",
    %b: f32[4] = parameter "b") {
  %e = quantized_decomposed.dequantize_per_channel(%w, %s, %z, 0, -127, 127, i8) : f32[4, 8]
  %l = edge.aten.linear(%x, %e, %b) : f32[2, 4]
  return %l
})");
  ASSERT_EQ(operators(net), (Ops{Op::FullyConnected, Op::Add}));
  EXPECT_EQ(net.value(net.nodes()[0].in[1]).type, DataType::QCInt8);
}

TEST(XnnpackLowering, WholeNumbersCastToFloatsStayIntegersAndFactorsBehindAreTheirScales) {
  const Net net = lowered(R"(constant #0 "w" i8[3, 2] = [1, 2, 3, 4, 5, 6]
constant #1 "s" f32[2] = [0.5, 0.25]
method @forward(%x: f32[1, 3] = input "x", %w: i8[3, 2] = buffer "w" #0, %s: f32[2] = buffer "s" #1) {
  %f = dim_order_ops._to_dim_order_copy(%w, dtype=f32, dim_order=[0, 1]) : f32[3, 2]
  %y = edge.aten.mm(%x, %f) : f32[1, 2]
  %z = edge.aten.mul.Tensor(%y, %s) : f32[1, 2]
  return %z
})");
  ASSERT_EQ(operators(net), Ops{Op::FullyConnected});
  const NetValue& weight = net.value(net.nodes()[0].in[1]);
  EXPECT_EQ(weight.type, DataType::QCInt8);
  EXPECT_EQ(weight.dims, (Dims{2, 3}));
  EXPECT_EQ(std::get<PerChannel>(weight.quant).scales, (std::vector<float>{0.5f, 0.25f}));
}

TEST(XnnpackLowering, PermutesThatMeetCancel) {
  const Net net = lowered(R"(method @forward(%x: f32[2, 3, 4] = input "x") {
  %p = edge.aten.permute(%x, [2, 0, 1]) : f32[4, 2, 3]
  %e = edge.aten.exp(%p) : f32[4, 2, 3]
  %q = edge.aten.permute(%e, [1, 2, 0]) : f32[2, 3, 4]
  return %q
})");
  EXPECT_EQ(operators(net), Ops{Op::Exp});
}

TEST(XnnpackLowering, ATransposedOperandIsMultipliedAsItLies) {
  const Net net = lowered(R"(method @forward(%q: f32[2, 5, 8] = input "q", %k: f32[2, 7, 8] = input "k") {
  %t = edge.aten.permute(%k, [0, 2, 1]) : f32[2, 8, 7]
  %s = edge.aten.bmm(%q, %t) : f32[2, 5, 7]
  return %s
})");
  ASSERT_EQ(operators(net), Ops{Op::BatchMatMul});
  EXPECT_EQ(net.nodes()[0].flags, kTransposeB);
}

TEST(XnnpackLowering, OneDynamicDimOfAViewIsInferred) {
  const Net net = lowered(R"(method @forward(%x: f32[s0, 4, 6] = input "x") where s0 in 1..9 {
  %e = edge.aten.exp(%x) : f32[s0, 4, 6]
  %y = edge.aten.view(%e, [s0, 24]) : f32[s0, 24]
  return %y
})");
  ASSERT_EQ(operators(net), (Ops{Op::Exp, Op::Reshape}));
  EXPECT_EQ(std::get<ListAttrs>(net.nodes()[1].attrs).first, (std::vector<uint32_t>{0, 24}));
}

TEST(XnnpackLowering, ASliceToTheEndOfADynamicDimTakesWhatThereIs) {
  const Net net = lowered(R"(method @forward(%x: f32[s0, 4] = input "x") where s0 in 3..9 {
  %y = edge.aten.slice.Tensor(%x, 0, 2, 9223372036854775807, 1) : f32[s0 - 2, 4]
  return %y
})");
  ASSERT_EQ(operators(net), Ops{Op::Slice});
  const auto& cut = std::get<ListAttrs>(net.nodes()[0].attrs);
  EXPECT_EQ(cut.first, (std::vector<uint32_t>{2, 0}));
  EXPECT_EQ(cut.second, (std::vector<uint32_t>{0x7fffffff, 0}));
}

TEST(XnnpackLowering, HeadsBesideTwoDynamicDimsAreMadeByProductsAndJoinedByAConvolution) {
  const Net net = lowered(R"(method @forward(%x: f32[s0, s1, 8] = input "x", %w: f32[8, 8] = parameter "w", %b: f32[8] = parameter "b",
    %u: f32[8, 8] = parameter "u", %o: f32[6, 8] = parameter "o",
    %o_6: f32[5, 6] = parameter "p") where s0 in 1..4, s1 in 1..9 {
  %q = edge.aten.linear(%x, %w, %b) : f32[s0, s1, 8]
  %k = edge.aten.linear(%x, %u, %b) : f32[s0, s1, 8]
  %v = edge.aten.linear(%x, %o) : f32[s0, s1, 6]
  %y = edgec.multi_head_attention(%q, %k, %v, 2) : f32[s0, s1, 6]
  %z = edge.aten.linear(%y, %o_6) : f32[s0, s1, 5]
  return %z
})");
  // x gets its dim of one; queries with their bias, keys without theirs, whose matrix has
  // the scale, values; at the end the dim of one goes.
  EXPECT_EQ(operators(net), (Ops{Op::Multiply, Op::Transpose, Op::BatchMatMul, Op::Add, Op::BatchMatMul, Op::BatchMatMul, Op::BatchMatMul,
                                 Op::Softmax, Op::BatchMatMul, Op::Conv, Op::Multiply, Op::Transpose, Op::GlobalAveragePool}));
}

TEST(XnnpackLowering, HeadsThatNoProductMadeAreCut) {
  const Net net = lowered(R"(method @forward(%q: f32[s0, s1, 4] = input "q", %k: f32[s0, s1, 4] = input "k", %v: f32[s0, s1, 4] = input "v")
    where s0 in 1..4, s1 in 1..9 {
  %y = edgec.multi_head_attention(%q, %k, %v, 2) : f32[s0, s1, 4]
  return %y
})");
  const Ops ops = operators(net);
  EXPECT_EQ(std::count(ops.begin(), ops.end(), Op::Slice), 3 * 2 + 2);
  EXPECT_EQ(std::count(ops.begin(), ops.end(), Op::Concatenate2), 3 + 1);
  EXPECT_EQ(std::count(ops.begin(), ops.end(), Op::BatchMatMul), 2);
}

TEST(XnnpackLowering, AResidualMeetsInTheOrderThatBothHave) {
  const Net net = lowered(R"(method @forward(%x: f32[1, 4, 6] = input "x", %w: f32[4, 4] = parameter "w") {
  %e = edge.aten.exp(%x) : f32[1, 4, 6]
  %t = edge.aten.permute(%e, [0, 2, 1]) : f32[1, 6, 4]
  %a = edge.aten.linear(%t, %w) : f32[1, 6, 4]
  %b = edge.aten.add.Tensor(%t, %a) : f32[1, 6, 4]
  %c = edge.aten.linear(%b, %w) : f32[1, 6, 4]
  %d = edge.aten.add.Tensor(%b, %c) : f32[1, 6, 4]
  return %d
})");
  EXPECT_EQ(operators(net), (Ops{Op::Exp, Op::Transpose, Op::FullyConnected, Op::Add, Op::FullyConnected, Op::Add}));
}

TEST(XnnpackLowering, AnEpsilonJoinsTheMeanAndItsRootIsTheDelegates) {
  const Net net = lowered(R"(method @forward(%x: f32[2, 8] = input "x") {
  %s = edge.aten.mul.Tensor(%x, %x) : f32[2, 8]
  %m = edge.aten.mean.dim(%s, [-1], true) : f32[2, 1]
  %e = edge.aten.add.Scalar(%m, 1e-05) : f32[2, 1]
  %r = edge.aten.rsqrt(%e) : f32[2, 1]
  %y = edge.aten.mul.Tensor(%x, %r) : f32[2, 8]
  %z = edge.aten.mul.Scalar(%y, 1.0) : f32[2, 8]
  return %z
})");
  EXPECT_EQ(operators(net), (Ops{Op::Multiply, Op::FullyConnected, Op::ReciprocalSquareRoot, Op::Multiply}));
}

TEST(XnnpackLowering, TheStrideOfAWaveformGoesIntoItsChannels) {
  const Net net = lowered(R"(method @forward(%x: f32[1, 1, 64] = input "x", %w: f32[4, 1, 16] = parameter "w") {
  %y = edge.aten.convolution(%x, %w, none, [8], [3], [1], false, [0], 1) : f32[1, 4, 7]
  return %y
})");
  const auto conv = std::find_if(net.nodes().begin(), net.nodes().end(), [](const NetNode& n) { return n.op == Op::Conv; });
  ASSERT_NE(conv, net.nodes().end());
  const ConvAttrs& a = std::get<ConvAttrs>(conv->attrs);
  EXPECT_EQ(a.kernel[1], 3u);  // 5 zeros, 16 weights, 3 zeros
  EXPECT_EQ(a.stride[1], 1u);
  EXPECT_EQ(a.padding[3], 1u);
  EXPECT_EQ(a.padding[1], 0u);
  EXPECT_EQ(a.group_input_channels, 8u);
  EXPECT_EQ(net.value(conv->in[0]).dims, (Dims{1, 1, 8, 8}));
}

TEST(XnnpackLowering, OutputsThatAreNotMadeAreCopied) {
  const Net net = lowered(R"(method @forward(%x: f32[2, 2] = input "x") {
  %y = edge.aten.exp(%x) : f32[2, 2]
  %v = edge.aten.view(%y, [2, 2]) : f32[2, 2]
  return %y, %v
})");
  EXPECT_EQ(operators(net), (Ops{Op::Exp, Op::Copy}));
}

TEST(XnnpackLowering, IntegersGoFromQuantizeToDequantize) {
  const Net net = lowered(R"(constant #0 "s" f32[4] = [0.1, 0.2, 0.3, 0.4]
method @forward(
    %x: f32[1, 8] = input "x", %w: i8[4, 8] = parameter "w", %s: f32[4] = buffer "s" #0, %z: i64[4] = buffer "z",
    %b: f32[4] = parameter "b") {
  %q = quantized_decomposed.quantize_per_tensor(%x, 0.5, 3, -128, 127, i8) : i8[1, 8]
  %d = quantized_decomposed.dequantize_per_tensor(%q, 0.5, 3, -128, 127, i8) : f32[1, 8]
  %e = quantized_decomposed.dequantize_per_channel(%w, %s, %z, 0, -127, 127, i8) : f32[4, 8]
  %l = edge.aten.linear(%d, %e, %b) : f32[1, 4]
  %r = edge.aten.relu(%l) : f32[1, 4]
  %p = quantized_decomposed.quantize_per_tensor(%r, 0.25, -128, -128, 127, i8) : i8[1, 4]
  return %p
})");
  ASSERT_EQ(operators(net), (Ops{Op::Convert, Op::FullyConnected}));
  const NetNode& linear = net.nodes()[1];
  EXPECT_EQ(net.value(linear.out).type, DataType::QInt8);
  EXPECT_EQ(net.value(linear.in[1]).type, DataType::QCInt8);
  EXPECT_EQ(net.value(linear.in[2]).type, DataType::QCInt32);
  EXPECT_EQ(linear.min, 0);
}

TEST(XnnpackLowering, FactorsAndSummandsOfChannelsJoinTheMatricesBehind) {
  const Net net = lowered(R"(constant #0 "g" f32[2] = [2.0, 4.0]
constant #1 "h" f32[2] = [1.0, 3.0]
constant #2 "w" f32[1, 2] = [5.0, 7.0]
constant #3 "b" f32[1] = [0.5]
method @forward(%x: f32[3, 2] = input "x", %g: f32[2] = parameter "g" #0, %h: f32[2] = parameter "h" #1,
    %w: f32[1, 2] = parameter "w" #2, %b: f32[1] = parameter "b" #3) {
  %m = edge.aten.mul.Tensor(%x, %g) : f32[3, 2]
  %a = edge.aten.add.Tensor(%m, %h) : f32[3, 2]
  %y = edge.aten.linear(%a, %w, %b) : f32[3, 1]
  return %y
})");
  ASSERT_EQ(operators(net), Ops{Op::FullyConnected});
  EXPECT_EQ(numbers(net, net.nodes()[0].in[1]), (std::vector<double>{10, 28}));
  EXPECT_EQ(numbers(net, net.nodes()[0].in[2]), std::vector<double>{26.5});
}

TEST(XnnpackLowering, AFactorOfAValueThatIsUsedElsewhereStays) {
  const Net net = lowered(R"(method @forward(%x: f32[3, 2] = input "x", %g: f32[2] = parameter "g", %w: f32[1, 2] = parameter "w") {
  %m = edge.aten.mul.Tensor(%x, %g) : f32[3, 2]
  %y = edge.aten.linear(%m, %w) : f32[3, 1]
  return %y, %m
})");
  EXPECT_EQ(operators(net), (Ops{Op::Multiply, Op::FullyConnected}));
}

// Rotary embeddings between the projection and the scale of attention.
TEST(XnnpackLowering, AFactorGoesBackThroughWhatIsLinearToTheMatrixBefore) {
  const auto of = [](const char* between) {
    return lowered(fmt::format(R"(constant #0 "w" f32[2, 1] = [3.0, 5.0]
method @forward(%x: f32[4, 1] = input "x", %c: f32[4, 2] = input "c", %w: f32[2, 1] = parameter "w" #0) {{
  %y = edge.aten.linear(%x, %w) : f32[4, 2]
  %l = edge.aten.slice.Tensor(%y, 1, 0, 1) : f32[4, 1]
  %r = edge.aten.slice.Tensor(%y, 1, 1, 2) : f32[4, 1]
  %n = edge.aten.{}(%r) : f32[4, 1]
  %t = edge.aten.cat([%n, %l], 1) : f32[4, 2]
  %p = edge.aten.mul.Tensor(%y, %c) : f32[4, 2]
  %q = edge.aten.mul.Tensor(%t, %c) : f32[4, 2]
  %a = edge.aten.add.Tensor(%p, %q) : f32[4, 2]
  %s = edge.aten.mul.Scalar(%a, 0.5) : f32[4, 2]
  %e = edge.aten.exp(%s) : f32[4, 2]
  return %e
}})",
                               between));
  };
  const Net net = of("neg");
  EXPECT_EQ(operators(net),
            (Ops{Op::FullyConnected, Op::Slice, Op::Slice, Op::Negate, Op::Concatenate2, Op::Multiply, Op::Multiply, Op::Add, Op::Exp}));
  EXPECT_EQ(numbers(net, net.nodes()[0].in[1]), (std::vector<double>{1.5, 2.5}));
  EXPECT_EQ(of("abs").nodes().size(), 10u);
}

TEST(XnnpackLowering, AFactorOfAProductOfTwoThatWouldHaveItStays) {
  for (const char* product : {"%a, %a", "%a, %b"}) {
    const Net net =
        lowered(fmt::format(R"(method @forward(%x: f32[4, 2] = input "x", %w: f32[2, 2] = parameter "w", %v: f32[2, 2] = parameter "v") {{
  %a = edge.aten.linear(%x, %w) : f32[4, 2]
  %b = edge.aten.linear(%x, %v) : f32[4, 2]
  %p = edge.aten.mul.Tensor({}) : f32[4, 2]
  %s = edge.aten.add.Tensor(%p, %b) : f32[4, 2]
  %h = edge.aten.mul.Scalar(%s, 0.5) : f32[4, 2]
  %e = edge.aten.exp(%h) : f32[4, 2]
  return %e
}})",
                            product));
    EXPECT_EQ(operators(net), (Ops{Op::FullyConnected, Op::FullyConnected, Op::Multiply, Op::Add, Op::Multiply, Op::Exp}));
  }
}

TEST(XnnpackLowering, HeadsThatQueriesShareAreNotRepeated) {
  const Net net = lowered(R"(method @forward(%q: f32[1, 4, s0, 8] = input "q", %k: f32[1, 2, 1, s0, 8] = input "k",
    %v: f32[1, 2, 1, s0, 8] = input "v", %m: f32[1, 1, s0, s0] = input "m") where s0 in 2..9 {
  %ke = edge.aten.expand(%k, [1, 2, 2, s0, 8]) : f32[1, 2, 2, s0, 8]
  %kv = edge.aten.view(%ke, [1, 4, s0, 8]) : f32[1, 4, s0, 8]
  %ve = edge.aten.expand(%v, [1, 2, 2, s0, 8]) : f32[1, 2, 2, s0, 8]
  %vv = edge.aten.view(%ve, [1, 4, s0, 8]) : f32[1, 4, s0, 8]
  %y = edge.aten.scaled_dot_product_attention(%q, %kv, %vv, %m, scale=1.0) : f32[1, 4, s0, 8]
  return %y
})");
  size_t products = 0;
  for (const NetNode& n : net.nodes()) {
    if (n.op != Op::BatchMatMul) continue;
    ++products;
    EXPECT_EQ(net.value(n.in[1]).dims[2], Dim(1));
  }
  EXPECT_EQ(products, 3u);  // of which one counts what the mask shows
}

TEST(XnnpackLowering, ARangeBetweenEqualQuantizationsIsOneOfIntegers) {
  const auto of = [](double scale) {
    return operators(lowered(fmt::format(R"(method @forward(%x: f32[1, 8] = input "x") {{
  %q = quantized_decomposed.quantize_per_tensor(%x, 0.5, 3, -128, 127, i8) : i8[1, 8]
  %d = quantized_decomposed.dequantize_per_tensor(%q, 0.5, 3, -128, 127, i8) : f32[1, 8]
  %r = edge.aten.hardtanh(%d, -1.0, 1.0) : f32[1, 8]
  %p = quantized_decomposed.quantize_per_tensor(%r, {}, 3, -128, 127, i8) : i8[1, 8]
  return %p
}})",
                                         scale)));
  };
  EXPECT_EQ(of(0.5), (Ops{Op::Convert, Op::Clamp}));
  EXPECT_EQ(of(0.25), (Ops{Op::Convert, Op::Convert, Op::Clamp, Op::Convert}));
}

// ---- the payload -----------------------------------------------------------------------------------------------------------------------

constexpr const char* kTwoLayers = R"(method @forward(
    %x: f32[1, 64] = input "x", %w: f32[64, 64] = parameter "w", %b: f32[64] = parameter "b") {
  %y = edge.aten.linear(%x, %w, %b) : f32[1, 64]
  %z = edge.aten.linear(%y, %w, %b) : f32[1, 64]
  return %z
})";

Payload payload(const std::string& method) {
  auto p = write(lowered(method));
  EXPECT_TRUE(p);
  return p ? *std::move(p) : Payload{};
}

uint64_t number(const Payload& p, size_t at, size_t bytes) {
  uint64_t n = 0;
  for (size_t i = 0; i < bytes; ++i) n |= std::to_integer<uint64_t>(p.bytes[at + i]) << (8 * i);
  return n;
}

TEST(XnnpackPayload, HeaderSaysWhereGraphAndConstantsAre) {
  const Payload p = payload(kTwoLayers);
  ASSERT_GT(p.bytes.size(), 32u);
  EXPECT_EQ(std::memcmp(p.bytes.data() + 4, "XH00", 4), 0);
  EXPECT_EQ(number(p, 8, 2), 30u);
  const uint64_t graph = number(p, 10, 4), size = number(p, 14, 4), constants = number(p, 18, 4), bytes = number(p, 22, 8);
  EXPECT_EQ(graph, 32u);
  EXPECT_GE(constants, graph + size);
  EXPECT_EQ(constants % 16, 0u);
  EXPECT_EQ(constants + bytes, p.bytes.size());
  EXPECT_EQ(std::memcmp(p.bytes.data() + graph + 4, "XN01", 4), 0);
}

TEST(XnnpackPayload, EqualConstantsAreStoredOnceUnderTheSameKey) {
  const Payload p = payload(kTwoLayers), again = payload(kTwoLayers);
  ASSERT_EQ(p.named_data.size(), 1u);
  EXPECT_EQ(p.named_data[0].key, again.named_data[0].key);
  EXPECT_EQ(p.named_data[0].data.nbytes(), 64 * 64 * 4);
  EXPECT_EQ(p.bytes, again.bytes);
}

TEST(XnnpackPayload, PayloadsThatDifferNameEqualConstantsAlike) {
  const Payload a = payload(kTwoLayers), b = payload(R"(method @forward(
    %x: f32[2, 64] = input "x", %w: f32[64, 64] = parameter "w") {
  %y = edge.aten.linear(%x, %w) : f32[2, 64]
  return %y
})");
  ASSERT_EQ(b.named_data.size(), 1u);
  EXPECT_NE(a.bytes, b.bytes);
  EXPECT_EQ(a.named_data[0].key, b.named_data[0].key);
}

// ---- options ----------------------------------------------------------------------------------------------------------------------------

TEST(XnnpackOptions, AreCheckedAndTakeEffect) {
  backends::register_all();
  const auto backend = Extensions::global().find_backend("xnnpack");
  ASSERT_TRUE(backend);
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  for (const Pairs& wrong : {Pairs{{"fast", "on"}}, Pairs{{"dynamic_weights", "maybe"}}, Pairs{{"precision", "int3"}}}) {
    const auto r = backend->parse_options(wrong);
    ASSERT_FALSE(r);
    EXPECT_EQ(r.failure().kind, ErrorKind::Usage);
  }
  const auto specs = backend->parse_options(
      Pairs{{"precision", "static+dynamic"}, {"skip", "aten.add.Tensor+aten.mul.Tensor"}, {"dynamic_weights", "on"}});
  ASSERT_TRUE(specs);
  const Options o = options_of(*specs);
  EXPECT_FALSE(o.fp32);
  EXPECT_TRUE(o.static_quant);
  EXPECT_TRUE(o.dynamic_weights);
  EXPECT_EQ(o.skip.size(), 2u);
  const char* product =
      "method @forward(%x: f32[2, 4] = input \"x\", %w: f32[3, 4] = input \"w\") {\n"
      "  %y = edge.aten.linear(%x, %w) : f32[2, 3]\n  return %y\n}";
  Options with;
  with.dynamic_weights = true;
  EXPECT_EQ(refusal(product, with), "");
}

// ---- attention that is kept whole ------------------------------------------------------------------------------------------------------

std::string fused(const std::string& sizes, const std::string& ranges) {
  ops::register_all();
  const auto text = [&](std::string t) {
    for (size_t at = t.find("B,T"); at != std::string::npos; at = t.find("B,T")) t.replace(at, 3, sizes);
    return t;
  };
  auto p = parse_program(text(R"(stage functional
method @forward(%q: f32[B,T, 8] = input "q", %k: f32[B,T, 8] = input "k", %v: f32[B,T, 8] = input "v", %m: bool[B,T] = input "m") )" +
                              ranges + R"( {
  %q4 = aten.view(%q, [B,T, 2, 4]) : f32[B,T, 2, 4]
  %qh = aten.transpose.int(%q4, 1, 2)
  %k4 = aten.view(%k, [B,T, 2, 4]) : f32[B,T, 2, 4]
  %kh = aten.transpose.int(%k4, 1, 2)
  %v4 = aten.view(%v, [B,T, 2, 4]) : f32[B,T, 2, 4]
  %vh = aten.transpose.int(%v4, 1, 2)
  %m3 = aten.unsqueeze(%m, 1)
  %m4 = aten.unsqueeze(%m3, 1)
  %y = aten.scaled_dot_product_attention(%qh, %kh, %vh, %m4)
  %t = aten.transpose.int(%y, 1, 2)
  %o = aten.view(%t, [B,T, 8]) : f32[B,T, 8]
  return %o
})"));
  if (!p) return p.failure().message;
  passes::PassContext cx;
  cx.keeps_whole = [](const Method&, const Graph&, NodeId) { return true; };
  if (Status ok = passes::find_pass("fuse-attention")->fn(**p, cx); !ok) return ok.failure().message;
  remove_dead_nodes(*(*p)->methods[0]->graph);
  return print(**p);
}

TEST(FuseAttention, HeadsBesideTwoDynamicDimsJoinTheOperator) {
  const std::string out = fused("s0, s1", "where s0 in 1..4, s1 in 1..9");
  EXPECT_NE(out.find("edgec.multi_head_attention"), std::string::npos) << out;
  EXPECT_NE(out.find("aten.where.self"), std::string::npos) << out;
  EXPECT_EQ(out.find("scaled_dot_product_attention"), std::string::npos) << out;
}

TEST(FuseAttention, ViewsThatABackendTakesStay) {
  const std::string out = fused("2, 9", "");
  EXPECT_EQ(out.find("edgec.multi_head_attention"), std::string::npos) << out;
  EXPECT_NE(out.find("aten.where.self"), std::string::npos) << out;
}

}  // namespace
}  // namespace edgec::xnnpack
