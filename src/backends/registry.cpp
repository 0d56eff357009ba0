#include "backends/registry.h"

#include <edgec/extensions.h>

#include <mutex>

namespace edgec::backends {

void register_all() {
  static std::once_flag once;
  std::call_once(once, [] {
#define BACKEND(name) Extensions::global().add(name());
#include "backends/backends.def"
#undef BACKEND
  });
}

}  // namespace edgec::backends
