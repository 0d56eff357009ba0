#include <fmt/format.h>

#include <cmath>

#include "ops/build.h"
#include "ops/table.h"

// Division with rounding, remainders and powers: exact on integers, and on floats as torch rounds.
namespace edgec::ops {
namespace {

using Values = std::vector<ValueId>;
using Names = std::vector<std::string>;
const Names kBoth = {"self", "other"};

// Both operands as tensors of one dtype.
struct Operands {
  ValueId x, y;
  DType dtype;
};
Operands operands(Builder& b, const Call& c, std::string_view first, std::string_view second) {
  const Arg both[] = {c.arg(first), c.arg(second)};
  const DType d = result_type(c.graph(), both);
  const auto tensor = [&](std::string_view p) { return c.is_tensor(p) ? b.cast(c.value(p), d) : b.full({}, c.arg(p), d); };
  return {tensor(first), tensor(second), d};
}

ValueId is_negative(Builder& b, ValueId x) { return b.call("aten.lt.Scalar", {x, 0}); }
ValueId is_zero(Builder& b, ValueId x) { return b.call("aten.eq.Scalar", {x, 0}); }

// Half types compute in f32.
template <class Fn>
ValueId in_opmath(Builder& b, const Operands& o, Fn fn) {
  if (!is_half(o.dtype)) return fn(o.x, o.y);
  return b.cast(fn(b.cast(o.x, DType::F32), b.cast(o.y, DType::F32)), o.dtype);
}

// As c10::div_floor_floating: from the exact remainder, so that 1.0 // 0.1 is 9.
ValueId floor_divided(Builder& b, const Operands& o) {
  if (!is_float(o.dtype)) return b.call("aten.floor_divide", {o.x, o.y});
  return in_opmath(b, o, [&](ValueId x, ValueId y) {
    const ValueId rest = b.call("aten.fmod.Tensor", {x, y});
    const ValueId quotient = b.div(b.sub(x, rest), y);
    const ValueId differ = b.call("aten.ne.Tensor", {is_negative(b, y), is_negative(b, rest)});
    const ValueId lower = b.call("aten.logical_and", {b.unary("aten.logical_not", is_zero(b, rest)), differ});
    const ValueId floor = b.unary("aten.round", b.sub(quotient, b.cast(lower, b.tensor(quotient).dtype)));
    return where(b, is_zero(b, y), b.div(x, y), floor);
  });
}

ValueId truncated(Builder& b, const Operands& o) {
  if (is_float(o.dtype)) return in_opmath(b, o, [&](ValueId x, ValueId y) { return b.unary("aten.trunc", b.div(x, y)); });
  // One more where the floor is below: the kernel's own mode goes through double.
  const ValueId floor = b.call("aten.floor_divide", {o.x, o.y});
  if (!is_signed(o.dtype)) return floor;
  const ValueId inexact = b.call("aten.ne.Tensor", {b.mul(floor, o.y), o.x});
  return b.add(floor, b.cast(b.call("aten.logical_and", {inexact, is_negative(b, floor)}), o.dtype));
}

ValueId divided(Builder& b, const Call& c) {
  const std::string mode = c.string("rounding_mode");
  if (mode.empty()) {
    if (c.is_tensor("other")) return b.call("aten.div.Tensor", {c.arg("self"), c.arg("other")});
    return b.call("aten.div.Scalar", {c.arg("self"), c.arg("other")});
  }
  if (mode != "floor" && mode != "trunc") b.fail(fmt::format("{}: rounding_mode is floor or trunc, not \"{}\"", c.op().name(), mode));
  const Operands o = operands(b, c, "self", "other");
  return mode == "floor" ? floor_divided(b, o) : truncated(b, o);
}

DTypeRule dtype_by_mode() {
  return [](const Call& c) -> Result<DType> { return c.has("rounding_mode") ? promoted(kBoth)(c) : promoted_float(kBoth)(c); };
}

void define_divisions(Table& ops) {
  for (const std::string name : {"div", "divide"})
    for (const std::string kind : {"Tensor", "Scalar"}) {
      ops.define(fmt::format("aten::{}.{}_mode(Tensor self, {} other, *, str? rounding_mode) -> Tensor", name, kind, kind))
          .dtype(dtype_by_mode())
          .shape(broadcast_of(kBoth))
          .expand(divided);
      ops.in_place(fmt::format("aten::{}_.{}_mode(Tensor(a!) self, {} other, *, str? rounding_mode) -> Tensor(a!)", name, kind, kind));
    }
  // The kernel is right for integers, where it divides exactly.
  ops.define("aten::floor_divide(Tensor self, Tensor other) -> Tensor")
      .dtype(promoted(kBoth))
      .shape(broadcast_of(kBoth))
      .preserves_layout()
      .promotes(kBoth)
      .kernel("floor_divide.out")
      .expand([](Builder& b, const Call& c) -> Values {
        const DType d = c.promoted({"self", "other"});
        if (c.is_tensor("self") && c.is_tensor("other") && !is_float(d)) return keep_whole();
        return {floor_divided(b, operands(b, c, "self", "other"))};
      });
  ops.define("aten::floor_divide.Scalar(Tensor self, Scalar other) -> Tensor")
      .dtype(promoted(kBoth))
      .shape(shape_of("self"))
      .expand([](Builder& b, const Call& c) { return floor_divided(b, operands(b, c, "self", "other")); });
  ops.in_place("aten::floor_divide_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)", "aten.floor_divide");
  ops.in_place("aten::floor_divide_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)");
}

// ---- remainders ----------------------------------------------------------------------------------------------------------------------

// The sign of the divisor. The kernel is wrong for negative integers.
Values remainder(Builder& b, const Call& c) {
  const Operands o = operands(b, c, "self", "other");
  if (is_float(o.dtype)) return {b.call("aten.remainder.Tensor", {o.x, o.y})};
  return {b.sub(o.x, b.mul(b.call("aten.floor_divide", {o.x, o.y}), o.y))};
}

// The sign of the dividend. The kernel goes through double.
Values fmod_of(Builder& b, const Call& c) {
  const Operands o = operands(b, c, "self", "other");
  if (is_float(o.dtype)) return {b.call("aten.fmod.Tensor", {o.x, o.y})};
  return {b.sub(o.x, b.mul(truncated(b, o), o.y))};
}

void define_remainders(Table& ops) {
  for (const std::string name : {"remainder", "fmod"}) {
    const auto expansion = [name](Builder& b, const Call& c) -> Values {
      if (c.is_tensor("self") && is_float(c.promoted({"self", "other"})) && c.is_tensor("other") == c.op().name().ends_with("Tensor"))
        return keep_whole();
      return name == "fmod" ? fmod_of(b, c) : remainder(b, c);
    };
    ops.define("aten::" + name + ".Tensor(Tensor self, Tensor other) -> Tensor")
        .dtype(promoted(kBoth))
        .shape(broadcast_of(kBoth))
        .preserves_layout()
        .promotes(kBoth)
        .in_place_ok()
        .kernel(name + ".Tensor_out")
        .expand(expansion);
    ops.define("aten::" + name + ".Scalar(Tensor self, Scalar other) -> Tensor")
        .dtype(promoted(kBoth))
        .shape(shape_of("self"))
        .preserves_layout()
        .promotes(kBoth)
        .in_place_ok()
        .kernel(name + ".Scalar_out")
        .expand(expansion);
    for (const char* kind : {"Tensor", "Scalar"})
      ops.in_place(fmt::format("aten::{0}_.{1}(Tensor(a!) self, {1} other) -> Tensor(a!)", name, kind));
  }
  ops.define("aten::remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor")
      .dtype(promoted(kBoth))
      .shape(shape_of("other"))
      .expand(remainder);
}

// ---- powers --------------------------------------------------------------------------------------------------------------------------

const Names kPower = {"self", "exponent"};

// x^n by squaring: exact modulo the type's width, as torch's.
ValueId power(Builder& b, ValueId x, int64_t n) {
  ValueId square = x, result;
  for (; n > 0; n >>= 1) {
    if (n & 1) result = result ? b.mul(result, square) : square;
    if (n > 1) square = b.mul(square, square);
  }
  return result ? result : b.call("aten.full_like", {x, 1});
}

Values power_by_number(Builder& b, const Call& c) {
  if (!c.arg("exponent").is_number()) return keep_whole();
  const double e = c.number("exponent");
  const DType d = c.promoted({"self", "exponent"});
  const ValueId x = b.cast(c.value("self"), d);
  if (!is_float(d)) {
    if (e < 0) b.fail("integers to negative integer powers are not allowed");
    return {power(b, x, static_cast<int64_t>(e))};
  }
  if (e == 0) return {b.call("aten.full_like", {x, 1})};
  if (e == 1) return {b.call("aten.clone", {x})};
  if (e == 0.5) return {b.unary("aten.sqrt", x)};
  const auto computed = [&](auto fn) { return Values{ops::in_opmath(b, x, fn)}; };
  if (e == 2 || e == 3) return computed([e](Builder& bb, ValueId v) { return power(bb, v, static_cast<int64_t>(e)); });
  if (e == -0.5) return {b.unary("aten.rsqrt", x)};
  if (e == -1) return {b.unary("aten.reciprocal", x)};
  if (e == -2) return computed([](Builder& bb, ValueId v) { return bb.unary("aten.reciprocal", bb.mul(v, v)); });
  return keep_whole();
}

// Integers: the product of x^(2^k) over the bits k of the exponent. Above 126 only 0, 1 and -1 do not overflow, for which the lowest bit
// is enough; even numbers have become 0. A negative exponent leaves 1, -1 and 0.
ValueId integer_power(Builder& b, ValueId x, ValueId exponent, DType d) {
  const auto number = [&](int64_t n) { return b.full({}, n, d); };
  const auto bit = [&](ValueId e, int64_t k) {
    return b.call("aten.ne.Scalar", {b.call("aten.bitwise_and.Scalar", {e, int64_t{1} << k}), 0});
  };
  const ValueId one = number(1);
  const ValueId large = b.call("aten.gt.Scalar", {exponent, 126});
  const ValueId odd = b.call("aten.bitwise_and.Scalar", {exponent, 1});
  const ValueId n = where(b, large, b.sub(number(126), odd), exponent);
  ValueId square = x, result = where(b, bit(n, 0), x, one);
  for (int64_t k = 1; k <= 6; ++k) {
    square = b.mul(square, square);
    result = b.mul(result, where(b, bit(n, k), square, one));
  }
  if (!is_signed(d)) return result;
  const ValueId units = b.call("aten.le.Scalar", {b.unary("aten.abs", x), 1});
  const ValueId nonzero = b.unary("aten.logical_not", is_zero(b, x));
  const ValueId inverse = where(b, b.call("aten.logical_and", {units, nonzero}), where(b, bit(exponent, 0), x, one), number(0));
  return where(b, is_negative(b, exponent), inverse, result);
}

Values power_by_tensor(Builder& b, const Call& c) {
  const bool both = c.is_tensor("self") && c.is_tensor("exponent");
  if (c.is_tensor("self") && !c.is_tensor("exponent")) return {b.call("aten.pow.Tensor_Scalar", {c.arg("self"), c.arg("exponent")})};
  const DType d = c.promoted({"self", "exponent"});
  if (is_float(d))
    return both || c.op().name() == "aten.pow.Scalar" ? keep_whole()
                                                      : Values{b.call("aten.pow.Scalar", {c.arg("self"), c.arg("exponent")})};
  const Operands o = operands(b, c, "self", "exponent");
  return {integer_power(b, o.x, o.y, d)};
}

// In f64, whatever comes.
ValueId float_power(Builder& b, const Call& c) {
  const auto operand = [&](const char* p) { return c.is_tensor(p) ? Arg(b.cast(c.value(p), DType::F64)) : c.arg(p); };
  const std::string op = !c.is_tensor("self") ? "Scalar" : c.is_tensor("exponent") ? "Tensor_Tensor" : "Tensor_Scalar";
  return b.call("aten.pow." + op, {operand("self"), operand("exponent")});
}

void define_powers(Table& ops) {
  ops.define("aten::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor")
      .dtype(promoted(kPower))
      .shape(shape_of("self"))
      .preserves_layout()
      .promotes(kPower)
      .in_place_ok()
      .kernel("pow.Tensor_Scalar_out")
      .expand(power_by_number);
  ops.define("aten::pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor")
      .dtype(promoted(kPower))
      .shape(broadcast_of(kPower))
      .preserves_layout()
      .promotes(kPower)
      .in_place_ok()
      .kernel("pow.Tensor_Tensor_out")
      .expand(power_by_tensor);
  ops.define("aten::pow.Scalar(Scalar self, Tensor exponent) -> Tensor")
      .dtype(promoted(kPower))
      .shape(shape_of("exponent"))
      .preserves_layout()
      .promotes(kPower)
      .kernel("pow.Scalar_out")
      .expand(power_by_tensor);
  ops.in_place("aten::pow_.Scalar(Tensor(a!) self, Scalar exponent) -> Tensor(a!)", "aten.pow.Tensor_Scalar");
  ops.in_place("aten::pow_.Tensor(Tensor(a!) self, Tensor exponent) -> Tensor(a!)", "aten.pow.Tensor_Tensor");
  for (const char* schema : {"aten::float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
                             "aten::float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor",
                             "aten::float_power.Scalar(Scalar self, Tensor exponent) -> Tensor"})
    ops.define(schema).dtype(fixed(DType::F64)).shape(broadcast_of(kPower)).expand(float_power);
  ops.in_place("aten::float_power_.Scalar(Tensor(a!) self, Scalar exponent) -> Tensor(a!)", "aten.float_power.Tensor_Scalar");
  ops.in_place("aten::float_power_.Tensor(Tensor(a!) self, Tensor exponent) -> Tensor(a!)", "aten.float_power.Tensor_Tensor");
  ops.define("aten::square(Tensor self) -> Tensor")
      .dtype([](const Call& c) -> Result<DType> { return c.tensor("self").dtype == DType::Bool ? DType::I64 : c.tensor("self").dtype; })
      .shape(shape_of("self"))
      .expand([](Builder& b, const Call& c) {
        return b.call("aten.pow.Tensor_Scalar", {c.arg("self"), 2});
      });
  ops.in_place("aten::square_(Tensor(a!) self) -> Tensor(a!)");
}

}  // namespace

void define_division(Table& ops) {
  define_divisions(ops);
  define_remainders(ops);
  define_powers(ops);
}

}  // namespace edgec::ops
