#include <limits>

#include "ops/numeric.h"
#include "ops/table.h"

// Normalization over a batch, a group, a layer; weight norm. Layer norm has the fast kernel, so groups and instances become rows of one.
namespace edgec::ops {
namespace {

std::vector<Type> three(const TensorType& out, const Dims& stats, DType stats_dtype) {
  const TensorType s{stats_dtype, stats, {}, {}};
  return {Type::of({out.dtype, out.sizes, {}, {}}), Type::of(s), Type::of(s)};
}

// Statistics are in the input's dtype, in f32 when the parameters have another one.
DType stats_dtype(const Call& c) {
  const DType d = c.tensor("input").dtype;
  return c.has("weight") && c.tensor("weight").dtype != d ? DType::F32 : d;
}

bool mixed_dtypes(const Call& c) {
  const DType d = c.tensor("input").dtype;
  return any_operand(c, [d](DType other) { return is_float(other) && other != d; });
}

bool has_half(const Call& c) { return any_operand(c, is_half); }

Values training_mode(Builder& b, const Call& c) {
  b.fail(c.op().name() + " in training mode: export the model after model.eval()");
  return {};
}

// x * weight + bias, the parameters lying along `axis`.
ValueId scaled(Builder& b, const Call& c, ValueId x, size_t axis, DType dtype) {
  if (b.failed()) return {};
  const Dims sizes = b.tensor(x).sizes;
  const auto along = [&](const char* param) {
    return b.view(b.cast(c.value(param), dtype), replaced(Dims(sizes.size() - axis, Dim(1)), 0, sizes[axis]));
  };
  if (c.has("weight")) x = b.mul(x, along("weight"));
  if (c.has("bias")) x = b.add(x, along("bias"));
  return x;
}

// ---- layer norm ---------------------------------------------------------------------------------------------------

Result<size_t> normalized_dims(const Call& c) {
  const Dims shape = c.dims("normalized_shape");
  const Dims& sizes = c.tensor("input").sizes;
  bool fits = !shape.empty() && shape.size() <= sizes.size();
  for (size_t i = 0; fits && i < shape.size(); ++i) fits = sym::equal(shape[i], sizes[sizes.size() - shape.size() + i]) != sym::Proof::No;
  if (!fits) return model_error(c.op().name() + ": normalized_shape " + str(shape) + " is not the end of the input's sizes " + str(sizes));
  return shape.size();
}

Result<Dims> layer_stats(const Call& c) {
  EDGEC_TRY(size_t n, normalized_dims(c));
  Dims sizes = c.tensor("input").sizes;
  for (size_t i = sizes.size() - n; i < sizes.size(); ++i) sizes[i] = 1;
  return sizes;
}

Values normalized_rows(Builder& b, ValueId x, const Arg& shape, const Arg& weight, const Arg& bias, double eps) {
  return b.call_all("aten.native_layer_norm", {x, shape, weight, bias, eps});
}

// The kernel computes f64 in f32.
Values layer_norm_in_f64(Builder& b, const Call& c) {
  const Axes axes = trailing_axes(c.rank("input"), c.dims("normalized_shape").size());
  const Values spread = var_mean(b, c.value("input"), axes, 0, true);
  const ValueId rstd = b.unary("aten.rsqrt", b.add(spread[0], c.number("eps")));
  ValueId out = b.mul(b.sub(c.value("input"), spread[1]), rstd);
  if (c.has("weight")) out = b.mul(out, c.value("weight"));
  if (c.has("bias")) out = b.add(out, c.value("bias"));
  return {out, spread[1], rstd};
}

Values rms_norm(Builder& b, const Call& c) {
  const DType d = c.tensor("input").dtype, wide = is_half(d) ? DType::F32 : d;
  const double smallest = wide == DType::F64 ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
  const ValueId x = b.cast(c.value("input"), wide);
  const Axes axes = trailing_axes(c.rank("input"), c.dims("normalized_shape").size());
  const ValueId rstd = b.unary("aten.rsqrt", b.add(mean(b, b.mul(x, x), axes, true), c.has("eps") ? c.number("eps") : smallest));
  ValueId out = b.mul(x, rstd);
  if (c.has("weight")) out = b.mul(out, b.cast(c.value("weight"), wide));
  return {b.cast(out, d), rstd};
}

void define_layer_norms(Table& ops) {
  ops.define(
         "aten::native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor, "
         "Tensor)")
      .infer([](const Call& c) -> Result<std::vector<Type>> {
        EDGEC_TRY(Dims stats, layer_stats(c));
        return three(c.tensor("input"), stats, stats_dtype(c));
      })
      .in_place_ok()
      .kernel("native_layer_norm.out")
      .expand([](Builder& b, const Call& c) -> Values {
        if (mixed_dtypes(c)) return recomputed(b, c, DType::F32);
        if (c.tensor("input").dtype == DType::F64) return layer_norm_in_f64(b, c);
        return keep_whole();
      });
  ops.define(
         "aten::layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float "
         "eps=1.0000000000000001e-05, bool "
         "cudnn_enable=True) -> Tensor")
      .dtype(same_as("input"))
      .shape([](const Call& c) -> Result<Dims> {
        EDGEC_TRY_VOID(normalized_dims(c));
        return c.tensor("input").sizes;
      })
      .expand([](Builder& b, const Call& c) {
        return normalized_rows(b, c.value("input"), c.arg("normalized_shape"), c.arg("weight"), c.arg("bias"), c.number("eps"))[0];
      });
  ops.define("aten::rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor")
      .dtype(same_as("input"))
      .shape([](const Call& c) -> Result<Dims> {
        EDGEC_TRY_VOID(normalized_dims(c));
        return c.tensor("input").sizes;
      })
      .expand([](Builder& b, const Call& c) { return rms_norm(b, c)[0]; });
  ops.define("aten::_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps) -> (Tensor, Tensor)")
      .infer([](const Call& c) -> Result<std::vector<Type>> {
        EDGEC_TRY(Dims stats, layer_stats(c));
        const TensorType& x = c.tensor("input");
        return std::vector<Type>{Type::of({x.dtype, x.sizes, {}, {}}), Type::of({is_half(x.dtype) ? DType::F32 : x.dtype, stats, {}, {}})};
      })
      .expand(rms_norm);
}

// ---- groups and instances -----------------------------------------------------------------------------------------

// Rows of channels / groups * pixels elements; [n, channels, ..] -> results and statistics of [n, groups].
Values group_norm(Builder& b, const Call& c, Dim n, Dim channels, Dim pixels, Dim groups, double eps) {
  const TensorType x = c.tensor("input");
  const DType wide = is_half(x.dtype) ? DType::F32 : x.dtype, stats = stats_dtype(c);
  const Dim row = sym::floordiv(channels, groups) * pixels;
  const Values r = normalized_rows(b, b.view(b.cast(c.value("input"), wide), {n, groups, row}), Arg(Dims{row}), Arg(), Arg(), eps);
  const ValueId out = scaled(b, c, b.view(r[0], {n, channels, pixels}), 1, wide);
  return {b.cast(b.view(out, x.sizes), x.dtype), b.cast(b.view(r[1], {n, groups}), stats), b.cast(b.view(r[2], {n, groups}), stats)};
}

Result<Dims> at_least_two_dims(const Call& c) {
  if (c.rank("input") < 2)
    return model_error(c.op().name() + " needs a batch and a channel dim, the input is " + str(c.tensor("input").sizes));
  return c.tensor("input").sizes;
}

Dim pixels_of(const Dims& sizes) { return numel(Dims(sizes.begin() + 2, sizes.end())); }

void define_group_norms(Table& ops) {
  ops.define(
         "aten::native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, int group, float eps) -> "
         "(Tensor, Tensor, "
         "Tensor)")
      .infer([](const Call& c) -> Result<std::vector<Type>> {
        return three(c.tensor("input"), {c.dim("N"), c.dim("group")}, stats_dtype(c));
      })
      .expand([](Builder& b, const Call& c) {
        return group_norm(b, c, c.dim("N"), c.dim("C"), c.dim("HxW"), c.dim("group"), c.number("eps"));
      });
  ops.define(
         "aten::group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1.0000000000000001e-05, bool "
         "cudnn_enabled=True) -> Tensor")
      .dtype(same_as("input"))
      .shape(at_least_two_dims)
      .expand([](Builder& b, const Call& c) {
        const Dims sizes = c.tensor("input").sizes;
        return group_norm(b, c, sizes[0], sizes[1], pixels_of(sizes), c.dim("num_groups"), c.number("eps"))[0];
      });
  ops.define(
         "aten::instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool use_input_stats, "
         "float "
         "momentum, float eps, bool cudnn_enabled) -> Tensor")
      .dtype(same_as("input"))
      .shape(at_least_two_dims)
      .expand([](Builder& b, const Call& c) -> Values {
        const Dims sizes = c.tensor("input").sizes;
        if (c.flag("use_input_stats")) {
          if (c.has("running_mean")) return training_mode(b, c);
          return {group_norm(b, c, sizes[0], sizes[1], pixels_of(sizes), sizes[1], c.number("eps"))[0]};
        }
        return {b.call("aten._native_batch_norm_legit_no_training", {c.arg("input"), c.arg("weight"), c.arg("bias"), c.arg("running_mean"),
                                                                     c.arg("running_var"), c.arg("momentum"), c.arg("eps")})};
      });
}

// ---- batch norm ---------------------------------------------------------------------------------------------------

// With the statistics of the batch itself: result, mean, 1 / deviation and (biased) variance of each channel.
Values norm_by_own_statistics(Builder& b, const Call& c) {
  const TensorType x = c.tensor("input");
  const DType wide = is_half(x.dtype) ? DType::F32 : x.dtype, stats = stats_dtype(c);
  Axes axes;
  for (size_t i = 0; i < x.rank(); ++i)
    if (i != 1) axes.push_back(i);
  const ValueId input = b.cast(c.value("input"), wide);
  const Values spread = var_mean(b, input, axes, 0, true);
  const ValueId rstd = b.unary("aten.rsqrt", b.add(spread[0], c.number("eps")));
  const ValueId out = scaled(b, c, b.mul(b.sub(input, spread[1]), rstd), 1, wide);
  const Dims channels = {x.sizes[1]};
  const auto statistic = [&](ValueId v) { return b.cast(b.view(v, channels), stats); };
  return {b.cast(out, x.dtype), statistic(spread[1]), statistic(rstd), statistic(spread[0])};
}

Values norm_by_batch(Builder& b, const Call& c) {
  Values r = norm_by_own_statistics(b, c);
  r.resize(3);
  return r;
}

// Training: the batch's statistics, and running ones moved towards them (with the unbiased variance).
Values norm_and_update(Builder& b, const Call& c) {
  Values r = norm_by_own_statistics(b, c);
  const ValueId variance = r.back();
  r.pop_back();
  const double momentum = c.number("momentum");
  const Dim count = sym::floordiv(numel(c.tensor("input").sizes), c.tensor("input").sizes[1]);
  const auto moved = [&](const char* running, ValueId towards) {
    const DType d = c.tensor(running).dtype;
    return b.add(b.mul(c.value(running), 1.0 - momentum), b.mul(b.cast(towards, d), momentum));
  };
  r.push_back(moved("running_mean", r[1]));
  r.push_back(moved("running_var", b.mul(variance, sym::truediv(count, count - 1))));
  return r;
}

// With given statistics unless training is set; training without any uses the batch's and changes nothing.
Values norm_by_statistics(Builder& b, const Call& c) {
  if (c.flag("training")) return c.has("running_mean") ? training_mode(b, c) : norm_by_batch(b, c);
  return b.call_all("aten._native_batch_norm_legit_no_training", {c.arg("input"), c.arg("weight"), c.arg("bias"), c.arg("running_mean"),
                                                                  c.arg("running_var"), c.arg("momentum"), c.arg("eps")});
}

InferRule batch_types(size_t results) {
  return [results](const Call& c) -> Result<std::vector<Type>> {
    EDGEC_TRY_VOID(at_least_two_dims(c));
    const TensorType& x = c.tensor("input");
    const bool training = c.op().schema().find("training") >= 0 && c.flag("training");
    std::vector<Type> out = three(x, {training ? x.sizes[1] : Dim(0)}, stats_dtype(c));
    if (results == 5)
      for (const char* param : {"running_mean", "running_var"})
        out.push_back(Type::of({c.tensor(param).dtype, c.tensor(param).sizes, {}, {}}));
    return out;
  };
}

void define_batch_norms(Table& ops) {
  ops.define(
         "aten::_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, "
         "float momentum, "
         "float eps) -> (Tensor, Tensor, Tensor)")
      .infer(batch_types(3))
      .kernel("_native_batch_norm_legit_no_training.out")
      .in_place_ok()
      .expand([](Builder& b, const Call& c) { return mixed_dtypes(c) || has_half(c) ? recomputed(b, c, DType::F32) : keep_whole(); });
  const std::string given = "(Tensor input, Tensor? weight, Tensor? bias, ", settings = "bool training, float momentum, float eps";
  ops.define("aten::batch_norm" + given + "Tensor? running_mean, Tensor? running_var, " + settings + ", bool cudnn_enabled) -> Tensor")
      .dtype(same_as("input"))
      .shape(at_least_two_dims)
      .expand([](Builder& b, const Call& c) -> Values {
        const Values r = norm_by_statistics(b, c);
        return r.empty() ? Values{} : Values{r[0]};
      });
  ops.define("aten::native_batch_norm" + given + "Tensor? running_mean, Tensor? running_var, " + settings + ") -> (Tensor, Tensor, Tensor)")
      .infer(batch_types(3))
      .expand(norm_by_statistics);
  ops.define("aten::_native_batch_norm_legit.no_stats" + given + settings + ") -> (Tensor, Tensor, Tensor)")
      .infer(batch_types(3))
      .expand(norm_by_batch);
  ops.define("aten::_native_batch_norm_legit_functional" + given + "Tensor running_mean, Tensor running_var, " + settings +
             ") -> (Tensor, Tensor, Tensor, Tensor running_mean_out, Tensor running_var_out)")
      .infer(batch_types(5))
      .expand([](Builder& b, const Call& c) {
        if (c.flag("training")) return norm_and_update(b, c);
        Values r = norm_by_statistics(b, c);
        if (!r.empty()) r.insert(r.end(), {c.value("running_mean"), c.value("running_var")});
        return r;
      });
}

// ---- weight norm --------------------------------------------------------------------------------------------------

// v * (g / |v|), the norm over all dims but one.
Values weight_norm(Builder& b, const Call& c) {
  const DType d = c.tensor("v").dtype, wide = is_half(d) ? DType::F32 : d;
  const ValueId v = b.cast(c.value("v"), wide);
  const ValueId norm = b.call("aten.norm_except_dim", {v, 2, c.arg("dim")});
  return {b.cast(b.mul(v, b.div(b.cast(c.value("g"), wide), norm)), d), b.cast(norm, c.tensor("g").dtype)};
}

void define_weight_norms(Table& ops) {
  ops.define("aten::_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor")
      .dtype(same_as("v"))
      .shape(shape_of("v"))
      .expand([](Builder& b, const Call& c) { return weight_norm(b, c)[0]; });
  ops.define("aten::_weight_norm_interface(Tensor v, Tensor g, int dim=0) -> (Tensor, Tensor)")
      .infer([](const Call& c) -> Result<std::vector<Type>> {
        const auto bare = [&](const char* p) { return Type::of({c.tensor(p).dtype, c.tensor(p).sizes, {}, {}}); };
        return std::vector<Type>{bare("v"), bare("g")};
      })
      .expand(weight_norm);
}

}  // namespace

void define_norm(Table& ops) {
  define_layer_norms(ops);
  define_group_norms(ops);
  define_batch_norms(ops);
  define_weight_norms(ops);
}

}  // namespace edgec::ops
