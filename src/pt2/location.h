#pragma once
#include <string>
#include <string_view>
#include <unordered_map>

#include <edgec/diag.h>

namespace edgec::pt2 {

// Finds the user's line in a node's metadata: of the frames in `stack_trace` (outermost first) the innermost one that is not
// torch's own, and of `nn_module_stack` the innermost module. Equal texts share one Location.
class LocationReader {
 public:
  Location read(std::string_view stack_trace, std::string_view nn_module_stack);

 private:
  std::unordered_map<std::string, Location> seen_;
};

}  // namespace edgec::pt2
