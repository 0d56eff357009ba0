#include <fmt/format.h>

#include "ops/build.h"
#include "ops/table.h"

// Convolutions. The kernel has one and two spatial dims and symmetric padding; the rest is composed from it.
namespace edgec::ops {
namespace {

struct Conv {
  size_t spatial = 0;
  Dims stride, dilation, before, after, output_padding;  // padding before and after each dim
  bool transposed = false;
  int64_t groups = 1;
};

// The parameters of any convolution operator, by the names that its schema has.
Result<Conv> conv_of(const Call& c) {
  Conv v;
  if (c.rank("weight") < 3) return model_error(fmt::format("{}: a weight of rank {} has no spatial dims", c.op().name(), c.rank("weight")));
  v.spatial = c.rank("weight") - 2;
  v.stride = c.dims("stride", v.spatial);
  v.dilation = c.dims("dilation", v.spatial);
  v.groups = c.integer("groups", 1);
  v.transposed = c.op().name().find("transpose") != std::string::npos || (c.has("transposed") && c.flag("transposed"));
  v.output_padding = c.has("output_padding") ? c.dims("output_padding", v.spatial) : Dims(v.spatial, Dim(0));
  const std::string mode = c.string("padding");
  if (mode.empty()) {
    v.before = v.after = c.dims("padding", v.spatial);
  } else if (mode == "valid") {
    v.before = v.after = Dims(v.spatial, Dim(0));
  } else {  // "same": the odd element of padding is at the end
    for (size_t i = 0; i < v.spatial; ++i) {
      const Dim total = v.dilation[i] * (c.tensor("weight").sizes[2 + i] - 1);
      v.before.push_back(sym::floordiv(total, 2));
      v.after.push_back(total - v.before[i]);
    }
  }
  for (const Dims* list : {&v.stride, &v.dilation, &v.before, &v.after, &v.output_padding})
    if (list->size() != v.spatial)
      return model_error(fmt::format("{}: {} spatial dims need as many strides, paddings and dilations", c.op().name(), v.spatial));
  return v;
}

Dim conv_length(const Conv& v, size_t i, Dim size, Dim kernel) {
  const Dim reach = v.dilation[i] * (kernel - 1), pads = v.before[i] + v.after[i];
  if (v.transposed) return (size - 1) * v.stride[i] - pads + reach + v.output_padding[i] + 1;
  return sym::floordiv(size + pads - reach - 1, v.stride[i]) + 1;
}

Result<Dims> conv_sizes(const Call& c) {
  EDGEC_TRY(Conv v, conv_of(c));
  const Dims &in = c.tensor("input").sizes, &weight = c.tensor("weight").sizes;
  if (in.size() != v.spatial + 2 && in.size() != v.spatial + 1)
    return model_error(
        fmt::format("{}: an input of rank {} does not go with a weight of rank {}", c.op().name(), in.size(), weight.size()));
  const size_t channel = in.size() - v.spatial - 1;
  if (sym::equal(in[channel], v.transposed ? weight[0] : weight[1] * v.groups) == sym::Proof::No)
    return model_error(fmt::format("{}: {} channels do not go with a weight of {}", c.op().name(), in[channel].str(), str(weight)));
  Dims out(in.begin(), in.begin() + static_cast<ptrdiff_t>(channel));
  out.push_back(v.transposed ? weight[1] * v.groups : weight[0]);
  for (size_t i = 0; i < v.spatial; ++i) out.push_back(conv_length(v, i, in[channel + 1 + i], weight[2 + i]));
  return out;
}

ValueId kernel_call(Builder& b, ValueId x, ValueId weight, const Arg& bias, const Conv& v) {
  return b.call("aten.convolution", {x, weight, bias, v.stride, v.before, v.dilation, v.transposed, v.output_padding, v.groups});
}

Conv without_first(Conv v) {
  --v.spatial;
  for (Dims* list : {&v.stride, &v.dilation, &v.before, &v.after, &v.output_padding}) list->erase(list->begin());
  return v;
}

// Pads dim `axis` with zeros; a negative count crops.
ValueId padded(Builder& b, ValueId x, size_t axis, Dim before, Dim after) {
  if (b.failed() || (before == Dim(0) && after == Dim(0))) return x;
  Dims pad(2 * (b.tensor(x).rank() - axis), Dim(0));
  pad[pad.size() - 2] = before;
  pad[pad.size() - 1] = after;
  return b.call("aten.constant_pad_nd", {x, pad});
}

// size -> (size - 1) * step + 1: zeros between the elements of a dim.
ValueId spread(Builder& b, ValueId x, size_t axis, Dim step) {
  if (b.failed() || step == Dim(1)) return x;
  const Dims sizes = b.tensor(x).sizes;
  const ValueId wide = padded(b, unsqueeze(b, x, axis + 1), axis + 1, 0, step - 1);
  return slice(b, b.view(wide, replaced(sizes, axis, sizes[axis] * step)), axis, 0, (sizes[axis] - 1) * step + 1);
}

// Three spatial dims as one convolution with two: the windows over the depth become input channels. With the depth
// folded so, [N, C, D, H, W] * [O, C, kd, kh, kw] is [N*D', C*kd, H, W] * [O, C*kd, kh, kw].
ValueId conv_3d(Builder& b, ValueId x, ValueId weight, const Arg& bias, const Conv& v) {
  const Dims in = sizes_of(b, x, 5), w = sizes_of(b, weight, 5);
  const auto kd = w[2].constant();
  if (!kd) {
    b.fail("a 3-D convolution needs a weight of static size");
    return {};
  }
  const Dim depth = conv_length(v, 0, in[2], w[2]);
  Dim step = v.stride[0];
  if (v.transposed) {  // along the depth: a plain convolution of the spread input with the reversed weight
    const Dim reach = v.dilation[0] * (w[2] - 1);
    x = padded(b, spread(b, x, 2, step), 2, reach - v.before[0], reach - v.after[0] + v.output_padding[0]);
    weight = b.call("aten.flip", {weight, Arg::ints({2})});
    step = 1;
  } else {
    x = padded(b, x, 2, v.before[0], v.after[0]);
  }
  std::vector<ValueId> taps;
  for (int64_t i = 0; i < *kd; ++i) {
    const Dim start = v.dilation[0] * i;
    taps.push_back(slice(b, x, 2, start, start + (depth - 1) * step + 1, step));
  }
  const ValueId windows = b.permute(stack(b, taps, 2), {0, 3, 1, 2, 4, 5});  // [N, D', C, kd, H, W]
  const ValueId folded = b.view(windows, {in[0] * depth, in[1] * w[2], in[3], in[4]});
  const ValueId w2 = v.transposed ? b.view(b.permute(weight, {0, 2, 1, 3, 4}), {w[0] * w[2], w[1], w[3], w[4]})
                                  : b.view(weight, {w[0], w[1] * w[2], w[3], w[4]});
  const ValueId y = kernel_call(b, folded, w2, bias, without_first(v));
  const Dims out = sizes_of(b, y, 4);
  return moved(b, b.view(y, {in[0], depth, out[1], out[2], out[3]}), 1, 2);
}

// Asymmetric padding becomes explicit.
ValueId symmetric(Builder& b, ValueId x, Conv& v) {
  for (size_t i = 0; i < v.spatial; ++i) {
    const Dim extra = v.after[i] - v.before[i];
    if (extra != Dim(0)) x = padded(b, x, 2 + i, 0, extra);
    v.after[i] = v.before[i];
  }
  return x;
}

ValueId convolve(Builder& b, const Call& c) {
  auto made = conv_of(c);
  if (!made) {
    b.fail(made.failure().message);
    return {};
  }
  return batched(b, c.value("input"), made->spatial + 2, [&](ValueId x) {
    Conv v = *made;
    x = symmetric(b, x, v);
    return v.spatial == 3 ? conv_3d(b, x, c.value("weight"), c.arg("bias"), v) : kernel_call(b, x, c.value("weight"), c.arg("bias"), v);
  });
}

}  // namespace

void define_conv(Table& ops) {
  // The kernel sums in the operands' dtype: half types lose too much.
  ops.define(
         "aten::convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool "
         "transposed, SymInt[] output_padding, SymInt groups) -> Tensor")
      .dtype(same_as("input"))
      .shape(conv_sizes)
      .preserves_layout()
      .kernel_dtypes({DType::F32, DType::F64, DType::U8, DType::I8, DType::I16, DType::I32, DType::I64}, DType::F32)
      .kernel("convolution.out")
      .expand([](Builder& b, const Call& c) -> std::vector<ValueId> {
        const size_t spatial = c.rank("weight") - 2;
        if (spatial <= 2 && c.rank("input") == spatial + 2) return keep_whole();
        return {convolve(b, c)};
      });
  for (int n = 1; n <= 3; ++n) {
    const std::string ones = n == 1 ? "1" : n == 2 ? "1, 1" : "1, 1, 1", zeros = n == 1 ? "0" : n == 2 ? "0, 0" : "0, 0, 0";
    const auto define = [&](const std::string& schema) { ops.define(schema).dtype(same_as("input")).shape(conv_sizes).expand(convolve); };
    define(
        fmt::format("aten::conv{0}d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[{0}] stride=[{1}], SymInt[{0}] padding=[{2}], "
                    "SymInt[{0}] dilation=[{1}], SymInt groups=1) -> Tensor",
                    n, ones, zeros));
    define(fmt::format(
        "aten::conv{0}d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[{0}] stride=[{1}], str padding=\"valid\", "
        "SymInt[{0}] dilation=[{1}], SymInt groups=1) -> Tensor",
        n, ones));
    define(
        fmt::format("aten::conv_transpose{0}d{3}(Tensor input, Tensor weight, Tensor? bias=None, SymInt[{0}] stride=[{1}], SymInt[{0}] "
                    "padding=[{2}], SymInt[{0}] output_padding=[{2}], SymInt groups=1, SymInt[{0}] dilation=[{1}]) -> Tensor",
                    n, ones, zeros, n == 1 ? "" : ".input"));
  }
}

}  // namespace edgec::ops
