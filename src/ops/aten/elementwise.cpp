#include "ops/table.h"

// Elementwise arithmetic, comparison and logic.
namespace edgec::ops {
namespace {

const std::vector<std::string> kBoth = {"self", "other"};

// name.Tensor and name.Scalar: a number given for the tensor `other` goes to the Scalar overload.
void arithmetic(Table& ops, const std::string& name, bool alpha, bool to_float) {
  const std::string a = alpha ? ", *, Scalar alpha=1" : "", sa = alpha ? ", Scalar alpha=1" : "";
  const auto rule = to_float ? promoted_float(kBoth) : promoted(kBoth);
  ops.define("aten::" + name + ".Tensor(Tensor self, Tensor other" + a + ") -> Tensor")
      .dtype(rule).shape(broadcast_of(kBoth)).preserves_layout().in_place_ok().promotes(kBoth, to_float)
      .kernel(name + ".out")
      .expand([name, alpha](Builder& b, const Call& c) -> std::vector<ValueId> {
        if (c.is_tensor("self") && c.is_tensor("other")) return keep_whole();
        NamedArgs named;
        if (alpha) named.emplace_back("alpha", c.arg("alpha"));
        if (!c.is_tensor("self"))  // 1 - x
          return {b.call("aten." + name + ".Tensor", {b.full({}, c.arg("self"), c.promoted({"self", "other"})), c.arg("other")}, named)};
        return {b.call("aten." + name + ".Scalar", {c.arg("self"), c.arg("other")}, named)};
      });
  ops.define("aten::" + name + ".Scalar(Tensor self, Scalar other" + sa + ") -> Tensor")
      .dtype(rule).shape(shape_of("self")).preserves_layout().in_place_ok().promotes(kBoth, to_float)
      .kernel(name + ".Scalar_out");
  ops.in_place("aten::" + name + "_.Tensor(Tensor(a!) self, Tensor other" + a + ") -> Tensor(a!)");
  ops.in_place("aten::" + name + "_.Scalar(Tensor(a!) self, Scalar other" + sa + ") -> Tensor(a!)");
}

void comparison(Table& ops, const std::string& name) {
  ops.define("aten::" + name + ".Tensor(Tensor self, Tensor other) -> Tensor")
      .dtype(fixed(DType::Bool)).shape(broadcast_of(kBoth)).preserves_layout().promotes(kBoth)
      .kernel(name + ".Tensor_out")
      .expand([name](Builder& b, const Call& c) -> std::vector<ValueId> {
        if (c.is_tensor("other")) return keep_whole();
        return {b.call("aten." + name + ".Scalar", {c.arg("self"), c.arg("other")})};
      });
  ops.define("aten::" + name + ".Scalar(Tensor self, Scalar other) -> Tensor")
      .dtype(fixed(DType::Bool)).shape(shape_of("self")).preserves_layout().promotes(kBoth)
      .kernel(name + ".Scalar_out");
}

void unary(Table& ops, const std::string& name, DTypeRule dtype, bool in_place = true) {
  ops.define("aten::" + name + "(Tensor self) -> Tensor")
      .dtype(std::move(dtype)).shape(shape_of("self")).preserves_layout().in_place_ok().kernel(name + ".out");
  if (in_place) ops.in_place("aten::" + name + "_(Tensor(a!) self) -> Tensor(a!)");
}

}  // namespace

void define_elementwise(Table& ops) {
  arithmetic(ops, "add", true, false);
  arithmetic(ops, "sub", true, false);
  arithmetic(ops, "mul", false, false);
  arithmetic(ops, "div", false, true);

  ops.define("aten::rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor")
      .dtype(promoted(kBoth)).shape(shape_of("self")).preserves_layout().promotes(kBoth).kernel("rsub.Scalar_out");
  ops.define("aten::rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor")
      .dtype(promoted(kBoth)).shape(broadcast_of(kBoth))
      .expand([](Builder& b, const Call& c) {
        return b.call(c.is_tensor("other") ? "aten.sub.Tensor" : "aten.rsub.Scalar",
                      c.is_tensor("other") ? std::vector<Arg>{c.arg("other"), c.arg("self")} : std::vector<Arg>{c.arg("self"), c.arg("other")},
                      {{"alpha", c.arg("alpha")}});
      });

  for (const char* name : {"eq", "ne", "lt", "le", "gt", "ge"}) comparison(ops, name);

  for (const char* name : {"abs", "neg", "sign", "floor", "ceil", "round", "trunc", "bitwise_not"}) unary(ops, name, same_as("self"));
  for (const char* name : {"exp", "log", "log2", "log10", "log1p", "expm1", "sqrt", "rsqrt", "reciprocal", "sin", "cos", "tan", "sinh", "cosh",
                           "tanh", "asin", "acos", "atan", "asinh", "acosh", "atanh", "erf", "sigmoid"})
    unary(ops, name, promoted_float({"self"}));
  for (const char* name : {"isnan", "isinf"}) unary(ops, name, fixed(DType::Bool), false);
  unary(ops, "logical_not", fixed(DType::Bool));

  for (const char* name : {"maximum", "minimum"})
    ops.define(std::string("aten::") + name + "(Tensor self, Tensor other) -> Tensor")
        .dtype(promoted(kBoth)).shape(broadcast_of(kBoth)).preserves_layout().in_place_ok().promotes(kBoth)
        .kernel(std::string(name) + ".out");

  for (const char* name : {"logical_and", "logical_or", "logical_xor"})
    ops.define(std::string("aten::") + name + "(Tensor self, Tensor other) -> Tensor")
        .dtype(fixed(DType::Bool)).shape(broadcast_of(kBoth)).preserves_layout().kernel(std::string(name) + ".out");

  for (std::string name : {"and", "or", "xor"}) {
    ops.define("aten::bitwise_" + name + ".Tensor(Tensor self, Tensor other) -> Tensor")
        .dtype(promoted(kBoth)).shape(broadcast_of(kBoth)).preserves_layout().promotes(kBoth).kernel("bitwise_" + name + ".Tensor_out");
    ops.define("aten::bitwise_" + name + ".Scalar(Tensor self, Scalar other) -> Tensor")
        .dtype(promoted(kBoth)).shape(shape_of("self")).preserves_layout().promotes(kBoth).kernel("bitwise_" + name + ".Scalar_out");
    for (const char* overload : {"Tensor", "Scalar"})
      ops.define("aten::__" + name + "__." + overload + "(Tensor self, " + overload + " other) -> Tensor")
          .dtype(promoted(kBoth)).shape(broadcast_of(kBoth))
          .expand([name](Builder& b, const Call& c) { return b.binary("aten.bitwise_" + name, c.value("self"), c.arg("other")); });
  }

  const std::vector<std::string> choices = {"self", "other"};
  ops.define("aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor")
      .dtype(promoted(choices)).shape(broadcast_of({"condition", "self", "other"})).preserves_layout().promotes(choices)
      .kernel("where.self_out")
      .expand([](Builder& b, const Call& c) -> std::vector<ValueId> {
        if (c.is_tensor("self") && c.is_tensor("other")) return keep_whole();
        const DType d = c.promoted({"self", "other"});
        auto as_tensor = [&](const char* p) { return c.is_tensor(p) ? c.arg(p) : Arg(b.full({}, c.arg(p), d)); };
        return {b.call("aten.where.self", {c.arg("condition"), as_tensor("self"), as_tensor("other")})};
      });

  const std::vector<std::string> limits = {"self", "min", "max"};
  ops.define("aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor")
      .dtype(promoted(limits)).shape(shape_of("self")).preserves_layout().in_place_ok().promotes({"self"}).kernel("clamp.out");
  ops.in_place("aten::clamp_(Tensor(a!) self, Scalar? min=None, Scalar? max=None) -> Tensor(a!)");
  ops.define("aten::clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor")
      .dtype(promoted(limits)).shape(broadcast_of(limits)).preserves_layout().promotes(limits).kernel("clamp.Tensor_out");
  ops.define("aten::clamp_min(Tensor self, Scalar min) -> Tensor")
      .dtype(promoted({"self", "min"})).shape(shape_of("self"))
      .expand([](Builder& b, const Call& c) { return b.call("aten.clamp", {c.arg("self"), c.arg("min")}); });
  ops.define("aten::clamp_max(Tensor self, Scalar max) -> Tensor")
      .dtype(promoted({"self", "max"})).shape(shape_of("self"))
      .expand([](Builder& b, const Call& c) { return b.call("aten.clamp", {c.arg("self"), Arg(), c.arg("max")}); });

  ops.define("aten::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor")
      .dtype(promoted({"self", "exponent"})).shape(shape_of("self")).preserves_layout().promotes({"self", "exponent"})
      .kernel("pow.Tensor_Scalar_out")
      .expand([](Builder& b, const Call& c) -> std::vector<ValueId> {
        // The kernel computes with double pow, far slower than a product and inexact for large integers.
        const ValueId x = c.value("self");
        if (!c.arg("exponent").is_number()) return keep_whole();
        const double e = c.number("exponent");
        const DType d = c.promoted({"self", "exponent"});
        if (e == 2.0) return {b.mul(b.cast(x, d), b.cast(x, d))};
        if (e == 1.0) return {b.call("aten.clone", {b.cast(x, d)})};
        if (e == 0.5 && is_float(d)) return {b.unary("aten.sqrt", b.cast(x, d))};
        return keep_whole();
      });
}

}  // namespace edgec::ops
