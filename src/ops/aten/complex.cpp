#include <fmt/format.h>

#include <algorithm>

#include "ops/numeric.h"
#include "ops/table.h"

// Operators that make, take apart or transform complex tensors: their types only. passes/complex-parts replaces them by
// real ones before anything expands.
namespace edgec::ops {
namespace {

using Types = Result<std::vector<Type>>;

DType complex_of(DType d) { return is_complex(d) ? d : d == DType::F64 ? DType::C128 : d == DType::F16 ? DType::C32 : DType::C64; }
DType real_of(DType d) { return d == DType::C128 ? DType::F64 : d == DType::C32 ? DType::F16 : d == DType::C64 ? DType::F32 : d; }

DTypeRule complex_dtype(std::string param) {
  return [param](const Call& c) -> Result<DType> { return complex_of(c.tensor(param).dtype); };
}
DTypeRule real_dtype(std::string param) {
  return [param](const Call& c) -> Result<DType> {
    const DType d = c.tensor(param).dtype;
    return is_complex(d) || is_float(d) ? real_of(d) : DType::F32;
  };
}
DTypeRule transform_dtype(bool complex, std::string param = "self") {
  return [=](const Call& c) -> Result<DType> {
    const DType d = c.tensor(param).dtype, wide = is_complex(d) || is_float(d) ? d : DType::F32;
    return complex ? complex_of(wide) : real_of(wide);
  };
}

// Real numbers stay; complex ones wait for passes/complex_parts.
std::vector<ValueId> itself_if_real(Builder&, const Call& c) {
  if (is_complex(c.tensor("self").dtype)) return keep_whole();
  return {c.value("self")};
}

void define_parts(Table& ops) {
  ops.define("aten::view_as_complex(Tensor(a) self) -> Tensor(a)").dtype(complex_dtype("self")).shape([](const Call& c) -> Result<Dims> {
    const Dims& sizes = c.tensor("self").sizes;
    if (sizes.empty() || sizes.back() != Dim(2)) return model_error("view_as_complex: the last dim holds two numbers");
    return Dims(sizes.begin(), sizes.end() - 1);
  });
  ops.define("aten::view_as_real(Tensor(a) self) -> Tensor(a)").dtype(real_dtype("self")).shape([](const Call& c) -> Result<Dims> {
    Dims sizes = c.tensor("self").sizes;
    sizes.push_back(2);
    return sizes;
  });
  for (const char* name : {"real", "imag"})
    ops.define(fmt::format("aten::{}(Tensor(a) self) -> Tensor(a)", name))
        .dtype([](const Call& c) -> Result<DType> { return real_of(c.tensor("self").dtype); })
        .shape(shape_of("self"))
        .expand(itself_if_real);
  for (const char* schema : {"aten::conj(Tensor(a) self) -> Tensor(a)", "aten::_conj(Tensor(a) self) -> Tensor(a)",
                             "aten::_conj_physical(Tensor self) -> Tensor", "aten::conj_physical(Tensor self) -> Tensor",
                             "aten::resolve_conj(Tensor(a) self) -> Tensor(a)"})
    ops.define(schema).dtype(same_as("self")).shape(shape_of("self")).expand(itself_if_real);
  // Of real numbers: pi below zero, NaN stays.
  ops.define("aten::angle(Tensor self) -> Tensor").dtype(real_dtype("self")).shape(shape_of("self")).expand([](Builder& b, const Call& c) {
    const DType d = c.tensor("self").dtype;
    if (is_complex(d)) b.fail("angle of a complex tensor");
    const ValueId x = is_float(d) ? c.value("self") : b.cast(c.value("self"), DType::F32);
    const DType f = is_float(d) ? d : DType::F32;
    const ValueId turned = where(b, b.call("aten.lt.Scalar", {x, 0}), number(b, 3.141592653589793, f), number(b, 0, f));
    return where(b, b.unary("aten.isnan", x), x, turned);
  });
  for (const auto& [name, first, second] : {std::tuple("complex", "real", "imag"), std::tuple("polar", "abs", "angle")})
    ops.define(fmt::format("aten::{}(Tensor {}, Tensor {}) -> Tensor", name, first, second))
        .dtype(complex_dtype(first))
        .shape(broadcast_of({first, second}));
}

// ---- transforms ----------------------------------------------------------------------------------------------------------------------

Dim half(Dim n) { return sym::floordiv(n, 2) + 1; }

// One dim, of the length `n` when given. Real results of complex ones are twice as long but for the ends.
ShapeRule along_one(bool halves, bool doubles) {
  return [=](const Call& c) -> Result<Dims> {
    Dims sizes = c.tensor("self").sizes;
    if (sizes.empty()) return model_error(c.op().name() + " of a rank-0 tensor");
    EDGEC_TRY(const size_t axis, c.axis("dim", sizes.size()));
    const Dim n = c.has("n") ? c.dim("n") : doubles ? (sizes[axis] - 1) * 2 : sizes[axis];
    sizes[axis] = halves ? half(n) : n;
    return sizes;
  };
}

// Several dims, the last of them the one that is halved or doubled.
ShapeRule along_many(bool halves, bool doubles) {
  return [=](const Call& c) -> Result<Dims> {
    Dims sizes = c.tensor("self").sizes;
    const size_t rank = sizes.size();
    const Dims lengths = c.has("s") ? c.dims("s") : Dims{};
    std::vector<size_t> axes;
    if (c.has("dim"))
      for (int64_t d : c.integers("dim")) {
        if (d < -static_cast<int64_t>(rank) || d >= static_cast<int64_t>(rank)) return model_error(c.op().name() + ": dim out of range");
        axes.push_back(static_cast<size_t>(d < 0 ? d + static_cast<int64_t>(rank) : d));
      }
    else
      for (size_t i = lengths.empty() ? 0 : rank - std::min(rank, lengths.size()); i < rank; ++i) axes.push_back(i);
    if (axes.empty() || (!lengths.empty() && lengths.size() != axes.size()))
      return model_error(c.op().name() + ": dims and lengths differ");
    for (size_t i = 0; i < axes.size(); ++i) {
      const bool last = i + 1 == axes.size();
      Dim& size = sizes[axes[i]];
      const bool given = !lengths.empty() && lengths[i] != Dim(-1);
      const Dim n = given ? lengths[i] : last && doubles ? (size - 1) * 2 : size;
      size = last && halves ? half(n) : n;
    }
    return sizes;
  };
}

void define_transforms(Table& ops) {
  for (const auto& [name, complex, halves, doubles] :
       {std::tuple("fft", true, false, false), std::tuple("ifft", true, false, false), std::tuple("rfft", true, true, false),
        std::tuple("irfft", false, false, true), std::tuple("hfft", false, false, true), std::tuple("ihfft", true, true, false)}) {
    ops.define(fmt::format("aten::fft_{}(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor", name))
        .dtype(transform_dtype(complex))
        .shape(along_one(halves, doubles));
    ops.define(fmt::format("aten::fft_{}2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor", name))
        .dtype(transform_dtype(complex))
        .shape(along_many(halves, doubles));
    ops.define(fmt::format("aten::fft_{}n(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor", name))
        .dtype(transform_dtype(complex))
        .shape(along_many(halves, doubles));
  }
  const auto dims_kept = [](const Call& c) -> Result<Dims> { return c.tensor("self").sizes; };
  const auto last_of = [](const Call& c, Dim to) -> Result<Dims> {
    Dims sizes = c.tensor("self").sizes;
    EDGEC_TRY(const auto axes, c.axes("dim", sizes.size()));
    const auto dims = c.integers("dim");
    if (dims.empty() || sizes.empty() || axes.empty()) return model_error(c.op().name() + " needs a dim");
    const int64_t d = dims.back() < 0 ? dims.back() + static_cast<int64_t>(sizes.size()) : dims.back();
    return replaced(sizes, static_cast<size_t>(d), to == Dim(-1) ? half(sizes[static_cast<size_t>(d)]) : to);
  };
  ops.define("aten::_fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) -> Tensor")
      .dtype(transform_dtype(true))
      .shape(dims_kept);
  ops.define("aten::_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor")
      .dtype(transform_dtype(true))
      .shape([=](const Call& c) -> Result<Dims> { return c.flag("onesided") ? last_of(c, -1) : dims_kept(c); });
  ops.define("aten::_fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> Tensor")
      .dtype(transform_dtype(false))
      .shape([=](const Call& c) { return last_of(c, c.dim("last_dim_size")); });
}

// ---- short-time transforms -----------------------------------------------------------------------------------------------------------

Types stft_types(const Call& c) {
  const Dims& x = c.tensor("self").sizes;
  const int64_t n = c.integer("n_fft"), hop = c.integer("hop_length", n / 4);
  if (x.empty() || x.size() > 2 || n <= 0 || hop <= 0) return model_error("stft takes one or two dims and positive lengths");
  const bool centred = c.op().schema().find("center") >= 0 && c.flag("center");
  const Dim length = x.back() + (centred ? n / 2 * 2 : 0);
  if (sym::equal(sym::max(length, n), length) == sym::Proof::No) return model_error("stft: a window is longer than the signal");
  const bool complex_input = is_complex(c.tensor("self").dtype);
  const bool onesided = c.has("onesided") ? c.flag("onesided") : !complex_input;
  Dims out(x.begin(), x.end() - 1);
  out.push_back(onesided ? n / 2 + 1 : n);
  out.push_back(sym::floordiv(length - n, hop) + 1);
  const bool complex = c.has("return_complex") ? c.flag("return_complex") : complex_input;
  if (!complex) out.push_back(2);
  const DType d = c.tensor("self").dtype;
  return std::vector<Type>{Type::of({complex ? complex_of(d) : real_of(d), out, {}, {}})};
}

Types istft_types(const Call& c) {
  const Dims& x = c.tensor("self").sizes;
  const int64_t n = c.integer("n_fft"), hop = c.integer("hop_length", n / 4);
  if (x.size() < 2 || x.size() > 3 || n <= 0 || hop <= 0) return model_error("istft takes two or three dims and positive lengths");
  Dims out(x.begin(), x.end() - 2);
  const Dim all = (x.back() - 1) * hop + n;
  out.push_back(c.has("length") ? c.dim("length") : c.flag("center") ? all - n / 2 * 2 : all);
  return std::vector<Type>{Type::of({real_of(c.tensor("self").dtype), out, {}, {}})};
}

}  // namespace

void define_complex(Table& ops) {
  define_parts(ops);
  define_transforms(ops);
  ops.define(
         "aten::stft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool normalized=False, bool? "
         "onesided=None, bool? return_complex=None, bool? align_to_window=None) -> Tensor")
      .infer(stft_types);
  ops.define(
         "aten::stft.center(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, str "
         "pad_mode=\"reflect\", bool normalized=False, bool? onesided=None, bool? return_complex=None, bool? align_to_window=None) -> "
         "Tensor")
      .infer(stft_types);
  ops.define(
         "aten::istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, bool "
         "normalized=False, bool? onesided=None, int? length=None, bool return_complex=False) -> Tensor")
      .infer(istft_types);
}

}  // namespace edgec::ops
