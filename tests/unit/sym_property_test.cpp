#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include <edgec/expr.h>

// Random expressions, built twice: through the algebra and as plain arithmetic on doubles and int64. Fixed seeds.
namespace edgec::sym {
namespace {

using Numbers = std::vector<int64_t>;  // values of the symbols

// What plain arithmetic says; empty where Python would raise or numbers leave the comfortable range.
struct Plain {
  Sort sort = Sort::Int;
  std::optional<double> value;
};

struct Made {
  Expr e;
  std::function<Plain(const Numbers&)> plain;
};

double floor_mod(double a, double b) { return a - b * std::floor(a / b); }
std::optional<double> tame(double v) {
  if (!std::isfinite(v) || std::fabs(v) > 1e12) return std::nullopt;
  return v;
}

class Generator {
 public:
  Generator(Context& cx, unsigned seed) : cx_(cx), random_(seed) {
    static constexpr Range kRanges[] = {{0, 9}, {1, 40}, {2, 6}, {-7, 7}, {std::nullopt, 5}, {3, std::nullopt}, {1, 1}};
    for (int i = 0; i < 4; ++i) {
      symbols_.push_back(cx.symbol("s" + std::to_string(i)));
      cx.set_range(symbols_.back(), kRanges[below(7)]);
    }
  }

  int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }

  Numbers numbers() {
    Numbers out;
    for (Expr s : symbols_) {
      Range r = cx_.range_of(s);
      int64_t lo = r.lo.value_or(r.hi ? *r.hi - 30 : -30), hi = r.hi.value_or(lo + 30);
      out.push_back(below(4) == 0 ? lo : std::uniform_int_distribution<int64_t>(lo, hi)(random_));
    }
    return out;
  }

  Bindings bindings(const Numbers& numbers) const {
    Bindings b;
    for (size_t i = 0; i < numbers.size(); ++i) b[symbols_[i]] = numbers[i];
    return b;
  }

  Made integer(int depth) {
    if (depth == 0 || below(8) == 0) return leaf();
    switch (below(12)) {
      case 0:
      case 1:
        return binary(integer(depth - 1), integer(depth - 1), add, [](double a, double b) { return a + b; });
      case 2:
        return binary(integer(depth - 1), integer(depth - 1), sub, [](double a, double b) { return a - b; });
      case 3:
        return binary(integer(depth - 1), integer(depth - 1), mul, [](double a, double b) { return a * b; });
      case 4:
        return binary(integer(depth - 1), divisor(depth - 1), floordiv, [](double a, double b) { return std::floor(a / b); });
      case 5:
        return binary(integer(depth - 1), divisor(depth - 1), mod, floor_mod);
      case 6:
        return binary(integer(depth - 1), integer(depth - 1), max, [](double a, double b) { return std::max(a, b); });
      case 7:
        return binary(integer(depth - 1), integer(depth - 1), min, [](double a, double b) { return std::min(a, b); });
      case 8:
        return binary(integer(depth - 1), divisor(depth - 1), ceildiv, [](double a, double b) { return std::ceil(a / b); });
      case 9:
        return below(2) ? unary(integer(depth - 1), abs, [](double a) { return std::fabs(a); }) : square(integer(depth - 1));
      case 10:
        return where_made(depth);
      default:
        return rounding(depth);
    }
  }

  Made real(int depth) {
    switch (depth == 0 ? below(2) : below(7)) {
      case 0: {
        double c = below(2) ? below(64) / 8.0 : (below(50) - 20) / 7.0;
        return {Expr::of(c, cx_), [c](const Numbers&) { return Plain{Sort::Float, c}; }};
      }
      case 1:
        return as_real(unary(integer(depth / 2), to_float, [](double a) { return a; }));
      case 2:
        return as_real(binary(integer(depth - 1), divisor(depth - 1), truediv, [](double a, double b) { return a / b; }));
      case 3:
        return binary(real(depth - 1), real(depth - 1), add, [](double a, double b) { return a + b; });
      case 4:
        return binary(real(depth - 1), real(depth - 1), mul, [](double a, double b) { return a * b; });
      case 5:
        return binary(real(depth - 1), real(depth - 1), max, [](double a, double b) { return std::max(a, b); });
      default:
        return as_real(
            unary(unary(integer(depth - 1), abs, [](double a) { return std::fabs(a); }), sqrt, [](double a) { return std::sqrt(a); }));
    }
  }

  Made relation(int depth) {
    using Op = Expr (*)(Expr, Expr);
    static constexpr std::pair<Op, bool (*)(double, double)> kOps[] = {
        {eq, [](double a, double b) { return a == b; }}, {ne, [](double a, double b) { return a != b; }},
        {lt, [](double a, double b) { return a < b; }},  {le, [](double a, double b) { return a <= b; }},
        {gt, [](double a, double b) { return a > b; }},  {ge, [](double a, double b) { return a >= b; }}};
    if (depth > 0 && below(4) == 0) {
      Made a = relation(depth - 1), b = relation(depth - 1);
      bool conjunction = below(2) == 0;
      Made made = binary(a, b, conjunction ? logical_and : logical_or,
                         [conjunction](double x, double y) -> double { return conjunction ? x * y : x + y > 0; });
      return below(3) ? made : unary(made, logical_not, [](double x) { return 1 - x; });
    }
    auto [op, truth] = kOps[below(6)];
    auto t = truth;
    bool reals = below(4) == 0;
    return binary(reals ? real(depth) : integer(depth), integer(depth), op, [t](double a, double b) -> double { return t(a, b); });
  }

 private:
  template <class F>
  Made binary(Made a, Made b, Expr (*op)(Expr, Expr), F f) {
    return {op(a.e, b.e), [pa = a.plain, pb = b.plain, f](const Numbers& n) {
              Plain x = pa(n), y = pb(n);
              Sort sort = x.sort == Sort::Float || y.sort == Sort::Float ? Sort::Float : Sort::Int;
              if (!x.value || !y.value) return Plain{sort, std::nullopt};
              return Plain{sort, tame(f(*x.value, *y.value))};
            }};
  }

  template <class F>
  Made unary(Made a, Expr (*op)(Expr), F f) {
    return {op(a.e), [pa = a.plain, f](const Numbers& n) {
              Plain x = pa(n);
              return Plain{x.sort, x.value ? tame(f(*x.value)) : std::nullopt};
            }};
  }

  static Made as_real(Made a) {
    return {a.e, [p = a.plain](const Numbers& n) { return Plain{Sort::Float, p(n).value}; }};
  }

  Made leaf() {
    if (below(3) == 0) {
      int64_t c = below(9) - 2;
      return {c, [c](const Numbers&) { return Plain{Sort::Int, static_cast<double>(c)}; }};
    }
    auto i = static_cast<size_t>(below(4));
    return {symbols_[i], [i](const Numbers& n) { return Plain{Sort::Int, static_cast<double>(n[i])}; }};
  }

  // Constants divide most in practice; the rest is anything, zero too.
  Made divisor(int depth) {
    if (below(3) == 0) return integer(depth);
    int64_t c = below(4) == 0 ? -2 - below(3) : 1 + below(12);
    return {c, [c](const Numbers&) { return Plain{Sort::Int, static_cast<double>(c)}; }};
  }

  Made square(Made a) {
    int exponent = below(4);
    return {pow(a.e, exponent), [p = a.plain, exponent](const Numbers& n) {
              Plain x = p(n);
              return Plain{Sort::Int, x.value ? tame(std::pow(*x.value, exponent)) : std::nullopt};
            }};
  }

  Made where_made(int depth) {
    Made c = relation(depth - 1), a = integer(depth - 1), b = integer(depth - 1);
    return {where(c.e, a.e, b.e), [pc = c.plain, pa = a.plain, pb = b.plain](const Numbers& n) {
              auto chosen = pc(n).value;
              if (!chosen) return Plain{};
              return *chosen != 0 ? pa(n) : pb(n);
            }};
  }

  Made rounding(int depth) {
    using Op = Expr (*)(Expr);
    static constexpr std::pair<Op, double (*)(double)> kOps[] = {
        {floor_to_int, std::floor}, {ceil_to_int, std::ceil}, {trunc_to_int, std::trunc}, {round_to_int, std::nearbyint}};
    auto [op, f] = kOps[below(4)];
    auto g = f;
    Made made = unary(real(depth - 1), op, [g](double v) { return g(v); });
    return {made.e, [p = made.plain](const Numbers& n) { return Plain{Sort::Int, p(n).value}; }};
  }

  Context& cx_;
  std::mt19937 random_;
  std::vector<Expr> symbols_;
};

constexpr int kRounds = 4000;

TEST(sym_property, values_survive_simplification) {
  int compared = 0;
  for (int round = 0; round < kRounds; ++round) {
    Context cx;
    Generator g(cx, static_cast<unsigned>(round));
    Made made = round % 4 == 3 ? g.real(3) : g.integer(2 + round % 3);
    if (made.e.is_invalid()) continue;  // divides by a constant zero somewhere
    for (int i = 0; i < 8; ++i) {
      Numbers numbers = g.numbers();
      Plain expected = made.plain(numbers);
      if (!expected.value) continue;
      auto got = evaluate_float(made.e, g.bindings(numbers));
      ASSERT_TRUE(got) << round << ": " << made.e.str() << " should be " << *expected.value;
      ASSERT_EQ(*got, *expected.value) << round << ": " << made.e.str();
      auto folded = substitute(made.e, g.bindings(numbers)).constant_float();
      ASSERT_TRUE(folded) << round << ": " << made.e.str();
      ASSERT_EQ(*folded, *expected.value) << round << ": " << made.e.str();
      ++compared;
    }
  }
  EXPECT_GT(compared, kRounds * 4);
}

TEST(sym_property, ranges_hold_every_value) {
  for (int round = 0; round < kRounds; ++round) {
    Context cx;
    Generator g(cx, static_cast<unsigned>(round) + 100'000);
    Made made = round % 4 == 3 ? g.real(3) : g.integer(2 + round % 3);
    if (made.e.is_invalid()) continue;  // divides by a constant zero somewhere
    Range r = range(made.e);
    for (int i = 0; i < 8; ++i) {
      Numbers numbers = g.numbers();
      auto got = evaluate_float(made.e, g.bindings(numbers));
      if (!got) continue;
      if (r.lo) {
        ASSERT_GE(*got, static_cast<double>(*r.lo)) << round << ": " << made.e.str();
      }
      if (r.hi) {
        ASSERT_LE(*got, static_cast<double>(*r.hi)) << round << ": " << made.e.str();
      }
    }
  }
}

TEST(sym_property, proofs_never_lie) {
  int decided = 0;
  for (int round = 0; round < kRounds; ++round) {
    Context cx;
    Generator g(cx, static_cast<unsigned>(round) + 200'000);
    Made made = g.relation(2);
    if (made.e.is_invalid()) continue;
    Proof p = holds(made.e);
    decided += p != Proof::Unknown;
    for (int i = 0; i < 8; ++i) {
      Numbers numbers = g.numbers();
      Plain expected = made.plain(numbers);
      if (!expected.value) continue;
      auto got = evaluate_bool(made.e, g.bindings(numbers));
      ASSERT_TRUE(got) << round << ": " << made.e.str();
      ASSERT_EQ(*got, *expected.value != 0) << round << ": " << made.e.str();
      if (p != Proof::Unknown) {
        ASSERT_EQ(*got, p == Proof::Yes) << round << ": " << made.e.str();
      }
    }
  }
  EXPECT_GT(decided, kRounds / 20);
}

TEST(sym_property, text_reads_back_as_the_same_expression) {
  for (int round = 0; round < kRounds; ++round) {
    Context cx;
    Generator g(cx, static_cast<unsigned>(round) + 300'000);
    for (Expr e : {g.integer(4).e, g.real(3).e, g.relation(3).e}) {
      auto back = parse(e.str(), cx);
      ASSERT_TRUE(back) << round << ": " << back.failure().message;
      ASSERT_TRUE(*back == e) << round << ": " << e.str() << " became " << back->str();
      ASSERT_TRUE(substitute(e, {}) == e);
    }
  }
}

// a == b as values of polynomials gives one node whatever the order they were built in.
TEST(sym_property, ring_identities_are_pointer_equality) {
  for (int round = 0; round < kRounds; ++round) {
    Context cx;
    Generator g(cx, static_cast<unsigned>(round) + 400'000);
    Expr a = g.integer(2).e, b = g.integer(2).e, c = g.integer(2).e;
    if ((a * b * c * (a + b + c)).is_invalid()) continue;
    ASSERT_TRUE(a + b == b + a && a * b == b * a) << a.str() << " | " << b.str();
    ASSERT_TRUE((a + b) + c == a + (b + c));
    ASSERT_TRUE((a * b) * c == a * (b * c));
    ASSERT_TRUE(a * (b + c) == a * b + a * c);
    ASSERT_TRUE((a - a).constant() == 0 && a - b == neg(b - a));
    ASSERT_TRUE((a + b) * (a - b) == pow(a, 2) - pow(b, 2));
    ASSERT_TRUE(max(a, b) == max(b, a) && min(a, b) == min(b, a));
    if (b.constant() != 0) {
      ASSERT_TRUE(floordiv(a * b, b) == a) << a.str() << " | " << b.str() << " | " << floordiv(a * b, b).str();
      ASSERT_TRUE(mod(a * b, b).constant() == 0);
    }
    ASSERT_TRUE(floordiv(a * 6 + 3, 6) == a && mod(a * 6 + 3, 6).constant() == 3) << a.str();
  }
}

TEST(sym_property, order_is_total_and_repeats) {
  std::string first, second;
  for (std::string* text : {&first, &second}) {
    Context cx;
    Generator g(cx, 7);
    std::vector<Expr> all;
    for (int i = 0; i < 60; ++i) all.push_back(i % 3 ? g.integer(3).e : g.real(2).e);
    for (Expr a : all)
      for (Expr b : all) ASSERT_EQ(structural_less(a, b) + structural_less(b, a), !(a == b));
    std::sort(all.begin(), all.end(), structural_less);
    for (Expr e : all) *text += e.str() + "\n";
  }
  EXPECT_EQ(first, second);
}

}  // namespace
}  // namespace edgec::sym
