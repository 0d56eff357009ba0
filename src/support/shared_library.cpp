#include "support/shared_library.h"

#include <dlfcn.h>

namespace edgec {

Result<SharedLibrary> open_library(const std::string& path) {
  // Without a slash dlopen would look in the system's folders instead of the file.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  void* known = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (known) dlclose(known);
  if (handle) return SharedLibrary{handle, known == nullptr};
  const char* why = dlerror();
  return usage_error(std::string("cannot be loaded: ") + (why ? why : "no reason given"));
}

}  // namespace edgec
