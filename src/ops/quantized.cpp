#include <fmt/format.h>

#include <limits>

#include "ops/numeric.h"
#include "ops/table.h"

// Quantization: torch's quantized_decomposed operators and torchao's affine ones. The runtime's quantized kernels where they compute what
// torch's reference does; the rest in plain operators. Parameters are chosen in plain operators: the kernels leave `eps` out and
// round the zero point in other ways.
namespace edgec::ops {
namespace {

const std::string kNs = "quantized_decomposed::";

// ---- kernels and what they demand of their operands ----------------------------------------------------------------------------------

struct Wanted {
  const char* param;
  DType dtype;
};
// The call with these operands in the kernel's dtypes, half inputs in f32 and a bf16 result made from f32; keep_whole() when it has them.
Values in_kernel_dtypes(Builder& b, const Call& c, std::initializer_list<Wanted> wanted, const char* out_dtype = nullptr) {
  std::vector<Arg> args(c.args().begin(), c.args().end());
  bool changed = false;
  const auto at = [&](std::string_view param) -> Arg& { return args[static_cast<size_t>(c.op().schema().find(param))]; };
  for (const Wanted& w : wanted)
    if (c.has(w.param) && c.is_tensor(w.param) && c.tensor(w.param).dtype != w.dtype) {
      at(w.param) = b.cast(c.value(w.param), w.dtype);
      changed = true;
    }
  if (is_half(c.tensor("input").dtype)) {
    at("input") = b.cast(c.value("input"), DType::F32);
    changed = true;
  }
  const DType result = out_dtype ? c.dtype(out_dtype, DType::F32) : DType::F32;
  if (result == DType::BF16)
    at(out_dtype) = DType::F32;
  else if (!changed)
    return keep_whole();
  const ValueId y = b.call(c.op().name(), args);
  return {result == DType::BF16 ? b.cast(y, DType::BF16) : y};
}

struct Limits {
  double low, high;
};
Limits limits_of(DType d) {
  switch (d) {
    case DType::U8:
      return {0, 255};
    case DType::I8:
      return {-128, 127};
    case DType::U16:
      return {0, 65535};
    case DType::I16:
      return {-32768, 32767};
    default:
      return {-2147483648.0, 2147483647.0};
  }
}

DTypeRule quantized_dtype(const std::string& param = "dtype") {
  return [param](const Call& c) -> Result<DType> {
    const DType d = c.dtype(param, DType::I8);
    for (DType ok : {DType::U8, DType::I8, DType::U16, DType::I16, DType::I32})
      if (d == ok) return d;
    return model_error(fmt::format("{} to {} is not supported", c.op().name(), name(d)));
  };
}

const std::string kRange = ", int quant_min, int quant_max, ScalarType dtype";

void define_per_tensor(Table& ops) {
  const std::string numbers = "Tensor input, float scale, int zero_point", tensors = "Tensor input, Tensor scale, Tensor zero_point";
  const auto operands = [](Builder& b, const Call& c) {
    return in_kernel_dtypes(b, c, {{"scale", DType::F64}, {"zero_point", DType::I64}});
  };
  ops.define(kNs + "quantize_per_tensor(" + numbers + kRange + ") -> Tensor")
      .dtype(quantized_dtype())
      .shape(shape_of("input"))
      .preserves_layout()
      .kernel(kNs + "quantize_per_tensor.out", {"dtype"})
      .expand(operands);
  ops.define(kNs + "quantize_per_tensor.tensor(" + tensors + kRange + ") -> Tensor")
      .dtype(quantized_dtype())
      .shape(shape_of("input"))
      .kernel(kNs + "quantize_per_tensor.Tensor_out", {"dtype"})
      .expand(operands);
  const auto result = [](Builder& b, const Call& c) {
    return in_kernel_dtypes(b, c, {{"scale", DType::F64}, {"zero_point", DType::I64}}, "out_dtype");
  };
  const std::string out_dtype = ", *, ScalarType? out_dtype=None) -> Tensor";
  ops.define(kNs + "dequantize_per_tensor(" + numbers + kRange + out_dtype)
      .dtype(dtype_arg("out_dtype", DType::F32))
      .shape(shape_of("input"))
      .preserves_layout()
      .kernel(kNs + "dequantize_per_tensor.out", {"dtype"})
      .expand(result);
  ops.define(kNs + "dequantize_per_tensor.tensor(" + tensors + kRange + out_dtype)
      .dtype(dtype_arg("out_dtype", DType::F32))
      .shape(shape_of("input"))
      .kernel(kNs + "dequantize_per_tensor.Tensor_out", {"dtype"})
      .expand(result);
}

void define_per_channel(Table& ops) {
  ops.define(kNs + "quantize_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis" + kRange + ") -> Tensor")
      .dtype(quantized_dtype())
      .shape(shape_of("input"))
      .kernel(kNs + "quantize_per_channel.out", {"dtype"})
      .expand([](Builder& b, const Call& c) {
        return in_kernel_dtypes(b, c, {{"scales", DType::F64}, {"zero_points", DType::I64}});
      });
  ops.define(kNs + "dequantize_per_channel(Tensor input, Tensor scales, Tensor? zero_points, int axis" + kRange +
             ", *, ScalarType? out_dtype=None) -> Tensor")
      .dtype(dtype_arg("out_dtype", DType::F32))
      .shape(shape_of("input"))
      .kernel(kNs + "dequantize_per_channel.out", {"dtype"})
      .expand([](Builder& b, const Call& c) {
        const bool coarse = c.tensor("scales").dtype != DType::F64;  // the kernel takes f32 and f64
        return in_kernel_dtypes(b, c, {{"scales", coarse ? DType::F32 : DType::F64}, {"zero_points", DType::I64}}, "out_dtype");
      });
}

void define_per_token(Table& ops) {
  ops.define(kNs + "quantize_per_token(Tensor input, Tensor scales, Tensor zero_points" + kRange + ") -> Tensor")
      .dtype(quantized_dtype())
      .shape(shape_of("input"))
      .kernel(kNs + "quantize_per_token.out", {"dtype"})
      .expand([](Builder& b, const Call& c) {
        return in_kernel_dtypes(b, c, {{"scales", DType::F64}, {"zero_points", DType::I64}});
      });
  ops.define(kNs + "dequantize_per_token(Tensor input, Tensor scales, Tensor zero_points" + kRange + ", ScalarType output_dtype) -> Tensor")
      .dtype(dtype_arg("output_dtype", DType::F32))
      .shape(shape_of("input"))
      .kernel(kNs + "dequantize_per_token.out", {"dtype"})
      .expand([](Builder& b, const Call& c) {
        return in_kernel_dtypes(b, c, {{"scales", DType::F64}, {"zero_points", DType::I64}}, "output_dtype");
      });
}

// ---- in plain operators --------------------------------------------------------------------------------------------------------------

ValueId clamped(Builder& b, ValueId x, const Arg& low, const Arg& high) {
  const auto is_value = [](const Arg& a) { return a.is_value(); };
  return b.call(is_value(low) || is_value(high) ? "aten.clamp.Tensor" : "aten.clamp", {x, low, high});
}
// clamp(round(x / scale) + zero point); `zero_first`: the zero point is added before rounding.
ValueId quantized(Builder& b, ValueId x, ValueId scale, ValueId zero_point, const Arg& low, const Arg& high, DType dtype,
                  bool zero_first = false) {
  const ValueId scaled = b.mul(x, b.unary("aten.reciprocal", scale));
  ValueId q = zero_first && zero_point ? b.unary("aten.round", b.add(scaled, zero_point)) : b.unary("aten.round", scaled);
  if (!zero_first && zero_point) q = b.add(q, zero_point);
  return b.cast(clamped(b, q, low, high), dtype);
}
ValueId dequantized(Builder& b, ValueId q, ValueId scale, ValueId zero_point, DType computed, DType out) {
  const ValueId x = b.cast(q, computed);
  return b.cast(b.mul(zero_point ? b.sub(x, b.cast(zero_point, computed)) : x, scale), out);
}
ValueId in_float(Builder& b, ValueId x) { return !b.failed() && is_half(b.tensor(x).dtype) ? b.cast(x, DType::F32) : x; }
ValueId optional(const Call& c, const char* param) { return c.has(param) && !is_empty(c.tensor(param).sizes) ? c.value(param) : ValueId{}; }
Arg number_value(Builder& b, ValueId x) { return x ? Arg(b.view(b.cast(x, DType::F32), {})) : Arg(); }

// The kernel multiplies by the inverse of a number or of a single element, which rounds in another way.
ValueId divided(Builder& b, ValueId x, double by) {
  if (b.failed()) return {};
  const TensorType t = b.tensor(x);
  return b.div(x, b.full(t.sizes, by, t.dtype));
}

// Range of the quantized values as rank-0 tensors.
void define_with_tensor_ranges(Table& ops) {
  const std::string params = "(Tensor input, Tensor scale, Tensor zero_point, Tensor quant_min, Tensor quant_max, ScalarType dtype";
  ops.define(kNs + "quantize_per_tensor.tensor2" + params + ") -> Tensor")
      .dtype(quantized_dtype())
      .shape(shape_of("input"))
      .expand([](Builder& b, const Call& c) {
        const ValueId inverse = b.view(b.cast(b.unary("aten.reciprocal", b.cast(c.value("scale"), DType::F64)), DType::F32), {});
        const ValueId steps = b.unary("aten.round", b.mul(in_float(b, c.value("input")), inverse));
        const ValueId q = b.add(steps, number_value(b, c.value("zero_point")));
        return b.cast(clamped(b, q, number_value(b, c.value("quant_min")), number_value(b, c.value("quant_max"))),
                      c.dtype("dtype", DType::I8));
      });
  ops.define(kNs + "dequantize_per_tensor.tensor2" + params + ", *, ScalarType? out_dtype=None) -> Tensor")
      .dtype(dtype_arg("out_dtype", DType::F32))
      .shape(shape_of("input"))
      .expand([](Builder& b, const Call& c) {
        const ValueId scale = b.view(b.cast(c.value("scale"), DType::F32), {});
        return dequantized(b, c.value("input"), scale, b.view(c.value("zero_point"), {}), DType::F32, c.dtype("out_dtype", DType::F32));
      });
}

// [N, K] in groups of `size` along K: [N * groups, size], the parameters [N * groups, 1].
struct Grouped {
  ValueId x, scales, zero_points;
  Dims sizes;
};
Grouped grouped(Builder& b, const Call& c) {
  Grouped g;
  g.sizes = c.tensor("input").sizes;
  if (g.sizes.size() != 2) b.fail(c.op().name() + " takes a tensor of two dims");
  if (b.failed()) return g;
  Dim size = c.dim("group_size");
  if (c.tensor("scales").rank() > 0 && c.tensor("scales").sizes.back() == Dim(1) && sym::less_equal(size, g.sizes[1]) == sym::Proof::No)
    size = g.sizes[1];
  const Dim count = sym::floordiv(numel(g.sizes), size);
  g.x = b.view(c.value("input"), {count, size});
  g.scales = b.view(c.value("scales"), {count, 1});
  if (c.has("zero_points")) g.zero_points = b.view(c.value("zero_points"), {count, 1});
  return g;
}

void define_groups(Table& ops) {
  ops.define(kNs + "quantize_per_channel_group(Tensor input, Tensor scales, Tensor zero_points" + kRange + ", int group_size) -> Tensor")
      .dtype(quantized_dtype())
      .shape(shape_of("input"))
      .expand([](Builder& b, const Call& c) {
        const Grouped g = grouped(b, c);
        return b.view(quantized(b, g.x, g.scales, g.zero_points, c.arg("quant_min"), c.arg("quant_max"), c.dtype("dtype", DType::I8), true),
                      g.sizes);
      });
  ops.define(kNs + "dequantize_per_channel_group(Tensor input, Tensor scales, Tensor? zero_points" + kRange +
             ", int group_size, ScalarType output_dtype) -> Tensor")
      .dtype(dtype_arg("output_dtype", DType::F32))
      .shape(shape_of("input"))
      .expand([](Builder& b, const Call& c) {
        const Grouped g = grouped(b, c);
        if (b.failed()) return ValueId{};
        return b.view(dequantized(b, g.x, g.scales, g.zero_points, b.tensor(g.scales).dtype, c.dtype("output_dtype", DType::F32)), g.sizes);
      });
  ops.define(kNs +
             "fake_quant_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, int quant_min, int quant_max) -> Tensor")
      .dtype(same_as("input"))
      .shape(shape_of("input"))
      .expand([](Builder& b, const Call& c) {
        const size_t axis = axis_of(b, c, "axis", c.rank("input"));
        if (b.failed()) return ValueId{};
        const Dims sizes = replaced(Dims(c.rank("input"), Dim(1)), axis, c.tensor("input").sizes[axis]);
        const ValueId x = in_float(b, c.value("input")), scale = b.view(b.cast(c.value("scales"), DType::F32), sizes);
        const ValueId zero = b.view(b.cast(c.value("zero_points"), DType::F32), sizes);
        const ValueId steps = b.add(b.unary("aten.round", b.mul(x, b.unary("aten.reciprocal", scale))), zero);
        const ValueId q = b.call("aten.clamp", {steps, c.arg("quant_min"), c.arg("quant_max")});
        return b.cast(b.mul(b.sub(q, zero), scale), c.tensor("input").dtype);
      });
  ops.define(kNs + "convert_element_type.no_fuse(Tensor input, ScalarType dtype) -> Tensor")
      .dtype(dtype_arg("dtype", DType::F32))
      .shape(shape_of("input"))
      .expand([](Builder& b, const Call& c) { return b.cast(c.value("input"), c.dtype("dtype", DType::F32)); });
}

// ---- choosing scale and zero point ---------------------------------------------------------------------------------------------------

InferRule two_results(DType scale, DType zero_point, ShapeRule shape) {
  return [=](const Call& c) -> Result<std::vector<Type>> {
    TensorType t;
    EDGEC_TRY(t.sizes, shape(c));
    t.dtype = scale;
    TensorType z = t;
    z.dtype = zero_point;
    return std::vector<Type>{Type::of(t), Type::of(z)};
  };
}
ShapeRule one_element() {
  return [](const Call&) -> Result<Dims> { return Dims{1}; };
}
ShapeRule one_a_token() {
  return [](const Call& c) -> Result<Dims> {
    Dims sizes = c.tensor("input").sizes;
    if (sizes.empty()) return model_error(c.op().name() + " takes a tensor with dims");
    sizes.back() = 1;
    return sizes;
  };
}

// Least and largest value over `axes`, 0 included.
struct Extent {
  ValueId low, high;
};
Extent extent(Builder& b, ValueId x, const Axes& axes, bool keepdim) {
  const auto reduced = [&](const char* op) { return axes.empty() ? x : b.call(op, {x, list(axes), keepdim}); };
  return {b.call("aten.clamp", {reduced("aten.amin"), Arg(), 0}), b.call("aten.clamp", {reduced("aten.amax"), 0})};
}

Values chosen(Builder& b, const Call& c, bool symmetric) {
  const ValueId x = in_float(b, c.value("input"));
  const double low = c.number("quant_min"), high = c.number("quant_max"), eps = c.number("eps");
  const Extent e = extent(b, x, trailing_axes(c.rank("input"), c.rank("input")), false);
  const auto result = [&](ValueId v, DType d) { return b.cast(b.view(v, {1}), d); };
  const auto at_least_eps = [&](ValueId s) { return b.call("aten.clamp", {s, eps}); };
  if (symmetric) {
    const ValueId size = b.call("aten.maximum", {b.unary("aten.neg", e.low), e.high});
    const ValueId scale = at_least_eps(divided(b, size, (high - low) / 2));
    return {result(scale, DType::F64), b.full({1}, c.dtype("dtype", DType::I8) == DType::U8 ? 128 : 0, DType::I64)};
  }
  const ValueId scale = at_least_eps(divided(b, b.sub(e.high, e.low), high - low));
  const ValueId zero = b.call("aten.clamp", {b.call("aten.rsub.Scalar", {b.unary("aten.round", b.div(e.low, scale)), low}), low, high});
  return {result(scale, DType::F64), result(zero, DType::I64)};
}

// As XNNPACK chooses them for every row.
Values chosen_per_token(Builder& b, const Call& c) {
  const ValueId x = in_float(b, c.value("input"));
  if (c.rank("input") == 0) b.fail(c.op().name() + " takes a tensor with dims");
  const Extent e = extent(b, x, trailing_axes(c.rank("input"), 1), true);
  const ValueId scale = b.call("aten.clamp", {divided(b, b.sub(e.high, e.low), 255), double{std::numeric_limits<float>::epsilon()}});
  const ValueId low = b.div(e.low, scale), high = b.div(e.high, scale);
  const ValueId errors = b.add(b.add(low, -128), b.add(high, 127));
  const ValueId zero =
      where(b, b.call("aten.gt.Scalar", {errors, 0}), b.call("aten.rsub.Scalar", {low, -128}), b.call("aten.rsub.Scalar", {high, 127}));
  return {b.cast(scale, DType::F64), b.cast(b.unary("aten.round", b.call("aten.clamp", {zero, -128, 127})), DType::I64)};
}

void define_choices(Table& ops) {
  for (const bool symmetric : {false, true})
    ops.define(kNs + (symmetric ? "choose_qparams_symmetric" : "choose_qparams") +
               ".tensor(Tensor input, int quant_min, int quant_max, float eps, ScalarType dtype) -> (Tensor, Tensor)")
        .infer(two_results(DType::F64, DType::I64, one_element()))
        .expand([symmetric](Builder& b, const Call& c) { return chosen(b, c, symmetric); });
  for (const char* op : {"choose_qparams_per_token_asymmetric", "_choose_qparams_per_token_asymmetric_impl"})
    ops.define(kNs + op + "(Tensor input, ScalarType dtype) -> (Tensor, Tensor)")
        .infer(two_results(DType::F64, DType::I64, one_a_token()))
        .expand(chosen_per_token);
  ops.define(kNs + "choose_qparams_per_token(Tensor input, ScalarType dtype) -> (Tensor, Tensor)")
      .infer(two_results(DType::F64, DType::I64, one_a_token()))
      .expand([](Builder& b, const Call& c) {
        const ValueId size = amax(b, b.unary("aten.abs", in_float(b, c.value("input"))), trailing_axes(c.rank("input"), 1), true);
        const ValueId scale = b.cast(divided(b, b.call("aten.clamp", {size, 1e-5}), 127), DType::F64);
        return Values{scale, b.full(sizes_of(b, scale), 0, DType::I64)};
      });
}

// ---- embeddings of quantized rows ----------------------------------------------------------------------------------------------------

// `packed`: values in one byte of the table.
Def embedding(Table& ops, const std::string& name, int64_t packed, bool with_dtype) {
  const auto result = [with_dtype](const Call& c) -> Result<DType> {
    const DType scales = c.tensor("weight_scales").dtype;
    return with_dtype ? c.dtype("dtype", scales) : scales;
  };
  return ops
      .define(kNs + name + (with_dtype ? ".dtype" : "") +
              "(Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, int weight_quant_min, "
              "int weight_quant_max, Tensor indices" +
              (with_dtype ? ", *, ScalarType? dtype=None" : "") + ") -> Tensor")
      .dtype(result)
      .shape([packed](const Call& c) -> Result<Dims> {
        if (c.rank("weight") != 2) return model_error(c.op().name() + " takes a table of two dims");
        Dims sizes = c.tensor("indices").sizes;
        sizes.push_back(c.tensor("weight").sizes[1] * packed);
        return sizes;
      })
      .kernel(kNs + name + (with_dtype ? ".dtype_out" : ".out"), {"dtype"})
      .expand([result](Builder& b, const Call& c) -> Values {
        const auto out = result(c);
        const DType scales = c.tensor("weight_scales").dtype, d = out ? *out : scales;
        // One dtype of scales, zero points and result is what the kernel reads rightly.
        const bool one = d == scales && d != DType::F64 && (!c.has("weight_zero_points") || c.tensor("weight_zero_points").dtype == d);
        if (one && c.tensor("indices").dtype == DType::I64) return keep_whole();
        std::vector<Arg> args(c.args().begin(), c.args().end());
        const auto cast = [&](const char* p, DType to) { args[static_cast<size_t>(c.op().schema().find(p))] = b.cast(c.value(p), to); };
        cast("indices", DType::I64);
        if (!one) {
          cast("weight_scales", DType::F32);
          if (c.has("weight_zero_points")) cast("weight_zero_points", DType::F32);
          if (const int at = c.op().schema().find("dtype"); at >= 0) args[static_cast<size_t>(at)] = DType::F32;
        }
        return {b.cast(b.call(c.op().name(), args), d)};
      });
}

void define_embeddings(Table& ops) {
  for (const bool with_dtype : {false, true}) {
    embedding(ops, "embedding_byte", 1, with_dtype);
    embedding(ops, "embedding_4bit", 2, with_dtype);
    embedding(ops, "embedding_2bit", 4, with_dtype);
  }
}

// ---- arithmetic on quantized values --------------------------------------------------------------------------------------------------

void define_quantized_add(Table& ops) {
  ops.define(kNs +
             "add(Tensor a, float a_scale, int a_zero_point, int a_quant_min, int a_quant_max, Tensor b, float b_scale, int b_zero_point, "
             "int b_quant_min, int b_quant_max, float out_scale, int out_zero_point, int out_quant_min, int out_quant_max) -> Tensor")
      .dtype(same_as("a"))
      .shape(broadcast_of({"a", "b"}))
      .expand([](Builder& b, const Call& c) {
        const auto real = [&](const std::string& p) {
          return b.mul(b.sub(b.cast(c.value(p), DType::F32), c.arg(p + "_zero_point")), c.arg(p + "_scale"));
        };
        const ValueId sum = b.add(real("a"), real("b"));
        const ValueId q = b.add(b.unary("aten.round", b.mul(sum, 1.0 / c.number("out_scale", 1))), c.arg("out_zero_point"));
        return b.cast(b.call("aten.clamp", {q, c.arg("out_quant_min"), c.arg("out_quant_max")}), c.tensor("a").dtype);
      });
}

// ---- torchao: a scale for every block ------------------------------------------------------------------------------------------------

// The sizes with every dim that has several blocks cut in two, and the axes of a block.
struct Blocks {
  Dims sizes, kept;  // kept: with the block's axes of size 1
  Axes axes;
};
Blocks blocks_of(Builder& b, const Call& c) {
  Blocks out;
  const Dims& sizes = c.tensor("input").sizes;
  const Dims block = c.dims("block_size");
  if (block.size() != sizes.size())
    b.fail(fmt::format("{}: block_size has {} dims, the input {}", c.op().name(), block.size(), sizes.size()));
  if (b.failed()) return out;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const bool whole = block[i] == sizes[i], single = block[i] == Dim(1);
    if (!whole && !single) {
      out.sizes.push_back(sym::floordiv(sizes[i], block[i]));
      out.kept.push_back(out.sizes.back());
    }
    if (!single) out.axes.push_back(out.sizes.size());
    out.sizes.push_back(single ? sizes[i] : block[i]);
    out.kept.push_back(single ? sizes[i] : Dim(1));
  }
  return out;
}

Limits affine_limits(const Call& c, const char* dtype) {
  const Limits all = limits_of(c.dtype(dtype, DType::I8));
  return {c.number("quant_min", all.low), c.number("quant_max", all.high)};
}

ValueId quantize_affine(Builder& b, const Call& c) {
  const Blocks blocks = blocks_of(b, c);
  const Dims sizes = c.tensor("input").sizes;
  const ValueId x = b.view(c.value("input"), blocks.sizes), scale = b.view(c.value("scale"), blocks.kept);
  ValueId zero = optional(c, "zero_point");
  if (zero) zero = b.view(zero, blocks.kept);
  const Limits l = affine_limits(c, "output_dtype");
  return b.view(quantized(b, x, scale, zero, l.low, l.high, c.dtype("output_dtype", DType::I8)), sizes);
}

ValueId dequantize_affine(Builder& b, const Call& c) {
  const Blocks blocks = blocks_of(b, c);
  const Dims sizes = c.tensor("input").sizes;
  const DType out = c.dtype("output_dtype", DType::F32);
  const ValueId q = b.view(c.value("input"), blocks.sizes), scale = b.view(c.value("scale"), blocks.kept);
  ValueId zero = optional(c, "zero_point");
  if (zero) zero = b.view(zero, blocks.kept);
  return b.view(dequantized(b, q, scale, zero, out, out), sizes);
}

double smallest_normal(DType d) {
  switch (d) {
    case DType::F16:
      return 6.103515625e-05;
    case DType::F64:
      return std::numeric_limits<double>::min();
    default:
      return double{std::numeric_limits<float>::min()};  // bf16 has the exponents of f32
  }
}

DType affine_zero_dtype(const Call& c) {
  const bool symmetric = c.string("mapping_type") != "ASYMMETRIC";
  return c.dtype("zero_point_dtype", symmetric ? c.tensor("input").dtype : DType::I32);
}

Values choose_affine(Builder& b, const Call& c) {
  const Blocks blocks = blocks_of(b, c);
  if (b.failed()) return {};
  const DType given = c.tensor("input").dtype;
  const Limits l = affine_limits(c, "target_dtype");
  const Extent e = extent(b, b.view(c.value("input"), blocks.sizes), blocks.axes, true);
  const std::string mapping = c.string("mapping_type");
  const double eps = c.number("eps", smallest_normal(given));
  ValueId scale, zero;
  if (mapping == "ASYMMETRIC") {
    scale = b.call("aten.clamp", {divided(b, b.sub(e.high, e.low), l.high - l.low), eps});
    zero = b.call("aten.clamp", {b.call("aten.rsub.Scalar", {b.unary("aten.round", b.div(e.low, scale)), l.low}), l.low, l.high});
  } else {
    if (mapping == "SYMMETRIC") {
      scale = divided(b, b.call("aten.maximum", {b.unary("aten.neg", e.low), e.high}), (l.high - l.low) / 2);
    } else {
      const ValueId below = divided(b, e.low, l.low), above = divided(b, e.high, l.high);
      scale = where(b, b.call("aten.gt.Tensor", {below, above}), below, above);
    }
    scale = b.call("aten.clamp", {scale, eps});
    zero = b.full(sizes_of(b, scale), static_cast<int64_t>((l.high + l.low + 1) / 2), given);
  }
  auto sizes = c.op().infer(c);
  if (!sizes) return {};
  const auto shaped = [&](ValueId v, DType d) { return b.cast(b.view(v, (*sizes)[0].tensor.sizes), d); };
  return {shaped(scale, c.dtype("scale_dtype", given)), shaped(zero, affine_zero_dtype(c))};
}

InferRule affine_types() {
  return [](const Call& c) -> Result<std::vector<Type>> {
    const Dims& sizes = c.tensor("input").sizes;
    const Dims block = c.dims("block_size");
    if (block.size() != sizes.size()) return model_error(c.op().name() + ": block_size has another number of dims than the input");
    TensorType scale;
    for (size_t i = 0; i < sizes.size(); ++i) {
      const bool gone = block[i] == sizes[i] && block[i] != Dim(1);
      if (c.flag("keepdim") || !gone) scale.sizes.push_back(block[i] == Dim(1) ? sizes[i] : sym::floordiv(sizes[i], block[i]));
    }
    scale.dtype = c.dtype("scale_dtype", c.tensor("input").dtype);
    TensorType zero = scale;
    zero.dtype = affine_zero_dtype(c);
    return std::vector<Type>{Type::of(scale), Type::of(zero)};
  };
}

void define_affine(Table& ops) {
  ops.define(
         "torchao::quantize_affine(Tensor input, SymInt[] block_size, Tensor scale, Tensor? zero_point, ScalarType output_dtype, "
         "Scalar? quant_min=None, Scalar? quant_max=None) -> Tensor")
      .dtype(quantized_dtype("output_dtype"))
      .shape(shape_of("input"))
      .expand(quantize_affine);
  ops.define(
         "torchao::dequantize_affine(Tensor input, SymInt[] block_size, Tensor scale, Tensor? zero_point, ScalarType input_dtype, "
         "Scalar? quant_min=None, Scalar? quant_max=None, ScalarType? output_dtype=None) -> Tensor")
      .dtype(dtype_arg("output_dtype", DType::F32))
      .shape(shape_of("input"))
      .expand(dequantize_affine);
  ops.define(
         "torchao::choose_qparams_affine(Tensor input, str mapping_type, SymInt[] block_size, ScalarType target_dtype, Scalar? "
         "quant_min=None, "
         "Scalar? quant_max=None, float? eps=None, ScalarType? scale_dtype=None, ScalarType? zero_point_dtype=None, bool keepdim=False) "
         "-> (Tensor, Tensor)")
      .infer(affine_types())
      .expand(choose_affine);
}

}  // namespace

void define_quantized(Table& ops) {
  define_per_tensor(ops);
  define_per_channel(ops);
  define_per_token(ops);
  define_with_tensor_ranges(ops);
  define_groups(ops);
  define_choices(ops);
  define_embeddings(ops);
  define_quantized_add(ops);
  define_affine(ops);
}

}  // namespace edgec::ops
