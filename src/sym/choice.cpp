#include <algorithm>

#include "sym/checked.h"
#include "sym/poly.h"

// max, min, abs and where.
namespace edgec::sym {
namespace {

constexpr size_t kMaxOperands = 100;  // of one max: each is compared with each

void flatten(Kind kind, const Expr& e, std::vector<Expr>& out) {
  if (e.kind() != kind) return out.push_back(e);
  for (const Expr& o : e.operands()) flatten(kind, o, out);
}

// Of two that are always equal the constant stays, else the structurally lesser one.
bool dominated(Kind kind, const Expr& x, const Expr& by) {
  auto at_most = [kind](const Expr& a, const Expr& b) { return kind == Kind::Max ? less_equal(a, b) : less_equal(b, a); };
  if (at_most(x, by) != Proof::Yes) return false;
  if (at_most(by, x) != Proof::Yes) return true;
  return !(x == by) && (by.is_static() || (!x.is_static() && structural_less(by, x)));
}

Expr extreme(Kind kind, Expr a, Expr b);

// Takes out what `others` beat. Within one finished max nothing beats anything, so only the two sides are compared.
void drop_dominated(Kind kind, std::vector<Expr>& from, const std::vector<Expr>& others) {
  std::erase_if(
      from, [&](const Expr& x) { return std::any_of(others.begin(), others.end(), [&](const Expr& y) { return dominated(kind, x, y); }); });
}

// max(float(a), 1.5, float(b)) is max(float(max(a, b)), 1.5).
void gather_whole(Kind kind, std::vector<Expr>& all) {
  std::optional<Expr> gathered;
  size_t count = 0;
  for (const Expr& e : all)
    if (auto x = whole(e)) {
      gathered = !gathered ? *x : extreme(kind, *gathered, *x);
      ++count;
    }
  if (count < 2) return;
  std::erase_if(all, [](const Expr& e) { return whole(e).has_value(); });
  std::vector<Expr> one{to_float(*gathered)};
  drop_dominated(kind, all, one);
  drop_dominated(kind, one, all);
  all.insert(all.end(), one.begin(), one.end());
}

// One form for any order and nesting: sorted, without operands that another one always beats, nested to the right.
Expr extreme(Kind kind, Expr a, Expr b) {
  if (!unify(a, b)) return invalid();
  std::vector<Expr> all, more;
  flatten(kind, a, all);
  flatten(kind, b, more);
  if (all.size() + more.size() > kMaxOperands) return invalid();
  drop_dominated(kind, all, more);
  drop_dominated(kind, more, all);
  all.insert(all.end(), more.begin(), more.end());
  if (a.sort() == Sort::Float) gather_whole(kind, all);
  std::sort(all.begin(), all.end(), last_if_constant);
  all.erase(std::unique(all.begin(), all.end()), all.end());
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
