#pragma once
#include <optional>
#include <vector>

#include "draft.h"

namespace edgec::random_graphs {

// The table entries that random graphs are made of: torch's operators on tensors and sizes.
const std::vector<const OpDef*>& usable_operators();

// Whether torch takes empty operands and gives empty results: not for reductions without a neutral element, and images.
bool takes_empty(const OpDef& op);

// Arguments for a call, likely well-typed; nothing when the draft has no operands for it. New inputs may enter the
// draft.
std::optional<std::vector<Arg>> choose_arguments(Draft& draft, const OpDef& op);

}  // namespace edgec::random_graphs
