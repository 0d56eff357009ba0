#pragma once
#include <edgec/diag.h>
#include <edgec/program.h>

#include <functional>
#include <set>
#include <string>

namespace edgec {
namespace passes EDGEC_API {

// What a pass may ask for and where it reports.
struct PassContext {
  Diagnostics diag;
  bool guards = true;  // range checks at the program's start
  // Composite operators that decomposition leaves to a backend; none: it leaves nothing. Asked of operators in `may_keep_whole` alone.
  std::function<bool(const Method&, const Graph&, NodeId)> keeps_whole;
  std::set<std::string> may_keep_whole;
  bool quantized_io = false;        // integers at the border where the method quantizes there
  int64_t weight_growth = 4 << 10;  // bytes that weights computed ahead of time may add to a method
  // Whether the program has memory for inputs, outputs and state; otherwise the caller gives it.
  bool alloc_graph_input = true, alloc_graph_output = true, alloc_mutable_buffers = true;
};

// Transforms all methods. Findings go to `cx.diag`; the failure then comes from `diag.failure()`.
using PassFn = std::function<Status(Program&, PassContext&)>;

struct PassInfo {
  std::string name;
  Stage from, to;
  std::string summary;
  PassFn fn;
};

}  // namespace EDGEC_API
}  // namespace edgec
