#include <algorithm>

#include "sym/checked.h"
#include "sym/interval.h"
#include "sym/poly.h"

namespace edgec::sym {
namespace {

constexpr uint32_t kMaxTightenSize = 200;
constexpr size_t kMaxTightenSymbols = 4;

// A symbol held at one number, to walk along a monotone expression.
struct Pin {
  Expr symbol;
  int64_t value;
};

// The range of a node from those of its operands. `of` answers for an operand.
template <class Of>
Range from_operands(const Expr& e, Of of) {
  auto o = e.operands();
  auto fold = [&](Range (*op)(const Range&, const Range&)) {
    Range r = of(o[0]);
    for (const Expr& x : o.subspan(1)) r = op(r, of(x));
    return r;
  };
  switch (e.kind()) {
    case Kind::IntConst:
      return {e.constant(), e.constant()};
    case Kind::Symbol:
      return e.context()->range_of(e);
    case Kind::Add:
      return fold(interval::add);
    case Kind::Mul:
      return fold(interval::mul);
    case Kind::Pow:
      return interval::pow(of(o[0]), *o[1].constant());
    case Kind::FloorDiv:
      return interval::floordiv(of(o[0]), of(o[1]));
    case Kind::Mod:
      return interval::mod(of(o[0]), of(o[1]));
    case Kind::Max:
      return interval::max(of(o[0]), of(o[1]));
    case Kind::Min:
      return interval::min(of(o[0]), of(o[1]));
    case Kind::Abs:
      return interval::abs(of(o[0]));
    case Kind::TrueDiv:
      return interval::truediv(of(o[0]), of(o[1]));
    case Kind::Sqrt:
      return interval::sqrt(of(o[0]));
    case Kind::ToFloat:
    case Kind::FloorToInt:  // ends are whole, so rounding stays between them
    case Kind::CeilToInt:
    case Kind::TruncToInt:
    case Kind::RoundToInt:
      return of(o[0]);
    case Kind::Where: {
      Proof p = holds(o[0]);
      if (p == Proof::Unknown) return interval::hull(of(o[1]), of(o[2]));
      return of(o[p == Proof::Yes ? 1 : 2]);
    }
    default:
      return {};
  }
}

Range constant_range(double v) {
  auto limit = static_cast<double>(kExactFloat);
  Range r;
  if (v >= -limit && v <= limit) {
    r.lo = static_cast<int64_t>(v);
    if (static_cast<double>(*r.lo) > v) --*r.lo;
    r.hi = static_cast<double>(*r.lo) == v ? *r.lo : *r.lo + 1;
  }
  return r;
}

Range pinned(const Expr& e, std::span<const Pin> pins) {
  if (e.kind() == Kind::Symbol)
    for (const Pin& p : pins)
      if (p.symbol == e) return {p.value, p.value};
  if (e.operands().empty() || e.sort() != Sort::Int) return range(e);
  return interval::meet(from_operands(e, [&](const Expr& o) { return pinned(o, pins); }), range(e));
}

bool mentions(const Expr& e, const Expr& s) {
  if (e == s) return true;
  for (const Expr& o : e.operands())
    if (mentions(o, s)) return true;
  return false;
}

// What e(s + 1) - e(s) may be, over the whole range.
Range step(const Expr& e, const Expr& s) {
  auto o = e.operands();
  if (e == s) return {1, 1};
  if (o.empty()) return {0, 0};
  switch (e.sort() == Sort::Int ? e.kind() : Kind::Invalid) {
    case Kind::Add: {
      Range r{0, 0};
      for (const Expr& x : o) r = interval::add(r, step(x, s));
      return r;
    }
    case Kind::Mul: {  // f(s+1) g(s+1) - f(s) g(s) = df g(s+1) + f(s) dg
      Range r = step(o[0], s), f = range(o[0]);
      for (const Expr& g : o.subspan(1)) {
        r = interval::add(interval::mul(r, range(g)), interval::mul(f, step(g, s)));
        f = interval::mul(f, range(g));
      }
      return r;
    }
    case Kind::Pow: {  // the mean value theorem: n * x ** (n - 1) * step for some x in between
      int64_t n = *o[1].constant();
      Range slope = interval::mul({n, n}, interval::pow(range(o[0]), n - 1));
      return interval::mul(slope, step(o[0], s));
    }
    case Kind::FloorDiv: {  // a step of d moves floor(x / k) by floor(d / k) or ceil(d / k)
      auto k = o[1].constant();
      if (!k || *k < 1) break;
      Range d = step(o[0], s), divisor{*k, *k};
      return {interval::floordiv(d, divisor).lo, interval::neg(interval::floordiv(interval::neg(d), divisor)).hi};
    }
    case Kind::Max:
    case Kind::Min:
      return interval::hull(step(o[0], s), step(o[1], s));
    default:
      break;
  }
  return mentions(e, s) ? Range{} : Range{0, 0};
}

// s - s // 2 over 2..100: rising, so its ends are at the ends of s.
Range tightened(const Expr& e, Range plain) {
  if (ExprNode::of(e)->size > kMaxTightenSize) return plain;
  std::vector<Expr> repeated, seen;
  for (const Expr& term : e.operands())
    for (const Expr& s : free_symbols(term)) {
      auto& list = std::find(seen.begin(), seen.end(), s) == seen.end() ? seen : repeated;
      if (std::find(list.begin(), list.end(), s) == list.end()) list.push_back(s);
    }
  if (repeated.empty() || repeated.size() > kMaxTightenSymbols) return plain;
  std::vector<Pin> low, high;
  for (const Expr& s : repeated) {
    Range d = step(e, s), r = range(s);
    bool rising = d.lo && *d.lo >= 0, falling = d.hi && *d.hi <= 0;
    if (!rising && !falling) continue;
    if (auto at = rising ? r.lo : r.hi) low.push_back({s, *at});
    if (auto at = rising ? r.hi : r.lo) high.push_back({s, *at});
  }
  auto ends = [&](std::span<const Pin> pins) { return from_operands(e, [&](const Expr& o) { return pinned(o, pins); }); };
  if (!low.empty()) plain = interval::meet(plain, {ends(low).lo, std::nullopt});
  if (!high.empty()) plain = interval::meet(plain, {std::nullopt, ends(high).hi});
  return plain;
}

}  // namespace

Range range(Expr e) {
  if (e.kind() == Kind::FloatConst) return constant_range(*e.constant_float());
  if (e.kind() == Kind::Symbol || e.is_static()) return from_operands(e, [](const Expr&) { return Range{}; });
  const ExprNode* node = ExprNode::of(e);
  if (node->context == nullptr || node->sort == Sort::Bool) return {};
  if (uint64_t epoch = node->context->impl().epoch; node->range_epoch != epoch) {
    Range r = from_operands(e, [](const Expr& o) { return range(o); });
    if (e.sort() == Sort::Float)
      r = interval::exact_as_float(r);
    else if (e.kind() == Kind::Add)
      r = tightened(e, r);
    node->range = r;
    node->range_epoch = epoch;
  }
  return node->range;
}

std::optional<int64_t> upper_bound(Expr e) { return range(e).hi; }
std::optional<int64_t> lower_bound(Expr e) { return range(e).lo; }

}  // namespace edgec::sym
