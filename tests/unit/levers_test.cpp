#include <gtest/gtest.h>

#include <algorithm>

#include "ops/table.h"
#include "passes/registry.h"
#include "pipeline/pipeline.h"

// Every pass that --no-pass switches off does something: the program differs without it.
namespace edgec {
namespace {

struct Made {
  std::string ir;
  int64_t arena = 0;
  size_t instructions = 0;
};

Made made(std::string_view text, std::set<std::string> disabled) {
  ops::register_all();
  auto program = parse_program(text);
  EXPECT_TRUE(program) << program.failure().message;
  pipeline::Options options;
  options.disabled_passes = std::move(disabled);
  auto outcome = pipeline::compile(**program, options);
  EXPECT_TRUE(outcome) << outcome.failure().message;
  if (!outcome) return {};
  return {print(**program), outcome->plans[0].arena_bytes, outcome->emitted.program.plans[0].instructions.size()};
}

// Programs of the Core stage, by lever.
constexpr std::pair<const char*, const char*> kPrograms[] = {
    {"bind-weights",
     "stage functional method @forward(%w: f32[4, 2] = parameter \"w\", %x: f32[1, 4] = input \"x\", %p: bool[] = input \"p\") {\n"
     "  %y = higher_order.cond(%p, graph(%a: f32[1, 4], %b: f32[4, 2]) {\n"
     "    %u = aten.mm(%a, %b) : f32[1, 2] return %u\n"
     "  }, graph(%a: f32[1, 4], %b: f32[4, 2]) {\n"
     "    %t = aten.permute(%b, [1, 0]) : f32[2, 4] %u = aten.mm(%a, %b) : f32[1, 2] %v = aten.mm(%u, %t) : f32[1, 4]\n"
     "    %s = aten.slice.Tensor(%v, 1, 0, 2) : f32[1, 2] return %s\n"
     "  }, [%x, %w]) : f32[1, 2] return %y }\n"},
    {"fuse-linear",
     "stage core method @forward(%w: f32[2, 4] = parameter \"w\", %x: f32[1, 4] = input \"x\") {\n"
     "  %t = aten.permute(%w, [1, 0]) : f32[4, 2] %y = aten.mm(%x, %t) : f32[1, 2] return %y }\n"},
    {"choose-kernels",
     "stage core method @forward(%w: f32[8, 8, 2, 2] = parameter \"w\", %x: f32[1, 8, 8, 8] = input \"x\") {\n"
     "  %y = aten.convolution(%x, %w, none, [2, 2], [0, 0], [1, 1], false, [0, 0], 1) : f32[1, 8, 4, 4] return %y }\n"},
    {"fold-constants",
     "stage core method @forward(%w: f32[2, 4] = parameter \"w\", %x: f32[4, 2] = input \"x\") {\n"
     "  %t = aten.permute(%w, [1, 0]) : f32[4, 2] %y = aten.add.Tensor(%x, %t) : f32[4, 2] return %y }\n"},
    {"fold-weights",
     "stage core constant #0 \"q\" i8[2, 2] = [1, -2, 3, 4]\n"
     "method @forward(%q: i8[2, 2] = parameter \"q\" #0, %x: f32[1, 2] = input \"x\") {\n"
     "  %w = quantized_decomposed.dequantize_per_tensor(%q, 0.5, 3, -128, 127, i8) : f32[2, 2]\n"
     "  %y = aten.linear(%x, %w) : f32[1, 2] return %y }\n"},
    {"fuse-quantized",
     "stage core method @forward(%x: i8[4] = input \"x\") {\n"
     "  %d = quantized_decomposed.dequantize_per_tensor(%x, 0.5, 3, -128, 127, i8) : f32[4]\n"
     "  %q = quantized_decomposed.quantize_per_tensor(%d, 0.5, 3, -128, 127, i8) : i8[4] return %q }\n"},
    {"split-slopes",
     "stage core constant #0 \"w\" f32[1] = [0.25]\n"
     "method @forward(%w: f32[1] = parameter \"w\" #0, %x: f32[64] = input \"x\") {\n"
     "  %p = aten.gt.Scalar(%x, 0) : bool[64] %m = aten.mul.Tensor(%x, %w) : f32[64]\n"
     "  %y = aten.where.self(%p, %x, %m) : f32[64] return %y }\n"},
    {"remove-noop",
     "stage core method @forward(%x: f32[4, 2] = input \"x\") {\n"
     "  %t = aten.clone(%x) : f32[4, 2] %y = aten.relu(%t) : f32[4, 2] return %y }\n"},
    {"cse",
     "stage core method @forward(%x: f32[8] = input \"x\") {\n"
     "  %a = aten.relu(%x) : f32[8] %b = aten.relu(%x) : f32[8] %y = aten.add.Tensor(%a, %b) : f32[8] return %y }\n"},
    {"remove-dead",
     "stage core method @forward(%w: f32[2] = parameter \"w\", %x: f32[8] = input \"x\") {\n"
     "  %b = aten.neg(%x) : f32[8] return %b }\n"},
    {"reorder",
     "stage core method @forward(%x: f32[1, 8] = input \"x\", %w: f32[256, 8] = parameter \"w\", %v: f32[1, 256] = parameter \"v\") {\n"
     "  %a = aten.linear(%x, %w) : f32[1, 256] %b = aten.sigmoid(%x) : f32[1, 8] %c = aten.linear(%b, %w) : f32[1, 256]\n"
     "  %d = aten.linear(%a, %v) : f32[1, 1] %e = aten.linear(%c, %v) : f32[1, 1] %f = aten.add.Tensor(%d, %e) : f32[1, 1]\n"
     "  return %f }\n"},
    {"split-rows",
     "stage core method @forward(%x: f32[1, 16, 64] = input \"x\", %a: f32[4096, 64] = parameter \"a\", %b: f32[64, 4096] = parameter "
     "\"b\") {\n"
     "  %h = aten.linear(%x, %a) : f32[1, 16, 4096] %g = aten.gelu(%h) : f32[1, 16, 4096]\n"
     "  %y = aten.linear(%g, %b) : f32[1, 16, 64] return %y }\n"},
    {"alias-views",
     "stage core method @forward(%x: f32[4, 8] = input \"x\") {\n"
     "  %s = aten.slice.Tensor(%x, 0, 1, 3) : f32[2, 8] %y = aten.sum.dim_IntList(%s, [1]) : f32[2] return %y }\n"},
    {"place-results",
     "stage functional method @forward(%x: f32[64] = input \"x\", %p: bool[] = input \"p\") {\n"
     "  %y = higher_order.cond(%p, graph(%a: f32[64]) { %u = aten.sigmoid(%a) : f32[64] return %u },\n"
     "    graph(%a: f32[64]) { %u = aten.tanh(%a) : f32[64] return %u }, [%x]) : f32[64] return %y }\n"},
    {"write-in-place",
     "stage functional method @forward(%k: f32[64] = buffer \"k\" mutated, %x: f32[64] = input \"x\") {\n"
     "  %n = aten.add.Tensor(%k, %x) : f32[64] %s = aten.sum(%n) : f32[] return %n -> buffer \"k\", %s }\n"},
    {"concat-in-place",
     "stage core method @forward(%x: f32[1, 64] = input \"x\") {\n"
     "  %a = aten.sigmoid(%x) : f32[1, 64] %b = aten.tanh(%x) : f32[1, 64] %c = aten.cat([%a, %b], 1) : f32[1, 128] return %c }\n"},
    {"reuse-operands",
     "stage core method @forward(%x: f32[64] = input \"x\") {\n"
     "  %a = aten.sigmoid(%x) : f32[64] %b = aten.tanh(%a) : f32[64] return %b }\n"},
};

TEST(Levers, EachChangesAProgram) {
  std::set<std::string> seen;
  for (const auto& [lever, text] : kPrograms) {
    SCOPED_TRACE(lever);
    EXPECT_TRUE(pipeline::is_lever(lever));
    seen.insert(lever);
    EXPECT_NE(made(text, {}).ir, made(text, {lever}).ir);
  }
  for (const passes::PassInfo& pass : passes::all_passes())
    EXPECT_EQ(pipeline::is_lever(pass.name), seen.count(pass.name) > 0) << pass.name;
}

TEST(Levers, ThoseOfMemorySaveBytesOrInstructions) {
  for (const auto& [lever, text] : kPrograms) {
    const std::string name = lever;
    const bool saves = name == "reorder" || name == "split-rows" || name == "alias-views" || name == "place-results" ||
                       name == "write-in-place" || name == "fold-weights" || name == "concat-in-place" || name == "reuse-operands";
    if (!saves) continue;
    SCOPED_TRACE(lever);
    const Made with = made(text, {}), without = made(text, {name});
    EXPECT_LE(with.arena, without.arena);
    EXPECT_TRUE(with.arena < without.arena || with.instructions < without.instructions);
  }
}

// State that whoever runs the program gives memory for: nothing is put into it, and nothing is left without a place.
TEST(Levers, NothingLiesInStateWithoutAPlace) {
  ops::register_all();
  const auto text =
      std::find_if(std::begin(kPrograms), std::end(kPrograms), [](auto& p) { return std::string_view(p.first) == "write-in-place"; });
  auto program = parse_program(text->second);
  ASSERT_TRUE(program) << program.failure().message;
  pipeline::Options options;
  options.plan.alloc_mutable_buffers = false;
  ASSERT_TRUE(pipeline::compile(**program, options));
  const Method& m = *(*program)->methods[0];
  for (NodeId n = m.graph->first(); n; n = m.graph->next(n)) {
    if (m.graph->node(n).op->schema().mutates()) continue;  // its result is the state itself
    for (ValueId r : m.graph->node(n).results) EXPECT_TRUE(m.graph->value(r).place) << print_node(*m.graph, n);
  }
}

}  // namespace
}  // namespace edgec
