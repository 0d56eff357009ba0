#pragma once
#include <string>

#include <edgec/result.h>

namespace edgec::runtime {

// Loads a shared library that registers kernels or delegates with the runtime as it is loaded (the runtime's EXECUTORCH_LIBRARY,
// register_kernel, register_backend from a static object). It stays loaded until the process ends. Failure kind Usage: a file that is no
// shared library, or one that registers nothing, as with a runtime of its own linked in.
Status load_library(const std::string& path);

}  // namespace edgec::runtime
