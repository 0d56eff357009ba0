#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "ops/numeric.h"
#include "ops/table.h"

// Other names and small compositions of what the families define: deprecated forms, helpers of torch's own decompositions.
namespace edgec::ops {
namespace {

void define_casts(Table& ops) {
  for (const auto& [name, dtype] :
       {std::pair("Byte", DType::U8), std::pair("Char", DType::I8), std::pair("Short", DType::I16), std::pair("Int", DType::I32),
        std::pair("Long", DType::I64), std::pair("Half", DType::F16), std::pair("Float", DType::F32), std::pair("Double", DType::F64)})
    ops.define(fmt::format("aten::_cast_{}(Tensor self, bool non_blocking=False) -> Tensor", name))
        .dtype(fixed(dtype))
        .shape(shape_of("self"))
        .expand([d = dtype](Builder& b, const Call& c) { return b.cast(c.value("self"), d); });
  ops.define("aten::_saturate_weight_to_fp16(Tensor weight) -> Tensor")
      .dtype(same_as("weight"))
      .shape(shape_of("weight"))
      .expand([](Builder& b, const Call& c) {
        return b.call("aten.clamp", {c.arg("weight"), -65504.0, 65504.0});
      });
  const auto rounded_to = [](Builder& b, ValueId x, ValueId scale, ValueId zero, const Call& c) {
    const ValueId steps = b.add(b.unary("aten.round", b.mul(x, b.unary("aten.reciprocal", scale))), zero);
    const ValueId kept = b.call("aten.clamp", {steps, c.arg("quant_min"), c.arg("quant_max")});
    return b.mul(b.sub(kept, zero), scale);
  };
  for (const char* params : {"(Tensor self, float scale, int zero_point", ".tensor_qparams(Tensor self, Tensor scale, Tensor zero_point"})
    ops.define(std::string("aten::fake_quantize_per_tensor_affine") + params + ", int quant_min, int quant_max) -> Tensor")
        .dtype(same_as("self"))
        .shape([](const Call& c) -> Result<Dims> {
          for (const char* p : {"scale", "zero_point"})
            if (c.is_tensor(p) && sym::equal(numel(c.tensor(p).sizes), 1) == sym::Proof::No)
              return model_error(fmt::format("{}: {} is not a single number", c.op().name(), p));
          return c.tensor("self").sizes;
        })
        .expand([=](Builder& b, const Call& c) {
          return in_opmath(b, c.value("self"), [&](Builder&, ValueId x) {
            const DType d = b.failed() ? DType::F32 : b.tensor(x).dtype;
            const auto of = [&](const char* p) {
              return c.is_tensor(p) ? b.view(b.cast(c.value(p), d), {}) : b.cast(b.full({}, c.arg(p), DType::F64), d);
            };
            return rounded_to(b, x, of("scale"), of("zero_point"), c);
          });
        });
  ops.define(
         "aten::fake_quantize_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, int axis, int quant_min, int quant_max) -> "
         "Tensor")
      .dtype(same_as("self"))
      .shape(shape_of("self"))
      .expand([=](Builder& b, const Call& c) {
        const Dims sizes = c.tensor("self").sizes;
        const size_t axis = axis_of(b, c, "axis", sizes.size());
        const Dims channel = sizes.empty() ? Dims{} : replaced(Dims(sizes.size(), Dim(1)), axis, sizes[axis]);
        return in_opmath(b, c.value("self"), [&](Builder&, ValueId x) {
          const DType d = b.failed() ? DType::F32 : b.tensor(x).dtype;
          const auto of = [&](const char* p) { return b.view(b.cast(c.value(p), d), channel); };
          return rounded_to(b, x, of("scale"), of("zero_point"), c);
        });
      });
}

void define_convolution_forms(Table& ops) {
  const auto types_of = [](const char* name, std::vector<std::string> params) -> InferRule {
    return [=](const Call& c) {
      std::vector<Arg> args;
      for (const auto& p : params) args.push_back(c.arg(p));
      return infer(c.graph(), Registry::global().get(name), args);
    };
  };
  const std::vector<std::string> full = {"input",    "weight",     "bias",           "stride", "padding",
                                         "dilation", "transposed", "output_padding", "groups"};
  ops.define(
         "aten::_convolution.deprecated(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, "
         "bool transposed, int[] output_padding, SymInt groups, bool benchmark, bool deterministic, bool cudnn_enabled) -> Tensor")
      .infer(types_of("aten.convolution", full))
      .expand([full](Builder& b, const Call& c) {
        std::vector<Arg> args;
        for (const auto& p : full) args.push_back(c.arg(p));
        return b.call("aten.convolution", args);
      });
  const std::vector<std::string> mode = {"input", "weight", "bias", "stride", "padding", "dilation", "groups"};
  ops.define(
         "aten::_convolution_mode(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, str padding, SymInt[] dilation, SymInt "
         "groups) -> Tensor")
      .infer([=](const Call& c) {
        return types_of(c.rank("weight") == 3   ? "aten.conv1d.padding"
                        : c.rank("weight") == 4 ? "aten.conv2d.padding"
                                                : "aten.conv3d.padding",
                        mode)(c);
      })
      .expand([mode](Builder& b, const Call& c) {
        std::vector<Arg> args;
        for (const auto& p : mode) args.push_back(c.arg(p));
        return b.call(fmt::format("aten.conv{}d.padding", c.rank("weight") - 2), args);
      });
  for (const auto& [name, of, n, ones, zeros] :
       {std::tuple("thnn_conv2d", "aten.conv2d", 2, "1, 1", "0, 0"), std::tuple("slow_conv3d", "aten.conv3d", 3, "1, 1, 1", "0, 0, 0")}) {
    const std::vector<std::string> plain = {"self", "weight", "bias", "stride", "padding"};
    ops.define(fmt::format("aten::{0}(Tensor self, Tensor weight, SymInt[{1}] kernel_size, Tensor? bias=None, SymInt[{1}] stride=[{2}], "
                           "SymInt[{1}] padding=[{3}]) -> Tensor",
                           name, n, ones, zeros))
        .infer([=, target = of, dims = static_cast<size_t>(n) + 2](const Call& c) -> Result<std::vector<Type>> {
          const TensorType &in = c.tensor("self"), &weight = c.tensor("weight");
          const bool bias = !c.has("bias") || (c.rank("bias") == 1 && c.tensor("bias").dtype == in.dtype);
          if (weight.rank() != dims || weight.dtype != in.dtype || !bias)
            return model_error(fmt::format("{} wants a weight of rank {} and operands of one dtype", c.op().name(), dims));
          std::vector<Arg> args;
          for (const auto& p : plain) args.push_back(c.arg(p));
          EDGEC_TRY(args, bind_args(Registry::global().get(target), args));
          return infer(c.graph(), Registry::global().get(target), args);
        })
        .expand([plain, target = of](Builder& b, const Call& c) {
          std::vector<Arg> args;
          for (const auto& p : plain) args.push_back(c.arg(p));
          return b.call(target, args);
        });
  }
}

// [.., D, H, W] with each element at its place in a larger zero tensor, by index within the last dims.
ValueId unpooled(Builder& b, const Call& c, size_t spatial) {
  const Dims from = c.tensor("self").sizes, to = result_sizes(c);
  const Dims outer(from.begin(), from.end() - static_cast<ptrdiff_t>(spatial));
  const auto flat = [&](const Dims& sizes) {
    Dims out = outer;
    out.push_back(numel(Dims(sizes.end() - static_cast<ptrdiff_t>(spatial), sizes.end())));
    return out;
  };
  const auto last = static_cast<int64_t>(outer.size());
  const ValueId zeros = b.full(flat(to), 0, c.tensor("self").dtype);
  return b.view(b.call("aten.scatter.src", {zeros, last, b.view(c.value("indices"), flat(from)), b.view(c.value("self"), flat(from))}), to);
}

void define_unpooling(Table& ops) {
  for (const size_t n : {2, 3})
    ops.define(fmt::format("aten::max_unpool{0}d(Tensor self, Tensor indices, SymInt[{0}] output_size{1}) -> Tensor", n,
                           n == 3 ? ", int[3] stride, int[3] padding" : ""))
        .dtype(same_as("self"))
        .shape([n](const Call& c) -> Result<Dims> {
          Dims sizes = c.tensor("self").sizes;
          const Dims out = c.dims("output_size", n);
          if (sizes.size() != n + 1 && sizes.size() != n + 2) return model_error(c.op().name() + ": the input has the wrong rank");
          std::copy(out.begin(), out.end(), sizes.end() - static_cast<ptrdiff_t>(n));
          return sizes;
        })
        .expand([n](Builder& b, const Call& c) { return unpooled(b, c, n); });
}

void define_paddings(Table& ops) {
  const auto types = [](const Call& c) -> Result<std::vector<Type>> {
    const char* const modes[] = {"reflect", "replicate", "circular", "constant"};
    const int64_t mode = c.op().schema().find("mode") < 0 ? 2 : c.integer("mode");
    if (mode < 0 || mode > 3) return model_error(c.op().name() + ": unknown mode");
    const std::vector<Arg> args = {c.arg("self"), c.arg("pad"), modes[mode], Arg()};
    return infer(c.graph(), Registry::global().get("aten.pad"), args);
  };
  ops.define("aten::_pad_circular(Tensor self, SymInt[] pad) -> Tensor").infer(types).expand([](Builder& b, const Call& c) {
    return b.call("aten.pad", {c.arg("self"), c.arg("pad"), "circular"});
  });
  ops.define("aten::_pad_enum(Tensor self, SymInt[] pad, int mode, float? value=None) -> Tensor")
      .infer(types)
      .expand([](Builder& b, const Call& c) {
        const char* const modes[] = {"reflect", "replicate", "circular", "constant"};
        const int64_t mode = c.integer("mode");
        if (mode < 0 || mode > 3) b.fail("_pad_enum: unknown mode");
        return b.call("aten.pad", {c.arg("self"), c.arg("pad"), b.failed() ? "constant" : modes[mode], c.arg("value")});
      });
}

// Every tensor cut into `num_chunks` pieces along the dim, the pieces of one number joined, flattened behind the dim.
Result<Dims> chunk_cat_sizes(const Call& c) {
  const auto tensors = c.values("tensors");
  const int64_t chunks = c.integer("num_chunks");
  if (tensors.empty() || chunks <= 0) return model_error("_chunk_cat of nothing");
  const Dims first = c.graph().tensor(tensors[0]).sizes;
  EDGEC_TRY(const size_t axis, c.axis("dim", first.size()));
  Dim total = 0;
  for (ValueId v : tensors) {
    const Dims& sizes = c.graph().tensor(v).sizes;
    if (sizes.size() <= axis) return model_error("_chunk_cat: the dim is out of range");
    total = total + sym::ceildiv(sizes[axis], chunks) * numel(Dims(sizes.begin() + static_cast<ptrdiff_t>(axis) + 1, sizes.end()));
  }
  Dims out(first.begin(), first.begin() + static_cast<ptrdiff_t>(axis));
  out.push_back(chunks);
  out.push_back(total);
  return out;
}

ValueId chunk_cat(Builder& b, const Call& c) {
  const Dims out = result_sizes(c);
  const size_t axis = out.size() - 2;
  const int64_t chunks = c.integer("num_chunks");
  std::vector<ValueId> parts;
  for (ValueId v : c.values("tensors")) {
    const Dims sizes = sizes_of(b, v);
    const Dim piece = sym::ceildiv(sizes[axis], chunks);
    Dims pad(2 * (sizes.size() - axis), Dim(0));
    pad.back() = piece * chunks - sizes[axis];
    Dims flat(sizes.begin(), sizes.begin() + static_cast<ptrdiff_t>(axis));
    flat.push_back(chunks);
    flat.push_back(piece * numel(Dims(sizes.begin() + static_cast<ptrdiff_t>(axis) + 1, sizes.end())));
    parts.push_back(b.view(b.call("aten.constant_pad_nd", {v, pad, 0}), flat));
  }
  return cat(b, parts, axis + 1);
}

void define_shapes(Table& ops) {
  ops.define("aten::_reshape_alias(Tensor(a) self, SymInt[] size, SymInt[] stride) -> Tensor(a)")
      .dtype(same_as("self"))
      .shape([](const Call& c) -> Result<Dims> {
        if (sym::equal(numel(c.dims("size")), numel(c.tensor("self").sizes)) == sym::Proof::No)
          return model_error("_reshape_alias: the sizes are not those of as many elements");
        return c.dims("size");
      })
      .expand([](Builder& b, const Call& c) { return b.view(c.value("self"), c.dims("size")); });
  ops.define("aten::_dim_arange(Tensor like, int dim) -> Tensor")
      .dtype(fixed(DType::I64))
      .shape([](const Call& c) -> Result<Dims> {
        EDGEC_TRY(const size_t axis, c.axis("dim", c.rank("like")));
        return c.rank("like") ? Result<Dims>(Dims{c.tensor("like").sizes[axis]})
                              : Result<Dims>(model_error("_dim_arange of a rank-0 tensor"));
      })
      .expand([](Builder& b, const Call& c) { return iota(b, result_sizes(c)[0]); });
  ops.define("aten::_shape_as_tensor(Tensor self) -> Tensor")
      .dtype(fixed(DType::I64))
      .shape([](const Call& c) -> Result<Dims> { return Dims{static_cast<int64_t>(c.rank("self"))}; })
      .expand([](Builder& b, const Call& c) {
        std::vector<ValueId> sizes;
        for (const Dim& d : c.tensor("self").sizes) sizes.push_back(b.full({1}, d, DType::I64));
        return sizes.empty() ? b.full({0}, 0, DType::I64) : cat(b, sizes, 0);
      });
  ops.define("aten::diagflat(Tensor self, int offset=0) -> Tensor")
      .dtype(same_as("self"))
      .shape([](const Call& c) -> Result<Dims> {
        const Dim n = numel(c.tensor("self").sizes) + std::abs(c.integer("offset"));
        return Dims{n, n};
      })
      .expand([](Builder& b, const Call& c) {
        return b.call("aten.diag_embed", {b.view(c.value("self"), {numel(c.tensor("self").sizes)}), c.arg("offset")});
      });
  ops.define("aten::_to_cpu(Tensor[] tensors) -> Tensor[]")
      .infer([](const Call& c) -> Result<std::vector<Type>> {
        std::vector<Type> out;
        for (ValueId v : c.values("tensors")) out.push_back(Type::of({c.graph().tensor(v).dtype, c.graph().tensor(v).sizes, {}, {}}));
        return out;
      })
      .expand([](Builder&, const Call& c) { return c.values("tensors"); });
  ops.define("aten::flatten_dense_tensors(Tensor[] tensors) -> Tensor")
      .dtype(promoted({"tensors"}))
      .shape([](const Call& c) -> Result<Dims> {
        Dim n = 0;
        for (ValueId v : c.values("tensors")) n = n + numel(c.graph().tensor(v).sizes);
        return Dims{n};
      })
      .expand([](Builder& b, const Call& c) {
        std::vector<ValueId> flat;
        for (ValueId v : c.values("tensors")) flat.push_back(b.view(v, {numel(c.graph().tensor(v).sizes)}));
        return b.call("aten.cat", {Arg::tensors(flat)});
      });
  ops.define("aten::unflatten_dense_tensors(Tensor flat, Tensor[] tensors) -> Tensor[]")
      .infer([](const Call& c) -> Result<std::vector<Type>> {
        std::vector<Type> out;
        Dim total = 0;
        for (ValueId v : c.values("tensors")) {
          out.push_back(Type::of({c.tensor("flat").dtype, c.graph().tensor(v).sizes, {}, {}}));
          total = total + numel(c.graph().tensor(v).sizes);
        }
        if (c.rank("flat") != 1 || sym::equal(sym::max(total, c.tensor("flat").sizes[0]), c.tensor("flat").sizes[0]) == sym::Proof::No)
          return model_error("unflatten_dense_tensors: the flat tensor is no vector, or shorter than all tensors");
        return out;
      })
      .expand([](Builder& b, const Call& c) {
        std::vector<ValueId> out;
        Dim at = 0;
        for (ValueId v : c.values("tensors")) {
          const Dims sizes = c.graph().tensor(v).sizes;
          out.push_back(b.view(slice(b, c.value("flat"), 0, at, at + numel(sizes)), sizes));
          at = at + numel(sizes);
        }
        return out;
      });
  ops.define("aten::_chunk_cat(Tensor[] tensors, int dim, int num_chunks) -> Tensor")
      .dtype(promoted({"tensors"}))
      .shape(chunk_cat_sizes)
      .expand(chunk_cat);
}

// Half of the size goes round to the front; the inverse rounds the other way.
ValueId shifted(Builder& b, const Call& c, bool inverse) {
  const Dims sizes = c.tensor("self").sizes;
  ArgList shifts, dims;
  for (size_t a : axes_of(b, c, "dim", sizes.size())) {
    shifts.emplace_back(inverse ? sym::ceildiv(sizes[a], 2) : sym::floordiv(sizes[a], 2));
    dims.emplace_back(static_cast<int64_t>(a));
  }
  return shifts.empty() ? c.value("self") : b.call("aten.roll", {c.arg("self"), Arg(std::move(shifts)), Arg(std::move(dims))});
}

}  // namespace

void define_others(Table& ops) {
  define_casts(ops);
  define_convolution_forms(ops);
  define_unpooling(ops);
  define_paddings(ops);
  define_shapes(ops);
  for (const bool inverse : {false, true})
    ops.define(fmt::format("aten::fft_{}shift(Tensor self, int[1]? dim=None) -> Tensor", inverse ? "ifft" : "fft"))
        .dtype(same_as("self"))
        .shape(shape_of("self"))
        .expand([inverse](Builder& b, const Call& c) { return shifted(b, c, inverse); });
}

}  // namespace edgec::ops
