#pragma once
#include "partition/border.h"

// Moves a region out of its graph into a method of its own, and back as one node.
namespace edgec::partition {

// The region as the backend sees it: weights first, then what crosses the border; the results are numbers, tensors, then states.
std::unique_ptr<Method> cut(const RegionView& region, const Border& border, SymInputs sym_inputs, std::string name);

// Adds the call of `lowered` at the end of the graph and gives, for each value that the region hands out, the value that stands for it.
// Nodes of the region stay where they are.
std::unordered_map<ValueId, ValueId> call(Graph& g, const Border& border, SymInputs sym_inputs, LoweredId lowered, Location loc);

}  // namespace edgec::partition
