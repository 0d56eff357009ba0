#include <algorithm>

#include "sym/checked.h"
#include "sym/poly.h"

// max, min, abs and where.
namespace edgec::sym {
namespace {

constexpr size_t kMaxPairwise = 16;  // operands of one max that are compared with each other

void flatten(Kind kind, const Expr& e, std::vector<Expr>& out) {
  if (e.kind() != kind) return out.push_back(e);
  for (const Expr& o : e.operands()) flatten(kind, o, out);
}

bool dominated(Kind kind, const Expr& a, const Expr& by) {
  return (kind == Kind::Max ? less_equal(a, by) : less_equal(by, a)) == Proof::Yes;
}

// One form for any order and nesting: sorted, without operands that another one always beats, nested to the right.
Expr extreme(Kind kind, Expr a, Expr b) {
  if (!unify(a, b)) return invalid();
  if (auto i = whole(a), j = whole(b); a.sort() == Sort::Float && i && j)
    return to_float(kind == Kind::Max ? max(*i, *j) : min(*i, *j));
  std::vector<Expr> all;
  flatten(kind, a, all);
  flatten(kind, b, all);
  std::sort(all.begin(), all.end(), structural_less);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  if (all.size() <= kMaxPairwise)
    for (size_t i = 0; i < all.size();) {
      bool drop = false;
      for (size_t j = 0; j < all.size() && !drop; ++j) drop = i != j && dominated(kind, all[i], all[j]);
      if (drop)
        all.erase(all.begin() + static_cast<ptrdiff_t>(i));
      else
        ++i;
    }
  Expr result = all.back();
  for (size_t i = all.size() - 1; i-- > 0;) result = make(kind, result.sort(), {all[i], result});
  return result;
}

}  // namespace

Expr max(Expr a, Expr b) { return extreme(Kind::Max, a, b); }
Expr min(Expr a, Expr b) { return extreme(Kind::Min, a, b); }

Expr abs(Expr a) {
  if (!is_number(a)) return invalid();
  if (auto c = a.constant()) return *c < 0 ? neg(a) : a;
  if (auto v = a.constant_float()) return real(*v < 0 ? -*v : *v);
  if (auto x = whole(a)) return to_float(abs(*x));
  Range r = range(a);
  if (r.lo && *r.lo >= 0) return a;
  if (a.sort() == Sort::Float) return make(Kind::Abs, Sort::Float, {a});
  if ((r.hi && *r.hi <= 0) || leading(terms_of(a)) < 0) {
    Expr negated = neg(a);
    if (!negated.is_invalid()) return r.hi && *r.hi <= 0 ? negated : abs(negated);
  }
  return a.kind() == Kind::Abs ? a : make(Kind::Abs, Sort::Int, {a});
}

Expr where(Expr cond, Expr a, Expr b) {
  if (!is_bool(cond)) return invalid();
  auto decided = cond.constant_bool();
  // The branch not taken may be Invalid: where(n == 0, 0, m // n) with n = 0.
  if (decided && (*decided ? a : b).is_invalid()) return invalid();
  if (!is_bool(a) || !is_bool(b)) {
    Expr x = a.is_invalid() ? b : a, y = b.is_invalid() ? a : b;
    if (!unify(x, y)) return invalid();
    if (!a.is_invalid()) a = x;
    if (!b.is_invalid()) b = y;
  }
  if (decided) return *decided ? a : b;
  if (a == b) return a;
  if (cond.kind() == Kind::Not) return where(cond.operands()[0], b, a);
  return make(Kind::Where, a.sort(), {cond, a, b});
}

}  // namespace edgec::sym
