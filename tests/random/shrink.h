#pragma once
#include <memory>

#include "examine.h"

namespace edgec::random_graphs {

// A small program with a finding of the same signature: outputs and nodes are left out as long as it stays. Values of
// nodes that are left out become inputs.
std::unique_ptr<Program> shrunk(const Program& program, const Finding& finding, const std::string& backend = {});

}  // namespace edgec::random_graphs
