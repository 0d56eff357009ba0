#pragma once
#include <edgec/op.h>

namespace edgec {

// Operators that the table does not list because they follow from others, made when their name comes up: `aten.log.out` from `aten.log`.
// The function defines it and returns it; null: there is none of this name.
using DeriveOp = const OpDef* (*)(std::string_view full_name);
void set_derived_ops(DeriveOp derive);

}  // namespace edgec
