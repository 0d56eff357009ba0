#include "ops/table.h"

// Casts and copies.
namespace edgec::ops {
namespace {

// Same sizes, another dtype: nothing to do when the dtype stays.
Def cast_op(Table& ops, std::string_view schema, DTypeRule dtype) {
  return ops.define(schema).dtype(dtype).shape(shape_of("self")).expand([dtype](Builder& b, const Call& c) -> std::vector<ValueId> {
    auto d = dtype(c);
    return {d ? b.cast(c.value("self"), *d) : ValueId{}};
  });
}

}  // namespace

void define_copies(Table& ops) {
  const auto given = [](std::string p) { return dtype_arg_or(p, same_as("self")); };
  ops.define("aten::_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool "
             "non_blocking=False, MemoryFormat? memory_format=None) -> Tensor")
      .dtype(given("dtype")).shape(shape_of("self")).any_layout();
  cast_op(ops, "aten::to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)", given("dtype"));
  cast_op(ops, "aten::to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool "
               "non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)", given("dtype"));
  cast_op(ops, "aten::to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
          given("dtype"));
  cast_op(ops, "aten::to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)", same_as("other"));
  cast_op(ops, "aten::type_as(Tensor self, Tensor other) -> Tensor", same_as("other"));

  // Without writes a copy is the value itself, but for its memory format (passes/dim_order).
  for (const char* schema : {
           "aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor",
           "aten::contiguous(Tensor(a) self, *, MemoryFormat memory_format=contiguous_format) -> Tensor(a)",
       })
    ops.define(schema).dtype(same_as("self")).shape(shape_of("self")).any_layout();
  for (const char* schema : {
           "aten::alias(Tensor(a) self) -> Tensor(a)",
           "aten::detach(Tensor(a) self) -> Tensor(a)",
           "aten::lift_fresh_copy(Tensor self) -> Tensor",
           "aten::lift_fresh(Tensor(a) self) -> Tensor(a)",
           "aten::lift(Tensor self) -> Tensor",
       })
    ops.define(schema).dtype(same_as("self")).shape(shape_of("self")).expand([](Builder&, const Call& c) { return c.value("self"); });
  ops.in_place("aten::detach_(Tensor(a!) self) -> Tensor(a!)");
  for (const char* schema : {
           "aten::dropout(Tensor input, float p, bool train) -> Tensor",
           "aten::feature_dropout(Tensor input, float p, bool train) -> Tensor",
           "aten::alpha_dropout(Tensor input, float p, bool train) -> Tensor",
           "aten::feature_alpha_dropout(Tensor input, float p, bool train) -> Tensor",
       })
    ops.define(schema).dtype(same_as("input")).shape(shape_of("input")).expand([](Builder& b, const Call& c) {
      if (c.flag("train") && c.number("p") != 0) b.fail(c.op().name() + " in training mode: export the model after model.eval()");
      return c.value("input");
    });

  // The value that a write of `src` into `self` leaves: src broadcast to self's sizes in self's dtype.
  ops.define("aten::copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor")
      .dtype(same_as("self")).shape(shape_of("self"))
      .expand([](Builder& b, const Call& c) { return b.expand(b.cast(c.value("src"), c.tensor("self").dtype), c.tensor("self").sizes); });
  // The one write that the Exec stage makes (passes/write_back).
  ops.define("aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)")
      .dtype(same_as("self")).shape(shape_of("self")).any_layout().kernel("copy_");
}

}  // namespace edgec::ops
