#include <fmt/format.h>

#include "ops/build.h"
#include "ops/table.h"

// Casts and copies.
namespace edgec::ops {
namespace {

// Same sizes, another dtype: nothing to do when dtype and memory format stay.
Def cast_op(Table& ops, std::string_view schema, DTypeRule dtype) {
  return ops.define(schema).dtype(dtype).shape(shape_of("self")).expand([dtype](Builder& b, const Call& c) -> std::vector<ValueId> {
    const auto d = dtype(c);
    if (!d) return {};
    const auto* format = c.op().schema().find("memory_format") < 0 ? nullptr : std::get_if<MemoryFormat>(&c.arg("memory_format").state);
    if (!format || *format == MemoryFormat::Preserve) return {b.cast(c.value("self"), *d)};
    return {b.call("aten._to_copy", {c.value("self")}, {{"dtype", *d}, {"memory_format", *format}})};
  });
}

// The same bits as another dtype. The runtime cannot do that but where a cast gives them: u8, i8 and bool.
ValueId reinterpreted(Builder& b, const Call& c) {
  const DType from = c.tensor("self").dtype, to = c.dtype("dtype", from);
  const auto is_byte = [](DType d) { return d == DType::U8 || d == DType::I8 || d == DType::Bool; };
  if (from != to && !(is_byte(from) && is_byte(to) && to != DType::Bool))
    b.fail(fmt::format("aten.view.dtype takes the bits of {} as {}, for which the runtime has no kernel", name(from), name(to)));
  return b.cast(c.value("self"), to);
}

}  // namespace

void define_copies(Table& ops) {
  const auto given = [](std::string p) { return dtype_arg_or(p, same_as("self")); };
  ops.define(
         "aten::_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool "
         "non_blocking=False, MemoryFormat? memory_format=None) -> Tensor")
      .dtype(given("dtype"))
      .shape(shape_of("self"))
      .any_layout();
  cast_op(ops,
          "aten::to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> "
          "Tensor(a)",
          given("dtype"));
  cast_op(ops,
          "aten::to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
          "pin_memory=None, bool "
          "non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
          given("dtype"));
  cast_op(ops,
          "aten::to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? "
          "memory_format=None) -> Tensor(a)",
          given("dtype"));
  cast_op(ops,
          "aten::to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> "
          "Tensor(a)",
          same_as("other"));
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
           "aten::data(Tensor self) -> Tensor",
           "aten::resolve_neg(Tensor(a) self) -> Tensor(a)",
       })
    ops.define(schema).dtype(same_as("self")).shape(shape_of("self")).expand([](Builder&, const Call& c) { return c.value("self"); });
  ops.in_place("aten::detach_(Tensor(a!) self) -> Tensor(a!)");
  ops.in_place("aten::requires_grad_(Tensor(a!) self, bool requires_grad=True) -> Tensor(a!)");
  ops.define("aten::view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)")
      .dtype(given("dtype"))
      .shape([](const Call& c) -> Result<Dims> {
        Dims sizes = c.tensor("self").sizes;
        const auto from = static_cast<int64_t>(size_of(c.tensor("self").dtype)),
                   to = static_cast<int64_t>(size_of(c.dtype("dtype", DType::U8)));
        if (from != to && sizes.empty()) return model_error("aten.view.dtype: a rank-0 tensor keeps the size of its elements");
        if (from != to) sizes.back() = sym::floordiv(sizes.back() * from, to);
        return sizes;
      })
      .expand(reinterpreted);
  for (const char* schema : {
           "dropout",
           "feature_dropout",
           "alpha_dropout",
           "feature_alpha_dropout",
       }) {
    ops.define(fmt::format("aten::{}(Tensor input, float p, bool train) -> Tensor", schema))
        .dtype(same_as("input"))
        .shape(shape_of("input"))
        .expand([](Builder& b, const Call& c) {
          if (c.flag("train") && c.number("p") != 0) refuse_training(b, c);
          return c.value("input");
        });
    ops.in_place(fmt::format("aten::{}_(Tensor(a!) self, float p, bool train) -> Tensor(a!)", schema));
  }

  // The value that a write of `src` into `self` leaves: src broadcast to self's sizes in self's dtype.
  ops.define("aten::copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor")
      .dtype(same_as("self"))
      .shape(shape_of("self"))
      .expand([](Builder& b, const Call& c) { return b.expand(b.cast(c.value("src"), c.tensor("self").dtype), c.tensor("self").sizes); });
  // The one write that the Exec stage makes (passes/write_back).
  ops.define("aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)")
      .dtype(same_as("self"))
      .shape(shape_of("self"))
      .any_layout()
      .kernel("copy_");
}

}  // namespace edgec::ops
