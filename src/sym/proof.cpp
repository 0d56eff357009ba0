#include "sym/interval.h"
#include "sym/poly.h"

namespace edgec::sym {
namespace {

Proof decided(bool yes) { return yes ? Proof::Yes : Proof::No; }
Proof opposite(Proof p) { return p == Proof::Yes ? Proof::No : p == Proof::No ? Proof::Yes : p; }

// The range of a - b; through the difference, where equal parts cancel, and through the two apart.
Range difference(const Expr& a, const Expr& b) {
  Range apart = interval::add(range(a), interval::neg(range(b)));
  if (a.sort() == Sort::Float || b.sort() == Sort::Float) return apart;
  return interval::meet(apart, range(sub(a, b)));
}

// 2*s is never 2*t + 1.
bool never_zero(const Expr& difference) {
  if (difference.is_invalid() || difference.sort() != Sort::Int) return false;
  Poly p = terms_of(difference);
  if (p.size() < 2 || !p.back().monomial.is_static()) return false;
  uint64_t g = gcd_of_coefficients(p, false);
  auto c = static_cast<uint64_t>(p.back().coefficient);
  return (p.back().coefficient < 0 ? 0 - c : c) % g != 0;
}

Proof both(Proof a, Proof b) {
  if (a == Proof::No || b == Proof::No) return Proof::No;
  return a == Proof::Yes && b == Proof::Yes ? Proof::Yes : Proof::Unknown;
}

}  // namespace

Proof equal(Expr a, Expr b) {
  if (is_bool(a) && is_bool(b)) {
    if (a == b) return Proof::Yes;
    Proof x = holds(a), y = holds(b);
    return x == Proof::Unknown || y == Proof::Unknown ? Proof::Unknown : decided(x == y);
  }
  if (!unify(a, b)) return Proof::Unknown;
  if (a == b) return Proof::Yes;
  if (auto x = a.constant_float(), y = b.constant_float(); x && y) return decided(a.is_static() ? a == b : *x == *y);
  Range d = difference(a, b);
  if ((d.lo && *d.lo > 0) || (d.hi && *d.hi < 0)) return Proof::No;
  if (a.sort() == Sort::Float) return Proof::Unknown;
  if (d == Range{0, 0}) return Proof::Yes;
  return never_zero(sub(a, b)) ? Proof::No : Proof::Unknown;
}

Proof less_equal(Expr a, Expr b) {
  if (!unify(a, b)) return Proof::Unknown;
  if (a == b) return Proof::Yes;
  if (a.is_static() && b.is_static()) return decided(*a.constant() <= *b.constant());
  if (auto x = a.constant_float(), y = b.constant_float(); x && y) return decided(*x <= *y);
  Range d = difference(a, b);
  if (d.hi && *d.hi <= 0) return Proof::Yes;
  return d.lo && *d.lo > 0 ? Proof::No : Proof::Unknown;
}

Proof less(Expr a, Expr b) { return opposite(less_equal(b, a)); }

Proof holds(Expr e) {
  if (!is_bool(e)) return Proof::Unknown;
  if (auto c = e.constant_bool()) return decided(*c);
  auto o = e.operands();
  switch (e.kind()) {
    case Kind::Eq:
      return equal(o[0], o[1]);
    case Kind::Ne:
      return opposite(equal(o[0], o[1]));
    case Kind::Lt:
      return less(o[0], o[1]);
    case Kind::Le:
      return less_equal(o[0], o[1]);
    case Kind::And:
      return both(holds(o[0]), holds(o[1]));
    case Kind::Or:
      return opposite(both(opposite(holds(o[0])), opposite(holds(o[1]))));
    case Kind::Not:
      return opposite(holds(o[0]));
    case Kind::Where: {
      Proof c = holds(o[0]);
      if (c != Proof::Unknown) return holds(o[c == Proof::Yes ? 1 : 2]);
      Proof x = holds(o[1]);
      return x == holds(o[2]) ? x : Proof::Unknown;
    }
    default:
      return Proof::Unknown;
  }
}

}  // namespace edgec::sym
