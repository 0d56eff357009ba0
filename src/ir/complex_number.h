#pragma once
#include <edgec/arg.h>
#include <edgec/schema.h>

namespace edgec {

// A complex number as an argument is the list of its parts, until passes/complex_parts.
bool is_complex_number(const Param& p, const Arg& a);

}  // namespace edgec
