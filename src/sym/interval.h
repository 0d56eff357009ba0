#pragma once
#include <edgec/expr.h>

// Interval arithmetic on Range; a missing end is unbounded. Private to src/sym.
namespace edgec::sym::interval {

Range add(const Range& a, const Range& b);
Range neg(const Range& a);
Range mul(const Range& a, const Range& b);
Range pow(const Range& a, int64_t exponent);
Range floordiv(const Range& a, const Range& b);
Range mod(const Range& a, const Range& b);
Range truediv(const Range& a, const Range& b);  // rounded outward to integers
Range max(const Range& a, const Range& b);
Range min(const Range& a, const Range& b);
Range abs(const Range& a);
Range sqrt(const Range& a);
Range hull(const Range& a, const Range& b);
Range meet(const Range& a, const Range& b);
// Without the ends that a double may round past.
Range exact_as_float(const Range& a);

}  // namespace edgec::sym::interval
