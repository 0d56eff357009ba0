#pragma once
#include "backends/xnnpack/net.h"

namespace edgec::xnnpack {

// Products and sums with constants join the constant matrices beside them: a factor or summand of each channel the matrix behind it
// (norms before projections), one factor of the whole value the matrices before it (the scale of attention's queries), seen through
// what is linear. Rounds differently than the model does, by units in the last place. No constant grows.
void fold_factors(Net&);

}  // namespace edgec::xnnpack
