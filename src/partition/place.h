#pragma once
#include <edgec/backend.h>

namespace edgec::partition {

// Calls a lowered module in a graph that it was not cut from: a node before `before` (none: at the end). Fails when the inputs are not of
// the kinds, dtypes and ranks that the module was compiled for.
Result<std::vector<ValueId>> place(Method& m, Graph& g, const std::shared_ptr<const LoweredModule>& module, const std::vector<Arg>& inputs,
                                   NodeId before = {});

}  // namespace edgec::partition
