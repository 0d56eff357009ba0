#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "ops/numeric.h"
#include "ops/table.h"

// Functions of one number (and a few of two), with torch's aliases. What the runtime lacks is composed.
namespace edgec::ops {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity(), kPi = std::numbers::pi;
DTypeRule to_float() { return promoted_float({"self"}); }
const std::vector<std::string> kBoth = {"self", "other"};

void alias(Table& ops, const std::string& name, const std::string& of, bool in_place) {
  synonym(ops, "aten::" + name + "(Tensor self) -> Tensor", "aten." + of);
  if (in_place) ops.in_place("aten::" + name + "_(Tensor(a!) self) -> Tensor(a!)");
}

ValueId exp(Builder& b, ValueId x) { return b.unary("aten.exp", x); }

// ---- kernels -------------------------------------------------------------------------------------------------------------------------

// Rounding leaves integers as they are; the kernels take them through float.
Values only_floats(Builder&, const Call& c) {
  if (is_float(c.tensor("self").dtype)) return keep_whole();
  return {c.value("self")};
}

void define_with_kernels(Table& ops) {
  for (const char* name : {"abs", "neg", "bitwise_not"})
    unary(ops, name, same_as("self")).in_place_ok().kernel(fmt::format("{}.out", name));
  // The kernel's sign of NaN is NaN, torch's is 0.
  unary(ops, "sign", same_as("self")).in_place_ok().kernel("sign.out").expand([](Builder& b, const Call& c) -> Values {
    const DType d = c.tensor("self").dtype;
    if (!is_float(d)) return keep_whole();
    const auto when = [&](const char* op) { return b.cast(compare(b, op, c.value("self"), 0), d); };
    return {b.sub(when("gt"), when("lt"))};
  });
  for (const char* name : {"floor", "ceil", "round", "trunc"})
    unary(ops, name, same_as("self")).in_place_ok().kernel(fmt::format("{}.out", name)).expand(only_floats);
  for (const char* name : {"exp",  "log",  "log2", "log10", "log1p", "expm1", "sqrt",  "rsqrt", "reciprocal", "sin", "cos",    "tan",
                           "sinh", "cosh", "tanh", "asin",  "acos",  "atan",  "asinh", "acosh", "atanh",      "erf", "sigmoid"})
    unary(ops, name, to_float()).in_place_ok().kernel(fmt::format("{}.out", name));
  for (const char* name : {"isnan", "isinf"}) unary(ops, name, fixed(DType::Bool), false).kernel(fmt::format("{}.out", name));
  unary(ops, "logical_not", fixed(DType::Bool)).kernel("logical_not.out");
  ops.define("aten::atan2(Tensor self, Tensor other) -> Tensor")
      .dtype(promoted_float(kBoth))
      .shape(broadcast_of(kBoth))
      .preserves_layout()
      .promotes(kBoth, true)
      .in_place_ok()
      .kernel("atan2.out");
  ops.in_place("aten::atan2_(Tensor(a!) self, Tensor other) -> Tensor(a!)");
  ops.define("aten::logit(Tensor self, float? eps=None) -> Tensor")
      .dtype(to_float())
      .shape(shape_of("self"))
      .preserves_layout()
      .kernel("logit.out")
      .expand([](Builder& b, const Call& c) -> Values {
        const DType d = c.tensor("self").dtype;
        if (d == DType::F32 || d == DType::F64) return keep_whole();
        return {b.cast(b.call("aten.logit", {b.cast(c.value("self"), DType::F32), c.arg("eps")}), is_float(d) ? d : DType::F32)};
      });
  ops.in_place("aten::logit_(Tensor(a!) self, float? eps=None) -> Tensor(a!)");
}

// ---- tests of one number -------------------------------------------------------------------------------------------------------------

// For floats `fn`, for integers and bools one answer.
template <class Fn>
void predicate(Table& ops, const std::string& name, bool of_integers, Fn fn) {
  unary(ops, name, fixed(DType::Bool), false).expand([fn, of_integers](Builder& b, const Call& c) {
    if (is_float(c.tensor("self").dtype)) return fn(b, c.value("self"));
    return b.full(c.tensor("self").sizes, of_integers, DType::Bool);
  });
}

// The sign bit: 1 / -0 is -inf. (That of a NaN cannot be seen.)
ValueId sign_bit(Builder& b, ValueId x) {
  const ValueId below = b.call("aten.lt.Scalar", {x, 0});
  if (b.failed() || !is_float(b.tensor(x).dtype)) return below;
  return either(b, below, compare(b, "eq", b.unary("aten.reciprocal", x), -kInfinity));
}

double largest(DType d) {
  switch (d) {
    case DType::F16:
      return 65504;
    case DType::BF16:
      return 3.3895313892515355e38;
    case DType::F64:
      return std::numeric_limits<double>::max();
    default:
      return std::numeric_limits<float>::max();
  }
}

void define_predicates(Table& ops) {
  predicate(ops, "isfinite", true, [](Builder& b, ValueId x) { return compare(b, "lt", b.unary("aten.abs", x), kInfinity); });
  predicate(ops, "isposinf", false, [](Builder& b, ValueId x) { return compare(b, "eq", x, kInfinity); });
  predicate(ops, "isneginf", false, [](Builder& b, ValueId x) { return compare(b, "eq", x, -kInfinity); });
  ops.define("aten::isreal(Tensor self) -> Tensor").dtype(fixed(DType::Bool)).shape(shape_of("self")).expand([](Builder& b, const Call& c) {
    return b.full(c.tensor("self").sizes, true, DType::Bool);
  });
  unary(ops, "signbit", fixed(DType::Bool), false).expand([](Builder& b, const Call& c) {
    if (c.tensor("self").dtype == DType::Bool) return b.full(c.tensor("self").sizes, false, DType::Bool);
    return sign_bit(b, c.value("self"));
  });
  ops.define("aten::nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor")
      .dtype(same_as("self"))
      .shape(shape_of("self"))
      .expand([](Builder& b, const Call& c) {
        const ValueId x = c.value("self");
        const DType d = c.tensor("self").dtype;
        if (!is_float(d)) return b.call("aten.clone", {x});
        const double high = c.number("posinf", largest(d)), low = c.number("neginf", -largest(d));
        const ValueId below = where(b, compare(b, "eq", x, -kInfinity), number(b, low, d), x);
        const ValueId finite = where(b, compare(b, "eq", x, kInfinity), number(b, high, d), below);
        return where(b, b.unary("aten.isnan", x), number(b, c.number("nan", 0), d), finite);
      });
  ops.in_place("aten::nan_to_num_(Tensor(a!) self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor(a!)");
  ops.define("aten::heaviside(Tensor self, Tensor values) -> Tensor")
      .dtype(same_as("self"))
      .shape(broadcast_of({"self", "values"}))
      .expand([](Builder& b, const Call& c) {
        const ValueId x = c.value("self");
        return where(b, b.call("aten.eq.Scalar", {x, 0}), c.value("values"),
                     b.cast(b.call("aten.gt.Scalar", {x, 0}), c.tensor("self").dtype));
      });
  ops.in_place("aten::heaviside_(Tensor(a!) self, Tensor values) -> Tensor(a!)");
  for (const char* kind : {"Tensor", "Scalar"}) {
    ops.define(fmt::format("aten::copysign.{0}(Tensor self, {0} other) -> Tensor", kind))
        .dtype(promoted_float(kBoth))
        .shape(broadcast_of(kBoth))
        .expand([](Builder& b, const Call& c) {
          const DType p = c.promoted({"self", "other"}), d = is_float(p) ? p : DType::F32;
          const ValueId size = b.unary("aten.abs", b.cast(c.value("self"), d));
          if (!c.is_tensor("other") && c.arg("other").is_number()) return std::signbit(c.number("other")) ? neg(b, size) : size;
          return where(b, sign_bit(b, c.is_tensor("other") ? b.cast(c.value("other"), d) : b.full({}, c.arg("other"), d)), neg(b, size),
                       size);
        });
    ops.in_place(fmt::format("aten::copysign_.{0}(Tensor(a!) self, {0} other) -> Tensor(a!)", kind));
  }
}

// ---- simple compositions -------------------------------------------------------------------------------------------------------------

// x * 10^n rounded, / 10^n.
ValueId rounded(Builder& b, const Call& c) {
  const int64_t n = c.integer("decimals");
  const ValueId x = c.value("self");
  if (!is_float(c.tensor("self").dtype)) return x;
  if (n == 0) return b.unary("aten.round", x);
  return in_opmath(b, x, [n](Builder& bb, ValueId v) {
    const double ten = std::pow(10.0, static_cast<double>(n < 0 ? -n : n));
    const auto up = [&](ValueId y) { return bb.mul(y, ten); };
    const auto down = [&](ValueId y) { return bb.div(y, ten); };
    return n > 0 ? down(bb.unary("aten.round", up(v))) : up(bb.unary("aten.round", down(v)));
  });
}

void define_simple(Table& ops) {
  unary(ops, "frac", same_as("self")).expand([](Builder& b, const Call& c) {
    return b.sub(c.value("self"), b.unary("aten.trunc", c.value("self")));
  });
  ops.define("aten::positive(Tensor(a) self) -> Tensor(a)")
      .dtype(same_as("self"))
      .shape(shape_of("self"))
      .expand([](Builder&, const Call& c) { return c.value("self"); });
  ops.define("aten::round.decimals(Tensor self, *, int decimals) -> Tensor").dtype(same_as("self")).shape(shape_of("self")).expand(rounded);
  ops.in_place("aten::round_.decimals(Tensor(a!) self, *, int decimals) -> Tensor(a!)");
  ops.define("aten::special_round(Tensor self, *, int decimals=0) -> Tensor")
      .dtype(same_as("self"))
      .shape(shape_of("self"))
      .expand(rounded);
  composed(ops, "deg2rad", true, [](Builder& b, ValueId x) { return b.mul(x, kPi / 180); });
  composed(ops, "rad2deg", true, [](Builder& b, ValueId x) { return b.mul(x, 180 / kPi); });
  composed(ops, "exp2", true, [](Builder& b, ValueId x) { return b.call("aten.pow.Scalar", {2.0, x}); });
  composed(ops, "sinc", true, [](Builder& b, ValueId x) {
    const ValueId angle = b.mul(x, kPi);
    return where(b, compare(b, "eq", x, 0), number(b, 1, b.tensor(x).dtype), b.div(b.unary("aten.sin", angle), angle));
  });
  composed(ops, "special_entr", false, [](Builder& b, ValueId x) {
    const DType d = b.tensor(x).dtype;
    const ValueId inside = neg(b, b.mul(x, b.unary("aten.log", x)));
    const ValueId edge =
        where(b, compare(b, "eq", x, 0), number(b, 0, d), where(b, compare(b, "lt", x, 0), number(b, -kInfinity, d), inside));
    return edge;
  });
}

// ---- of two numbers ------------------------------------------------------------------------------------------------------------------

// `fn` in f32 or f64 on both operands, tensors or numbers.
template <class Fn>
ValueId of_two(Builder& b, const Call& c, Fn fn) {
  const DType p = c.promoted({"self", "other"}), d = is_float(p) ? p : DType::F32, computed = d == DType::F64 ? d : DType::F32;
  const auto operand = [&](const char* n) { return c.is_tensor(n) ? b.cast(c.value(n), computed) : b.full({}, c.arg(n), computed); };
  const ValueId x = operand("self"), y = operand("other");
  return b.cast(fn(b, x, y), d);
}

template <class Fn>
void binary(Table& ops, const std::string& schema, Fn fn) {
  ops.define(schema).dtype(promoted_float(kBoth)).shape(broadcast_of(kBoth)).expand([fn](Builder& b, const Call& c) {
    return of_two(b, c, fn);
  });
}

// x * log(y), but 0 where x is 0 and y no NaN.
template <const char* log>
ValueId times_log(Builder& b, ValueId x, ValueId y) {
  const DType d = b.tensor(x).dtype;
  const ValueId zero = both(b, compare(b, "eq", x, 0), b.unary("aten.logical_not", b.unary("aten.isnan", y)));
  return where(b, zero, number(b, 0, d), b.mul(x, b.unary(log, y)));
}
constexpr char kLog[] = "aten.log", kLog1p[] = "aten.log1p";

// The larger plus what the other adds; equal infinities give themselves.
template <class Fn>
ValueId log_of_sum(Builder& b, ValueId x, ValueId y, Fn rest) {
  const ValueId larger = b.call("aten.maximum", {x, y});
  const ValueId same = both(b, b.unary("aten.isinf", x), b.call("aten.eq.Tensor", {x, y}));
  return where(b, same, x, b.add(larger, rest(neg(b, b.unary("aten.abs", b.sub(x, y))))));
}

// sqrt(x^2 + y^2) without overflow: f32 in f64, f64 scaled by the larger. An infinity wins over a NaN.
ValueId hypotenuse(Builder& b, ValueId x, ValueId y) {
  if (b.failed()) return {};
  const DType d = b.tensor(x).dtype;
  const auto root = [&](ValueId p, ValueId q) { return b.unary("aten.sqrt", b.add(b.mul(p, p), b.mul(q, q))); };
  ValueId length;
  if (d == DType::F32) {
    length = b.cast(root(b.cast(x, DType::F64), b.cast(y, DType::F64)), d);
  } else {
    const ValueId p = b.unary("aten.abs", x), q = b.unary("aten.abs", y), larger = b.call("aten.maximum", {p, q});
    const ValueId ratio = b.div(b.call("aten.minimum", {p, q}), larger);
    length = b.mul(larger, b.unary("aten.sqrt", b.add(b.mul(ratio, ratio), 1)));
    length = where(b, compare(b, "eq", larger, 0), larger, length);
  }
  return where(b, either(b, b.unary("aten.isinf", x), b.unary("aten.isinf", y)), number(b, kInfinity, d), length);
}

void define_of_two(Table& ops) {
  for (const auto& [name, log, of_self, of_other] :
       {std::tuple("xlogy", false, "Scalar_Self", "Scalar_Other"), std::tuple("special_xlogy", false, "self_scalar", "other_scalar"),
        std::tuple("special_xlog1py", true, "self_scalar", "other_scalar")}) {
    const auto fn = log ? times_log<kLog1p> : times_log<kLog>;
    const std::string dot = std::string(name) == "xlogy" ? ".Tensor" : "";
    binary(ops, fmt::format("aten::{}{}(Tensor self, Tensor other) -> Tensor", name, dot), fn);
    binary(ops, fmt::format("aten::{}.{}(Scalar self, Tensor other) -> Tensor", name, of_self), fn);
    binary(ops, fmt::format("aten::{}.{}(Tensor self, Scalar other) -> Tensor", name, of_other), fn);
  }
  ops.in_place("aten::xlogy_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)");
  ops.in_place("aten::xlogy_.Scalar_Other(Tensor(a!) self, Scalar other) -> Tensor(a!)");
  binary(ops, "aten::logaddexp(Tensor self, Tensor other) -> Tensor",
         [](Builder& b, ValueId x, ValueId y) { return log_of_sum(b, x, y, [&](ValueId d) { return b.unary("aten.log1p", exp(b, d)); }); });
  binary(ops, "aten::logaddexp2(Tensor self, Tensor other) -> Tensor", [](Builder& b, ValueId x, ValueId y) {
    return log_of_sum(b, x, y, [&](ValueId d) { return b.mul(b.unary("aten.log1p", b.unary("aten.exp2", d)), 1 / std::numbers::ln2); });
  });
  binary(ops, "aten::hypot(Tensor self, Tensor other) -> Tensor", hypotenuse);
  ops.in_place("aten::hypot_(Tensor(a!) self, Tensor other) -> Tensor(a!)");
  synonym(ops, "aten::arctan2(Tensor self, Tensor other) -> Tensor", "aten.atan2");
  ops.in_place("aten::arctan2_(Tensor(a!) self, Tensor other) -> Tensor(a!)");
  ops.define("aten::ldexp.Tensor(Tensor self, Tensor other) -> Tensor")
      .dtype(promoted_float(kBoth))
      .shape(broadcast_of(kBoth))
      .expand([](Builder& b, const Call& c) {  // 2 ** i8 is f32, the result keeps the dtype of self
        const auto d = c.op().dtype(c);
        return b.cast(b.mul(c.value("self"), b.call("aten.pow.Scalar", {2.0, c.arg("other")})), d ? *d : DType::F32);
      });
  ops.in_place("aten::ldexp_(Tensor(a!) self, Tensor other) -> Tensor(a!)", "aten.ldexp.Tensor");
}

// ---- error function and its kin, in f64 ----------------------------------------------------------------------------------------------

// exp(z^2) erfc(z) for z >= 0, to 1.2e-7 of its size (Numerical Recipes, erfcc).
ValueId scaled_erfc(Builder& b, ValueId z) {
  const ValueId t = b.unary("aten.reciprocal", b.add(b.mul(z, 0.5), 1));
  return b.mul(t, exp(b, polynomial(b, t,
                                    {0.17087277, -0.82215223, 1.48851587, -1.13520398, 0.27886807, -0.18628806, 0.09678418, 0.37409196,
                                     1.00002368, -1.26551223})));
}

// 1 - erf where that has enough digits, else by the scaled form.
ValueId erfc(Builder& b, ValueId x) {
  const ValueId size = b.unary("aten.abs", x);
  const ValueId tail = b.mul(scaled_erfc(b, size), exp(b, neg(b, b.mul(x, x))));
  return where(b, compare(b, "gt", x, 3), tail, b.call("aten.rsub.Scalar", {b.unary("aten.erf", x), 1}));
}

// Giles' approximation, then two steps of Newton.
ValueId erfinv(Builder& b, ValueId x) {
  const ValueId w = neg(b, b.unary("aten.log", b.mul(b.call("aten.rsub.Scalar", {x, 1}), b.add(x, 1))));
  const ValueId middle = polynomial(b, b.sub(w, 2.5),
                                    {2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503,
                                     -0.00417768164, 0.246640727, 1.50140941});
  const ValueId tail = polynomial(b, b.sub(b.unary("aten.sqrt", w), 3.0),
                                  {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613,
                                   0.00943887047, 1.00167406, 2.83297682});
  ValueId y = b.mul(where(b, compare(b, "lt", w, 5), middle, tail), x);
  for (int step = 0; step < 2; ++step) {
    const ValueId slope = b.mul(exp(b, neg(b, b.mul(y, y))), 2 / std::sqrt(kPi));
    y = b.sub(y, b.div(b.sub(b.unary("aten.erf", y), x), slope));
  }
  return where(b, compare(b, "eq", b.unary("aten.abs", x), 1), b.mul(x, kInfinity), y);
}

void define_error_functions(Table& ops) {
  composed_in_double(ops, "erfc", true, erfc);
  composed_in_double(ops, "erfinv", true, erfinv);
  composed_in_double(ops, "special_erfcx", false, [](Builder& b, ValueId x) {
    const ValueId scaled = scaled_erfc(b, b.unary("aten.abs", x));
    return where(b, compare(b, "lt", x, 0), b.sub(b.mul(exp(b, b.mul(x, x)), 2), scaled), scaled);
  });
  composed_in_double(ops, "special_ndtr", false,
                     [](Builder& b, ValueId x) { return b.mul(erfc(b, b.mul(x, -std::numbers::sqrt2 / 2)), 0.5); });
  composed_in_double(ops, "special_ndtri", false,
                     [](Builder& b, ValueId x) { return b.mul(erfinv(b, b.sub(b.mul(x, 2), 1)), std::numbers::sqrt2); });
  composed_in_double(ops, "special_log_ndtr", false, [](Builder& b, ValueId x) {
    const ValueId t = b.mul(x, std::numbers::sqrt2 / 2);
    const ValueId tail = b.sub(b.unary("aten.log", b.mul(scaled_erfc(b, b.unary("aten.abs", t)), 0.5)), b.mul(t, t));
    return where(b, compare(b, "lt", x, -1), tail, b.unary("aten.log1p", b.mul(erfc(b, t), -0.5)));
  });
}

void define_aliases(Table& ops) {
  for (const auto& [name, of] :
       {std::pair("absolute", "abs"), std::pair("negative", "neg"), std::pair("sgn", "sign"), std::pair("fix", "trunc"),
        std::pair("arcsin", "asin"), std::pair("arccos", "acos"), std::pair("arctan", "atan"), std::pair("arcsinh", "asinh"),
        std::pair("arccosh", "acosh"), std::pair("arctanh", "atanh")})
    alias(ops, name, of, true);
  for (const auto& [name, of] :
       {std::pair("erf", "erf"), std::pair("erfc", "erfc"), std::pair("erfinv", "erfinv"), std::pair("exp2", "exp2"),
        std::pair("expit", "sigmoid"), std::pair("expm1", "expm1"), std::pair("log1p", "log1p"), std::pair("sinc", "sinc")})
    alias(ops, fmt::format("special_{}", name), of, false);
  synonym(ops, "aten::special_logit(Tensor self, float? eps=None) -> Tensor", "aten.logit");
}

}  // namespace

void define_math(Table& ops) {
  define_with_kernels(ops);
  define_predicates(ops);
  define_simple(ops);
  define_of_two(ops);
  define_error_functions(ops);
  define_aliases(ops);
}

}  // namespace edgec::ops
