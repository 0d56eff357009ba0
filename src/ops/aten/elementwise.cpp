#include <fmt/format.h>

#include <cmath>

#include "ops/build.h"
#include "ops/table.h"

// Elementwise arithmetic, comparison, logic and choice. Division, remainders and powers: division.cpp; functions: math.cpp.
namespace edgec::ops {
namespace {

using Values = std::vector<ValueId>;
const std::vector<std::string> kBoth = {"self", "other"};
const std::string kAlpha = ", *, Scalar alpha=1", kScalarAlpha = ", Scalar alpha=1";

// Rank 0 of a dtype for a number in a Tensor's place.
ValueId as_tensor(Builder& b, const Call& c, std::string_view param, DType d) {
  return c.is_tensor(param) ? c.value(param) : b.full({}, c.arg(param), d);
}

NamedArgs alpha_of(const Call& c, bool alpha) { return alpha ? NamedArgs{{"alpha", c.arg("alpha")}} : NamedArgs{}; }
bool is_one(const Arg& a) { return a.is_expr() ? a.expr().constant() == 1 : a.is_float() && std::get<double>(a.state) == 1; }

// The kernel exchanges its operands where the first has one element, and then scales the wrong one.
ValueId added_scaled(Builder& b, const Call& c) {
  const DType d = c.promoted({"self", "other"});
  return b.add(b.cast(c.value("self"), d), b.mul(b.cast(c.value("other"), d), c.arg("alpha")));
}
bool has_one_element(const Dims& sizes) { return sym::equal(numel(sizes), 1) != sym::Proof::No; }

bool is_power_of_two(const Arg& a) {
  const auto n = a.is_expr() ? a.expr().constant_float() : a.is_float() ? std::optional(std::get<double>(a.state)) : std::nullopt;
  int exponent = 0;
  return n && std::isfinite(*n) && std::abs(std::frexp(*n, &exponent)) == 0.5;
}

// The kernel multiplies floats by the number's inverse: 49 / 49 is less than 1, and floor shows it. Divided by a row of the number it is
// exact. (Ranks 4 and 5 may be channels_last, where a row means copies.) Integers and half types take another way in the kernel.
Values divided_by_number(Builder& b, const Call& c) {
  const TensorType x = c.tensor("self");
  if ((x.dtype != DType::F32 && x.dtype != DType::F64) || is_power_of_two(c.arg("other")) || x.rank() == 0 || x.rank() > 3)
    return keep_whole();
  const Dim row = x.sizes.back();
  if (sym::lower_bound(row).value_or(0) < 2) return keep_whole();
  return {b.call("aten.div.Tensor", {c.value("self"), b.full({row}, c.arg("other"), x.dtype)})};
}

// 2 + x, 2 - x, 2 * x, 2 / x: export keeps the number in the Tensor's place.
ValueId with_number_first(Builder& b, const Call& c, const std::string& name) {
  const ValueId x = c.value("other");
  if (name == "sub") return b.call("aten.rsub.Scalar", {x, c.arg("self"), c.arg("alpha")});
  if (name == "mul") return b.call("aten.mul.Scalar", {x, c.arg("self")});
  if (name == "add" && is_one(c.arg("alpha"))) return b.call("aten.add.Scalar", {x, c.arg("self")});
  const DType d = c.promoted({"self", "other"});
  const ValueId number = b.full({}, c.arg("self"), name == "div" && !is_float(d) ? DType::F32 : d);
  return b.call("aten." + name + ".Tensor", {number, x}, alpha_of(c, name == "add"));
}

// name.Tensor and name.Scalar; `alias`: torch's other name for it.
void arithmetic(Table& ops, const std::string& name, const std::string& alias, bool alpha, bool to_float) {
  const std::string a = alpha ? kAlpha : "", sa = alpha ? kScalarAlpha : "";
  const auto rule = to_float ? promoted_float(kBoth) : promoted(kBoth);
  ops.define("aten::" + name + ".Tensor(Tensor self, Tensor other" + a + ") -> Tensor")
      .dtype(rule)
      .shape(broadcast_of(kBoth))
      .preserves_layout()
      .in_place_ok()
      .promotes(kBoth, to_float)
      .kernel(name + ".out")
      .expand([name, alpha](Builder& b, const Call& c) -> Values {
        if (!c.is_tensor("self")) return {with_number_first(b, c, name)};
        if (!c.is_tensor("other")) return {b.call("aten." + name + ".Scalar", {c.arg("self"), c.arg("other")}, alpha_of(c, alpha))};
        if (name == "add" && !is_one(c.arg("alpha")) && has_one_element(c.tensor("self").sizes)) return {added_scaled(b, c)};
        return keep_whole();
      });
  Def with_number = ops.define("aten::" + name + ".Scalar(Tensor self, Scalar other" + sa + ") -> Tensor")
                        .dtype(rule)
                        .shape(shape_of("self"))
                        .preserves_layout()
                        .in_place_ok()
                        .kernel(name + ".Scalar_out");
  if (to_float)
    with_number.expand(divided_by_number);
  else
    with_number.promotes(kBoth);
  for (const auto& [kind, more] : {std::pair("Tensor", a), std::pair("Scalar", sa)}) {
    ops.in_place(fmt::format("aten::{0}_.{1}(Tensor(a!) self, {1} other{2}) -> Tensor(a!)", name, kind, more));
    if (alias.empty()) continue;
    synonym(ops, fmt::format("aten::{}.{}(Tensor self, {} other{}) -> Tensor", alias, kind, kind, more),
            fmt::format("aten.{}.{}", name, kind));
    ops.in_place(fmt::format("aten::{0}_.{1}(Tensor(a!) self, {1} other{2}) -> Tensor(a!)", alias, kind, more));
  }
}

// `mirrored`: the comparison with its sides exchanged.
void comparison(Table& ops, const std::string& name, const std::string& mirrored, const std::string& alias) {
  ops.define("aten::" + name + ".Tensor(Tensor self, Tensor other) -> Tensor")
      .dtype(fixed(DType::Bool))
      .shape(broadcast_of(kBoth))
      .preserves_layout()
      .promotes(kBoth)
      .kernel(name + ".Tensor_out")
      .expand([name, mirrored](Builder& b, const Call& c) -> Values {
        if (!c.is_tensor("self")) return {b.call("aten." + mirrored + ".Scalar", {c.arg("other"), c.arg("self")})};
        if (c.is_tensor("other")) return keep_whole();
        return {b.call("aten." + name + ".Scalar", {c.arg("self"), c.arg("other")})};
      });
  ops.define("aten::" + name + ".Scalar(Tensor self, Scalar other) -> Tensor")
      .dtype(fixed(DType::Bool))
      .shape(shape_of("self"))
      .preserves_layout()
      .promotes(kBoth)
      .kernel(name + ".Scalar_out");
  for (const char* kind : {"Tensor", "Scalar"}) {
    ops.in_place(fmt::format("aten::{0}_.{1}(Tensor(a!) self, {1} other) -> Tensor(a!)", name, kind));
    if (alias.empty()) continue;
    synonym(ops, fmt::format("aten::{}.{}(Tensor self, {} other) -> Tensor", alias, kind, kind), fmt::format("aten.{}.{}", name, kind));
    ops.in_place(fmt::format("aten::{0}_.{1}(Tensor(a!) self, {1} other) -> Tensor(a!)", alias, kind));
  }
}

void define_arithmetic(Table& ops) {
  arithmetic(ops, "add", "", true, false);
  arithmetic(ops, "sub", "subtract", true, false);
  arithmetic(ops, "mul", "multiply", false, false);
  arithmetic(ops, "div", "divide", false, true);
  for (const char* kind : {"Tensor", "Scalar"}) {
    synonym(ops, fmt::format("aten::true_divide.{0}(Tensor self, {0} other) -> Tensor", kind), fmt::format("aten.div.{}", kind));
    ops.in_place(fmt::format("aten::true_divide_.{0}(Tensor(a!) self, {0} other) -> Tensor(a!)", kind));
  }
  ops.define("aten::rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor")
      .dtype(promoted(kBoth))
      .shape(shape_of("self"))
      .preserves_layout()
      .in_place_ok()
      .promotes(kBoth)
      .kernel("rsub.Scalar_out");
  ops.define("aten::rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor")
      .dtype(promoted(kBoth))
      .shape(broadcast_of(kBoth))
      .expand([](Builder& b, const Call& c) {
        if (!c.is_tensor("other")) return b.call("aten.rsub.Scalar", {c.arg("self"), c.arg("other"), c.arg("alpha")});
        return b.call("aten.sub.Tensor", {c.arg("other"), c.arg("self")}, alpha_of(c, true));
      });
}

void define_comparisons(Table& ops) {
  comparison(ops, "eq", "eq", "");
  comparison(ops, "ne", "ne", "not_equal");
  comparison(ops, "lt", "gt", "less");
  comparison(ops, "le", "ge", "less_equal");
  comparison(ops, "gt", "lt", "greater");
  comparison(ops, "ge", "le", "greater_equal");

  for (const char* name : {"maximum", "minimum"})
    ops.define(fmt::format("aten::{}(Tensor self, Tensor other) -> Tensor", name))
        .dtype(promoted(kBoth))
        .shape(broadcast_of(kBoth))
        .preserves_layout()
        .in_place_ok()
        .promotes(kBoth)
        .kernel(fmt::format("{}.out", name));
  // Like maximum and minimum, but a NaN gives the other operand.
  for (const std::string name : {"max", "min"})
    ops.define(fmt::format("aten::f{}(Tensor self, Tensor other) -> Tensor", name))
        .dtype(promoted(kBoth))
        .shape(broadcast_of(kBoth))
        .expand([name](Builder& b, const Call& c) {
          const DType d = c.promoted({"self", "other"});
          const ValueId x = b.cast(c.value("self"), d), y = b.cast(c.value("other"), d), either = b.call("aten." + name + "imum", {x, y});
          if (!is_float(d)) return either;
          return where(b, b.unary("aten.isnan", x), y, where(b, b.unary("aten.isnan", y), x, either));
        });

  ops.define("aten::isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> Tensor")
      .dtype(fixed(DType::Bool))
      .shape(broadcast_of(kBoth))
      .expand([](Builder& b, const Call& c) {
        const ValueId x = c.value("self"), y = c.value("other");
        const DType d = c.tensor("self").dtype;
        ValueId close = b.call("aten.eq.Tensor", {x, y});
        const auto join = [&](ValueId more) { close = b.call("aten.logical_or", {close, more}); };
        if (is_float(d) && c.flag("equal_nan")) join(b.call("aten.logical_and", {b.unary("aten.isnan", x), b.unary("aten.isnan", y)}));
        if (c.number("rtol") == 0 && c.number("atol") == 0) return close;
        const ValueId other = is_float(d) ? y : b.cast(y, DType::F32);
        const ValueId allowed = b.add(b.unary("aten.abs", b.mul(other, c.number("rtol"))), c.number("atol"));
        const ValueId actual = b.unary("aten.abs", b.sub(x, other));
        join(b.call("aten.logical_and", {b.unary("aten.isfinite", actual), b.call("aten.le.Tensor", {actual, allowed})}));
        return close;
      });
}

// & | ^ by their operators' names, `__and__`, `__iand__`.
void bitwise(Table& ops, const std::string& name) {
  ops.define("aten::bitwise_" + name + ".Tensor(Tensor self, Tensor other) -> Tensor")
      .dtype(promoted(kBoth))
      .shape(broadcast_of(kBoth))
      .preserves_layout()
      .promotes(kBoth)
      .in_place_ok()
      .kernel("bitwise_" + name + ".Tensor_out")
      .expand([name](Builder& b, const Call& c) -> Values {
        if (c.is_tensor("self") && c.is_tensor("other")) return keep_whole();
        const char* number = c.is_tensor("self") ? "other" : "self";
        return {b.call("aten.bitwise_" + name + ".Scalar", {c.arg(c.is_tensor("self") ? "self" : "other"), c.arg(number)})};
      });
  ops.define("aten::bitwise_" + name + ".Scalar(Tensor self, Scalar other) -> Tensor")
      .dtype(promoted(kBoth))
      .shape(shape_of("self"))
      .preserves_layout()
      .promotes(kBoth)
      .in_place_ok()
      .kernel("bitwise_" + name + ".Scalar_out");
  ops.define("aten::bitwise_" + name + ".Scalar_Tensor(Scalar self, Tensor other) -> Tensor")
      .dtype(promoted(kBoth))
      .shape(shape_of("other"))
      .expand([name](Builder& b, const Call& c) {
        return b.call("aten.bitwise_" + name + ".Scalar", {c.arg("other"), c.arg("self")});
      });
  for (const std::string kind : {"Tensor", "Scalar"}) {
    synonym(ops, fmt::format("aten::__{}__.{}(Tensor self, {} other) -> Tensor", name, kind, kind), "aten.bitwise_" + name + "." + kind);
    ops.in_place(fmt::format("aten::bitwise_{0}_.{1}(Tensor(a!) self, {1} other) -> Tensor(a!)", name, kind));
    ops.in_place(fmt::format("aten::__i{0}__.{1}(Tensor(a!) self, {1} other) -> Tensor(a!)", name, kind),
                 "aten.bitwise_" + name + "." + kind);
  }
}

// ---- shifts: the kernels shift as the machine does; torch gives 0 (or the sign) for counts outside of the type's width -----------

int64_t largest_count(DType d) { return 8 * static_cast<int64_t>(size_of(d)) - 1; }

// A count that the expansion has clamped, or a number.
bool counts_are_safe(const Call& c) {
  const int64_t most = largest_count(c.promoted({"self", "other"}));
  if (!c.is_tensor("other")) {
    const auto count = expr_of(c.graph(), c.arg("other")).constant();
    return count && *count >= 0 && *count <= most;
  }
  const NodeId def = c.graph().value(c.value("other")).def;
  if (!def || c.graph().node(def).op->name() != "aten.clamp") return false;
  const Call clamp(c.graph(), *c.graph().node(def).op, c.graph().node(def).args);
  return clamp.has("min") && clamp.integer("min") == 0 && clamp.has("max") && clamp.integer("max") == most;
}

Values shifted(Builder& b, const Call& c, const std::string& name) {
  if (c.is_tensor("self") && counts_are_safe(c)) return keep_whole();
  const DType d = c.promoted({"self", "other"});
  const int64_t most = largest_count(d);
  const ValueId x = b.cast(as_tensor(b, c, "self", d), d), count = b.cast(as_tensor(b, c, "other", d), d);
  const auto by = [&](ValueId n) { return b.call("aten." + name + ".Tensor", {x, b.call("aten.clamp", {n, 0, most})}); };
  // To the right, signed numbers end at their sign; a negative count counts as a large one.
  if (name == "bitwise_right_shift" && is_signed(d))
    return {by(where(b, b.call("aten.lt.Scalar", {count, 0}), b.full({}, most, d), count))};
  const ValueId outside = b.call("aten.logical_or", {b.call("aten.lt.Scalar", {count, 0}), b.call("aten.gt.Scalar", {count, most})});
  return {where(b, outside, b.full({}, 0, d), by(count))};
}

void shifts(Table& ops, const std::string& name, const std::string& sign) {
  const auto expansion = [name](Builder& b, const Call& c) { return shifted(b, c, name); };
  ops.define("aten::" + name + ".Tensor(Tensor self, Tensor other) -> Tensor")
      .dtype(promoted(kBoth))
      .shape(broadcast_of(kBoth))
      .preserves_layout()
      .promotes(kBoth)
      .kernel(name + ".Tensor_out")
      .expand(expansion);
  ops.define("aten::" + name + ".Tensor_Scalar(Tensor self, Scalar other) -> Tensor")
      .dtype(promoted(kBoth))
      .shape(shape_of("self"))
      .preserves_layout()
      .promotes(kBoth)
      .kernel(name + ".Tensor_Scalar_out")
      .expand(expansion);
  ops.define("aten::" + name + ".Scalar_Tensor(Scalar self, Tensor other) -> Tensor")
      .dtype(promoted(kBoth))
      .shape(shape_of("other"))
      .expand(expansion);
  ops.in_place("aten::" + name + "_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)");
  ops.in_place("aten::" + name + "_.Tensor_Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)");
  for (const std::string kind : {"Tensor", "Scalar"}) {
    const std::string target = "aten." + name + (kind == "Tensor" ? ".Tensor" : ".Tensor_Scalar");
    synonym(ops, fmt::format("aten::__{}__.{}(Tensor self, {} other) -> Tensor", sign, kind, kind), target);
    ops.in_place(fmt::format("aten::__i{0}__.{1}(Tensor(a!) self, {1} other) -> Tensor(a!)", sign, kind), target);
  }
}

void define_logic(Table& ops) {
  for (const char* name : {"and", "or", "xor"}) {
    ops.define(fmt::format("aten::logical_{}(Tensor self, Tensor other) -> Tensor", name))
        .dtype(fixed(DType::Bool))
        .shape(broadcast_of(kBoth))
        .preserves_layout()
        .promotes(kBoth)
        .in_place_ok()
        .kernel(fmt::format("logical_{}.out", name));
    ops.in_place(fmt::format("aten::logical_{}_(Tensor(a!) self, Tensor other) -> Tensor(a!)", name));
    bitwise(ops, name);
  }
  shifts(ops, "bitwise_left_shift", "lshift");
  shifts(ops, "bitwise_right_shift", "rshift");
}

// ---- choice --------------------------------------------------------------------------------------------------------------------------

void define_where(Table& ops) {
  ops.define("aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor")
      .dtype(promoted(kBoth))
      .shape(broadcast_of({"condition", "self", "other"}))
      .preserves_layout()
      .in_place_ok()
      .promotes(kBoth)
      .kernel("where.self_out")
      .expand([](Builder& b, const Call& c) -> Values {
        if (c.is_tensor("self") && c.is_tensor("other")) return keep_whole();
        const DType d = c.promoted({"self", "other"});
        return {b.call("aten.where.self", {c.arg("condition"), as_tensor(b, c, "self", d), as_tensor(b, c, "other", d)})};
      });
}

void define_clamp(Table& ops) {
  const std::vector<std::string> limits = {"self", "min", "max"};
  ops.define("aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor")
      .dtype(promoted(limits))
      .shape(shape_of("self"))
      .preserves_layout()
      .in_place_ok()
      .promotes(limits)
      .kernel("clamp.out");
  ops.define("aten::clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor")
      .dtype(promoted(limits))
      .shape(broadcast_of(limits))
      .preserves_layout()
      .promotes(limits)
      .in_place_ok()
      .kernel("clamp.Tensor_out")
      .expand([](Builder& b, const Call& c) -> Values {
        const DType d = c.promoted({"self", "min", "max"});
        bool numbers = false;
        std::vector<Arg> args = {c.arg("self")};
        for (const char* p : {"min", "max"}) {
          const bool number = c.has(p) && !c.is_tensor(p);
          numbers = numbers || number;
          args.push_back(number ? Arg(as_tensor(b, c, p, d)) : c.arg(p));
        }
        return numbers ? Values{b.call("aten.clamp.Tensor", args)} : keep_whole();
      });
  synonym(ops, "aten::clip(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor", "aten.clamp");
  synonym(ops, "aten::clip.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor", "aten.clamp.Tensor");
  for (const char* name : {"clamp", "clip"}) {
    ops.in_place(fmt::format("aten::{}_(Tensor(a!) self, Scalar? min=None, Scalar? max=None) -> Tensor(a!)", name));
    ops.in_place(fmt::format("aten::{}_.Tensor(Tensor(a!) self, Tensor? min=None, Tensor? max=None) -> Tensor(a!)", name));
  }
  for (const std::string side : {"min", "max"}) {
    ops.define(fmt::format("aten::clamp_{0}(Tensor self, Scalar {0}) -> Tensor", side))
        .dtype(promoted({"self", side}))
        .shape(shape_of("self"))
        .expand([side](Builder& b, const Call& c) {
          return b.call("aten.clamp", {c.arg("self")}, {{side, c.arg(side)}});
        });
    ops.define(fmt::format("aten::clamp_{0}.Tensor(Tensor self, Tensor {0}) -> Tensor", side))
        .dtype(promoted({"self", side}))
        .shape(broadcast_of({"self", side}))
        .expand([side](Builder& b, const Call& c) {
          if (!c.is_tensor(side)) return b.call("aten.clamp", {c.arg("self")}, {{side, c.arg(side)}});
          return b.call(side == "min" ? "aten.maximum" : "aten.minimum", {c.arg("self"), c.arg(side)});
        });
    ops.in_place(fmt::format("aten::clamp_{0}_(Tensor(a!) self, Scalar {0}) -> Tensor(a!)", side));
    ops.in_place(fmt::format("aten::clamp_{0}_.Tensor(Tensor(a!) self, Tensor {0}) -> Tensor(a!)", side));
  }
}

// ---- of three ------------------------------------------------------------------------------------------------------------------------

// `fn` on the operands in their common dtype; half types compute in f32.
template <class Fn>
ValueId in_common(Builder& b, const Call& c, const std::vector<std::string>& params, Fn fn) {
  std::vector<Arg> args;
  for (const auto& p : params) args.push_back(c.arg(p));
  const DType d = result_type(c.graph(), args);
  const DType computed = is_half(d) ? DType::F32 : d;
  Values operands;
  for (const auto& p : params) operands.push_back(b.cast(as_tensor(b, c, p, computed), computed));
  return b.cast(fn(operands), d);
}

// start + weight * (end - start), from the nearer end.
ValueId interpolated(Builder& b, const Call& c) {
  return in_common(b, c,
                   c.is_tensor("weight") ? std::vector<std::string>{"self", "end", "weight"} : std::vector<std::string>{"self", "end"},
                   [&](const Values& v) {
                     const ValueId difference = b.sub(v[1], v[0]);
                     const auto from_start = [&](const Arg& w) { return b.add(v[0], b.mul(difference, w)); };
                     const auto from_end = [&](const Arg& rest) { return b.sub(v[1], b.mul(difference, rest)); };
                     if (!c.is_tensor("weight") && c.arg("weight").is_number()) {
                       const double w = c.number("weight");
                       return w > -0.5 && w < 0.5 ? from_start(w) : from_end(1 - w);
                     }
                     const ValueId w = c.is_tensor("weight") ? v[2] : b.full({}, c.arg("weight"), b.tensor(v[0]).dtype);
                     const ValueId near = b.call("aten.lt.Scalar", {b.unary("aten.abs", w), 0.5});
                     return where(b, near, from_start(w), from_end(b.call("aten.rsub.Scalar", {w, 1})));
                   });
}

void define_of_three(Table& ops) {
  for (const std::string name : {"addcmul", "addcdiv"}) {
    const bool divides = name == "addcdiv";
    const std::vector<std::string> all = {"self", "tensor1", "tensor2"};
    ops.define("aten::" + name + "(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor")
        .dtype(promoted(all))
        .shape(broadcast_of(all))
        .expand([all, divides](Builder& b, const Call& c) {
          return in_common(b, c, all, [&](const Values& v) {
            const ValueId scaled = is_one(c.arg("value")) ? v[1] : b.mul(v[1], c.arg("value"));
            return b.add(v[0], divides ? b.div(scaled, v[2]) : b.mul(scaled, v[2]));
          });
        });
    ops.in_place("aten::" + name + "_(Tensor(a!) self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor(a!)");
  }
  for (const char* kind : {"Scalar", "Tensor"}) {
    ops.define(fmt::format("aten::lerp.{0}(Tensor self, Tensor end, {0} weight) -> Tensor", kind))
        .dtype(promoted({"self", "end"}))
        .shape(broadcast_of({"self", "end", "weight"}))
        .expand(interpolated);
    ops.in_place(fmt::format("aten::lerp_.{0}(Tensor(a!) self, Tensor end, {0} weight) -> Tensor(a!)", kind));
  }
}

}  // namespace

void define_elementwise(Table& ops) {
  define_arithmetic(ops);
  define_comparisons(ops);
  define_logic(ops);
  define_where(ops);
  define_clamp(ops);
  define_of_three(ops);
}

}  // namespace edgec::ops
