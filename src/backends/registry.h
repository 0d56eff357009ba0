#pragma once
#include <edgec/backend.h>

#include <memory>

namespace edgec::backends {

// Makes the built-in backends (backends.def) known to `Extensions::global()`; later calls do nothing.
void register_all();

#define BACKEND(name) std::shared_ptr<const Backend> name();
#include "backends/backends.def"
#undef BACKEND

}  // namespace edgec::backends
