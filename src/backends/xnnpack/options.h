#pragma once
#include <edgec/backend.h>

#include <cstdint>
#include <set>
#include <string>

namespace edgec::xnnpack {

// What `--backend xnnpack,key=value` says; in the program as compile specs of the same keys.
struct Options {
  bool fp32 = true, static_quant = true, dynamic_quant = true;  // precisions taken
  bool per_op = false;                                          // each operator is a delegate of its own, with what is fused into it
  bool dynamic_weights = false;                                 // products with a weight that is made at run time are taken as well
  std::set<std::string> skip;                                   // operators left to the runtime's kernels
};

Result<CompileSpecs> specs_of(std::span<const std::pair<std::string, std::string>> options);
Options options_of(const CompileSpecs&);

}  // namespace edgec::xnnpack
