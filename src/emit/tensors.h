#pragma once
#include <edgec/program.h>

#include <vector>

#include "memory/storage.h"

namespace edgec::emit {

// By value of a planned graph: the value whose tensor in the program stands for it, itself if there is no other. Values that are the same
// bytes of memory and have one static type share a tensor: a result that is written over an operand, what the sides of a branch or the
// turns of a loop assign, an output that is made in an input. A value without an instruction of its own (a view) shares one only while that
// one's content is what it shows; what delegates take or give, and what `apart` names, share none.
std::vector<ValueId> tensors_of(const Graph& g, const memory::Storage& s, const std::vector<bool>& apart);

// Each value itself: none shares a tensor.
std::vector<ValueId> tensor_of_each(const Graph& g);

}  // namespace edgec::emit
