#include "ops/define.h"

#include <algorithm>

namespace edgec::ops {

Def& Def::kernel(std::string_view name, std::vector<std::string> keep) {
  std::string full(name);
  if (full.find("::") == std::string::npos) full = "aten::" + full;
  const size_t dot = full.find('.', full.find("::"));
  op_.kernel.name = full.substr(0, dot);
  op_.kernel.overload = dot == std::string::npos ? "" : full.substr(dot + 1);
  for (const char* factory : {"dtype", "layout", "device", "pin_memory"})
    if (std::find(keep.begin(), keep.end(), factory) == keep.end()) op_.kernel.drop.push_back(factory);
  return *this;
}

}  // namespace edgec::ops
