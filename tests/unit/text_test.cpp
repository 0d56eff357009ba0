#include <gtest/gtest.h>

#include <cstring>

#include <edgec/op.h>
#include <edgec/program.h>
#include "ir/text.h"
#include "ops/table.h"

// The operators of these tests are either in the table (when edgec_ops is linked they may have rules) or made up:
// `test.*`.
namespace edgec {
namespace {

std::unique_ptr<Program> parsed(std::string_view text) {
  auto p = parse_program(text);
  EXPECT_TRUE(p) << (p ? "" : p.failure().message) << "\n" << text;
  return p ? std::move(*p) : std::make_unique<Program>();
}

// The text prints as itself.
void expect_canonical(std::string_view text) {
  auto p = parsed(text);
  EXPECT_EQ(print(*p), text);
  std::string why;
  EXPECT_TRUE(same_program(*p, *parsed(print(*p)), &why)) << why;
}

void expect_prints(std::string_view text, std::string_view want) {
  EXPECT_EQ(print(*parsed(text)), want);
  expect_canonical(want);
}

void expect_error(std::string_view text, std::string_view want) {
  auto p = parse_program(text);
  ASSERT_FALSE(p) << text;
  EXPECT_EQ(p.failure().message, want) << text;
  EXPECT_EQ(p.failure().kind, ErrorKind::Input);
}

TEST(Text, a_small_method) {
  expect_canonical(R"(stage aten
method @forward(%x: f32[s0, 3] = input "x") {
  %a = test.clone(%x) : f32[s0, 3]
  return %a
}
)");
}

TEST(Text, stage_and_descriptions_may_be_left_out) {
  expect_prints("method @f(%x: f32[2]) { return %x }", R"(stage aten
method @f(%x: f32[2] = input "x") {
  return %x
}
)");
  expect_canonical("stage exec\n");
}

TEST(Text, facts_about_symbols_and_guards) {
  expect_canonical(R"(stage core
method @forward(%x: f32[s0, s1] = input "x") where f0 float, s0 in 1..4, s1 in 2.., u0, u1 in ..-7, {s0 < s1} "s0 is small", {3 <= s1} {
  %n = test.item(%x) : symint {2*s0 + 1}
  %f = test.number() : symfloat f0
  %b = test.flag() : symbool {s0 < s1}
  return %n, %f, %b, u0, {s0 + s1}
}
)");
}

TEST(Text, every_kind_of_argument) {
  expect_canonical(R"(stage aten
constant #0 "k" f32[2] = [1.5, -2.0]
method @forward(%x: f32[s0] = input "x", %l: none = literal "l" [1, 2.0, "q"]) {
  %a = test.args(%x, 1, -9223372036854775808, 1.0, -1e-300, inf, -inf, nan, true, false, none, "s\"\\\n\x01", f32, channels_last, s0, {s0 + 1}, [], [%x, [none], 2], #0) : object "torch.Cls"
  test.no_result(%x)
  %b, %c = test.two(%x, named=3, other=[4]) : f32[s0] strides [2], none
  return
}
)");
}

TEST(Text, layouts_and_places) {
  expect_canonical(R"(stage exec
method @forward(%x: f32[1, 2, 3, 4]{0,2,3,1} @1+0 = input "x") {
  %a, %b = test.f(%x) : f32[1, 2, 3, 4]{0,2,3,1} @2+4096, i64[2] strides [0]
  return %a
}
)");
}

TEST(Text, weights) {
  expect_prints(R"(
    constant #0 "w" f32[2] = [1, 2.5]   # small ones may be given
    constant #1 "big" f16[100, 100]
    method @forward(%w: f32[2] = parameter "w", %v: f32[3, 4] = buffer "v" transient, %b: f16[100, 100] = constant "big" #1) {
      return %w -> buffer "v", %v -> input "x"
    })",
                R"(stage aten
constant #0 "w" f32[2] = [1.0, 2.5]
constant #1 "big" f16[100, 100]
constant #2 "v" f32[3, 4]
method @forward(
    %w: f32[2] = parameter "w" #0,
    %v: f32[3, 4] = buffer "v" #2 transient,
    %b: f16[100, 100] = constant "big" #1) {
  return %w -> buffer "v", %v -> input "x"
}
)");
}

TEST(Text, mutated_inputs_and_layouts_of_outputs) {
  expect_canonical(R"(stage functional
constant #0 "k" f32[2]
method @forward(%k: f32[2] = buffer "k" #0 transient mutated, %x: f32[2] = input "x" mutated) {
  return %x -> buffer "k", %k order {0,2,3,1} -> input "x", %x order {1,0}
}
)");
}

TEST(Text, values_of_small_constants_in_every_dtype) {
  std::string text = "stage aten\n";
  int k = 0;
  for (const char* line :
       {"bool[2] = [1, 0]", "u8[1] = [255]", "i64[2] = [-9223372036854775808, 7]", "f16[1] = [65504.0]", "bf16[2] = [1.0, nan]",
        "f64[3] = [0.1, inf, -0.0]", "f8e4m3fn[1] = [448.0]", "f32[] = [3.25]", "c64[2]", "f32[0]"})
    text += "constant #" + std::to_string(k++) + " \"c\" " + line + "\n";
  expect_canonical(text + "method @forward() {\n  return\n}\n");
}

TEST(Text, huge_constants_cost_nothing) {
  auto p = parsed(
      "constant #0 \"w\" f32[1000000, 1000000]\nmethod @f(%w: f32[1000000, 1000000] = parameter \"w\" #0) { return %w "
      "}");
  EXPECT_TRUE(p->methods[0]->constants[0].data.in_bounds());
  expect_error("constant #0 \"w\" f32[1000000000, 10000000000]\nmethod @f() { return }", "1:10: the sizes of the constant overflow");
}

TEST(Text, subgraphs_have_values_of_their_own) {
  expect_canonical(R"(stage core
method @forward(%p: bool[] = input "p", %x: f32[s0] = input "x") {
  %y = test.cond(%p, graph(%x: f32[s0]) {
    %y = test.f(%x, graph() {
      return 1
    }) : f32[s0]
    return %y
  }, graph(%z: f32[s0]) {
    return %z
  }, [%x]) : f32[s0]
  return %y
}
)");
}

TEST(Text, constant_methods_and_several_methods) {
  expect_canonical(R"(stage edge
constant #0 "w" f32[1] = [1.0]
method @a(%w: f32[1] = parameter "w" #0) {
  return %w
}
constant #0 "w" f32[1] = [2.0]
method @"odd name"(%w: f32[1] = parameter "w" #0) {
  return %w
}
constant_method @get_max_seq_len = [128]
constant_method @mixed = [1.5, true, "text", -1]
)");
}

TEST(Text, names_may_start_with_digits) {
  expect_canonical("stage aten\nmethod @f(%7: f32[1] = input \"7\") {\n  %8_x = test.f(%7) : f32[1]\n  return %8_x\n}\n");
  expect_error("method @f(%x: f32[2]) { a.default(%x) return }", "1:25: expected an operator like aten.add.Tensor, found `a`");
}

TEST(Text, comments_and_blanks_mean_nothing) {
  expect_prints("# run: x\nmethod # here\n@f ( %x : f32 [ 2 , 3 ] ) #\n{ # # \" [ {\n %a\n=\ntest.f ( %x ) : f32[2] return %a }#",
                "stage aten\nmethod @f(%x: f32[2, 3] = input \"x\") {\n  %a = test.f(%x) : f32[2]\n  return %a\n}\n");
}

TEST(Text, names_that_read_as_something_else_are_braced) {
  expect_canonical(R"(stage aten
method @forward(%x: f32[f32, true_] = input "x") {
  %a = test.f({f32}, true_) : symint {f32}
  return %a
}
)");
}

TEST(Text, placeholders_keep_their_parameter_names) {
  auto p = parsed("method @f(%x: f32[1]) { %y = test.unheard(%x, mode=\"a\") : f32[1] return %y }");
  const Node& n = p->methods[0]->graph->node(p->methods[0]->graph->first());
  EXPECT_FALSE(n.op->known);
  EXPECT_EQ(n.op->name(), "test.unheard");
  EXPECT_EQ(n.op->schema().params[1].name, "mode");
  EXPECT_EQ(n.loc->line, 1);
  // The same operator with other arguments is another placeholder.
  parsed("method @f(%x: f32[1]) { %y = test.unheard(%x) : f32[1] return %y }");
}

TEST(Text, edge_prefix_is_the_stages) {
  ops::register_all();
  expect_prints("stage edge\nmethod @f(%x: f32[2]) { %a = aten.relu(%x) : f32[2] %b = edge.aten.relu(%a) return %b }",
                R"(stage edge
method @f(%x: f32[2] = input "x") {
  %a = edge.aten.relu(%x) : f32[2]
  %b = edge.aten.relu(%a) : f32[2]
  return %b
}
)");
}

TEST(Text, the_operator_table_fills_in_types_and_defaults) {
  ops::register_all();
  expect_prints(
      "method @f(%x: f32[s0, 3], %y: i64[1]) { %a = aten.add.Tensor(%x, %y, alpha=1) %b = aten.add.Tensor(%a, %y, "
      "alpha=2) return %b }",
      R"(stage aten
method @f(%x: f32[s0, 3] = input "x", %y: i64[1] = input "y") {
  %a = aten.add.Tensor(%x, %y) : f32[s0, 3]
  %b = aten.add.Tensor(%a, %y, alpha=2) : f32[s0, 3]
  return %b
}
)");
  expect_error("method @f(%x: f32[2]) {\n  %a = aten.relu()\n  return\n}",
               "2:8: aten.relu: argument \"self\" is missing or of another kind than the operator takes");
  expect_error("method @f(%x: f32[2]) {\n  %a = aten.relu(3)\n  return\n}",
               "2:8: aten.relu: argument \"self\" is missing or of another kind than the operator takes");
  expect_error("method @f(%x: f32[2]) {\n  %a = aten.relu(%x, %x) : f32[2]\n  return\n}", "2:8: aten.relu takes 1 arguments, 2 given");
  expect_error("method @f(%x: f32[2]) {\n  %a = aten.relu(%x, selfie=%x) : f32[2]\n  return\n}",
               "2:8: aten.relu has no argument named selfie");
  expect_error("method @f(%x: f32[2]) {\n  %a = aten.relu(%x, self=%x) : f32[2]\n  return\n}", "2:8: argument self is given twice");
}

TEST(Text, errors_name_place_and_expectation) {
  expect_error("nonsense", "1:1: expected `method`, `constant`, `lowered` or `constant_method`, found `nonsense`");
  expect_error("stage late", "1:11: expected a stage: aten, functional, core, edge, backend or exec, the text ends here");
  expect_error("method @f(", "1:11: expected inputs and `)`");
  expect_error("method @f() {", "1:14: expected a node, `return` or `}`, the text ends here");
  expect_error("method @f() {\n  return %x\n}", "2:10: no value %x above in this graph");
  expect_error("method @f() {\n  %a = relu(1) : f32[]\n  return\n}", "2:8: expected an operator like aten.add.Tensor, found `relu`");
  expect_error("method @f(%x: f32[2]) {\n  %a = test.f(%x)\n  return\n}", "2:8: test.f is not in the table: expected `:` and types");
  expect_error("method @f(%x: f32[2]) {\n  %x = test.f(%x) : f32[2]\n  return\n}", "2:3: a second value %x");
  expect_error("method @f(%x: f32[2]) {\n  %a, %b = test.f(%x) : f32[2]\n  return\n}", "2:23: expected 2 types, one per result, found 1");
  expect_error("method @f(%x: f33[2]) { return }",
               "1:15: expected a type: f32[2, 3], symint, symfloat, symbool, object or none, found `f33`");
  expect_error("method @f(%x: f32[-2]) { return }", "1:19: a size is not negative");
  expect_error("method @f(%x: f32[2]{1}) { return }", "1:21: a dim order has each of the 1 dims once");
  expect_error("method @f() { test.f(flase) return }",
               "1:22: `flase` is neither a symbol of the method nor a dtype, a memory format, true, false or none");
  expect_error("method @f() { test.f(a=1, a=2) return }", "1:27: argument a is given twice");
  expect_error("method @f() { test.f(a=1, 2) return }", "1:27: expected a named argument: positional ones come first, found `2`");
  expect_error("method @f() { test.f(#0) return }", "1:22: no constant #0 above");
  expect_error("method @f() { test.f(99999999999999999999) return }", "1:22: the number 99999999999999999999 does not fit");
  expect_error("constant #0 \"w\" f32[2] = [1]\nmethod @f() { return }", "1:26: expected a list of 2 numbers");
  expect_error("constant #1 \"w\" f32[2]", "1:10: expected constant #0");
  expect_error("constant #0 \"w\" f32[2]", "1:23: expected the method that the constants belong to, the text ends here");
  expect_error("method @f() { return }\nmethod @f() { return }", "2:1: a second method @f");
  expect_error("method @f() where s0 in 4..1 { return }", "1:19: the range is empty");
  expect_error("constant_method @f = [none]", "1:22: a constant method gives ints, floats, bools and strings");
  expect_error("method @f(%x: f32[2] = parameter \"w\" #0) { return }", "1:38: no constant #0 above");
  expect_error("method @f(%x: f32[s0] = parameter \"w\") { return }", "1:25: a weight has a tensor type of known sizes");
}

TEST(Text, hostile_text_is_refused) {
  auto repeated = [](std::string_view piece, int n) {
    std::string out;
    for (int i = 0; i < n; ++i) out += piece;
    return out;
  };
  for (const std::string& text :
       {"method @f() { test.f(" + repeated("[", 100000), "method @f() { test.f(" + repeated("graph() { test.f(", 100000),
        "method @f(%x: f32[" + repeated("(", 100000) + ") { return }", "method @f(" + repeated("(", 100000),
        "method @f() { test.f({" + repeated("-", 100000) + "1}) return }", "method @f(%x: f32[" + repeated("1,", 1000) + "1]) {return}",
        std::string("method @f\0", 10), std::string("\xff\xfe\0\0", 4), std::string("constant #0 \"w"), std::string("method @f() where {"),
        std::string("method @f() { test.f({s0 + 1.5 * true}) return }"),
        std::string("method @f(%x: symint f32, %y: symfloat f32) { return }"),
        std::string("method @f() where f0 float { %x = test.f() : f32[f0] return }"), std::string("method @f() { a.b.c.d.e() return }"),
        std::string("method @f(%x: symint and) { return }"), std::string("method @f() { test.f(\"\\q\") return }"),
        std::string("method @f(%: f32[1]) { return }")})
    EXPECT_FALSE(parse_program(text)) << text.substr(0, 80);
}

TEST(Text, cut_and_damaged_text_never_crashes) {
  const std::string good = R"(stage core
constant #0 "w" f32[2] = [1.0, 2.0]
method @forward(%x: f32[s0, 3]{1,0} @1+2 = input "x", %w: f32[2] = parameter "w" #0) where s0 in 1..4, {s0 < 3} "m" {
  %y, %z = test.cond(%x, graph(%a: f32[s0]) {
    return %a
  }, [1, 2.5, {s0 + 1}], key="v\x20") : f32[2], symint {2*s0}
  return %y -> buffer "b"
}
constant_method @k = [1]
)";
  parsed(good);
  for (size_t n = 0; n < good.size(); ++n) (void)parse_program(std::string_view(good).substr(0, n));
  for (size_t n = 0; n < good.size(); ++n)
    for (char c : {'(', '}', '"', '#', '%', '9', 'x', '\0', '\n', '-'}) {
      std::string bad = good;
      bad[n] = c;
      (void)parse_program(bad);
    }
}

TEST(SameProgram, tells_differences_in_words) {
  const char* base = "method @f(%x: f32[s0]) where s0 in 1..4 { %a = test.f(%x, 1) : f32[s0] return %a }";
  auto why = [&](const char* other) {
    std::string text;
    EXPECT_FALSE(same_program(*parsed(base), *parsed(other), &text));
    return text;
  };
  EXPECT_TRUE(
      same_program(*parsed(base), *parsed("method @f(%x: f32[s0]) where s0 in 1..4 { %other = test.f(%x, 1) : f32[s0] return %other }")));
  EXPECT_EQ(why("method @f(%x: f32[s0]) where s0 in 1..4 { %a = test.f(%x, 2) : f32[s0] return %a }"), "@f, expression: 1 and 2");
  EXPECT_EQ(why("method @f(%x: f32[s0]) where s0 in 1..4 { %a = test.f(%x, 1) : f32[s0] return %x }"), "@f, argument: %a and %x");
  EXPECT_EQ(why("method @f(%x: f32[s0]) where s0 in 1..5 { %a = test.f(%x, 1) : f32[s0] return %a }"),
            "@f, symbols: s0 sort 0 in 1..4 and s0 sort 0 in 1..5");
  EXPECT_EQ(why("method @f(%x: f32[s0]) where s0 in 1..4 { return %x }"), "@f, nodes: 1 and 0");
  EXPECT_EQ(why("method @f(%x: f16[s0]) where s0 in 1..4 { %a = test.f(%x, 1) : f32[s0] return %a }"),
            "@f, type of %x: f32[s0] and f16[s0]");
}

TEST(Text, strings_and_floats_survive) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  const std::string quoted = text::quoted(all);
  EXPECT_EQ(text::Scanner(quoted).string(), all);
  EXPECT_EQ(text::float_text(1), "1.0");
  EXPECT_EQ(text::float_text(0.1), "0.1");
  EXPECT_EQ(text::float_text(1e22), "1e+22");
  EXPECT_EQ(text::float_text(-0.0), "-0.0");
}

}  // namespace
}  // namespace edgec
