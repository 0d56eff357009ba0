#include <numeric>

#include "sym/checked.h"
#include "sym/poly.h"

// Floor division and remainder. Every rule is an identity of integers for any divisor but zero; rules apply until none
// does, so a finished node is what its own operands give again.
namespace edgec::sym {
namespace {

// The q with k*q <= e < k*(q+1), when e's range lies within one such step.
std::optional<int64_t> known_quotient(const Expr& e, int64_t k) {
  Range r = range(e);
  if (!r.lo || !r.hi) return std::nullopt;
  auto q = static_cast<int64_t>(floor_div(*r.lo, k));
  if (floor_div(*r.hi, k) != q) return std::nullopt;
  return q;
}

bool within(const Expr& e, int64_t lo, int64_t hi) {
  Range r = range(e);
  return r.lo && r.hi && *r.lo >= lo && *r.hi <= hi;
}

// 2*s + t by 4 with t in 0..1: t, the part too small to matter beside the multiples of gcd(4, 2).
std::optional<Expr> small_part(const Poly& p, int64_t k) {
  for (const Term& t : p) {
    if (t.monomial.is_static()) continue;
    int64_t g = std::gcd(k, t.coefficient);
    if (g == 1) continue;
    Poly rest;
    for (const Term& u : p)
      if (u.coefficient % g != 0) rest.push_back(u);
    if (rest.empty() || rest.size() == p.size()) continue;
    Expr small = from_terms(rest);
    if (within(small, 0, g - 1)) return small;
  }
  return std::nullopt;
}

Poly map_terms(const Poly& p, int64_t (*variable)(int64_t, int64_t), int64_t (*constant)(int64_t, int64_t), int64_t k) {
  Poly out;
  for (const Term& t : p) {
    int64_t c = t.monomial.is_static() ? constant(t.coefficient, k) : variable(t.coefficient, k);
    if (c != 0) out.push_back({c, t.monomial});
  }
  return out;
}

int64_t trunc_div(int64_t a, int64_t b) { return a / b; }
int64_t trunc_mod(int64_t a, int64_t b) { return a % b; }
int64_t drop_multiple(int64_t a, int64_t b) { return a % b == 0 ? 0 : a; }
int64_t floor_div64(int64_t a, int64_t b) { return static_cast<int64_t>(floor_div(a, b)); }
int64_t floor_mod64(int64_t a, int64_t b) { return static_cast<int64_t>(floor_mod(a, b)); }

// a + c when a is one atom of the kind, with or without a number added: the atom and the number.
std::optional<std::pair<Expr, int64_t>> atom_plus_number(const Poly& p, Kind kind) {
  if (p.empty() || p.size() > 2 || p[0].coefficient != 1 || p[0].monomial.kind() != kind) return std::nullopt;
  if (p.size() == 1) return std::pair(p[0].monomial, int64_t{0});
  if (!p[1].monomial.is_static()) return std::nullopt;
  return std::pair(p[0].monomial, p[1].coefficient);
}

Expr floordiv_by_number(const Expr& a, int64_t k) {
  Poly p = terms_of(a);
  if (Poly whole = map_terms(p, trunc_div, floor_div64, k); !whole.empty()) {  // (5*s + 7) // 4 = s + 1 + (s + 3) // 4
    Poly rest = map_terms(p, trunc_mod, floor_mod64, k);
    return add(from_terms(whole), floordiv(from_terms(rest), k));
  }
  auto g = static_cast<int64_t>(std::gcd(gcd_of_coefficients(p, false), static_cast<uint64_t>(k)));
  if (g > 1) return floordiv(from_terms(map_terms(p, trunc_div, floor_div64, g)), k / g);
  if (leading(p) < 0) return neg(floordiv(sub(k - 1, a), k));  // one form for (-s) // 2 and (s + 1) // 2
  if (auto q = known_quotient(a, k)) return *q;
  if (auto small = small_part(p, k)) return floordiv(sub(a, *small), k);
  if (auto inner = atom_plus_number(p, Kind::FloorDiv)) {  // (x // m + c) // k = (x + c*m) // (m*k)
    Expr x = inner->first.operands()[0], m = inner->first.operands()[1];
    Expr nested = floordiv(add(x, mul(m, inner->second)), mul(m, k));
    if (!nested.is_invalid()) return nested;
  }
  return make(Kind::FloorDiv, Sort::Int, {a, k});
}

Expr mod_by_number(const Expr& a, int64_t k) {
  Poly p = terms_of(a);
  if (Poly rest = map_terms(p, drop_multiple, floor_mod64, k); from_terms(rest) != a) return mod(from_terms(rest), k);
  if (auto q = known_quotient(a, k)) {
    Expr rest = sub(a, mul(*q, k));
    if (!rest.is_invalid()) return rest;
  }
  if (!map_terms(p, trunc_div, floor_div64, k).empty()) return mod(from_terms(map_terms(p, trunc_mod, floor_mod64, k)), k);
  auto g = static_cast<int64_t>(std::gcd(gcd_of_coefficients(p, false), static_cast<uint64_t>(k)));
  if (g > 1) {  // (4*s + 6) % 8 = 4*((s + 1) % 2) + 2
    int64_t below = p.back().monomial.is_static() ? p.back().coefficient % g : 0;
    return add(mul(g, mod(from_terms(map_terms(p, trunc_div, floor_div64, g)), k / g)), below);
  }
  if (auto small = small_part(p, k)) return add(mod(sub(a, *small), k), *small);
  for (const Term& t : p) {  // c*(x % m) is c*x less a multiple of k
    if (t.monomial.kind() != Kind::Mod || !t.monomial.operands()[1].is_static()) continue;
    auto step = checked_mul(t.coefficient, *t.monomial.operands()[1].constant());
    if (!step || *step % k != 0) continue;
    Expr without = add(a, mul(t.coefficient, sub(t.monomial.operands()[0], t.monomial)));
    if (!without.is_invalid()) return mod(without, k);
  }
  return make(Kind::Mod, Sort::Int, {a, k});
}

// What both operations do first for a divisor with symbols.
struct Split {
  Term factor;           // of both
  Expr whole = 0, rest;  // numerator = whole * divisor + rest
};
Split split(const Expr& a, const Expr& b) {
  Poly n = terms_of(a), d = terms_of(b);
  count_work(b, n.size() * d.size());
  Term factor = common_factor(n, d);
  if (factor.coefficient != 1 || !factor.monomial.is_static()) return {factor, 0, a};
  if (d.size() > 1) {
    auto exact = divide(n, d);
    if (!exact) return {factor, 0, a};
    Expr whole = from_terms(*exact);
    return whole.is_invalid() ? Split{factor, 0, a} : Split{factor, whole, 0};
  }
  Poly whole, rest;
  for (const Term& t : n) {
    auto q = divide(t, d[0]);
    (q ? whole : rest).push_back(q ? *q : t);
  }
  return {factor, from_terms(whole), from_terms(rest)};
}

Expr divided(const Expr& e, const Term& by) { return from_terms(divide_all(terms_of(e), by)); }
bool is_one(const Term& t) { return t.coefficient == 1 && t.monomial.is_static(); }

bool positive(const Expr& e) {
  auto lo = lower_bound(e);
  return lo && *lo > 0;
}
bool not_negative(const Expr& e) {
  auto lo = lower_bound(e);
  return lo && *lo >= 0;
}

}  // namespace

Expr floordiv(Expr a, Expr b) {
  if (!is_int(a) || !is_int(b) || b.constant() == 0) return invalid();
  if (a.is_static() && b.is_static()) {
    auto q = narrow(floor_div(*a.constant(), *b.constant()));
    return q ? Expr(*q) : invalid();
  }
  if (a.constant() == 0) return 0;
  if (b.constant() == 1) return a;
  if (b.constant() == kIntMin) return make(Kind::FloorDiv, Sort::Int, {a, b});
  if (leading(terms_of(b)) < 0) {
    Expr na = neg(a), nb = neg(b);
    return na.is_invalid() || nb.is_invalid() ? make(Kind::FloorDiv, Sort::Int, {a, b}) : floordiv(na, nb);
  }
  if (auto k = b.constant()) return floordiv_by_number(a, *k);
  Split s = split(a, b);
  if (!is_one(s.factor)) return floordiv(divided(a, s.factor), divided(b, s.factor));
  if (s.whole.constant() != 0) return add(s.whole, floordiv(s.rest, b));
  if (a.kind() == Kind::FloorDiv && positive(b)) {
    Expr nested = floordiv(a.operands()[0], mul(a.operands()[1], b));
    if (!nested.is_invalid()) return nested;
  }
  if (not_negative(a) && positive(sub(b, a))) return 0;
  if (positive(neg(a)) && not_negative(add(a, b))) return -1;
  return make(Kind::FloorDiv, Sort::Int, {a, b});
}

Expr ceildiv(Expr a, Expr b) { return neg(floordiv(neg(a), b)); }

Expr mod(Expr a, Expr b) {
  if (!is_int(a) || !is_int(b) || b.constant() == 0) return invalid();
  if (a.is_static() && b.is_static()) return static_cast<int64_t>(floor_mod(*a.constant(), *b.constant()));
  if (a.constant() == 0 || b.constant() == 1) return 0;
  if (b.constant() == kIntMin) return make(Kind::Mod, Sort::Int, {a, b});
  if (leading(terms_of(b)) < 0) {
    Expr na = neg(a), nb = neg(b);
    return na.is_invalid() || nb.is_invalid() ? make(Kind::Mod, Sort::Int, {a, b}) : neg(mod(na, nb));
  }
  if (auto k = b.constant()) return mod_by_number(a, *k);
  Split s = split(a, b);
  if (!is_one(s.factor)) {
    Expr factor = from_terms({s.factor});
    return mul(factor, mod(divided(a, s.factor), divided(b, s.factor)));
  }
  if (s.whole.constant() != 0) return mod(s.rest, b);
  if (not_negative(a) && positive(sub(b, a))) return a;
  return make(Kind::Mod, Sort::Int, {a, b});
}

}  // namespace edgec::sym
