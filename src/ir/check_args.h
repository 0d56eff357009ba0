#pragma once
#include <span>

#include "ir/op.h"

namespace edgec {

// Whether a call's arguments fit the parameters of the operator's schema: their count, what is missing, their kinds.
// Numbers stand for tensors as in torch (`aten.add.Tensor(%x, 2)`). After this the type rules may read the arguments by
// name without surprises. Operators that the table lacks take anything.
Status check_args(const Graph&, const OpDef&, std::span<const Arg>);

// `infer` after `check_args`. A rule that asks for a tensor where the call has a number gives a failure too.
Result<std::vector<Type>> infer_checked(const Graph&, const OpDef&, std::span<const Arg>);
bool has_type_rule(const OpDef&);

}  // namespace edgec
