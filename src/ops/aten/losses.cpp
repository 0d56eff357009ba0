#include "ops/numeric.h"
#include "ops/table.h"

// Losses that stay in models exported together with their criterion.
namespace edgec::ops {
namespace {

enum Reduction : int64_t { kNone = 0, kMean = 1, kSum = 2 };

ShapeRule loss_shape(ShapeRule each) {
  return [each](const Call& c) -> Result<Dims> { return c.integer("reduction") == kNone ? each(c) : Result<Dims>(Dims{}); };
}

ValueId reduced_loss(Builder& b, const Call& c, ValueId loss) {
  if (b.failed() || c.integer("reduction") == kNone) return loss;
  const size_t rank = b.tensor(loss).rank();
  const Axes all = trailing_axes(rank, rank);
  return c.integer("reduction") == kMean ? mean(b, loss, all) : sum(b, loss, all);
}

// A loss of each pair of elements, reduced; half types compute in f32. Some losses have the dtype of one operand.
template <class Fn>
void elementwise_loss(Table& ops, std::string_view schema, Fn each, DTypeRule dtype = promoted({"self", "target"})) {
  ops.define(schema)
      .dtype(dtype)
      .shape(loss_shape(broadcast_of({"self", "target"})))
      .expand([each, dtype](Builder& b, const Call& c) -> Values {
        const DType d = c.promoted({"self", "target"}), wide = is_half(d) ? DType::F32 : d;
        const auto result = dtype(c);
        const ValueId x = b.cast(c.value("self"), wide), y = b.cast(c.value("target"), wide);
        return {b.cast(reduced_loss(b, c, each(b, c, x, y)), result ? *result : d)};
      });
}

ValueId half_square(Builder& b, ValueId x) { return b.mul(b.mul(x, x), 0.5); }

ValueId weighted(Builder& b, const Call& c, ValueId loss) { return c.has("weight") ? b.mul(loss, c.value("weight")) : loss; }

ValueId at_least(Builder& b, ValueId x, double least) { return b.call("aten.clamp", {x, least}); }

// x * log(y), 0 where x is 0
ValueId x_log_y(Builder& b, ValueId x, ValueId y) {
  if (b.failed()) return {};
  return where(b, b.call("aten.eq.Scalar", {x, 0}), number(b, 0, b.tensor(x).dtype), b.mul(x, b.unary("aten.log", y)));
}

void define_elementwise_losses(Table& ops) {
  const std::string tail = "(Tensor self, Tensor target, int reduction=1";
  elementwise_loss(ops, "aten::mse_loss" + tail + ") -> Tensor", [](Builder& b, const Call&, ValueId x, ValueId y) {
    const ValueId apart = b.sub(x, y);
    return b.mul(apart, apart);
  });
  elementwise_loss(ops, "aten::l1_loss" + tail + ") -> Tensor",
                   [](Builder& b, const Call&, ValueId x, ValueId y) { return b.unary("aten.abs", b.sub(x, y)); });
  elementwise_loss(ops, "aten::smooth_l1_loss" + tail + ", float beta=1.) -> Tensor", [](Builder& b, const Call& c, ValueId x, ValueId y) {
    const double beta = c.number("beta");
    const ValueId apart = b.unary("aten.abs", b.sub(x, y));
    if (beta == 0) return apart;
    return where(b, b.call("aten.lt.Scalar", {apart, beta}), b.div(half_square(b, apart), beta), b.sub(apart, 0.5 * beta));
  });
  elementwise_loss(
      ops, "aten::huber_loss" + tail + ", float delta=1.) -> Tensor",
      [](Builder& b, const Call& c, ValueId x, ValueId y) {
        const double delta = c.number("delta");
        const ValueId apart = b.unary("aten.abs", b.sub(x, y));
        return where(b, b.call("aten.le.Scalar", {apart, delta}), half_square(b, apart), b.mul(b.sub(apart, 0.5 * delta), delta));
      },
      same_as("self"));
  elementwise_loss(
      ops, "aten::soft_margin_loss" + tail + ") -> Tensor",
      [](Builder& b, const Call&, ValueId x, ValueId y) {
        return b.unary("aten.log1p", b.unary("aten.exp", b.unary("aten.neg", b.mul(x, y))));
      },
      same_as("self"));
  elementwise_loss(ops, "aten::kl_div" + tail + ", *, bool log_target=False) -> Tensor",
                   [](Builder& b, const Call& c, ValueId x, ValueId y) {
                     if (c.flag("log_target")) return b.mul(b.unary("aten.exp", y), b.sub(y, x));
                     return b.sub(x_log_y(b, y, y), b.mul(y, x));
                   });
  elementwise_loss(ops, "aten::binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> Tensor",
                   [](Builder& b, const Call& c, ValueId x, ValueId y) {
                     // -(y log x + (1 - y) log(1 - x)), the logarithms at least -100
                     const ValueId yes = at_least(b, b.unary("aten.log", x), -100),
                                   no = at_least(b, b.unary("aten.log1p", b.unary("aten.neg", x)), -100);
                     return weighted(b, c, b.sub(b.mul(b.sub(y, 1), no), b.mul(y, yes)));
                   });
  elementwise_loss(
      ops,
      "aten::binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int "
      "reduction=1) -> Tensor",
      [](Builder& b, const Call& c, ValueId x, ValueId y) {
        ValueId log_sigmoid = b.unary("aten.log_sigmoid", x);
        if (c.has("pos_weight")) log_sigmoid = b.mul(log_sigmoid, b.add(b.mul(y, b.sub(c.value("pos_weight"), 1)), 1));
        return weighted(b, c, b.sub(b.mul(b.call("aten.rsub.Scalar", {y, 1}), x), log_sigmoid));
      },
      same_as("target"));
}

// ---- pairs and triplets -------------------------------------------------------------------------------------------

// Distances and margins of rows; the reduction is over what `each` gives.
template <class Fn>
void margin_loss(Table& ops, std::string_view schema, std::vector<std::string> params, ShapeRule shape, Fn each) {
  ops.define(schema).dtype(promoted(params)).shape(loss_shape(std::move(shape))).expand([each](Builder& b, const Call& c) {
    return reduced_loss(b, c, each(b, c));
  });
}

void define_margin_losses(Table& ops) {
  margin_loss(ops, "aten::margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor",
              {"input1", "input2", "target"}, broadcast_of({"input1", "input2", "target"}), [](Builder& b, const Call& c) {
                const ValueId apart = b.sub(c.value("input2"), c.value("input1"));
                return at_least(b, b.add(b.mul(apart, c.value("target")), c.number("margin")), 0);
              });
  margin_loss(ops, "aten::hinge_embedding_loss(Tensor self, Tensor target, float margin=1., int reduction=1) -> Tensor", {"self", "target"},
              broadcast_of({"self", "target"}), [](Builder& b, const Call& c) {
                const auto unless = [&](int label, ValueId x) {
                  return where(b, b.call("aten.ne.Scalar", {c.arg("target"), label}), x, 0.0);
                };
                const ValueId below = b.call("aten.rsub.Scalar", {c.arg("self"), c.number("margin")});
                return b.add(unless(1, at_least(b, below, 0)), unless(-1, c.value("self")));
              });
  const ShapeRule rows = [](const Call& c) -> Result<Dims> {
    const char* first = c.op().schema().params[0].name.c_str();
    const Dims& sizes = c.tensor(first).sizes;
    return sizes.empty() ? Result<Dims>(model_error(c.op().name() + " needs at least one dim")) : Dims(sizes.begin(), sizes.end() - 1);
  };
  margin_loss(ops, "aten::cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor",
              {"input1", "input2"}, rows, [](Builder& b, const Call& c) {
                const ValueId x = c.value("input1"), y = c.value("input2");
                const Axes last = trailing_axes(c.rank("input1"), 1);
                const auto squares = [&](ValueId v) { return b.add(sum(b, b.mul(v, v), last), 1e-12); };
                const ValueId cosine = b.div(sum(b, b.mul(x, y), last), b.unary("aten.sqrt", b.mul(squares(x), squares(y))));
                const auto when = [&](int label, ValueId v) {
                  return where(b, b.call("aten.eq.Scalar", {c.arg("target"), label}), v, 0.0);
                };
                return b.add(when(1, b.call("aten.rsub.Scalar", {cosine, 1})), when(-1, at_least(b, b.sub(cosine, c.number("margin")), 0)));
              });
  margin_loss(ops,
              "aten::triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1., float p=2., float "
              "eps=9.9999999999999995e-07, bool "
              "swap=False, int reduction=1) -> Tensor",
              {"anchor", "positive", "negative"}, rows, [](Builder& b, const Call& c) {
                const auto apart = [&](const char* x, const char* y) {
                  return b.call("aten.pairwise_distance", {c.arg(x), c.arg(y), c.arg("p"), c.arg("eps")});
                };
                ValueId far = apart("anchor", "negative");
                if (c.flag("swap")) far = b.call("aten.minimum", {far, apart("positive", "negative")});
                return at_least(b, b.add(b.sub(apart("anchor", "positive"), far), c.number("margin")), 0);
              });
  margin_loss(ops, "aten::poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction) -> Tensor",
              {"input", "target"}, broadcast_of({"input", "target"}), [](Builder& b, const Call& c) {
                const ValueId x = c.value("input"), y = c.value("target");
                ValueId loss = c.flag("log_input") ? b.sub(b.unary("aten.exp", x), b.mul(y, x))
                                                   : b.sub(x, b.mul(y, b.unary("aten.log", b.add(x, c.number("eps")))));
                if (c.flag("full")) {  // Stirling's approximation of log(target!)
                  const ValueId stirling =
                      b.add(b.sub(b.mul(y, b.unary("aten.log", y)), y), b.mul(b.unary("aten.log", b.mul(y, 2 * 3.141592653589793)), 0.5));
                  loss = b.add(loss, where(b, b.call("aten.gt.Scalar", {y, 1}), stirling, 0.0));
                }
                return loss;
              });
}

// ---- classes ------------------------------------------------------------------------------------------------------

size_t class_axis(size_t rank) { return rank == 1 ? 0 : 1; }

// What is subtracted of each target, and how much it counts: 0 where the class is ignored.
struct Picked {
  ValueId loss, count;
};

Picked pick_classes(Builder& b, const Call& c, ValueId scores) {
  if (b.failed()) return {};
  const TensorType t = b.tensor(scores);
  const size_t axis = class_axis(t.rank());
  const ValueId target = c.value("target");
  const ValueId counted = b.call("aten.ne.Scalar", {target, c.arg("ignore_index")});
  const ValueId index = b.cast(where(b, counted, target, b.full({}, 0, b.tensor(target).dtype)), DType::I64);
  const ValueId zero = number(b, 0, t.dtype);
  Picked p;
  p.loss = b.unary("aten.neg", squeeze(b, b.call("aten.gather", {scores, static_cast<int64_t>(axis), unsqueeze(b, index, axis)}), axis));
  p.count = b.cast(counted, t.dtype);
  if (c.has("weight")) {
    const Dims sizes = c.tensor("target").sizes;
    const ValueId table = unsqueeze(b, b.cast(c.value("weight"), t.dtype), 1);
    const ValueId weight = b.view(b.call("aten.embedding", {table, index}), sizes);
    p.loss = b.mul(p.loss, weight);
    p.count = b.mul(p.count, weight);
  }
  p.loss = where(b, counted, p.loss, zero);
  return p;
}

ValueId total(Builder& b, ValueId x) {
  if (b.failed()) return {};
  const size_t rank = b.tensor(x).rank();
  return sum(b, x, trailing_axes(rank, rank));
}

ValueId averaged(Builder& b, const Call& c, ValueId loss, ValueId count) {
  if (c.integer("reduction") == kNone) return loss;
  return c.integer("reduction") == kMean ? b.div(total(b, loss), total(b, count)) : total(b, loss);
}

DType wide_dtype(const Call& c) {
  const DType d = c.tensor("self").dtype;
  return is_half(d) ? DType::F32 : d;
}

Values nll_loss(Builder& b, const Call& c) {
  const DType d = c.tensor("self").dtype;
  const Picked p = pick_classes(b, c, b.cast(c.value("self"), wide_dtype(c)));
  const bool whole = c.integer("reduction") == kNone;
  const ValueId weight = whole ? b.full({}, 0, d) : b.cast(total(b, p.count), d);
  return {b.cast(averaged(b, c, p.loss, p.count), d), weight};
}

bool has_class_probabilities(const Call& c) { return is_float(c.tensor("target").dtype); }

// -sum of log softmax times the target's probabilities, or times the smoothed index.
Values cross_entropy(Builder& b, const Call& c) {
  const DType d = c.tensor("self").dtype, wide = wide_dtype(c);
  const Dims sizes = c.tensor("self").sizes;
  const size_t axis = class_axis(sizes.size());
  const double smoothing = c.number("label_smoothing");
  const ValueId log_likely = b.call("aten._log_softmax", {b.cast(c.value("self"), wide), static_cast<int64_t>(axis), false});
  const auto classes = sizes[axis].constant();
  if (!classes) {
    b.fail("cross_entropy_loss over a number of classes that is not constant");
    return {};
  }
  const auto by_class = [&](ValueId x) {  // weighted and summed over the classes
    if (c.has("weight")) x = b.mul(x, b.view(b.cast(c.value("weight"), wide), replaced(Dims(sizes.size() - axis, Dim(1)), 0, sizes[axis])));
    return b.unary("aten.neg", sum(b, x, {axis}));
  };
  const double spread = smoothing / static_cast<double>(*classes);
  if (has_class_probabilities(c)) {
    ValueId target = b.cast(c.value("target"), wide);
    if (smoothing > 0) target = b.add(b.mul(target, 1 - smoothing), spread);
    const ValueId loss = by_class(b.mul(log_likely, target));
    return {b.cast(averaged(b, c, loss, b.full(without_axes(sizes, {axis}, false), 1.0, wide)), d)};
  }
  const Picked p = pick_classes(b, c, log_likely);
  if (smoothing == 0 || b.failed()) return {b.cast(averaged(b, c, p.loss, p.count), d)};
  const ValueId counted = b.call("aten.ne.Scalar", {c.arg("target"), c.arg("ignore_index")});
  const ValueId even = where(b, counted, by_class(log_likely), number(b, 0, wide));
  return {b.cast(averaged(b, c, b.add(b.mul(p.loss, 1 - smoothing), b.mul(even, spread)), p.count), d)};
}

// ---- multi-class margins ----------------------------------------------------------------------------------------------------------

// Rows of classes: [C] counts as one row, whose result has no row dim.
ShapeRule per_row_loss() {
  return [](const Call& c) -> Result<Dims> {
    const Dims& sizes = c.tensor("self").sizes;
    if (sizes.size() > 2) return model_error(c.op().name() + " takes tensors of rank 0 to 2");
    const bool multilabel = c.op().schema().find("margin") < 0;
    const TensorType& target = c.tensor("target");
    const Dim count = multilabel ? numel(sizes) : sizes.size() == 2 ? sizes[0] : Dim(1);
    if (target.dtype != DType::I64 || target.rank() > 2 || sym::equal(numel(target.sizes), count) == sym::Proof::No)
      return model_error(c.op().name() + ": the targets are not i64, or not as many as they should be");
    if (!multilabel && c.has("weight") &&
        (c.rank("weight") != 1 || sym::equal(c.tensor("weight").sizes[0], sizes.empty() ? Dim(1) : sizes.back()) == sym::Proof::No))
      return model_error(c.op().name() + ": the weight is no vector of one element a class");
    return sizes.size() == 2 && c.integer("reduction") == kNone ? Dims{sizes[0]} : Dims{};
  };
}

ValueId as_rows(Builder& b, ValueId x) {
  const Dims sizes = sizes_of(b, x);
  return sizes.size() == 2 ? x : b.view(x, {Dim(1), numel(sizes)});
}

// A loss of [N] in the sizes that it has unreduced.
ValueId per_row(Builder& b, const Call& c, ValueId loss) {
  return c.rank("self") == 2 || c.integer("reduction") != kNone ? loss : b.view(loss, {});
}

// Mean over the classes of max(0, margin - x[target] + x[j])^p, j other than the target.
ValueId multi_margin_loss(Builder& b, const Call& c) {
  const DType d = c.tensor("self").dtype;
  const ValueId x = as_rows(b, b.cast(c.value("self"), wide_dtype(c)));
  const Dims sizes = sizes_of(b, x, 2);
  const ValueId target = b.view(c.value("target"), {sizes[0], Dim(1)});
  const ValueId right = b.call("aten.gather", {x, 1, target});
  ValueId each = at_least(b, b.add(b.sub(x, right), c.number("margin", 1)), 0);
  if (c.number("p", 1) == 2) each = b.mul(each, each);
  if (c.has("weight"))
    each = b.mul(each, b.call("aten.embedding", {unsqueeze(b, b.cast(c.value("weight"), wide_dtype(c)), 1), squeeze(b, target, 1)}));
  const ValueId others = b.call("aten.ne.Tensor", {iota(b, sizes[1], DType::I64, 1, 2), target});
  const ValueId loss = b.div(sum(b, where(b, others, each, 0.0), {1}), sizes[1]);
  return b.cast(reduced_loss(b, c, per_row(b, c, loss)), d);
}

// Targets of a row end before the first -1. Each target against each class that is none.
Values multilabel_margin_loss(Builder& b, const Call& c) {
  const DType d = c.tensor("self").dtype;
  const ValueId x = as_rows(b, b.cast(c.value("self"), wide_dtype(c))), target = as_rows(b, c.value("target"));
  const Dims sizes = sizes_of(b, x, 2);
  const ValueId negative = b.cast(b.call("aten.lt.Scalar", {target, 0}), DType::I64);
  const ValueId given = b.call("aten.eq.Scalar", {b.call("aten.cumsum", {negative, 1}), 0});
  const ValueId index = where(b, given, target, b.full({}, 0, DType::I64));
  const ValueId classes = iota(b, sizes[1], DType::I64, 2, 3);
  const ValueId hits = b.call("aten.logical_and", {b.call("aten.eq.Tensor", {unsqueeze(b, index, 2), classes}), unsqueeze(b, given, 2)});
  const ValueId is_target = b.call("aten.any.dim", {hits, 1});
  const ValueId right = unsqueeze(b, b.call("aten.gather", {x, 1, index}), 2);
  const ValueId margin = at_least(b, b.add(b.sub(unsqueeze(b, x, 1), right), 1.0), 0);
  const ValueId counted = b.call("aten.logical_and", {unsqueeze(b, given, 2), unsqueeze(b, b.unary("aten.logical_not", is_target), 1)});
  const ValueId loss = b.div(sum(b, where(b, counted, margin, 0.0), {1, 2}), sizes[1]);
  return {b.cast(reduced_loss(b, c, per_row(b, c, loss)), d), b.view(b.cast(is_target, d), c.tensor("target").sizes)};
}

void define_multi_margin_losses(Table& ops) {
  ops.define(
         "aten::multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, int reduction=1) -> Tensor")
      .dtype(same_as("self"))
      .shape(per_row_loss())
      .expand(multi_margin_loss);
  ops.define("aten::multilabel_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor")
      .dtype(same_as("self"))
      .shape(per_row_loss())
      .expand([](Builder& b, const Call& c) { return multilabel_margin_loss(b, c)[0]; });
  ops.define("aten::multilabel_margin_loss_forward(Tensor self, Tensor target, int reduction) -> (Tensor output, Tensor is_target)")
      .infer([](const Call& c) -> Result<std::vector<Type>> {
        EDGEC_TRY(Dims sizes, per_row_loss()(c));
        const DType d = c.tensor("self").dtype;
        return std::vector<Type>{Type::of({d, sizes, {}, {}}), Type::of({d, c.tensor("target").sizes, {}, {}})};
      })
      .expand(multilabel_margin_loss);
}

void define_class_losses(Table& ops) {
  const std::string defaults = "(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100";
  const auto one = [](Builder& b, const Call& c) {
    const Values r = nll_loss(b, c);
    return r[0];
  };
  for (const char* name : {"nll_loss", "nll_loss2d", "nll_loss_nd"})
    ops.define(std::string("aten::") + name + defaults + ") -> Tensor")
        .dtype(same_as("self"))
        .shape(loss_shape(shape_of("target")))
        .expand(one);
  for (const char* name : {"nll_loss_forward", "nll_loss2d_forward"})
    ops.define(std::string("aten::") + name +
               "(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index) -> (Tensor output, Tensor total_weight)")
        .infer([](const Call& c) -> Result<std::vector<Type>> {
          const DType d = c.tensor("self").dtype;
          if (c.rank("self") == 0) return model_error(c.op().name() + " needs a class dim");
          EDGEC_TRY(Dims sizes, loss_shape(shape_of("target"))(c));
          return std::vector<Type>{Type::of({d, sizes, {}, {}}), Type::of({d, {}, {}, {}})};
        })
        .expand(nll_loss);
  ops.define("aten::cross_entropy_loss" + defaults + ", float label_smoothing=0.) -> Tensor")
      .dtype(same_as("self"))
      .shape(loss_shape([](const Call& c) -> Result<Dims> {
        const Dims& sizes = c.tensor("self").sizes;
        if (sizes.empty()) return model_error("cross_entropy_loss needs a class dim");
        return has_class_probabilities(c) ? without_axes(sizes, {class_axis(sizes.size())}, false) : c.tensor("target").sizes;
      }))
      .expand(cross_entropy);
}

}  // namespace

void define_losses(Table& ops) {
  define_elementwise_losses(ops);
  define_margin_losses(ops);
  define_class_losses(ops);
  define_multi_margin_losses(ops);
}

}  // namespace edgec::ops
