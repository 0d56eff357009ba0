#include <cmath>

#include "sym/checked.h"
#include "sym/poly.h"

// Float expressions stay in the order of the program, for sums of doubles do not associate. Whole numbers are the
// exception: sizes are taken to be below 2^53, where float(x) loses nothing, so arithmetic on them moves inside the
// float(..).
namespace edgec::sym {
namespace {

double exact(int64_t v) { return static_cast<double>(v); }

std::optional<std::pair<int64_t, int64_t>> as_fraction(const Expr& e) {  // p / 2^n, both small
  auto v = e.constant_float();
  if (e.kind() != Kind::FloatConst || !v) return std::nullopt;
  for (int64_t denominator = 2; denominator <= 1024; denominator *= 2) {
    double p = *v * exact(denominator);
    if (p == std::floor(p) && std::fabs(p) < 1 << 20) return std::pair(static_cast<int64_t>(p), denominator);
  }
  return std::nullopt;
}

Expr ordered(Kind kind, const Expr& a, const Expr& b) {
  return structural_compare(a, b) <= 0 ? make(kind, Sort::Float, {a, b}) : make(kind, Sort::Float, {b, a});
}

Expr to_int(double v) {
  if (!(v >= -0x1p63 && v < 0x1p63)) return invalid();
  return static_cast<int64_t>(v);
}

// The steps that all roundings share; what is left is the node.
template <class Fold, class Quotient>
Expr rounded(Kind kind, const Expr& a, Fold fold, Quotient quotient) {
  if (!is_number(a)) return invalid();
  if (a.sort() == Sort::Int) return a;
  if (auto x = whole(a)) return *x;
  if (auto v = a.constant_float()) return to_int(fold(*v));
  if (a.kind() == Kind::TrueDiv && a.operands()[0].sort() == Sort::Int)
    if (std::optional<Expr> q = quotient(a.operands()[0], a.operands()[1])) return *q;
  return make(kind, Sort::Int, {a});
}

}  // namespace

std::optional<Expr> whole(const Expr& e) {
  if (e.kind() == Kind::ToFloat) return e.operands()[0];
  if (e.kind() != Kind::FloatConst) return std::nullopt;
  double v = *e.constant_float();
  if (v != std::floor(v) || std::fabs(v) > exact(kExactFloat)) return std::nullopt;
  return Expr(static_cast<int64_t>(v));
}

bool unify(Expr& a, Expr& b) {
  if (!is_number(a) || !is_number(b)) return false;
  if (a.sort() == b.sort()) return true;
  (a.sort() == Sort::Int ? a : b) = to_float(a.sort() == Sort::Int ? a : b);
  return !a.is_invalid() && !b.is_invalid();
}

Expr to_float(Expr a) {
  if (!is_number(a)) return invalid();
  if (a.sort() == Sort::Float) return a;
  if (auto c = a.constant()) return real(exact(*c));
  return make(Kind::ToFloat, Sort::Float, {a});
}

Expr real_add(Expr a, Expr b) {
  if (!unify(a, b)) return invalid();
  auto x = a.constant_float(), y = b.constant_float();
  if (x && y) return real(*x + *y);
  if (x && *x == 0) return b;
  if (y && *y == 0) return a;
  if (auto i = whole(a), j = whole(b); i && j) {
    Expr sum = add(*i, *j);
    if (!sum.is_invalid()) return to_float(sum);
  }
  return ordered(Kind::Add, a, b);
}

Expr real_mul(Expr a, Expr b) {
  if (!unify(a, b)) return invalid();
  auto x = a.constant_float(), y = b.constant_float();
  if (x && y) return real(*x * *y);
  if (x && *x == 1) return b;
  if (y && *y == 1) return a;
  if (auto i = whole(a), j = whole(b); i && j) {
    Expr product = mul(*i, *j);
    if (!product.is_invalid()) return to_float(product);
  }
  // 1.5 * float(x) is (3*x) / 2: exact either way, and floor(..) of it is an integer division.
  if (y) std::swap(a, b);
  if (auto f = as_fraction(a); f && b.kind() == Kind::ToFloat) {
    Expr numerator = mul(f->first, b.operands()[0]);
    if (!numerator.is_invalid()) return truediv(numerator, f->second);
  }
  if (a.constant_float() == -1.0 && b.kind() == Kind::Mul && b.operands()[0].kind() == Kind::FloatConst)
    return real_mul(real(-*b.operands()[0].constant_float()), b.operands()[1]);
  if (a.constant_float() == -1.0 && b.kind() == Kind::TrueDiv && b.operands()[0].sort() == Sort::Int)
    if (Expr negated = neg(b.operands()[0]); !negated.is_invalid()) return truediv(negated, b.operands()[1]);
  return ordered(Kind::Mul, a, b);
}

Expr real_pow(Expr a, int64_t exponent) {
  if (auto v = a.constant_float()) return real(std::pow(*v, exact(exponent)));
  if (exponent == 0) return real(1);
  if (exponent == 1) return a;
  if (a.kind() == Kind::ToFloat) {
    Expr power = pow(a.operands()[0], exponent);
    if (!power.is_invalid()) return to_float(power);
  }
  return make(Kind::Pow, Sort::Float, {a, Expr(exponent)});
}

Expr truediv(Expr a, Expr b) {
  if (!is_number(a) || !is_number(b)) return invalid();
  auto x = a.constant_float(), y = b.constant_float();
  if (y && *y == 0) return invalid();
  if (x && y) return real(*x / *y);
  if (y && *y == 1) return to_float(a);
  auto i = a.sort() == Sort::Int ? a : whole(a), j = b.sort() == Sort::Int ? b : whole(b);
  if (!i || !j) {
    a = to_float(a), b = to_float(b);
    return make(Kind::TrueDiv, Sort::Float, {a, b});
  }
  Poly n = terms_of(*i), d = terms_of(*j);
  if (n.empty()) return real(0);
  if (leading(d) < 0) {
    Expr nn = neg(*i), nd = neg(*j);
    if (!nn.is_invalid() && !nd.is_invalid()) return truediv(nn, nd);
  }
  count_work(*j, n.size() * d.size());
  if (Term f = common_factor(n, d); f.coefficient != 1 || !f.monomial.is_static())
    return truediv(from_terms(divide_all(n, f)), from_terms(divide_all(d, f)));
  if (auto exact_quotient = d.size() > 1 ? divide(n, d) : std::nullopt) return to_float(from_terms(*exact_quotient));
  return make(Kind::TrueDiv, Sort::Float, {*i, *j});
}

Expr sqrt(Expr a) {
  a = to_float(a);
  if (a.is_invalid()) return a;
  if (auto v = a.constant_float()) return *v < 0 ? invalid() : real(std::sqrt(*v));
  return make(Kind::Sqrt, Sort::Float, {a});
}

Expr floor_to_int(Expr a) {
  return rounded(
      Kind::FloorToInt, a, [](double v) { return std::floor(v); }, [](Expr n, Expr d) -> std::optional<Expr> { return floordiv(n, d); });
}

Expr ceil_to_int(Expr a) {
  return rounded(
      Kind::CeilToInt, a, [](double v) { return std::ceil(v); }, [](Expr n, Expr d) -> std::optional<Expr> { return ceildiv(n, d); });
}

Expr trunc_to_int(Expr a) {
  return rounded(
      Kind::TruncToInt, a, [](double v) { return std::trunc(v); },
      [&](Expr n, Expr d) -> std::optional<Expr> {
        Range r = range(a);
        if (r.lo && *r.lo >= 0) return floordiv(n, d);
        if (r.hi && *r.hi <= 0) return ceildiv(n, d);
        return std::nullopt;
      });
}

Expr round_to_int(Expr a) {
  return rounded(
      Kind::RoundToInt, a, [](double v) { return std::nearbyint(v); }, [](Expr, Expr) -> std::optional<Expr> { return std::nullopt; });
}

}  // namespace edgec::sym
