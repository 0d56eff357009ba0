#include "sym/interval.h"

#include <algorithm>
#include <cmath>

#include "sym/checked.h"

namespace edgec::sym::interval {
namespace {

// Ends as wide integers; products of finite ends stay below the infinite ones.
constexpr Wide kInf = Wide{1} << 126;
struct Ends {
  Wide lo = -kInf, hi = kInf;
};

Ends ends(const Range& r) { return {r.lo ? Wide{*r.lo} : -kInf, r.hi ? Wide{*r.hi} : kInf}; }

// A value outside int64 does not exist, so an end past the far side clamps.
Range range_of(Wide lo, Wide hi) {
  Range r;
  if (lo >= kIntMin) r.lo = static_cast<int64_t>(std::min<Wide>(lo, kIntMax));
  if (hi <= kIntMax) r.hi = static_cast<int64_t>(std::max<Wide>(hi, kIntMin));
  return r;
}

bool infinite(Wide v) { return v == kInf || v == -kInf; }

Wide times(Wide a, Wide b) {
  if (a == 0 || b == 0) return 0;
  if (infinite(a) || infinite(b)) return (a < 0) == (b < 0) ? kInf : -kInf;
  return a * b;
}

Wide divided(Wide a, Wide b) {
  if (infinite(b)) return a == 0 || (a < 0) == (b < 0) ? 0 : -1;
  if (infinite(a)) return (a < 0) == (b < 0) ? kInf : -kInf;
  return floor_div(a, b);
}

template <class Op>
Range corners(const Ends& a, const Ends& b, Op low, Op high) {
  return range_of(std::min({low(a.lo, b.lo), low(a.lo, b.hi), low(a.hi, b.lo), low(a.hi, b.hi)}),
                  std::max({high(a.lo, b.lo), high(a.lo, b.hi), high(a.hi, b.lo), high(a.hi, b.hi)}));
}

// The parts of a divisor below and above zero, combined.
template <class Op>
Range by_sign(const Ends& b, Op op) {
  std::optional<Range> all;
  if (b.hi > 0) all = op(Ends{std::max<Wide>(b.lo, 1), b.hi});
  if (b.lo < 0) {
    Range below = op(Ends{b.lo, std::min<Wide>(b.hi, -1)});
    all = all ? hull(*all, below) : below;
  }
  return all.value_or(Range{});
}

Wide ceil_divided(Wide a, Wide b) { return -divided(-a, b); }

Wide power(Wide base, int64_t exponent) {
  if (base == 0 || base == 1) return exponent == 0 ? 1 : base;
  if (base == -1) return exponent % 2 == 0 ? 1 : -1;
  Wide result = 1;
  for (int64_t i = 0; i < exponent; ++i) {
    result = times(result, base);
    if (infinite(result) || result > kIntMax || result < kIntMin) return base < 0 && exponent % 2 != 0 ? -kInf : kInf;
  }
  return result;
}

}  // namespace

Range add(const Range& a, const Range& b) {
  Ends x = ends(a), y = ends(b);
  bool no_lo = infinite(x.lo) || infinite(y.lo), no_hi = infinite(x.hi) || infinite(y.hi);
  return range_of(no_lo ? -kInf : x.lo + y.lo, no_hi ? kInf : x.hi + y.hi);
}

Range neg(const Range& a) {
  Ends x = ends(a);
  return range_of(-x.hi, -x.lo);
}

Range mul(const Range& a, const Range& b) { return corners(ends(a), ends(b), times, times); }

Range pow(const Range& a, int64_t exponent) {
  Ends x = ends(a);
  Wide lo = power(x.lo, exponent), hi = power(x.hi, exponent);
  if (exponent % 2 != 0) return range_of(lo, hi);
  return range_of(x.lo <= 0 && x.hi >= 0 ? 0 : std::min(lo, hi), std::max(lo, hi));
}

Range floordiv(const Range& a, const Range& b) {
  return by_sign(ends(b), [&](const Ends& part) { return corners(ends(a), part, divided, divided); });
}

Range mod(const Range& a, const Range& b) {
  Ends x = ends(a), y = ends(b);
  if (y.lo == y.hi && y.lo > 0 && !infinite(x.lo) && !infinite(x.hi) && floor_div(x.lo, y.lo) == floor_div(x.hi, y.lo))
    return range_of(floor_mod(x.lo, y.lo), floor_mod(x.hi, y.lo));
  return by_sign(y, [&](const Ends& part) {
    if (part.lo > 0) {
      Wide hi = infinite(part.hi) ? kInf : part.hi - 1;
      return range_of(0, x.lo >= 0 ? std::min(hi, x.hi) : hi);
    }
    Wide lo = infinite(part.lo) ? -kInf : part.lo + 1;
    return range_of(x.hi <= 0 ? std::max(lo, x.lo) : lo, 0);
  });
}

Range truediv(const Range& a, const Range& b) {
  Ends x = ends(a), y = ends(b);
  if (y.lo >= 1 || y.hi <= -1) return corners(x, y, divided, ceil_divided);
  if (y.lo < 0 && y.hi > 0) return {};  // a divisor near zero: any size, either sign
  bool negative_divisor = y.hi <= 0;
  if (x.lo >= 0) return negative_divisor ? range_of(-kInf, 0) : range_of(0, kInf);
  if (x.hi <= 0) return negative_divisor ? range_of(0, kInf) : range_of(-kInf, 0);
  return {};
}

Range max(const Range& a, const Range& b) {
  Ends x = ends(a), y = ends(b);
  return range_of(std::max(x.lo, y.lo), std::max(x.hi, y.hi));
}

Range min(const Range& a, const Range& b) {
  Ends x = ends(a), y = ends(b);
  return range_of(std::min(x.lo, y.lo), std::min(x.hi, y.hi));
}

Range abs(const Range& a) {
  Ends x = ends(a);
  return range_of(x.lo >= 0 ? x.lo : x.hi <= 0 ? -x.hi : 0, std::max(x.hi, -x.lo));
}

Range sqrt(const Range& a) {
  Range r{0, std::nullopt};
  if (a.lo && *a.lo > 0) r.lo = static_cast<int64_t>(std::floor(std::sqrt(static_cast<double>(*a.lo))));
  if (a.hi) r.hi = static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(std::max<int64_t>(*a.hi, 0)))));
  return r;
}

Range hull(const Range& a, const Range& b) {
  Ends x = ends(a), y = ends(b);
  return range_of(std::min(x.lo, y.lo), std::max(x.hi, y.hi));
}

Range meet(const Range& a, const Range& b) {
  Ends x = ends(a), y = ends(b);
  Wide lo = std::max(x.lo, y.lo), hi = std::min(x.hi, y.hi);
  return lo <= hi ? range_of(lo, hi) : a;  // nothing at all: any answer is right
}

Range exact_as_float(const Range& a) {
  Range r = a;
  if (r.lo && (*r.lo > kExactFloat || *r.lo < -kExactFloat)) r.lo.reset();
  if (r.hi && (*r.hi > kExactFloat || *r.hi < -kExactFloat)) r.hi.reset();
  return r;
}

}  // namespace edgec::sym::interval
