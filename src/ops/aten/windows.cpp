#include <fmt/format.h>

#include <numbers>

#include "ops/numeric.h"
#include "ops/table.h"

// Window functions, and points at even distances between tensors.
namespace edgec::ops {
namespace {

constexpr double kPi = std::numbers::pi;
const std::string kFactory = ", *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor";

// A sum of cosines: terms[k] cos(2 pi k i / (n - 1)). A periodic window is a longer one without its last point.
ValueId cosine_window(Builder& b, const Call& c, const std::vector<double>& terms) {
  const int64_t n = c.integer("window_length");
  const DType d = c.dtype("dtype", DType::F32);
  if (n <= 1) return b.full({n}, 1, d);
  const bool periodic = c.op().schema().find("periodic") < 0 || c.flag("periodic");
  const ValueId angle = b.mul(iota(b, n, DType::F64), 2 * kPi / static_cast<double>(periodic ? n : n - 1));
  ValueId window = b.full({}, terms[0], DType::F64);
  for (size_t k = 1; k < terms.size(); ++k)
    window = b.add(b.mul(b.unary("aten.cos", b.mul(angle, static_cast<double>(k))), terms[k]), window);
  return b.cast(window, d);
}

ValueId triangle_window(Builder& b, const Call& c) {
  const int64_t n = c.integer("window_length");
  const DType d = c.dtype("dtype", DType::F32);
  if (n <= 1) return b.full({n}, 1, d);
  const bool periodic = c.op().schema().find("periodic") < 0 || c.flag("periodic");
  const ValueId at = b.sub(b.mul(iota(b, n, DType::F64), 2.0 / static_cast<double>(periodic ? n : n - 1)), 1.0);
  return b.cast(b.call("aten.rsub.Scalar", {b.unary("aten.abs", at), 1.0}), d);
}

// I0(beta sqrt(1 - x^2)) / I0(beta) for x from -1 to 1.
ValueId kaiser_window(Builder& b, const Call& c) {
  const int64_t n = c.integer("window_length");
  const DType d = c.dtype("dtype", DType::F32);
  if (n <= 1) return b.full({n}, 1, d);
  const bool periodic = c.op().schema().find("periodic") < 0 || c.flag("periodic");
  const double beta = c.op().schema().find("beta") >= 0 ? c.number("beta") : 12;
  const ValueId x = b.sub(b.mul(iota(b, n, DType::F64), 2.0 / static_cast<double>(periodic ? n : n - 1)), 1.0);
  const ValueId inside = b.call("aten.clamp", {b.call("aten.rsub.Scalar", {b.mul(x, x), 1.0}), 0.0});
  const ValueId over = b.unary("aten.i0", b.mul(b.unary("aten.sqrt", inside), beta));
  return b.cast(b.div(over, b.unary("aten.i0", number(b, beta, DType::F64))), d);
}

template <class Fn>
void window(Table& ops, const std::string& name, const std::vector<std::pair<std::string, std::string>>& overloads, Fn fn) {
  for (const auto& [overload, params] : overloads)
    ops.define(fmt::format("aten::{}_window{}(int window_length{}{}", name, overload, params, kFactory))
        .dtype(dtype_arg("dtype", DType::F32))
        .shape([](const Call& c) -> Result<Dims> {
          if (c.integer("window_length") < 0) return model_error(c.op().name() + ": the length is negative");
          return Dims{c.dim("window_length")};
        })
        .expand(fn);
}

void define_window_functions(Table& ops) {
  const std::pair<std::string, std::string> plain{"", ""}, periodic{".periodic", ", bool periodic"};
  window(ops, "hann", {plain, periodic}, [](Builder& b, const Call& c) { return cosine_window(b, c, {0.5, -0.5}); });
  window(ops, "hamming",
         {plain,
          periodic,
          {".periodic_alpha", ", bool periodic, float alpha"},
          {".periodic_alpha_beta", ", bool periodic, float alpha, float beta"}},
         [](Builder& b, const Call& c) {
           const auto given = [&](const char* p, double otherwise) { return c.op().schema().find(p) >= 0 ? c.number(p) : otherwise; };
           return cosine_window(b, c, {given("alpha", 0.54), -given("beta", 0.46)});
         });
  window(ops, "blackman", {plain, periodic}, [](Builder& b, const Call& c) { return cosine_window(b, c, {0.42, -0.5, 0.08}); });
  window(ops, "bartlett", {plain, periodic}, triangle_window);
  window(ops, "kaiser", {plain, periodic, {".beta", ", bool periodic, float beta"}}, kaiser_window);
}

// From start up for the first half, from the end down for the second.
ValueId between(Builder& b, const Call& c) {
  const int64_t steps = c.integer("steps");
  const DType result = c.dtype("dtype", DType::F32), d = result == DType::F32 || is_half(result) ? DType::F32 : DType::F64;
  const auto end_of = [&](const char* p) { return c.is_tensor(p) ? b.cast(c.value(p), d) : b.full({}, c.arg(p), d); };
  const ValueId start = end_of("start"), end = end_of("end");
  if (steps <= 1) return b.expand(b.view(start, {Dim(1)}), {Dim(steps)});
  const ValueId step = b.div(b.sub(end, start), static_cast<double>(steps - 1)), i = iota(b, steps, d);
  const ValueId up = b.add(b.mul(i, step), start);
  const ValueId down = b.sub(end, b.mul(b.call("aten.rsub.Scalar", {i, static_cast<double>(steps - 1)}), step));
  return where(b, b.call("aten.lt.Scalar", {i, steps / 2}), up, down);
}

void define_spacing(Table& ops) {
  for (const auto& [overload, start, end] :
       {std::tuple("Tensor_Tensor", "Tensor", "Tensor"), std::tuple("Tensor_Scalar", "Tensor", "Scalar"),
        std::tuple("Scalar_Tensor", "Scalar", "Tensor")})
    for (const bool log : {false, true})
      ops.define(fmt::format("aten::{}space.{}({} start, {} end, int steps{}{}", log ? "log" : "lin", overload, start, end,
                             log ? ", float base=10." : "", kFactory))
          .dtype(dtype_arg("dtype", DType::F32))
          .shape([](const Call& c) -> Result<Dims> {
            if (c.integer("steps") < 0) return model_error(c.op().name() + ": the number of steps is negative");
            if ((c.is_tensor("start") && c.rank("start") > 0) || (c.is_tensor("end") && c.rank("end") > 0))
              return model_error(c.op().name() + ": start and end are tensors of rank 0");
            return Dims{c.dim("steps")};
          })
          .expand([log](Builder& b, const Call& c) {
            const ValueId points = between(b, c);
            return b.cast(log ? b.call("aten.pow.Scalar", {c.arg("base"), points}) : points, c.dtype("dtype", DType::F32));
          });
}

}  // namespace

void define_windows(Table& ops) {
  define_window_functions(ops);
  define_spacing(ops);
}

}  // namespace edgec::ops
