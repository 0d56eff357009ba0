#pragma once
#include "sym/node.h"

// Int expressions as polynomials; private to src/sym.
namespace edgec::sym {

// coefficient * monomial; the monomial is 1, an atom, a Pow of an atom, or a Mul of these without a number in front.
struct Term {
  int64_t coefficient = 0;
  Expr monomial = 1;
};
// Sorted by `monomial_before`, monomials distinct, coefficients not zero; a constant stands last.
using Poly = std::vector<Term>;

// Higher degree first, then by the powers of the structurally least atom. Multiplying keeps this order (division needs
// that).
bool monomial_before(const Expr& a, const Expr& b);

Poly terms_of(const Expr& e);
Expr from_terms(const Poly& p);  // Invalid beyond kMaxTerms
Expr sum_of(std::span<const Expr> ints);
int64_t leading(const Poly& p);  // coefficient in front of the first term, 0 of the empty sum

// a / b where it leaves no rest.
std::optional<Term> divide(const Term& a, const Term& b);
std::optional<Poly> divide(Poly a, const Poly& b);

// The largest coefficient * monomial (coefficient > 0) that divides all terms of both.
Term common_factor(const Poly& a, const Poly& b);
Poly divide_all(Poly p, const Term& by);

uint64_t gcd_of_coefficients(const Poly& p, bool with_constant);

}  // namespace edgec::sym
