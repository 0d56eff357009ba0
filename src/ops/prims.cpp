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

  // Control flow in the flat form of the Exec stage (passes/inline_control_flow). Markers enclose the nodes of a branch
  // or a loop; values that leave one, and the values that a loop carries from turn to turn, are memory that is
  // assigned.
  //   branch(c) A otherwise() B join([r])       A when c holds, else B; r: the tensors that both assign
  //   loop([t]) A exit_unless(c) B repeat([t])  A and B again and again until c fails; t: the tensors that are carried
  //   loop([t]) A repeat_until(c, [t])          A at least once, until c holds
  // A condition is a bool or a bool tensor. Symbols among the sizes of r and t are known behind the marker.
  for (const char* schema : {
           "prim::branch(Any condition) -> ()",
           "prim::otherwise() -> ()",
           "prim::join(Tensor[] results) -> ()",
           "prim::loop(Tensor[] carried) -> ()",
           "prim::exit_unless(Any condition) -> ()",
           "prim::repeat(Tensor[] carried) -> ()",
           "prim::repeat_until(Any condition, Tensor[] carried) -> ()",
           "prim::assign(Any target, Any value) -> ()",
       })
    ops.define(schema).infer(nothing).side_effect();
  ops.define("prim::alloc() -> Any").defines_symbols();  // a tensor's memory, or the place of a number: its symbol
  ops.define("prim::number(Scalar value) -> Scalar");    // a copy, which keeps its value when an operand is assigned
  // Runs a lowered module (`&k` of the method) in its backend's delegate. Inputs are tensors and numbers.
  ops.define("executorch::call_delegate(Any lowered_module, Any[] inputs) -> Any[]").side_effect().defines_symbols().any_layout();
  // Writes row `index` of `to`.
  ops.define("executorch_prim::et_copy_index.tensor(Tensor to, Tensor from, SymInt index) -> ()")
      .infer(nothing)
      .side_effect()
      .kernel("executorch_prim::et_copy_index.tensor");
}

}  // namespace edgec::ops
