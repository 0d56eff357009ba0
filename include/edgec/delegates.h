#pragma once
#include <edgec/result.h>

namespace edgec EDGEC_API {

// Registers the delegates of this project (executor, demo) in the official runtime that the program links. Call it once before programs
// with such delegates are loaded; later calls do nothing.
void register_delegates();

}  // namespace EDGEC_API
