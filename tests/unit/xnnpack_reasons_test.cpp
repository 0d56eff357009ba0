#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <span>

#include "backends/xnnpack/rows.h"
#include "ops/table.h"

// Why the XNNPACK backend leaves a call to the kernels: a case for each reason that its sources name.
namespace edgec::xnnpack {
namespace {

struct Refused {
  const char* inputs;
  const char* node;  // with what stands between the inputs and it; %y is returned
  const char* reason;
  Options options = {};
};

// Why the node that makes %y is refused; empty when it is taken.
std::string refusal(const Refused& r) {
  ops::register_all();
  const std::string text = std::string("stage edge\nmethod @forward(") + r.inputs + ") " + r.node + "\n  return %y\n}";
  auto p = parse_program(text);
  EXPECT_TRUE(p) << text << (p ? "" : p.failure().message);
  if (!p) return "does not parse";
  const Method& m = *(*p)->methods[0];
  return refuses(Site{m, *m.graph, m.graph->value(m.graph->outputs[0].value()).def, r.options}).value_or("");
}

Options left_out(const char* what) {
  Options o;
  if (std::string_view(what) == "nothing") o.dynamic_weights = true;
  if (std::string_view(what) == "fp32") o.fp32 = false;
  if (std::string_view(what) == "static") o.static_quant = false;
  if (std::string_view(what) == "neg") o.skip.insert("aten.neg");
  return o;
}

// clang-format off
std::vector<Refused> cases() {
  return {
    Refused{R"(%x: i64[2] = input "x")", "{\n  %y = edge.aten.neg(%x) : i64[2]", "i64 tensors"},
    Refused{R"(%x: f32[2] = input "x")", "{\n  %y = edge.aten.erf(%x) : f32[2]", "no such operator"},
    Refused{R"(%x: f32[1, 1, 1, 1, 1, 1, 2] = input "x")", "{\n  %y = edge.aten.neg(%x) : f32[1, 1, 1, 1, 1, 1, 2]", "rank 7"},
    Refused{R"(%x: f32[0, 2] = input "x")", "{\n  %y = edge.aten.neg(%x) : f32[0, 2]", "may be zero"},
    Refused{R"(%x: f32[s0] = input "x")", "where s0 in 0..4 {\n  %y = edge.aten.neg(%x) : f32[s0]", "may be zero"},
    Refused{R"(%x: f32[s0] = input "x")", "where s0 in 1.. {\n  %y = edge.aten.neg(%x) : f32[s0]", "without upper bound"},
    Refused{R"(%x: f32[s0, s1, 8] = input "x")", "where s0 in 1..4, s1 in 1..4 {\n  %y = edge.aten.view(%x, [s0, s1, 2, 4]) : f32[s0, s1, 2, 4]", "infers one dim"},
    Refused{R"(%x: f32[4] = input "x")", "{\n  %y = edge.aten.pow.Tensor_Scalar(%x, 1.5) : f32[4]", "exponent"},
    Refused{R"(%x: f32[4] = input "x")", "{\n  %y = edge.aten.clamp(%x, 2.0, 1.0) : f32[4]", "empty"},
    Refused{R"(%x: f32[4] = input "x")", "{\n  %y = edge.aten.elu(%x, -1.0) : f32[4]", "alpha"},
    Refused{R"(%x: f32[4] = input "x")", "{\n  %y = edge.aten.softplus(%x, 1.0, 2.0) : f32[4]", "threshold"},
    Refused{R"(%x: f16[4] = input "x")", "{\n  %y = edge.aten.gelu(%x) : f16[4]", "float16"},
    Refused{R"(%x: f32[2, 4] = input "x", %w: f32[3, 4] = input "w")", "{\n  %y = edge.aten.linear(%x, %w) : f32[2, 3]", "weight is not constant"},
    Refused{R"(%x: f32[2, 4] = input "x", %w: f32[3, 4] = parameter "w", %b: f32[3] = input "b")", "{\n  %y = edge.aten.linear(%x, %w, %b) : f32[2, 3]", "bias is not constant"},
    Refused{R"(%x: f32[1, 2, 4, 4, 4] = input "x", %w: f32[2, 2, 1, 1, 1] = parameter "w")", "{\n  %y = edge.aten.convolution(%x, %w, none, [1, 1, 1], [0, 0, 0], [1, 1, 1], false, [0, 0, 0], 1) : f32[1, 2, 4, 4, 4]", "over 3"},
    Refused{R"(%x: f32[1, 2, 4, 4] = input "x", %w: f32[2, 2, 1, 1] = input "w")", "{\n  %y = edge.aten.convolution(%x, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1) : f32[1, 2, 4, 4]", "weight is not constant"},
    Refused{R"(%x: f32[s0, 2, s1] = input "x", %w: f32[2, 2, 1] = parameter "w")", "where s0 in 1..4, s1 in 1..4 {\n  %y = edge.aten.convolution(%x, %w, none, [1], [0], [1], false, [0], 1) : f32[s0, 2, s1]", "several dynamic dims"},
    Refused{R"(%x: f32[1, 2, 8, 8] = input "x")", "{\n  %y, %i = edge.aten.max_pool2d_with_indices(%x, [2, 2], [3, 3]) : f32[1, 2, 3, 3], i64[1, 2, 3, 3]", "stride"},
    Refused{R"(%x: f32[1, 2, 8, 8] = input "x")", "{\n  %y, %i = edge.aten.max_pool2d_with_indices(%x, [1, 1], [1, 1]) : f32[1, 2, 8, 8], i64[1, 2, 8, 8]", "one element"},
    Refused{R"(%x: f32[1, 2, s0, 8] = input "x")", "where s0 in 4..8 {\n  %y, %i = edge.aten.max_pool2d_with_indices(%x, [2, 2], [2, 2], [0, 0], [1, 1], true) : f32[1, 2, (s0 + 1) // 2, 4], i64[1, 2, (s0 + 1) // 2, 4]", "ceil mode"},
    Refused{R"(%x: f32[1, 2, 7, 7] = input "x")", "{\n  %y = edge.aten.avg_pool2d(%x, [2, 2], [2, 2], [0, 0], true) : f32[1, 2, 4, 4]", "ceil mode"},
    Refused{R"(%x: f32[1, 2, 7, 7] = input "x")", "{\n  %y = edge.aten.adaptive_avg_pool2d(%x, [2, 2]) : f32[1, 2, 2, 2]", "different sizes"},
    Refused{R"(%x: f32[2, 7] = input "x")", "{\n  %y = edge.aten.slice.Tensor(%x, 1, 0, 7, 2) : f32[2, 4]", "step"},
    Refused{R"(%x: f32[2, 1] = input "x", %z: f32[s0] = input "z")", "where s0 in 1..4 {\n  %y = edge.aten.expand(%x, [2, s0]) : f32[2, s0]", "not constant"},
    Refused{R"(%x: f32[2, 4] = input "x")", "{\n  %y = edge.aten.constant_pad_nd(%x, [-1, 0], 0.0) : f32[2, 3]", "negative"},
    Refused{R"(%x: f32[2, 4] = input "x")", "{\n  %y = edge.aten.cat([%x], 0) : f32[2, 4]", "single part"},
    Refused{R"(%x: f32[2, 3, 4] = input "x")", "{\n  %y = edge.aten.mean.dim(%x, [0, 2]) : f32[3]", "follow each other"},
    Refused{R"(%x: f32[3, s0] = input "x")", "where s0 in 1..4 {\n  %y = edge.aten.sum.dim_IntList(%x, [1]) : f32[3]", "not constant"},
    Refused{R"(%x: f32[4] = input "x")", "{\n  %y = quantized_decomposed.quantize_per_tensor(%x, 0.5, 0, 0, 255, u8) : u8[4]", "int8"},
    Refused{R"(%x: i8[4] = input "x")", "{\n  %y = quantized_decomposed.dequantize_per_tensor(%x, 0.5, 0, -127, 127, i8) : f32[4]", "int8"},
    Refused{R"(%x: f32[2, 4] = input "x")", R"({
  %y = edge.aten.neg(%x) : f32[2, 4])", "left out by option skip", left_out("neg")},
    Refused{R"(%x: f32[2, 4] = input "x")", R"({
  %y = edge.aten.neg(%x) : f32[2, 4])", "float32 is left out by option precision", left_out("fp32")},
    Refused{R"(%x: f32[2, 4] = input "x", %z: f16[2, 4] = input "z")", R"({
  %y = edge.aten.maximum(%x, %z) : f32[2, 4])", "operands of dtypes"},
    Refused{R"(%x: f32[1, 2, 8, 8] = input "x")", R"({
  %y, %i = edge.aten.max_pool2d_with_indices(%x, [2, 2], [2, 2]) : f32[1, 2, 4, 4], i64[1, 2, 4, 4]
  %u = edge.aten.neg(%i) : i64[1, 2, 4, 4])", "its result 1 is used"},
    Refused{R"(%x: f32[s0, 4] = input "x")", R"(where s0 in 1..9 {
  %y = edge.aten.add.Scalar(%x, {s0}) : f32[s0, 4])", "the number is known only when the program runs"},
    Refused{R"(%x: f32[s0, 4] = input "x")", R"(where s0 in 1..9 {
  %y = edge.aten.clamp(%x, {s0}, 9) : f32[s0, 4])", "a bound is known only when the program runs"},
    Refused{R"(%x: f32[s0, 4] = input "x")", R"(where s0 in 1..9 {
  %y = edge.aten.constant_pad_nd(%x, [1, 1], {s0}) : f32[s0, 6])", "a value that is not constant"},
    Refused{R"(%x: f32[s0, 4] = input "x", %b: f32[3] = input "b", %w: f32[4, 3] = input "w")", R"(where s0 in 1..9 {
  %y = edge.aten.addmm(%b, %x, %w, beta={s0}) : f32[s0, 3])", "a factor is known only when the program runs"},
    Refused{R"(%x: f32[4] = input "x")", R"({
  %y = edge.aten.softplus(%x, -1.0, 20.0) : f32[4])", "beta is not positive"},
    Refused{R"(%x: f32[2, 4] = input "x", %w: f32[4] = input "w")", R"({
  %y = edge.aten.prelu(%x, %w) : f32[2, 4])", "the slopes are not constant"},
    Refused{R"(%x: f32[2, 4] = input "x", %w: f32[4] = parameter "w")", R"({
  %y = edge.aten.leaky_relu(%x, 0.0) : f32[2, 4])", "slope"},
    Refused{R"(%q: f32[1, 2, 3, 4] = input "q", %k: f32[1, 2, 3, 4] = input "k")", R"({
  %y = edge.aten.scaled_dot_product_attention(%q, %k, %k, none, 0.5) : f32[1, 2, 3, 4])", "attention with dropout"},
    Refused{R"(%q: f32[1, 2, 3, 4] = input "q", %k: f32[2, 3, 4] = input "k")", R"({
  %y = edge.aten.scaled_dot_product_attention(%q, %k, %k) : f32[1, 2, 3, 4])", "operands of different ranks"},
    Refused{R"(%q: f32[1, 2, 3, 4] = input "q", %k: f32[1, 1, 3, 4] = input "k")", R"({
  %y = edge.aten.scaled_dot_product_attention(%q, %k, %k) : f32[1, 2, 3, 4])", "operands with different heads or batches"},
    Refused{R"(%q: f32[1, 2, 3, s0] = input "q", %k: f32[1, 2, 3, s0] = input "k")", R"(where s0 in 1..4 {
  %y = edge.aten.scaled_dot_product_attention(%q, %k, %k) : f32[1, 2, 3, s0])", "a head size that is not constant"},
    Refused{R"(%q: f16[1, 2, 3, 4] = input "q", %k: f16[1, 2, 3, 4] = input "k")", R"({
  %y = edge.aten.scaled_dot_product_attention(%q, %k, %k) : f16[1, 2, 3, 4])", "attention in the delegate is in float32"},
    Refused{R"(%q: f32[1, 2, 3, 4] = input "q", %k: f32[1, 2, 3, 4] = input "k", %m: bool[3, 3] = input "m")", R"({
  %y = edge.aten.scaled_dot_product_attention(%q, %k, %k, %m) : f32[1, 2, 3, 4])", "a bool mask that is made at run time"},
    Refused{R"(%q: f32[1, 2, 3, 4] = input "q", %k: f32[1, 2, 3, 4] = input "k", %m: f64[3, 3] = input "m")", R"({
  %y = edge.aten.scaled_dot_product_attention(%q, %k, %k, %m) : f32[1, 2, 3, 4])", "a mask of another dtype"},
    Refused{R"(%q: f32[1, 2, s0, 4] = input "q", %k: f32[1, 2, s0, 4] = input "k")", R"(where s0 in 1..4 {
  %y = edge.aten.scaled_dot_product_attention(%q, %k, %k, none, 0.0, true) : f32[1, 2, s0, 4])", "a causal mask over sizes that are not constant"},
    Refused{R"(%x: f32[2, 4, 4] = input "x", %w: f32[2, 2, 1, 1] = parameter "w")", R"({
  %y = edge.aten.convolution(%x, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1) : f32[2, 4, 4])", "input without a batch dim"},
    Refused{R"(%x: f32[1, 2, 4, 4] = input "x", %w: f32[2, 2, 1, 1] = parameter "w", %b: f32[2] = input "b")", R"({
  %y = edge.aten.convolution(%x, %w, %b, [1, 1], [0, 0], [1, 1], false, [0, 0], 1) : f32[1, 2, 4, 4])", "the bias is not constant"},
    Refused{R"(%x: f32[1, 2, 4, 4] = input "x", %w: f32[2, 2, 3, 3] = parameter "w")", R"({
  %y = edge.aten.convolution(%x, %w, none, [1, 1], [-1, -1], [1, 1], false, [0, 0], 1) : f32[1, 2, 0, 0])", "may be zero"},
    Refused{R"(%x: f32[1, 2, 6, 6] = input "x", %w: f32[2, 2, 1, 1] = parameter "w")", R"({
  %y = edge.aten.convolution(%x, %w, none, [1, 1], [-1, -1], [1, 1], false, [0, 0], 1) : f32[1, 2, 4, 4])", "padding is negative"},
    Refused{R"(%x: f32[2, 4] = input "x", %w: f32[4] = input "w")", R"({
  %y, %s, %t = edge.aten._native_batch_norm_legit_no_training(%x, %w, %w, %w, %w, 0.1, 1e-05) : f32[2, 4], f32[0], f32[0])", "is not constant"},
    Refused{R"(%x: f32[2, 4] = input "x", %w: f32[4] = input "w")", R"({
  %y = edge.aten.layer_norm(%x, [4], %w) : f32[2, 4])", "is not constant"},
    Refused{R"(%x: f16[2, 4] = input "x")", R"({
  %y = edge.aten.layer_norm(%x, [4]) : f16[2, 4])", "norms are composed in float32 only"},
    Refused{R"(%x: f32[2, s0] = input "x")", R"(where s0 in 1..4 {
  %y = edge.aten.layer_norm(%x, [s0]) : f32[2, s0])", "a normalized size that is not constant"},
    Refused{R"(%x: f32[2, 4] = input "x")", R"({
  %y = edge.aten.layer_norm(%x, []) : f32[2, 4])", "no normalized dims"},
    Refused{R"(%x: f32[s0, s1, 3, 4] = input "x")", R"(where s0 in 1..4, s1 in 1..4 {
  %y = edge.aten.layer_norm(%x, [3, 4]) : f32[s0, s1, 3, 4])", "several normalized dims behind several dynamic ones"},
    Refused{R"(%x: f32[4] = input "x")", R"({
  %y = edge.aten.pow.Tensor_Scalar(%x, 2.5) : f32[4])", "exponent is 2.5"},
    Refused{R"(%x: f32[] = input "x")", R"({
  %y = edge.aten.softmax.int(%x, 0) : f32[])", "an input of rank 0"},
    Refused{R"(%x: f32[2, 4] = input "x")", R"({
  %y = edge.aten.softmax.int(%x, 1, f64) : f64[2, 4])", "f64 tensors"},
    Refused{R"(%x: f16[2, 4] = input "x")", R"({
  %y = edge.aten.softmax.int(%x, 1, f32) : f32[2, 4])", "dtypes"},
    Refused{R"(%x: f32[2, 4] = input "x", %w: f32[4] = parameter "w")", R"({
  %y = edge.aten.linear(%x, %w) : f32[2])", "the weight is no matrix"},
    Refused{R"(%x: f32[2, 4] = input "x", %w: f32[4] = parameter "w")", R"({
  %y = edge.aten.matmul(%x, %w) : f32[2])", "a vector operand"},
    Refused{R"(%x: f16[2, 4] = input "x")", R"({
  %y = edge.aten.sum.dim_IntList(%x, [1]) : f16[2])", "sums in float16"},
    Refused{R"(%x: f32[s0, s1, s2, 4] = input "x")", R"(where s0 in 1..4, s1 in 1..4, s2 in 1..4 {
  %y = edge.aten.sum.dim_IntList(%x, [2]) : f32[s0, s1, 4])", "dropping a dim beside several dynamic ones"},
    Refused{R"(%x: f32[s0, s1, 4] = input "x")", R"(where s0 in 1..4, s1 in 1..4 {
  %y = edge.aten.mean.dim(%x, [2]) : f32[s0, s1])", "several dynamic dims, of which"},
    Refused{R"(%x: f32[2, 8, 8] = input "x")", R"({
  %y, %i = edge.aten.max_pool2d_with_indices(%x, [2, 2], [2, 2]) : f32[2, 4, 4], i64[2, 4, 4])", "an image of rank 3"},
    Refused{R"(%x: f32[1, 2, s0, 8] = input "x")", R"(where s0 in 4..8 {
  %y = edge.aten.adaptive_avg_pool2d(%x, [2, 2]) : f32[1, 2, 2, 2])", "sizes that are not constant"},
    Refused{R"(%x: f32[1, 2, s0, 8] = input "x")", R"(where s0 in 4..8 {
  %y = edge.aten.upsample_bilinear2d.vec(%x, [8, 16], false, none) : f32[1, 2, 8, 16])", "an input size that is not constant"},
    Refused{R"(%x: f32[1, 2, s0, 8] = input "x")", R"(where s0 in 4..8 {
  %y = edge.aten.upsample_bilinear2d.vec(%x, [s0, 16], false, none) : f32[1, 2, s0, 16])", "an output size that is not constant"},
    Refused{R"(%x: f32[1, 2, 5, 5] = input "x")", R"({
  %y = edge.aten.upsample_bilinear2d.vec(%x, none, false, [1.5, 1.5]) : f32[1, 2, 7, 7])", "a factor that the sizes do not say"},
    Refused{R"(%x: f32[4] = input "x")", R"({
  %y = quantized_decomposed.quantize_per_tensor(%x, 0.5, 0, -128, 127, i8) : i8[4])", "quantized numbers are left out", left_out("static")},
    Refused{R"(%x: i8[4] = input "x")", R"({
  %y = quantized_decomposed.dequantize_per_tensor(%x, 0.5, 0, -128, 127, i8) : f32[4])", "quantized numbers are left out", left_out("static")},
    Refused{R"(%x: f16[4] = input "x")", R"({
  %y = quantized_decomposed.quantize_per_tensor(%x, 0.5, 0, -128, 127, i8) : i8[4])", "the delegate quantizes float32"},
    Refused{R"(%x: u8[4] = parameter "x")", R"({
  %y = quantized_decomposed.dequantize_per_tensor(%x, 0.5, 0, 0, 255, u8) : f32[4])", "a constant of another dtype"},
    Refused{R"(%x: i8[4] = input "x")", R"({
  %y = quantized_decomposed.dequantize_per_tensor(%x, 0.5, 0, -128, 127, i8, out_dtype=f16) : f16[4])", "the delegate dequantizes to float32"},
    Refused{R"(%x: f32[4] = input "x")", R"({
  %q = quantized_decomposed.quantize_per_tensor(%x, 0.5, 0, -128, 127, i8) : i8[4]
  %y = quantized_decomposed.dequantize_per_tensor(%q, 0.25, 0, -128, 127, i8) : f32[4])", "numbers are read with another scale"},
    Refused{R"(%x: i8[4, 8] = input "x", %s: f32[4] = input "s", %z: i64[4] = input "z")", R"({
  %y = quantized_decomposed.dequantize_per_channel(%x, %s, %z, 0, -128, 127, i8) : f32[4, 8])", "the delegate takes channels of a constant int8 weight"},
    Refused{R"(%w: i8[4, 8] = parameter "w")", R"({
  %y = quantized_decomposed.dequantize_per_tensor(%w, 0.5, 0, -128, 127, i8) : f32[4, 8])", "what uses the weight is not taken"},
    Refused{R"(%x: f32[2, 4] = input "x")", R"({
  %y, %z = quantized_decomposed.choose_qparams.tensor(%x, -128, 127, 1e-5, i8) : f64[1], i64[1])", "it is an output"},
    Refused{R"(%x: f32[s0, s1] = input "x")", R"(where s0 in 1..4, s1 in 1..4 {
  %y = edge.aten.expand(%x, [3, s0, s1]) : f32[3, s0, s1])", "new dims beside several dynamic ones"},
    Refused{R"(%x: f32[1, 4] = input "x")", R"({
  %y = edge.aten.expand(%x, [5000, 4]) : f32[5000, 4])", "an expansion that would need a large constant"},
    Refused{R"(%x: f32[s0, 4] = input "x")", R"(where s0 in 4..9 {
  %y = edge.aten.slice.Tensor(%x, 0, {s0 - 2}, {s0}, 1) : f32[2, 4])", "a start that is not constant"},
    Refused{R"(%x: f32[s0, 4] = input "x")", R"(where s0 in 4..9 {
  %y = edge.aten.slice.Tensor(%x, 0, 0, {s0 - 2}, 1) : f32[s0 - 2, 4])", "an end that is not constant"},
    Refused{R"(%x: f32[s0, 4] = input "x")", R"(where s0 in 4..9 {
  %y = edge.aten.select.int(%x, 0, {s0 - 1}) : f32[4])", "an index that is not constant"},
    Refused{R"(%x: f32[s0, 4] = input "x")", R"(where s0 in 4..9 {
  %y = edge.aten.select.int(%x, 0, -1) : f32[4])", "an index from the end"},
    Refused{R"(%x: f32[s0, s1, 4] = input "x")", R"(where s0 in 4..9, s1 in 1..4 {
  %y = edge.aten.select.int(%x, 2, 0) : f32[s0, s1])", "dropping a dim beside"},
    Refused{R"(%x: f32[s0, s1] = input "x")", R"(where s0 in 4..9, s1 in 1..4 {
  %y = edge.aten.stack([%x, %x], 0) : f32[2, s0, s1])", "a new dim beside several"},
    Refused{R"(%x: f32[4] = input "x", %w: f32[4] = parameter "w")", R"({
  %y = edge.aten.prelu(%x, %w) : f32[4])", "slopes for each element of a vector"},
    Refused{R"(%x: f32[2, 4] = input "x")", R"({
  %s, %z = quantized_decomposed.choose_qparams.tensor(%x, -128, 127, 1e-5, i8) : f64[1], i64[1]
  %q = quantized_decomposed.quantize_per_tensor.tensor(%x, %s, %z, -128, 127, i8) : i8[2, 4]
  %y = quantized_decomposed.dequantize_per_tensor.tensor(%q, %s, %z, -128, 127, i8) : f32[2, 4]
  %u = edge.aten.neg(%y) : f32[2, 4])", "it is not used by a product with a constant symmetric weight alone"},
    Refused{R"(%x: f32[2, 4] = input "x", %w: f32[s0, 4] = input "w")", R"(where s0 in 1..4 {
  %y = edge.aten.linear(%x, %w) : f32[2, s0])", "the weight's sizes are not constant", left_out("nothing")},
    Refused{R"(%q: f32[2, 3, s0] = input "q", %k: f32[2, 3, s0] = input "k")", R"(where s0 in 1..4 {
  %y = edgec.multi_head_attention(%q, %k, %k, 1) : f32[2, 3, s0])", "heads that are not constant in size"},
    Refused{R"(%x: f32[s0, 4] = input "x")", R"(where s0 in 2..9 {
  %y = edge.aten.amax(%x, [0]) : f32[4])", "a reduced size that is not constant"},
    Refused{R"(%q: f32[2, 3, 4] = input "q", %m: f64[3, 3] = input "m")", R"({
  %y = edgec.multi_head_attention(%q, %q, %q, 2, %m) : f32[2, 3, 4])", "a mask of another dtype"},
    Refused{R"(%q: f16[2, 3, 4] = input "q")", R"({
  %y = edgec.multi_head_attention(%q, %q, %q, 2) : f16[2, 3, 4])", "attention in the delegate is in float32"},
    Refused{R"(%x: f32[s0, s1] = input "x", %p: f32[s1] = input "p")", R"(where s0 in 4..9, s1 in 1..4 {
  %y = edge.aten.select_scatter(%x, %p, 0, 1) : f32[s0, s1])", "a new dim beside several dynamic ones"},
    Refused{R"(%x: f32[2, 4, s0] = input "x")", R"(where s0 in 1..4 {
  %y = edge.aten.group_norm(%x, 2) : f32[2, 4, s0])", "a normalized size that is not constant"},
    Refused{R"(%x: f32[2, 4] = input "x")", R"({
  %y = edge.aten.cat([%x], 0) : f32[2, 4])", "a single part"},
    Refused{R"(%x: f32[2, 4] = input "x")", R"({
  %y = edge.aten.stack([%x], 0) : f32[1, 2, 4])", "a single part"},
    Refused{R"(%x: f32[s0, 4] = input "x", %p: f32[2, 4] = input "p")", R"(where s0 in 4..9 {
  %y = edge.aten.slice_scatter(%x, %p, 0, {s0 - 2}, {s0}, 1) : f32[s0, 4])", "a start that is not constant"},
    Refused{R"(%x: f32[4, 4] = input "x", %p: f32[2, 4] = input "p")", R"({
  %y = edge.aten.slice_scatter(%x, %p, 0, 0, 4, 2) : f32[4, 4])", "a step of 2"},
    Refused{R"(%x: f32[s0, 4] = input "x", %p: f32[s0 - 2, 4] = input "p")", R"(where s0 in 4..9 {
  %y = edge.aten.slice_scatter(%x, %p, 0, 0, {s0 - 2}, 1) : f32[s0, 4])", "an end that is not constant"},
    Refused{R"(%x: f32[s0, 4] = input "x", %p: f32[4] = input "p")", R"(where s0 in 4..9 {
  %y = edge.aten.select_scatter(%x, %p, 0, -1) : f32[s0, 4])", "an index from the end of a dim that is not constant"},
    Refused{R"(%x: f32[s0, 4] = input "x", %p: f32[4] = input "p")", R"(where s0 in 4..9 {
  %y = edge.aten.select_scatter(%x, %p, 0, {s0 - 1}) : f32[s0, 4])", "an index that is not constant"},
    Refused{R"(%x: f32[1, 2, 8, 8] = input "x")", R"({
  %y = edge.aten.avg_pool2d(%x, [1, 1]) : f32[1, 2, 8, 8])", "a window of one element"},
    Refused{R"(%x: f32[1, 2, 8, 8] = input "x")", R"({
  %y = edge.aten.adaptive_avg_pool2d(%x, [8, 8]) : f32[1, 2, 8, 8])", "a window of one element"},
    Refused{R"(%x: f32[2, 1] = input "x")", R"({
  %y = edge.aten.amax(%x, [1]) : f32[2])", "a window of one element"},
    Refused{R"(%x: f32[] = input "x", %w: f32[4, 1] = parameter "w")", R"({
  %y = edge.aten.linear(%x, %w) : f32[4])", "an input of rank 0"},
    Refused{R"(%x: f32[] = input "x")", R"({
  %y = edge.aten.mean.dim(%x, [0]) : f32[])", "an input of rank 0"},
    Refused{R"(%x: f32[] = input "x")", R"({
  %y = edge.aten.amax(%x, [0]) : f32[])", "an input of rank 0"},
    Refused{R"(%x: f32[2, 3, 4] = input "x")", R"({
  %y = edge.aten.mean.dim(%x, [0, 2]) : f32[3])", "dims that do not follow each other"},
    Refused{R"(%x: f32[2, 3, 4] = input "x")", R"({
  %y = edge.aten.amax(%x, [0, 2]) : f32[3])", "dims that do not follow each other"},
    Refused{R"(%x: f32[s0, s1, 4] = input "x")", R"(where s0 in 1..4, s1 in 1..4 {
  %y = edge.aten.amax(%x, [2]) : f32[s0, s1])", "several dynamic dims, of which"},
    Refused{R"(%x: f32[2, 4] = input "x")", R"({
  %s, %z = quantized_decomposed.choose_qparams.tensor(%x, -8, 7, 1e-5, i8) : f64[1], i64[1]
  %q = quantized_decomposed.quantize_per_tensor.tensor(%x, %s, %z, -8, 7, i8) : i8[2, 4]
  %y = quantized_decomposed.dequantize_per_tensor.tensor(%q, %s, %z, -8, 7, i8) : f32[2, 4])", "the delegate quantizes to 8 bits"},
    Refused{R"(%x: f32[s0, 4] = input "x")", R"(where s0 in 1..4 {
  %n = aten.sym_size.int(%x, 0) : symint s0
  %y = edge.aten.add.Scalar(%x, %n) : f32[s0, 4])", "an operand that is a number made at run time"},
    Refused{R"(%x: object "c" = input "x")", R"({
  %y = edge.aten.neg(%x) : f32[2])", "an operand that is no tensor"}
  };
}
// clang-format on

// Two numbers in a graph that is not the method's own.
std::string refusal_of_a_branch() {
  const std::string text = "stage edge\nmethod @forward(%x: f32[2] = input \"x\") {\n  %y = edge.aten.neg(%x) : f32[2]\n  return %y\n}";
  auto method = parse_program(text), branch = parse_program(text);
  const Graph& g = *(*branch)->methods[0]->graph;
  return region_refused(*(*method)->methods[0], g, g.nodes_in_order()).value_or("");
}

std::string refusal_without_result() {
  auto p = parse_program("stage edge\nmethod @forward(%x: f32[2] = input \"x\") {\n  edge.aten.neg(%x)\n  return %x\n}");
  EXPECT_TRUE(p) << (p ? "" : p.failure().message);
  if (!p) return "does not parse";
  const Method& m = *(*p)->methods[0];
  return refuses(Site{m, *m.graph, m.graph->first(), {}}).value_or("");
}

// Two numbers in sizes that data decide.
std::string refusal_of_sizes_from_data() {
  auto p = parse_program(R"(stage edge
method @forward(%x: f32[8] = input "x") where u0 in 1..8 {
  %i = aten.nonzero(%x) : i64[u0, 1]
  %f = aten._to_copy(%i, dtype=f32) : f32[u0, 1]
  %y = edge.aten.neg(%f) : f32[u0, 1]
  return %y
})");
  EXPECT_TRUE(p) << (p ? "" : p.failure().message);
  if (!p) return "does not parse";
  const Method& m = *(*p)->methods[0];
  const auto nodes = m.graph->nodes_in_order();
  return region_refused(m, *m.graph, std::span(nodes).last(1)).value_or("");
}

class XnnpackRefusal : public testing::TestWithParam<Refused> {};

TEST_P(XnnpackRefusal, SaysWhy) {
  const std::string text = refusal(GetParam());
  EXPECT_NE(text.find(GetParam().reason), std::string::npos) << "it says: \"" << text << "\" of " << GetParam().node;
}

INSTANTIATE_TEST_SUITE_P(Reasons, XnnpackRefusal, testing::ValuesIn(cases()));

// The sentences in a source file's functions that give a Refusal; in them {} stands for what is put in. Names of parameters and operators
// are no sentences: they have no space.
std::vector<std::string> reasons_in(const std::filesystem::path& file) {
  std::ifstream in(file);
  static const std::regex literal(R"re("((?:[^"\\]|\\.)*)")re");
  std::vector<std::string> out;
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("Refusal ") && line.find('{') != std::string::npos) inside = true;
    if (inside)
      for (std::sregex_iterator it(line.begin(), line.end(), literal), end; it != end; ++it)
        if (it->str(1).find(' ') != std::string::npos) out.push_back(it->str(1));
    if (line == "}" || (line.starts_with("Refusal ") && line.ends_with('}'))) inside = false;
  }
  return out;
}

// Whether a text is the sentence, or ends in it when it begins with a space: that is what is put into another one.
bool says(const std::string& text, const std::string& reason) {
  static const std::regex special(R"([.^$|()\[\]*+?\\])"), hole(R"(\{[^}]*\})");
  std::string pattern = std::regex_replace(reason, special, R"(\$&)");
  pattern = (reason[0] == ' ' ? ".*" : "") + std::regex_replace(pattern, hole, ".*");
  return std::regex_match(text, std::regex(pattern));
}

// A sentence that stands in several places wants as many cases.
TEST(XnnpackReasons, EveryOneHasACase) {
  std::vector<std::string> texts = {refusal_of_a_branch(), refusal_of_sizes_from_data()};
  texts.push_back(refusal_without_result());
  for (const Refused& r : cases()) texts.push_back(refusal(r));
  const auto folder = std::filesystem::path(EDGEC_TESTS_DIR).parent_path() / "src/backends/xnnpack";
  std::map<std::string, std::vector<std::string>> places;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".cpp")
      for (const std::string& reason : reasons_in(entry.path())) places[reason].push_back(entry.path().filename().string());
  for (const auto& place : places) {
    const std::string& reason = place.first;
    const std::vector<std::string>& files = place.second;
    const auto count =
        static_cast<size_t>(std::count_if(texts.begin(), texts.end(), [&](const std::string& t) { return says(t, reason); }));
    EXPECT_GE(count, files.size()) << files.front() << ": fewer calls are refused than places say \"" << reason << '"';
  }
  EXPECT_GT(places.size(), 80u);
}

}  // namespace
}  // namespace edgec::xnnpack
