#pragma once
#include <edgec/pass.h>

#include "memory/lifetimes.h"

namespace edgec::passes {

// How the program's memory will be planned, as far as sharing depends on it.
inline memory::PlanOptions plan_options(const PassContext& cx) {
  memory::PlanOptions out;
  out.alloc_graph_input = cx.alloc_graph_input;
  out.alloc_graph_output = cx.alloc_graph_output;
  out.alloc_mutable_buffers = cx.alloc_mutable_buffers;
  return out;
}

// What the passes that share memory do to one method (each pass has a file of its own).
void alias_views(Method& m, const PassContext& cx);
void place_results(Method& m, const PassContext& cx);
void write_in_place(Method& m, const PassContext& cx);
void concat_in_place(Method& m, const PassContext& cx);
void reuse_operands(Method& m, const PassContext& cx);

// The most bytes that live at the same time when all of these have shared what they can. The method stays as it is.
int64_t peak_when_shared(Method& m, const PassContext& cx);

}  // namespace edgec::passes
