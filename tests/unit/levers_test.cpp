#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "emit/program.h"
#include "ops/table.h"
#include "passes/registry.h"
#include "pipeline/pipeline.h"
#include "support/sink.h"

// Every pass that --no-pass switches off does something: the program that is written differs without it, and those that save memory save
// some.
namespace edgec {
namespace {

struct Made {
  std::string graph;
  std::vector<std::byte> file;
  int64_t arena = 0;
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
  BytesSink sink;
  EXPECT_TRUE(pte::write(outcome->emitted.program, sink));
  return {print(**program), std::move(sink.bytes), outcome->plans[0].arena_bytes};
}

// What a lever saves. Graph: nothing of what is written; what nothing uses is not, and most passes take away what they leave over.
enum class Saves { Arena, Time, Graph };

struct Lever {
  const char* pass;
  Saves saves;
  const char* program;  // that it changes, before or at the Core stage
};

constexpr Lever kLevers[] = {
    {"bind-weights", Saves::Time,
     "stage functional method @forward(%w: f32[4, 2] = parameter \"w\", %x: f32[1, 4] = input \"x\", %p: bool[] = input \"p\") {\n"
     "  %y = higher_order.cond(%p, graph(%a: f32[1, 4], %b: f32[4, 2]) {\n"
     "    %u = aten.mm(%a, %b) : f32[1, 2] return %u\n"
     "  }, graph(%a: f32[1, 4], %b: f32[4, 2]) {\n"
     "    %t = aten.permute(%b, [1, 0]) : f32[2, 4] %u = aten.mm(%a, %b) : f32[1, 2] %v = aten.mm(%u, %t) : f32[1, 4]\n"
     "    %s = aten.slice.Tensor(%v, 1, 0, 2) : f32[1, 2] return %s\n"
     "  }, [%x, %w]) : f32[1, 2] return %y }\n"},
    {"fuse-linear", Saves::Time,
     "stage core method @forward(%w: f32[2, 4] = parameter \"w\", %x: f32[1, 4] = input \"x\") {\n"
     "  %t = aten.permute(%w, [1, 0]) : f32[4, 2] %y = aten.mm(%x, %t) : f32[1, 2] return %y }\n"},
    {"choose-kernels", Saves::Time,
     "stage core method @forward(%w: f32[8, 8, 2, 2] = parameter \"w\", %x: f32[1, 8, 8, 8] = input \"x\") {\n"
     "  %y = aten.convolution(%x, %w, none, [2, 2], [0, 0], [1, 1], false, [0, 0], 1) : f32[1, 8, 4, 4] return %y }\n"},
    {"fold-constants", Saves::Arena,
     "stage core method @forward(%w: f32[2, 4] = parameter \"w\", %x: f32[4, 2] = input \"x\") {\n"
     "  %t = aten.permute(%w, [1, 0]) : f32[4, 2] %y = aten.add.Tensor(%x, %t) : f32[4, 2] return %y }\n"},
    {"fold-weights", Saves::Arena,
     "stage core constant #0 \"q\" i8[2, 2] = [1, -2, 3, 4]\n"
     "method @forward(%q: i8[2, 2] = parameter \"q\" #0, %x: f32[1, 2] = input \"x\") {\n"
     "  %w = quantized_decomposed.dequantize_per_tensor(%q, 0.5, 3, -128, 127, i8) : f32[2, 2]\n"
     "  %y = aten.linear(%x, %w) : f32[1, 2] return %y }\n"},
    {"fuse-quantized", Saves::Arena,
     "stage core method @forward(%x: i8[4] = input \"x\") {\n"
     "  %d = quantized_decomposed.dequantize_per_tensor(%x, 0.5, 3, -128, 127, i8) : f32[4]\n"
     "  %q = quantized_decomposed.quantize_per_tensor(%d, 0.5, 3, -128, 127, i8) : i8[4] return %q }\n"},
    {"split-slopes", Saves::Arena,
     "stage core constant #0 \"w\" f32[1] = [0.25]\n"
     "method @forward(%w: f32[1] = parameter \"w\" #0, %x: f32[64] = input \"x\") {\n"
     "  %p = aten.gt.Scalar(%x, 0) : bool[64] %m = aten.mul.Tensor(%x, %w) : f32[64]\n"
     "  %y = aten.where.self(%p, %x, %m) : f32[64] return %y }\n"},
    {"remove-noop", Saves::Arena,
     "stage core method @forward(%x: f32[4, 2] = input \"x\") {\n"
     "  %t = aten.clone(%x) : f32[4, 2] %y = aten.relu(%t) : f32[4, 2] return %y }\n"},
    {"cse", Saves::Arena,
     "stage core method @forward(%x: f32[8] = input \"x\") {\n"
     "  %a = aten.relu(%x) : f32[8] %b = aten.relu(%x) : f32[8] %y = aten.add.Tensor(%a, %b) : f32[8] return %y }\n"},
    {"remove-dead", Saves::Graph,
     "stage core method @forward(%w: f32[2] = parameter \"w\", %x: f32[8] = input \"x\") {\n"
     "  %b = aten.neg(%x) : f32[8] return %b }\n"},
    {"reorder", Saves::Arena,
     "stage core method @forward(%x: f32[1, 8] = input \"x\", %w: f32[256, 8] = parameter \"w\", %v: f32[1, 256] = parameter \"v\") {\n"
     "  %a = aten.linear(%x, %w) : f32[1, 256] %b = aten.sigmoid(%x) : f32[1, 8] %c = aten.linear(%b, %w) : f32[1, 256]\n"
     "  %d = aten.linear(%a, %v) : f32[1, 1] %e = aten.linear(%c, %v) : f32[1, 1] %f = aten.add.Tensor(%d, %e) : f32[1, 1]\n"
     "  return %f }\n"},
    {"split-rows", Saves::Arena,
     "stage core method @forward(%x: f32[1, 16, 64] = input \"x\", %a: f32[4096, 64] = parameter \"a\", %b: f32[64, 4096] = parameter "
     "\"b\") {\n"
     "  %h = aten.linear(%x, %a) : f32[1, 16, 4096] %g = aten.gelu(%h) : f32[1, 16, 4096]\n"
     "  %y = aten.linear(%g, %b) : f32[1, 16, 64] return %y }\n"},
    {"alias-views", Saves::Arena,
     "stage core method @forward(%x: f32[4, 8] = input \"x\") {\n"
     "  %s = aten.slice.Tensor(%x, 0, 1, 3) : f32[2, 8] %y = aten.sum.dim_IntList(%s, [1]) : f32[2] return %y }\n"},
    {"place-results", Saves::Arena,
     "stage functional method @forward(%x: f32[64] = input \"x\", %p: bool[] = input \"p\") {\n"
     "  %y = higher_order.cond(%p, graph(%a: f32[64]) { %u = aten.sigmoid(%a) : f32[64] return %u },\n"
     "    graph(%a: f32[64]) { %u = aten.tanh(%a) : f32[64] return %u }, [%x]) : f32[64] return %y }\n"},
    {"write-in-place", Saves::Arena,
     "stage functional method @forward(%k: f32[64] = buffer \"k\" mutated, %x: f32[64] = input \"x\") {\n"
     "  %n = aten.add.Tensor(%k, %x) : f32[64] %s = aten.sum(%n) : f32[] return %n -> buffer \"k\", %s }\n"},
    {"concat-in-place", Saves::Arena,
     "stage core method @forward(%x: f32[1, 64] = input \"x\") {\n"
     "  %a = aten.sigmoid(%x) : f32[1, 64] %b = aten.tanh(%x) : f32[1, 64] %c = aten.cat([%a, %b], 1) : f32[1, 128] return %c }\n"},
    {"reuse-inputs", Saves::Time,  // a tensor to load, where it saves no bytes
     "stage core method @forward(%h: f32[2, 64] = input \"h\", %w: f32[64, 64] = parameter \"w\") {\n"
     "  %a = aten.sum.dim_IntList(%h, [0]) : f32[64] %b = aten.linear(%a, %w) : f32[64]\n"
     "  %c = aten.linear(%b, %w) : f32[64] %n = aten.stack([%c, %b]) : f32[2, 64] return %n }\n"},
    {"reuse-operands", Saves::Arena,
     "stage core method @forward(%x: f32[64] = input \"x\") {\n"
     "  %a = aten.sigmoid(%x) : f32[64] %b = aten.tanh(%a) : f32[64] return %b }\n"},
};

TEST(Levers, EachHasARow) {
  std::set<std::string> rows;
  for (const Lever& lever : kLevers) EXPECT_TRUE(rows.insert(lever.pass).second) << lever.pass;
  for (const passes::PassInfo& pass : passes::all_passes())
    EXPECT_EQ(pipeline::is_lever(pass.name), rows.count(pass.name) > 0) << pass.name;
  for (const std::string& row : rows) EXPECT_TRUE(passes::find_pass(row)) << row;
}

TEST(Levers, EachChangesTheProgramAndSavesWhatItSays) {
  for (const auto& [pass, saves, text] : kLevers) {
    SCOPED_TRACE(pass);
    const Made with = made(text, {}), without = made(text, {pass});
    EXPECT_NE(with.graph, without.graph);
    EXPECT_EQ(with.file == without.file, saves == Saves::Graph);
    if (saves == Saves::Arena) {
      EXPECT_LT(with.arena, without.arena);
    }
  }
}

// State that whoever runs the program gives memory for: nothing is put into it, and nothing is left without a place.
TEST(Levers, NothingLiesInStateWithoutAPlace) {
  ops::register_all();
  const auto lever =
      std::find_if(std::begin(kLevers), std::end(kLevers), [](const Lever& l) { return std::string_view(l.pass) == "write-in-place"; });
  auto program = parse_program(lever->program);
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
