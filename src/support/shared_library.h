#pragma once
#include <string>

#include <edgec/result.h>

namespace edgec {

struct SharedLibrary {
  void* handle = nullptr;  // for dlsym; stays open until the process ends
  bool is_new = false;     // loaded by this call
};

// Loads a shared library by its path; one without a slash lies in the current folder. The failure says why, and nothing else.
Result<SharedLibrary> open_library(const std::string& path);

}  // namespace edgec
