#include <edgec/expr.h>

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "sym_corpus.h"

namespace edgec::sym {
namespace {

Expr read(Context& cx, std::string_view text) {
  auto r = parse(text, cx);
  EXPECT_TRUE(r) << r.failure().message;
  return r ? *r : Expr::invalid(cx);
}

Expr sized(Context& cx, std::string_view name, std::optional<int64_t> lo, std::optional<int64_t> hi = std::nullopt) {
  Expr s = cx.symbol(name);
  cx.set_range(s, {lo, hi});
  return s;
}

// Both texts are one expression, and it prints like the second.
struct Same {
  const char *text, *canonical;
};

TEST(sym, one_form_for_equal_expressions) {
  Context cx;
  sized(cx, "n", 1);  // 1 or more
  sized(cx, "b", 0, 1);
  sized(cx, "u", 0, 3);
  static constexpr Same kCases[] = {
      {"s0 + s0 + 1 - 1", "2*s0"},
      {"1 + s0", "s0 + 1"},
      {"(s0 + 1)*(s0 - 1)", "s0 ** 2 - 1"},
      {"s1*s0 - s0*s1", "0"},
      {"(s0 + s1) ** 2", "s0 ** 2 + 2*s0*s1 + s1 ** 2"},
      {"(2*s0*s1) ** 3", "8*s0 ** 3*s1 ** 3"},
      {"(4*s0) // 4", "s0"},
      {"(4*s0 + 4) // 4", "s0 + 1"},
      {"(4*s0 + 2) // 8", "s0 // 2"},
      {"(5*s0 + 7) // 4", "s0 + (s0 + 3) // 4 + 1"},
      {"(s0*4 + u) // 4", "s0"},
      {"(s0*2 + b) // 4", "s0 // 2"},
      {"(s0*4 + u) % 4", "u"},
      {"(s0*2 + b) % 4", "b + 2*(s0 % 2)"},
      {"(s0*6) // (3*s1)", "2*s0 // s1"},
      {"(s0*s1 + s2) // s1", "s0 + s2 // s1"},
      {"(s0*s1 + s0) // (s1 + 1)", "s0"},
      {"(s0*s1 + s0) % (s1 + 1)", "0"},
      {"(s0 // 2) // 3", "s0 // 6"},
      {"(s0 // 2 + 1) // 3", "(s0 + 2) // 6"},
      {"(s0 // n) // n", "s0 // n ** 2"},
      {"s0 // -2", "-((s0 + 1) // 2)"},
      {"-((-s0) // 2)", "(s0 + 1) // 2"},
      {"s0 // s0", "1"},
      {"u // 4", "0"},
      {"u % 4", "u"},
      {"u // (n + 3)", "0"},
      {"u % (n + 3)", "u"},
      {"(4*s0) % 4", "0"},
      {"(6*s0 + 3) % 4", "2*((s0 + 1) % 2) + 1"},  // needs the constant reduced after the common factor
      {"(s0 % 6) % 3", "s0 % 3"},
      {"(s0 % 3) % 6", "s0 % 3"},
      {"(s0*s1) % s1", "0"},
      {"(2*s0) % (2*s1)", "2*(s0 % s1)"},
      {"s0 % -3", "-(-s0 % 3)"},
      {"s0 % 1", "0"},
      {"max(s0, 4, s0)", "max(s0, 4)"},
      {"max(n, 1)", "n"},
      {"max(n + s0, s0)", "n + s0"},
      {"min(u, 3)", "u"},
      {"min(n, 0)", "0"},
      {"max(s2, max(s1, s0))", "max(s0, s1, s2)"},
      {"abs(n)", "n"},
      {"abs(-s0 + s1)", "abs(s0 - s1)"},
      {"abs(abs(s0))", "abs(s0)"},
      {"trunc(float(s0))", "s0"},
      {"floor(float(s0)) + ceil(float(s0))", "2*s0"},
      {"ceil(s0 / 2)", "(s0 + 1) // 2"},
      {"floor(float(s0) / float(s1))", "s0 // s1"},
      {"trunc(n / 2)", "n // 2"},
      {"trunc(-n / 2)", "-(n // 2)"},
      {"trunc(s0 / 2)", "trunc(s0 / 2)"},
      {"floor(1.5 * float(s0))", "s0 + s0 // 2"},
      {"floor(0.3 * float(s0))", "floor(0.3*float(s0))"},
      {"float(s0) + 1.0", "float(s0 + 1)"},
      {"(4*s0) / 2", "float(2*s0)"},
      {"(4*s0 + 2) / 8", "(2*s0 + 1) / 4"},
      {"where(true, s0, 1)", "s0"},
      {"where(s0 < 1, s1, s1)", "s1"},
      {"where(not b0, 1, 2)", "where(b0, 2, 1)"},
      {"s0 < s0 + 1", "true"},
      {"s0 > 4", "4 < s0"},
      {"4 == s0", "s0 == 4"},
      {"not s0 < 4", "4 <= s0"},
      {"s1 < 2 and s0 < 2 and s1 < 2", "s0 < 2 and s1 < 2"},
      {"s0 < 2 or true", "true"},
      {"1 < n", "1 < n"},  // ranges do not fold relations
      {"0 < n", "0 < n"},
  };
  cx.symbol("b0", Sort::Bool);
  for (const Same& c : kCases) {
    Expr e = read(cx, c.text);
    EXPECT_EQ(e.str(), c.canonical) << c.text;
    EXPECT_TRUE(e == read(cx, c.canonical)) << c.text;
  }
}

TEST(sym, constants_need_no_context) {
  EXPECT_EQ((Expr(2) + Expr(3)).constant(), 5);
  EXPECT_EQ(floordiv(-7, 2).constant(), -4);
  EXPECT_EQ(mod(-7, 2).constant(), 1);
  EXPECT_EQ(mod(7, -2).constant(), -1);
  EXPECT_EQ(ceildiv(7, 2).constant(), 4);
  EXPECT_EQ(truediv(1, 2).constant_float(), 0.5);
  EXPECT_EQ(lt(1, 2).constant_bool(), true);
  EXPECT_EQ(round_to_int(truediv(5, 2)).constant(), 2);
  EXPECT_EQ(pow(0, 0).constant(), 1);
  EXPECT_EQ(pow(2, -1).constant_float(), 0.5);
  EXPECT_EQ(max(1, truediv(5, 2)).constant_float(), 2.5);
  EXPECT_EQ(Expr().constant(), 0);
}

TEST(sym, what_has_no_value_is_invalid) {
  Context cx;
  Expr s = cx.symbol("s0"), flag = cx.symbol("flag", Sort::Bool);
  const int64_t big = INT64_MAX, small = INT64_MIN;
  for (const Expr& e : {Expr(big) + 1,
                        Expr(small) - 1,
                        neg(small),
                        mul(big, 2),
                        floordiv(small, -1),
                        pow(3, 64),
                        floordiv(s, 0),
                        mod(s, 0),
                        truediv(s, 0),
                        sqrt(-1),
                        mul(s * big, 2),
                        s + flag,
                        floordiv(truediv(s, 3), 2),
                        abs(small),
                        floor_to_int(Expr::of(1e300, cx)),
                        Expr::of(NAN, cx),
                        Expr::of(INFINITY, cx),
                        logical_and(s, flag),
                        where(s, 1, 2),
                        eq(s, flag),
                        pow(pow(s, big), 2)}) {
    EXPECT_EQ(e.kind(), Kind::Invalid) << e.str();
    EXPECT_TRUE((e + s).is_invalid() && max(e, s).is_invalid() && where(flag, e, s).is_invalid());
    EXPECT_EQ(range(e), Range{});
    EXPECT_EQ(equal(e, e), Proof::Unknown);
    EXPECT_EQ(less(e, s), Proof::Unknown);
  }
  EXPECT_TRUE(where(Expr::of(true, cx), s, Expr::invalid(cx)) == s);
  EXPECT_TRUE(sub(-1, small) == Expr(big));
}

TEST(sym, proofs_have_three_answers) {
  Context cx;
  sized(cx, "n", 2, 100);
  sized(cx, "m", 2);
  struct Case {
    const char* text;
    Proof answer;
  };
  static constexpr Case kCases[] = {
      {"n == n + 1", Proof::No},
      {"n < n + m", Proof::Yes},
      {"n <= 100", Proof::Yes},
      {"n < 100", Proof::Unknown},
      {"n == m", Proof::Unknown},
      {"2*n == 2*m + 1", Proof::No},
      {"n < 2", Proof::No},
      {"1 < n and 1 < m", Proof::Yes},
      {"n < 2 and m < 5", Proof::No},
      {"n < 2 or m < 5", Proof::Unknown},
      {"n < 2 or m > 1", Proof::Yes},
      {"not m < 2", Proof::Yes},
      {"n // 2 <= n", Proof::Yes},
      {"n*m >= n", Proof::Yes},
      {"n*m >= 4", Proof::Yes},
      {"float(n) < 101.5", Proof::Yes},
      {"float(n) < 50.5", Proof::Unknown},
      {"sqrt(float(n)) <= 10", Proof::Yes},
      {"n != 0", Proof::Yes},
      {"n % 7 < 7", Proof::Yes},
      {"n == 101", Proof::No},
  };
  for (const Case& c : kCases) EXPECT_EQ(holds(read(cx, c.text)), c.answer) << c.text;
}

TEST(sym, ranges) {
  Context cx;
  sized(cx, "n", 2, 100);
  sized(cx, "m", 1);
  sized(cx, "z", -5, 7);
  struct Case {
    const char* text;
    Range range;
  };
  const Case kCases[] = {
      {"n + z", {-3, 107}},
      {"3*n - 1", {5, 299}},
      {"-m", {std::nullopt, -1}},
      {"z*z", {0, 49}},
      {"z*n", {-500, 700}},
      {"n // 3", {0, 33}},
      {"n % 7", {0, 6}},
      {"100 // m", {0, 100}},
      {"n - n // 2", {1, 50}},  // rising in n, though the terms pull apart
      {"m - m // 2", {1, std::nullopt}},
      {"n*n - n", {2, 9900}},
      {"max(n, 10) - n", {0, 8}},
      {"where(n < 200, 1, m)", {1, 1}},
      {"where(n < 50, 1, 2)", {1, 2}},
      {"sqrt(float(n))", {1, 10}},
      {"n / 3", {0, 34}},
      {"round(n / 3)", {0, 34}},
      {"abs(z)", {0, 7}},
      {"m*9223372036854775807", {INT64_MAX, std::nullopt}},
  };
  for (const Case& c : kCases) {
    Range r = range(read(cx, c.text));
    EXPECT_EQ(r.lo, c.range.lo) << c.text;
    EXPECT_EQ(r.hi, c.range.hi) << c.text;
  }
  cx.set_range(cx.symbol("n"), {2, 10});  // cached ranges follow
  EXPECT_EQ(upper_bound(read(cx, "3*n - 1")), 29);
  cx.set_range(cx.symbol("n"), {10, 2});
  EXPECT_EQ(range(cx.symbol("n")), Range{});
}

TEST(sym, contexts) {
  Context a, b;
  Expr e = read(a, "where(s1 < s0 // 2, sqrt(float(s0)), 1.5) * 2.5");
  a.set_range(a.symbol("s0"), {3, 9});
  Expr copy = b.import(e);
  EXPECT_EQ(copy.context(), &b);
  EXPECT_EQ(copy.str(), e.str());
  EXPECT_EQ(b.range_of(*b.find_symbol("s0")), (Range{3, 9}));
  EXPECT_FALSE(b.find_symbol("s2"));
  ASSERT_EQ(free_symbols(e).size(), 2u);
  EXPECT_EQ(free_symbols(e)[0].symbol_name(), "s0");
  EXPECT_EQ(b.symbols().size(), 2u);
  EXPECT_TRUE(a.import(e) == e);
}

TEST(sym, substitution_folds) {
  Context cx;
  Expr s0 = cx.symbol("s0"), s1 = cx.symbol("s1");
  Expr e = read(cx, "max((s0 + 1) // 2, s1) * s1 + where(s0 < 4, 1, 2)");
  EXPECT_EQ(substitute(e, {{s0, 9}, {s1, 3}}).constant(), 17);
  EXPECT_EQ(substitute(e, {{s0, 2 * s1 - 1}}).str(), "s1 ** 2 + where(2*s1 - 1 < 4, 1, 2)");
  EXPECT_TRUE(substitute(e, {}) == e);
  EXPECT_FALSE(evaluate_int(e, {{s0, 9}}));
  EXPECT_EQ(evaluate_int(e, {{s0, 9}, {s1, 3}}), 17);
  EXPECT_FALSE(evaluate_int(s0 * s0, {{s0, INT64_MAX}}));
  EXPECT_FALSE(evaluate_int(floordiv(s0, s1), {{s0, 1}, {s1, 0}}));
}

TEST(sym, symbol_names) {
  EXPECT_TRUE(is_symbol_name("s0") && is_symbol_name("_x") && is_symbol_name("max"));
  for (const char* bad : {"", "0s", "a b", "a.b", "not", "true", "invalid", "\xc3\xa9"}) EXPECT_FALSE(is_symbol_name(bad)) << bad;
  EXPECT_FALSE(is_symbol_name(std::string(201, 'a')));
}

// ---- text ----

TEST(sym, sympy_of_real_models) {
  for (const CorpusLine& line : kCorpus) {
    Context cx;
    auto e = read_sympy(line.sympy, cx);
    ASSERT_TRUE(e) << e.failure().message;
    EXPECT_EQ(e->str(), line.infix) << line.sympy;
    EXPECT_TRUE(read(cx, e->str()) == *e) << line.sympy;
  }
}

TEST(sym, sympy_says_ranges_and_kinds) {
  Context cx;
  ASSERT_TRUE(
      read_sympy("Mul(Symbol('s0', positive=True, integer=True), Symbol('u0', integer=True), Symbol('s1', "
                 "nonnegative=True, integer=True), Symbol('zuf0'))",
                 cx));
  EXPECT_EQ(cx.range_of(cx.symbol("s0")), (Range{1, std::nullopt}));
  EXPECT_EQ(cx.range_of(cx.symbol("s1")), (Range{0, std::nullopt}));
  EXPECT_EQ(cx.range_of(cx.symbol("u0")), Range{});
  EXPECT_EQ(cx.find_symbol("zuf0")->sort(), Sort::Float);
  cx.set_range(cx.symbol("s0"), {4, 8});
  ASSERT_TRUE(read_sympy("Symbol('s0', positive=True, integer=True)", cx));
  EXPECT_EQ(cx.range_of(cx.symbol("s0")), (Range{4, 8}));
}

TEST(sym, hostile_sympy_is_an_error) {
  std::string deep;
  for (int i = 0; i < 20'000; ++i) deep += "Mul(";
  std::string wide = "Add(Integer(1)";
  for (int i = 0; i < 2'000; ++i) wide += ", Symbol('a" + std::to_string(i) + "', integer=True)";
  std::string power = "Pow(Add(";
  for (int i = 0; i < 30; ++i) power += "Symbol('a" + std::to_string(i) + "', integer=True), ";
  const std::string kBad[] = {"",
                              " ",
                              "junk",
                              "Integer(",
                              "Integer()",
                              "Integer(1",
                              "Integer(1))",
                              "Integer(1) 2",
                              "Integer('1')",
                              "Integer(1234567890123456789012345678901234567890)",
                              "Integer(9223372036854775808)",
                              "Rational(1, 0)",
                              "Rational(1, -2)",
                              "Symbol(s0)",
                              "Symbol('s0'",
                              "Symbol('s0)",
                              "Symbol('s 0', integer=True)",
                              "Symbol('', integer=True)",
                              "Symbol('s0', integer=1)",
                              "Symbol('s0', integer)",
                              "Symbol('true', integer=True)",
                              "Float('nan')",
                              "Float('inf')",
                              "Float('1e999')",
                              "Float('x')",
                              "Float('0.5', precision=x)",
                              "Mul()",
                              "Add()",
                              "Max()",
                              "FloorDiv(Integer(1))",
                              "FloorDiv(Integer(1), Integer(0))",
                              "FloorDiv(true, Integer(2))",
                              "Mod(Float('0.5'), Integer(2))",
                              "Add(Integer(9223372036854775807), Integer(1))",
                              "Pow(Integer(2), Integer(64))",
                              "Pow(Integer(2), Symbol('s0', integer=True))",
                              "Not(Integer(1))",
                              "And(true, Integer(1))",
                              "Where(Integer(1), Integer(1), Integer(2))",
                              "OpaqueUnaryFn_sin(Integer(1))",
                              "Piecewise(ExprCondPair(Integer(1), StrictLessThan(Symbol('s0', integer=True), Integer(1))))",
                              "Piecewise(Integer(1))",
                              "__import__('os').system('true')",
                              "Mul(Integer(2), Mul)",
                              "Add(Symbol('s0'), Symbol('s0', integer=True))",
                              std::string(70'000, ' '),
                              "Integer(\0)",
                              deep,
                              deep + std::string(20'000, ')'),
                              wide + ")",
                              power + "Integer(1)), Integer(9))"};
  for (const std::string& text : kBad) {
    Context cx;
    auto r = read_sympy(text, cx);
    ASSERT_FALSE(r) << text.substr(0, 200) << " -> " << r->str();
    EXPECT_EQ(r.failure().kind, ErrorKind::Input);
    EXPECT_LT(r.failure().message.size(), 400u);
  }
}

TEST(sym, hostile_infix_is_an_error) {
  const std::string kBad[] = {"",
                              "(",
                              ")",
                              "1 +",
                              "1 2",
                              "a b",
                              "a.b",
                              "f(1)",
                              "max(1)",
                              "max()",
                              "a ** b",
                              "a ** 1.5",
                              "a < b < c",
                              "1e999",
                              "0x10",
                              "3a",
                              "9223372036854775808",
                              "1234567890123456789012345678901234567890",
                              "a and 1",
                              "not 1",
                              "1 // 0",
                              "a = b",
                              "a == true",
                              "where(1, 2, 3)",
                              "'a'",
                              "\x80",
                              "a ? b",
                              "1..2",
                              "a +* b",
                              std::string(100'000, '('),
                              std::string(100'000, '-'),
                              std::string(2'000'000, ' ') + "1"};
  for (const std::string& text : kBad) {
    Context cx;
    auto r = parse(text, cx);
    ASSERT_FALSE(r) << text.substr(0, 200) << " -> " << r->str();
    EXPECT_EQ(r.failure().kind, ErrorKind::Model);
    EXPECT_LT(r.failure().message.size(), 400u);
  }
}

TEST(sym, odd_infix_is_read) {
  Context cx;
  EXPECT_EQ(read(cx, "-9223372036854775808").constant(), INT64_MIN);
  EXPECT_EQ(read(cx, "s0 - 9223372036854775808").str(), "s0 + -9223372036854775808");
  EXPECT_EQ(read(cx, " ( ( s0 ) ) *\n2").str(), "2*s0");
  EXPECT_EQ(read(cx, "-s0**2").str(), "-s0 ** 2");
  EXPECT_EQ(read(cx, "2 - -3").constant(), 5);
  EXPECT_EQ(read(cx, "1e3").constant_float(), 1000.0);
  EXPECT_EQ(read(cx, "Mod(s0, 2)*FloorDiv(s0, 2)").str(), "(s0 // 2)*(s0 % 2)");
  EXPECT_EQ(read(cx, "invalid").kind(), Kind::Invalid);
  EXPECT_EQ(read(cx, "-9223372036854775808*s0 - 5*s1 - s0 // 2").str(), "-9223372036854775808*s0 - 5*s1 - s0 // 2");
}

// Limits hold while expressions grow through calls, too, and every walk over the largest ones stays affordable.
TEST(sym, growth_ends_invalid) {
  Context cx;
  Expr s = cx.symbol("s0"), deep = s, twice = s, wide = 0, chain = s;
  for (int i = 0; i < 1'000; ++i) deep = mod(deep + s, 7 + i % 2);
  EXPECT_TRUE(deep.is_invalid());
  for (int i = 0; i < 100; ++i) twice = floordiv((twice + 1) * (twice + 2), 7);  // the tree doubles each time
  EXPECT_TRUE(twice.is_invalid());
  Expr widest;
  for (int i = 0; i < 1'100; ++i) {
    widest = wide.is_invalid() ? widest : wide;
    wide = wide + cx.symbol("a" + std::to_string(i));
  }
  EXPECT_TRUE(wide.is_invalid());
  EXPECT_EQ(widest.operands().size(), 1'000u);
  EXPECT_TRUE((widest * (s + 1)).is_invalid());
  EXPECT_TRUE(read(cx, widest.str()) == widest);
  Expr last;
  for (int i = 0; i < 300 && !chain.is_invalid(); ++i) {
    last = chain;
    chain = where(lt(chain, s + i), max(s, truediv(i, 3)), chain * chain);
  }
  EXPECT_TRUE(chain.is_invalid());
  EXPECT_TRUE(read(cx, last.str()) == last);
  range(last);
}

}  // namespace
}  // namespace edgec::sym
