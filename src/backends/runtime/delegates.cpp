#include <edgec/delegates.h>

#include <mutex>

namespace edgec {

namespace delegates {
#define DELEGATE(name) void name();
#include "backends/runtime/delegates.def"
#undef DELEGATE
}  // namespace delegates

void register_delegates() {
  static std::once_flag once;
  std::call_once(once, [] {
#define DELEGATE(name) delegates::name();
#include "backends/runtime/delegates.def"
#undef DELEGATE
  });
}

}  // namespace edgec
