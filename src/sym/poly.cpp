#include "sym/poly.h"

#include <algorithm>
#include <numeric>

#include "sym/checked.h"

namespace edgec::sym {
namespace {

struct Factor {
  Expr atom;
  int64_t exponent = 1;
};
using Factors = std::vector<Factor>;

Factor factor_of(const Expr& e) {
  if (e.kind() != Kind::Pow) return {e, 1};
  return {e.operands()[0], *e.operands()[1].constant()};
}

Factors factors_of(const Expr& monomial) {
  if (monomial.is_static()) return {};
  if (monomial.kind() != Kind::Mul) return {factor_of(monomial)};
  Factors out;
  for (const Expr& o : monomial.operands()) out.push_back(factor_of(o));
  return out;
}

Expr from_factors(const Factors& factors) {
  std::vector<Expr> out;
  for (const Factor& f : factors) out.push_back(f.exponent == 1 ? f.atom : make(Kind::Pow, Sort::Int, {f.atom, Expr(f.exponent)}));
  if (out.empty()) return 1;
  return out.size() == 1 ? out[0] : make(Kind::Mul, Sort::Int, out);
}

int64_t degree(const Factors& factors) {
  int64_t sum = 0;
  for (const Factor& f : factors) sum = checked_add(sum, f.exponent).value_or(kIntMax);
  return sum;
}

// Invalid when an exponent overflows.
Expr multiply_monomials(const Expr& a, const Expr& b) {
  if (a.is_static()) return b;
  if (b.is_static()) return a;
  Factors x = factors_of(a), y = factors_of(b), out;
  size_t i = 0, j = 0;
  while (i < x.size() && j < y.size()) {
    int order = structural_compare(x[i].atom, y[j].atom);
    if (order < 0) {
      out.push_back(x[i++]);
    } else if (order > 0) {
      out.push_back(y[j++]);
    } else {
      auto exponent = checked_add(x[i].exponent, y[j].exponent);
      if (!exponent) return invalid();
      out.push_back({x[i].atom, *exponent});
      ++i, ++j;
    }
  }
  out.insert(out.end(), x.begin() + static_cast<ptrdiff_t>(i), x.end());
  out.insert(out.end(), y.begin() + static_cast<ptrdiff_t>(j), y.end());
  return from_factors(out);
}

std::optional<Expr> divide_monomials(const Expr& a, const Expr& b) {
  if (b.is_static()) return a;
  if (a == b) return Expr(1);
  Factors x = factors_of(a);
  for (const Factor& f : factors_of(b)) {
    auto it = std::find_if(x.begin(), x.end(), [&](const Factor& g) { return g.atom == f.atom; });
    if (it == x.end() || it->exponent < f.exponent) return std::nullopt;
    it->exponent -= f.exponent;
    if (it->exponent == 0) x.erase(it);
  }
  return from_factors(x);
}

// Sorts, merges equal monomials, drops zeros. False when a coefficient overflows or a monomial is Invalid.
bool normalize(Poly& p) {
  for (const Term& t : p)
    if (t.monomial.is_invalid()) return false;
  std::stable_sort(p.begin(), p.end(), [](const Term& a, const Term& b) { return monomial_before(a.monomial, b.monomial); });
  size_t out = 0;
  for (size_t i = 0; i < p.size();) {
    Wide sum = 0;
    size_t j = i;
    for (; j < p.size() && p[j].monomial == p[i].monomial; ++j) sum += p[j].coefficient;
    auto coefficient = narrow(sum);
    if (!coefficient) return false;
    if (*coefficient != 0) p[out++] = {*coefficient, p[i].monomial};
    i = j;
  }
  p.resize(out);
  return true;
}

Expr term_expr(const Term& t) {
  if (t.monomial.is_static()) return t.coefficient;
  if (t.coefficient == 1) return t.monomial;
  std::vector<Expr> out{t.coefficient};
  if (t.monomial.kind() == Kind::Mul)
    out.insert(out.end(), t.monomial.operands().begin(), t.monomial.operands().end());
  else
    out.push_back(t.monomial);
  return make(Kind::Mul, Sort::Int, out);
}

Term term_of(const Expr& e) {
  if (e.is_static()) return {*e.constant(), 1};
  if (e.kind() == Kind::Mul && e.operands()[0].is_static()) return {*e.operands()[0].constant(), ExprNode::of(e)->monomial};
  return {1, e};
}

Expr multiply(const Expr& a, const Expr& b) {
  Poly x = terms_of(a), y = terms_of(b), out;
  if (x.size() * y.size() > kMaxProducts) return invalid();
  count_work(a, x.size() * y.size());
  for (const Term& s : x)
    for (const Term& t : y) {
      auto coefficient = checked_mul(s.coefficient, t.coefficient);
      if (!coefficient) return invalid();
      out.push_back({*coefficient, multiply_monomials(s.monomial, t.monomial)});
    }
  return normalize(out) ? from_terms(out) : invalid();
}

}  // namespace

std::optional<int64_t> checked_pow(int64_t base, int64_t exponent) {
  if (base == 0 || base == 1) return exponent == 0 ? 1 : base;
  if (base == -1) return exponent % 2 == 0 ? 1 : -1;
  std::optional<int64_t> result = 1;
  for (; exponent > 0 && result; --exponent) result = checked_mul(*result, base);  // at most 64 rounds
  return result;
}

bool monomial_before(const Expr& a, const Expr& b) {
  if (a == b) return false;
  Factors x = factors_of(a), y = factors_of(b);
  int64_t dx = degree(x), dy = degree(y);
  if (dx != dy) return dx > dy;
  for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    if (!(x[i].atom == y[i].atom)) return structural_less(x[i].atom, y[i].atom);
    if (x[i].exponent != y[i].exponent) return x[i].exponent > y[i].exponent;
  }
  return x.size() > y.size();
}

Poly terms_of(const Expr& e) {
  if (e.constant() == 0) return {};
  if (e.kind() != Kind::Add) return {term_of(e)};
  Poly out;
  for (const Expr& o : e.operands()) out.push_back(term_of(o));
  return out;
}

Expr from_terms(const Poly& p) {
  if (p.size() > kMaxTerms) return invalid();
  if (p.empty()) return 0;
  if (p.size() == 1) return term_expr(p[0]);
  std::vector<Expr> out;
  for (const Term& t : p) out.push_back(term_expr(t));
  return make(Kind::Add, Sort::Int, out);
}

Expr sum_of(std::span<const Expr> ints) {
  Poly all;
  for (const Expr& e : ints) {
    if (!is_int(e)) return invalid();
    Poly p = terms_of(e);
    count_work(e, p.size());
    all.insert(all.end(), p.begin(), p.end());
  }
  return normalize(all) ? from_terms(all) : invalid();
}

int64_t leading(const Poly& p) { return p.empty() ? 0 : p[0].coefficient; }

std::optional<Term> divide(const Term& a, const Term& b) {
  if (b.coefficient == 0 || (b.coefficient == -1 && a.coefficient == kIntMin)) return std::nullopt;
  if (a.coefficient % b.coefficient != 0) return std::nullopt;
  auto monomial = divide_monomials(a.monomial, b.monomial);
  if (!monomial) return std::nullopt;
  return Term{a.coefficient / b.coefficient, *monomial};
}

std::optional<Poly> divide(Poly a, const Poly& b) {
  Poly quotient;
  while (!a.empty()) {
    if (b.empty() || quotient.size() > kMaxTerms) return std::nullopt;
    auto q = divide(a[0], b[0]);
    if (!q) return std::nullopt;
    quotient.push_back(*q);
    count_work(b[0].monomial, a.size() + b.size());
    for (const Term& t : b) {
      auto coefficient = checked_mul(t.coefficient, q->coefficient);
      if (!coefficient || *coefficient == kIntMin) return std::nullopt;
      a.push_back({-*coefficient, multiply_monomials(t.monomial, q->monomial)});
    }
    if (!normalize(a) || a.size() > kMaxTerms) return std::nullopt;
  }
  return quotient;
}

Term common_factor(const Poly& a, const Poly& b) {
  auto g = std::gcd(gcd_of_coefficients(a, true), gcd_of_coefficients(b, true));
  Factors common = factors_of((b.empty() ? a : b).back().monomial);  // the last term has the lowest degree
  for (const Poly* p : {&a, &b})
    for (const Term& t : *p) {
      if (common.empty()) break;
      Factors factors = factors_of(t.monomial);
      std::erase_if(common, [&](Factor& f) {
        auto it = std::find_if(factors.begin(), factors.end(), [&](const Factor& h) { return h.atom == f.atom; });
        f.exponent = it == factors.end() ? 0 : std::min(f.exponent, it->exponent);
        return f.exponent == 0;
      });
    }
  return {g > static_cast<uint64_t>(kIntMax) || g == 0 ? 1 : static_cast<int64_t>(g), from_factors(common)};
}

Poly divide_all(Poly p, const Term& by) {
  for (Term& t : p) t = *divide(t, by);
  return p;
}

uint64_t gcd_of_coefficients(const Poly& p, bool with_constant) {
  uint64_t g = 0;
  for (const Term& t : p) {
    if (!with_constant && t.monomial.is_static()) continue;
    auto c = static_cast<uint64_t>(t.coefficient);
    g = std::gcd(g, t.coefficient < 0 ? 0 - c : c);
  }
  return g;
}

Expr add(Expr a, Expr b) {
  if (a.is_static() && b.is_static()) {
    auto r = checked_add(*a.constant(), *b.constant());
    return r ? Expr(*r) : invalid();
  }
  if (!is_number(a) || !is_number(b)) return invalid();
  if (a.sort() == Sort::Float || b.sort() == Sort::Float) return real_add(a, b);
  if (a.constant() == 0) return b;
  if (b.constant() == 0) return a;
  const Expr both[] = {a, b};
  return sum_of(both);
}

Expr mul(Expr a, Expr b) {
  if (a.is_static() && b.is_static()) {
    auto r = checked_mul(*a.constant(), *b.constant());
    return r ? Expr(*r) : invalid();
  }
  if (!is_number(a) || !is_number(b)) return invalid();
  if (a.sort() == Sort::Float || b.sort() == Sort::Float) return real_mul(a, b);
  if (a.constant() == 1) return b;
  if (b.constant() == 1) return a;
  return multiply(a, b);
}

Expr neg(Expr a) { return mul(a, -1); }
Expr sub(Expr a, Expr b) {
  // INT64_MIN has no negative, the difference may still have a value.
  if (a.is_static() && b.is_static()) {
    auto r = narrow(Wide{*a.constant()} - *b.constant());
    return r ? Expr(*r) : invalid();
  }
  return add(a, neg(b));
}

Expr pow(Expr a, int64_t exponent) {
  if (!is_number(a) || exponent == kIntMin) return invalid();
  if (exponent < 0) return truediv(1, pow(a, -exponent));
  if (a.sort() == Sort::Float) return real_pow(a, exponent);
  if (auto c = a.constant()) {
    auto r = checked_pow(*c, exponent);
    return r ? Expr(*r) : invalid();
  }
  if (exponent == 0) return 1;
  if (exponent == 1) return a;
  Poly p = terms_of(a);
  if (p.size() == 1) {  // a product: the exponents multiply
    auto coefficient = checked_pow(p[0].coefficient, exponent);
    if (!coefficient) return invalid();
    Factors factors = factors_of(p[0].monomial);
    for (Factor& f : factors) {
      auto e = checked_mul(f.exponent, exponent);
      if (!e) return invalid();
      f.exponent = *e;
    }
    Poly out{{*coefficient, from_factors(factors)}};
    return normalize(out) ? from_terms(out) : invalid();
  }
  Expr result = 1;
  for (int64_t i = 0; i < exponent && !result.is_invalid(); ++i) result = mul(result, a);  // ends at kMaxTerms at the latest
  return result;
}

}  // namespace edgec::sym
