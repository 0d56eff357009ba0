#include "ops/table.h"

// Higher-order operators. Their results' types come from the archive (reader) or from the subgraphs' outputs.
namespace edgec::ops {

void define_control_flow(Table& ops) {
  for (const char* schema : {
           "higher_order::cond(Any pred, Any true_fn, Any false_fn, Tensor[] operands) -> Tensor[]",
           "higher_order::while_loop(Any cond_fn, Any body_fn, Tensor[] carried_inputs, Tensor[] additional_inputs) -> "
           "Tensor[]",
           "higher_order::map_impl(Any f, Tensor[] xs, Tensor[] pos_args) -> Tensor[]",
           "higher_order::scan(Any combine_fn, Tensor[] init, Tensor[] xs, Tensor[] additional_inputs) -> Tensor[]",
       })
    ops.define(schema);
}

}  // namespace edgec::ops
