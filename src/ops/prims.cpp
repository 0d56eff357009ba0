#include "ops/table.h"

// Operators of edgec's own and checks.
namespace edgec::ops {

void define_prims(Table& ops) {
  // A constant of the method (Method::constants) as a value, usable in any of its graphs.
  ops.define("prim::constant(Any data) -> Tensor");  // its type is the constant's

  // Checks that export leaves in the graph. Those on sizes become guards (passes/resolve_symbols); the rest has no
  // kernel and goes.
  const auto nothing = [](const Call&) -> Result<std::vector<Type>> { return std::vector<Type>{}; };
  for (const char* schema : {
           "aten::_assert_tensor_metadata(Tensor a, SymInt[]? size=None, SymInt[]? stride=None, ScalarType? "
           "dtype=None, *, Device? device=None, Layout? layout=None) -> ()",
           "aten::_assert_scalar(Scalar self, str assert_msg) -> ()",
           "aten::_assert_async.msg(Tensor self, str assert_msg) -> ()",
           "aten::_assert_async(Tensor self) -> ()",
           "aten::sym_constrain_range(Scalar size, *, int? min=None, int? max=None) -> ()",
           "aten::sym_constrain_range_for_size(Scalar size, *, int? min=None, int? max=None) -> ()",
       })
    ops.define(schema).infer(nothing).side_effect();
  // Ends the run with an error of the runtime when the condition is false.
  ops.define("prim::guard(Scalar condition, str message) -> ()").infer(nothing).side_effect();
}

}  // namespace edgec::ops
