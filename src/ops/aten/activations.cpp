#include "ops/table.h"

// Activation functions. Those without a kernel are expanded as torch computes them; half types compute in f32.
namespace edgec::ops {
namespace {

Def pointwise(Table& ops, std::string_view schema) {
  return ops.define(schema).dtype(same_as("self")).shape(shape_of("self")).preserves_layout();
}

ValueId relu6_of(Builder& b, ValueId x) { return b.call("aten.clamp", {x, 0, 6}); }

}  // namespace

void define_activations(Table& ops) {
  pointwise(ops, "aten::relu(Tensor self) -> Tensor").in_place_ok().kernel("relu.out");
  ops.in_place("aten::relu_(Tensor(a!) self) -> Tensor(a!)");
  pointwise(ops, "aten::gelu(Tensor self, *, str approximate='none') -> Tensor").in_place_ok().kernel("gelu.out");
  pointwise(ops, "aten::hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor").in_place_ok().kernel("hardtanh.out");
  ops.in_place("aten::hardtanh_(Tensor(a!) self, Scalar min_val=-1, Scalar max_val=1) -> Tensor(a!)");
  pointwise(ops, "aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor").in_place_ok().kernel("leaky_relu.out");
  ops.in_place("aten::leaky_relu_(Tensor(a!) self, Scalar negative_slope=0.01) -> Tensor(a!)");
  pointwise(ops, "aten::elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor").in_place_ok().kernel("elu.out");
  ops.in_place("aten::elu_(Tensor(a!) self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor(a!)");

  pointwise(ops, "aten::relu6(Tensor self) -> Tensor").expand([](Builder& b, const Call& c) { return relu6_of(b, c.value("self")); });
  ops.in_place("aten::relu6_(Tensor(a!) self) -> Tensor(a!)");
  pointwise(ops, "aten::silu(Tensor self) -> Tensor").expand([](Builder& b, const Call& c) {
    return in_opmath(b, c.value("self"), [](Builder& x, ValueId v) { return x.mul(v, x.unary("aten.sigmoid", v)); });
  });
  ops.in_place("aten::silu_(Tensor(a!) self) -> Tensor(a!)");
  // clamp(x + 3, 0, 6) / 6
  pointwise(ops, "aten::hardsigmoid(Tensor self) -> Tensor").expand([](Builder& b, const Call& c) {
    return in_opmath(b, c.value("self"), [](Builder& x, ValueId v) { return x.div(relu6_of(x, x.add(v, 3)), 6); });
  });
  ops.in_place("aten::hardsigmoid_(Tensor(a!) self) -> Tensor(a!)");
  pointwise(ops, "aten::hardswish(Tensor self) -> Tensor").expand([](Builder& b, const Call& c) {
    return in_opmath(b, c.value("self"), [](Builder& x, ValueId v) { return x.div(x.mul(v, relu6_of(x, x.add(v, 3))), 6); });
  });
  ops.in_place("aten::hardswish_(Tensor(a!) self) -> Tensor(a!)");
  ops.in_place("aten::gelu_(Tensor(a!) self, *, str approximate='none') -> Tensor(a!)");
  ops.in_place("aten::mish_(Tensor(a!) self) -> Tensor(a!)");
  ops.in_place("aten::celu_(Tensor(a!) self, Scalar alpha=1.0) -> Tensor(a!)");
  ops.in_place("aten::selu_(Tensor(a!) self) -> Tensor(a!)");
  // The slope is random while training, else the middle.
  const std::string slopes =
      "Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False, Generator? generator=None) -> Tensor";
  pointwise(ops, "aten::rrelu(Tensor self, " + slopes).expand([](Builder& b, const Call& c) {
    if (c.flag("training")) b.fail(c.op().name() + " in training mode: export the model after model.eval()");
    return b.call("aten.leaky_relu", {c.arg("self"), (c.number("lower", 0.125) + c.number("upper", 1.0 / 3)) / 2});
  });
  ops.in_place("aten::rrelu_(Tensor(a!) self, " + slopes + "(a!)");
  pointwise(ops, "aten::celu(Tensor self, Scalar alpha=1.0) -> Tensor").expand([](Builder& b, const Call& c) {
    return b.call("aten.elu", {c.arg("self"), c.arg("alpha"), 1.0, 1.0 / c.number("alpha", 1.0)});
  });
  pointwise(ops, "aten::selu(Tensor self) -> Tensor").expand([](Builder& b, const Call& c) {
    return b.call("aten.elu", {c.arg("self"), 1.6732632423543772848170429916717, 1.0507009873554804934193349852946, 1.0});
  });
  // log(1 + exp(beta x)) / beta, x itself above the threshold. log1p(exp) overflows late enough, the threshold covers it.
  pointwise(ops, "aten::softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor").expand([](Builder& b, const Call& c) {
    const double beta = c.number("beta", 1), threshold = c.number("threshold", 20);
    return in_opmath(b, c.value("self"), [=](Builder& x, ValueId v) {
      const ValueId scaled = beta == 1 ? v : x.mul(v, beta);
      const ValueId soft = x.unary("aten.log1p", x.unary("aten.exp", scaled));
      const ValueId unscaled = beta == 1 ? soft : x.div(soft, beta);
      return x.call("aten.where.self", {x.call("aten.gt.Scalar", {scaled, threshold}), v, unscaled});
    });
  });
  // x * tanh(softplus(x))
  pointwise(ops, "aten::mish(Tensor self) -> Tensor").expand([](Builder& b, const Call& c) {
    return in_opmath(b, c.value("self"), [](Builder& x, ValueId v) { return x.mul(v, x.unary("aten.tanh", x.unary("aten.softplus", v))); });
  });
  // min(x, 0) - log1p(exp(-|x|))
  pointwise(ops, "aten::log_sigmoid(Tensor self) -> Tensor").expand([](Builder& b, const Call& c) {
    return in_opmath(b, c.value("self"), [](Builder& x, ValueId v) {
      const ValueId low = x.call("aten.clamp", {v, Arg(), 0});
      return x.sub(low, x.unary("aten.log1p", x.unary("aten.exp", x.unary("aten.neg", x.unary("aten.abs", v)))));
    });
  });
  // The buffer is what the gradient would use: exp(-|x|).
  ops.define("aten::log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)")
      .infer([](const Call& c) -> Result<std::vector<Type>> {
        const Type t = Type::of({c.tensor("self").dtype, c.tensor("self").sizes, {}, {}});
        return std::vector<Type>{t, t};
      })
      .expand([](Builder& b, const Call& c) -> std::vector<ValueId> {
        const ValueId buffer = in_opmath(
            b, c.value("self"), [](Builder& x, ValueId v) { return x.unary("aten.exp", x.unary("aten.neg", x.unary("aten.abs", v))); });
        return {b.unary("aten.log_sigmoid", c.value("self")), buffer};
      });
  // x - clamp(x, -lambda, lambda), but 0 (not x - x) inside and NaN kept
  pointwise(ops, "aten::softshrink(Tensor self, Scalar lambd=0.5) -> Tensor").expand([](Builder& b, const Call& c) {
    const double l = c.number("lambd", 0.5);
    return in_opmath(b, c.value("self"), [=](Builder& x, ValueId v) { return x.sub(v, x.call("aten.clamp", {v, -l, l})); });
  });
  pointwise(ops, "aten::hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor").expand([](Builder& b, const Call& c) {
    const ValueId v = c.value("self");
    const ValueId inside = b.call("aten.le.Scalar", {b.unary("aten.abs", v), c.number("lambd", 0.5)});
    return b.call("aten.where.self", {inside, b.full({}, 0, c.tensor("self").dtype), v});
  });
  pointwise(ops, "aten::threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor").expand([](Builder& b, const Call& c) {
    const ValueId v = c.value("self");
    return b.call("aten.where.self",
                  {b.call("aten.le.Scalar", {v, c.arg("threshold")}), b.full({}, c.arg("value"), c.tensor("self").dtype), v});
  });
  ops.in_place("aten::threshold_(Tensor(a!) self, Scalar threshold, Scalar value) -> Tensor(a!)");

  // where(x > 0, x, weight * x), the weight along dim 1
  ops.define("aten::_prelu_kernel(Tensor self, Tensor weight) -> Tensor")
      .dtype(same_as("self"))
      .shape(shape_of("self"))
      .expand([](Builder& b, const Call& c) {
        const ValueId x = c.value("self");
        return b.call("aten.where.self", {b.call("aten.gt.Scalar", {x, 0}), x, b.mul(x, c.value("weight"))});
      });
  ops.define("aten::prelu(Tensor self, Tensor weight) -> Tensor")
      .dtype(same_as("self"))
      .shape(shape_of("self"))
      .expand([](Builder& b, const Call& c) {
        const ValueId x = c.value("self");
        const size_t rank = c.rank("self");
        Dims sizes(rank, Dim(1));
        if (rank >= 2)
          sizes[1] = c.tensor("weight").sizes.empty() ? Dim(1) : c.tensor("weight").sizes[0];
        else if (rank == 1)
          sizes[0] = 1;
        const ValueId w = b.view(c.value("weight"), sizes);
        return b.call("aten.where.self", {b.call("aten.gt.Scalar", {x, 0}), x, b.mul(x, w)});
      });

  ops.define("aten::glu(Tensor self, int dim=-1) -> Tensor")
      .dtype(same_as("self"))
      .shape([](const Call& c) -> Result<Dims> {
        Dims sizes = c.tensor("self").sizes;
        EDGEC_TRY(size_t d, c.axis("dim", sizes.size()));
        if (sizes.empty()) return model_error("glu needs a dimension to halve");
        sizes[d] = sym::floordiv(sizes[d], 2);
        return sizes;
      })
      .kernel("glu.out");
}

}  // namespace edgec::ops
