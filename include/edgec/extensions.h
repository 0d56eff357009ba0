#pragma once
#include <edgec/backend.h>
#include <edgec/pass.h>
#include <edgec/planner.h>

#include <memory>
#include <string_view>
#include <vector>

namespace edgec EDGEC_API {

// What a program that links the library, or a plugin (`--plugin LIB.so`), adds to the compiler. Operators are added to
// `Registry::global()`.
class Extensions {
 public:
  static Extensions& global();
  void add(passes::PassInfo pass);
  void add(std::shared_ptr<const Backend> backend);
  void add(std::shared_ptr<const MemoryPlanner> planner);
  const passes::PassInfo* find_pass(std::string_view name) const;            // null when there is none
  std::shared_ptr<const Backend> find_backend(std::string_view name) const;  // by `name()` or `id()`
  const MemoryPlanner* find_planner(std::string_view name) const;
  const std::vector<passes::PassInfo>& passes() const { return passes_; }
  const std::vector<std::shared_ptr<const Backend>>& backends() const { return backends_; }
  const std::vector<std::shared_ptr<const MemoryPlanner>>& planners() const { return planners_; }

 private:
  std::vector<passes::PassInfo> passes_;
  std::vector<std::shared_ptr<const Backend>> backends_;
  std::vector<std::shared_ptr<const MemoryPlanner>> planners_;
};

// A plugin is a shared library that exports this function. Throwing is not allowed.
using RegisterExtensions = void (*)(Extensions&);  // extern "C", named "edgec_register_extensions"

}  // namespace EDGEC_API
