#include <algorithm>

#include "support/assert.h"
#include "sym/poly.h"

// Relations, logic, and the operation by its kind.
namespace edgec::sym {
namespace {

std::optional<double> constant_difference(const Expr& a, const Expr& b) {
  if (a.is_static() && b.is_static()) return *a.constant() < *b.constant() ? -1 : *a.constant() > *b.constant();
  auto x = a.constant_float(), y = b.constant_float();
  if (x && y) return *x < *y ? -1 : *x > *y;
  if (a == b) return 0;
  if (a.sort() != Sort::Int) return std::nullopt;
  Expr d = sub(a, b);
  if (!d.is_static()) return std::nullopt;
  return static_cast<double>(*d.constant());
}

// Both numbers, both of one sort; whole floats as integers.
bool prepare(Expr& a, Expr& b) {
  if (!unify(a, b)) return false;
  if (a.sort() == Sort::Float)
    if (auto i = whole(a), j = whole(b); i && j) a = *i, b = *j;
  return true;
}

Expr equality(Kind kind, Expr a, Expr b) {
  bool when_same = kind == Kind::Eq;
  if (is_bool(a) && is_bool(b)) {
    if (a == b) return boolean(when_same);
    if (a.constant_bool() && b.constant_bool()) return boolean(!when_same);
  } else {
    if (!prepare(a, b)) return invalid();
    if (auto d = constant_difference(a, b)) return boolean((*d == 0) == when_same);
  }
  if (last_if_constant(b, a)) std::swap(a, b);
  return make(kind, Sort::Bool, {a, b});
}

void flatten(Kind kind, const Expr& e, std::vector<Expr>& out) {
  if (e.kind() != kind) return out.push_back(e);
  for (const Expr& o : e.operands()) flatten(kind, o, out);
}

// `absorbing` decides alone (false of an `and`), the other constant vanishes. Sorted, each once, nested to the right.
Expr connect(Kind kind, const Expr& a, const Expr& b, bool absorbing) {
  if (!is_bool(a) || !is_bool(b)) return invalid();
  for (auto [x, y] : {std::pair(&a, &b), std::pair(&b, &a)})
    if (auto c = x->constant_bool()) return *c == absorbing ? *x : *y;
  std::vector<Expr> all;
  flatten(kind, a, all);
  flatten(kind, b, all);
  std::sort(all.begin(), all.end(), structural_less);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  Expr result = all.back();
  for (size_t i = all.size() - 1; i-- > 0;) result = make(kind, Sort::Bool, {all[i], result});
  return result;
}

}  // namespace

Expr eq(Expr a, Expr b) { return equality(Kind::Eq, a, b); }
Expr ne(Expr a, Expr b) { return equality(Kind::Ne, a, b); }

Expr lt(Expr a, Expr b) {
  if (!prepare(a, b)) return invalid();
  if (auto d = constant_difference(a, b)) return boolean(*d < 0);
  return make(Kind::Lt, Sort::Bool, {a, b});
}

Expr le(Expr a, Expr b) {
  if (!prepare(a, b)) return invalid();
  if (auto d = constant_difference(a, b)) return boolean(*d <= 0);
  return make(Kind::Le, Sort::Bool, {a, b});
}

Expr gt(Expr a, Expr b) { return lt(b, a); }
Expr ge(Expr a, Expr b) { return le(b, a); }
Expr logical_and(Expr a, Expr b) { return connect(Kind::And, a, b, false); }
Expr logical_or(Expr a, Expr b) { return connect(Kind::Or, a, b, true); }

Expr logical_not(Expr a) {
  if (!is_bool(a)) return invalid();
  if (auto c = a.constant_bool()) return boolean(!*c);
  auto o = a.operands();
  switch (a.kind()) {
    case Kind::Not:
      return o[0];
    case Kind::Eq:
      return ne(o[0], o[1]);
    case Kind::Ne:
      return eq(o[0], o[1]);
    case Kind::Lt:
      return le(o[1], o[0]);
    case Kind::Le:
      return lt(o[1], o[0]);
    default:
      return make(Kind::Not, Sort::Bool, {a});
  }
}

Expr rebuild(const Expr& e, std::span<const Expr> o) {
  switch (e.kind()) {
    case Kind::IntConst:
    case Kind::FloatConst:
    case Kind::BoolConst:
    case Kind::Invalid:
    case Kind::Symbol:
      return e;
    case Kind::Add:
    case Kind::Mul: {
      if (e.kind() == Kind::Add && std::all_of(o.begin(), o.end(), is_int)) return sum_of(o);
      Expr result = o[0];
      for (const Expr& x : o.subspan(1)) result = e.kind() == Kind::Add ? add(result, x) : mul(result, x);
      return result;
    }
    case Kind::Pow:
      return pow(o[0], *e.operands()[1].constant());
    case Kind::FloorDiv:
      return floordiv(o[0], o[1]);
    case Kind::Mod:
      return mod(o[0], o[1]);
    case Kind::Max:
      return max(o[0], o[1]);
    case Kind::Min:
      return min(o[0], o[1]);
    case Kind::Abs:
      return abs(o[0]);
    case Kind::TrueDiv:
      return truediv(o[0], o[1]);
    case Kind::ToFloat:
      return to_float(o[0]);
    case Kind::Sqrt:
      return sqrt(o[0]);
    case Kind::FloorToInt:
      return floor_to_int(o[0]);
    case Kind::CeilToInt:
      return ceil_to_int(o[0]);
    case Kind::TruncToInt:
      return trunc_to_int(o[0]);
    case Kind::RoundToInt:
      return round_to_int(o[0]);
    case Kind::Where:
      return where(o[0], o[1], o[2]);
    case Kind::Eq:
      return eq(o[0], o[1]);
    case Kind::Ne:
      return ne(o[0], o[1]);
    case Kind::Lt:
      return lt(o[0], o[1]);
    case Kind::Le:
      return le(o[0], o[1]);
    case Kind::And:
      return logical_and(o[0], o[1]);
    case Kind::Or:
      return logical_or(o[0], o[1]);
    case Kind::Not:
      return logical_not(o[0]);
  }
  EDGEC_ASSERT(false);
  return e;
}

}  // namespace edgec::sym
