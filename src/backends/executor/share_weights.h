#pragma once
#include <edgec/backend.h>

#include "emit/program.h"

namespace edgec::backends {

// Takes the larger constants out of a nested program: they become named data of the program around, which stores equal ones once whatever
// method or region they belong to. The key is the hash of the bytes.
Result<std::vector<NamedData>> share_weights(pte::Program& nested);

}  // namespace edgec::backends
