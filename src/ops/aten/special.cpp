#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "ops/numeric.h"
#include "ops/table.h"

// Special functions (gamma and its kin, Bessel), integer arithmetic (gcd, lcm) and functions of a number's bits (nextafter,
// frexp). Floats compute in f64; the series used have the same number of terms for every argument.
namespace edgec::ops {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN(),
                 kPi = std::numbers::pi;
const std::vector<std::string> kBoth = {"self", "other"};

ValueId f64(Builder& b, double v) { return number(b, v, DType::F64); }
ValueId log(Builder& b, ValueId x) { return b.unary("aten.log", x); }
ValueId one_minus(Builder& b, ValueId x) { return b.call("aten.rsub.Scalar", {x, 1}); }
// x less the nearest integer: sin(pi x) is exactly 0 at integers.
ValueId from_nearest(Builder& b, ValueId x) { return b.sub(x, b.unary("aten.round", x)); }

// ---- gamma ---------------------------------------------------------------------------------------------------------------------------

// log gamma(x) for x >= 0.5 (Lanczos, g = 7).
ValueId log_gamma_right(Builder& b, ValueId x) {
  const double factors[] = {676.5203681218851,  -1259.1392167224028,  771.32342877765313,    -176.61502916214059,
                            12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7};
  ValueId series = f64(b, 0.99999999999980993);
  for (int i = 0; i < 8; ++i) series = b.add(b.mul(b.unary("aten.reciprocal", b.add(x, i)), factors[i]), series);
  const ValueId t = b.add(x, 6.5);
  const ValueId power = b.sub(b.mul(b.sub(x, 0.5), log(b, t)), t);
  return b.add(b.add(power, log(b, series)), 0.5 * std::log(2 * kPi));
}

// log |gamma(x)|; on the left by gamma(x) gamma(1 - x) = pi / sin(pi x).
ValueId log_gamma(Builder& b, ValueId x) {
  const ValueId left = compare(b, "lt", x, 0.5);
  const ValueId right = log_gamma_right(b, where(b, left, one_minus(b, x), x));
  const ValueId sine = b.unary("aten.abs", b.unary("aten.sin", b.mul(from_nearest(b, x), kPi)));
  const ValueId mirrored = b.sub(b.sub(f64(b, std::log(kPi)), log(b, sine)), right);
  return where(b, b.unary("aten.isinf", x), f64(b, kInfinity), where(b, left, mirrored, right));
}

// log gamma_p(x): p log gammas side by side.
ValueId multivariate_log_gamma(Builder& b, const Call& c) {
  const int64_t p = c.integer("p");
  const DType d = c.tensor("self").dtype;
  const ValueId x = b.cast(c.value("self"), DType::F64);
  ValueId sum = f64(b, 0.25 * std::log(kPi) * static_cast<double>(p * (p - 1)));
  for (int64_t j = 0; j < p; ++j) sum = b.add(log_gamma(b, b.sub(x, 0.5 * static_cast<double>(j))), sum);
  return b.cast(sum, is_float(d) ? d : DType::F32);
}

// The derivative of log gamma for x > 0: ten steps up, then the asymptotic series.
ValueId digamma_right(Builder& b, ValueId x) {
  ValueId steps = b.unary("aten.reciprocal", x);
  for (int k = 1; k < 10; ++k) steps = b.add(steps, b.unary("aten.reciprocal", b.add(x, k)));
  const ValueId y = b.add(x, 10), w = b.unary("aten.reciprocal", b.mul(y, y));
  const ValueId series = polynomial(b, w, {1.0 / 12, -691.0 / 32760, 1.0 / 132, -1.0 / 240, 1.0 / 252, -1.0 / 120, 1.0 / 12, 0});
  return b.sub(b.sub(b.sub(log(b, y), b.mul(b.unary("aten.reciprocal", y), 0.5)), series), steps);
}

ValueId digamma(Builder& b, ValueId x) {
  const ValueId left = compare(b, "lt", x, 0);
  const ValueId right = digamma_right(b, where(b, left, one_minus(b, x), x));
  const ValueId rest = from_nearest(b, x);
  const ValueId mirrored = b.sub(right, b.mul(b.unary("aten.reciprocal", b.unary("aten.tan", b.mul(rest, kPi))), kPi));
  const ValueId pole = both(b, compare(b, "eq", rest, 0), left);
  const ValueId value = where(b, pole, f64(b, kNaN), where(b, left, mirrored, right));
  return where(b, compare(b, "eq", x, 0), neg(b, b.unary("aten.reciprocal", x)), value);
}

// (-1)^(n+1) n! zeta(n + 1, x) for x > 0 (Euler and Maclaurin behind ten terms).
ValueId polygamma_right(Builder& b, int64_t n, ValueId x) {
  const double s = static_cast<double>(n) + 1;
  const auto power = [&](ValueId v, double e) { return b.call("aten.pow.Tensor_Scalar", {v, e}); };
  ValueId zeta = power(x, -s);
  for (int k = 1; k < 10; ++k) zeta = b.add(zeta, power(b.add(x, k), -s));
  const ValueId y = b.add(x, 10);
  zeta = b.add(zeta, b.add(b.mul(power(y, 1 - s), 1 / (s - 1)), b.mul(power(y, -s), 0.5)));
  const double bernoulli[] = {1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66, -691.0 / 2730, 7.0 / 6, -3617.0 / 510};
  double factor = s / 2;  // s (s + 1) ... (s + 2j - 2) / (2j)!
  for (int j = 1; j <= 8; ++j) {
    zeta = b.add(zeta, b.mul(power(y, -s - 2 * j + 1), bernoulli[j - 1] * factor));
    factor *= (s + 2 * j - 1) * (s + 2 * j) / ((2 * j + 1) * (2 * j + 2));
  }
  return b.mul(zeta, (n % 2 ? 1 : -1) * std::tgamma(s));
}

// Coefficients by power of the nth derivative of cot as a polynomial of cot: (c^k)' = -k (c^(k-1) + c^(k+1)).
std::vector<double> cot_derivative(int64_t n) {
  std::vector<double> p = {0, 1};
  for (int64_t i = 0; i < n; ++i) {
    std::vector<double> next(p.size() + 1, 0);
    for (size_t k = 1; k < p.size(); ++k) {
      next[k - 1] -= static_cast<double>(k) * p[k];
      next[k + 1] -= static_cast<double>(k) * p[k];
    }
    p = std::move(next);
  }
  return {p.rbegin(), p.rend()};
}

ValueId polygamma(Builder& b, int64_t n, ValueId x) {
  if (n < 0 || n > 100) b.fail("polygamma: the order must be between 0 and 100");
  if (n == 0 || b.failed()) return digamma(b, x);
  // torch mirrors only the first; the Hurwitz zeta function it takes for others is infinite at 0, -1, ...
  const ValueId left = compare(b, "lt", x, 0.5), rest = from_nearest(b, x);
  const ValueId right = polygamma_right(b, n, where(b, left, one_minus(b, x), x));
  const ValueId cot = b.unary("aten.reciprocal", b.unary("aten.tan", b.mul(rest, kPi)));
  const ValueId derivative = b.mul(polynomial(b, cot, cot_derivative(n)), std::pow(kPi, static_cast<double>(n + 1)));
  const ValueId mirrored = n % 2 ? neg(b, b.add(derivative, right)) : b.sub(right, derivative);
  const ValueId pole = both(b, compare(b, "eq", rest, 0), left);
  return where(b, pole, f64(b, n % 2 ? kInfinity : -kInfinity), where(b, left, mirrored, right));
}

void define_gamma(Table& ops) {
  composed_in_double(ops, "lgamma", true, log_gamma);
  composed_in_double(ops, "digamma", true, digamma);
  for (const auto& [name, of] :
       {std::pair("special_gammaln", "lgamma"), std::pair("special_digamma", "digamma"), std::pair("special_psi", "digamma")})
    synonym(ops, fmt::format("aten::{}(Tensor self) -> Tensor", name), fmt::format("aten.{}", of));
  for (const char* name : {"mvlgamma", "special_multigammaln"})
    ops.define(fmt::format("aten::{}(Tensor self, int p) -> Tensor", name))
        .dtype(promoted_float({"self"}))
        .shape(shape_of("self"))
        .expand(multivariate_log_gamma);
  ops.in_place("aten::mvlgamma_(Tensor(a!) self, int p) -> Tensor(a!)");
  for (const char* name : {"polygamma", "special_polygamma"})
    ops.define(fmt::format("aten::{}(int n, Tensor self) -> Tensor", name))
        .dtype(promoted_float({"self"}))
        .shape(shape_of("self"))
        .expand([](Builder& b, const Call& c) {
          const DType d = c.tensor("self").dtype;
          return b.cast(polygamma(b, c.integer("n"), b.cast(c.value("self"), DType::F64)), is_float(d) ? d : DType::F32);
        });
}

// ---- modified Bessel functions of the first kind --------------------------------------------------------------------------------------

// I_order(x) exp(-|x|): by powers of (x / 2)^2 below 20, by its expansion at infinity above. All terms have one sign below.
ValueId scaled_bessel(Builder& b, int order, ValueId x) {
  std::vector<double> near, far;
  double term = 1, far_term = 1;
  for (int k = 0; k < 48; ++k) {
    near.insert(near.begin(), term);
    term /= (k + 1.0) * (k + 1.0 + order);
  }
  for (int k = 0; k < 22; ++k) {
    far.insert(far.begin(), far_term);
    far_term *= -(4.0 * order * order - (2 * k + 1.0) * (2 * k + 1.0)) / ((k + 1) * 8.0);
  }
  const ValueId size = b.unary("aten.abs", x), large = compare(b, "ge", size, 20);
  const ValueId below = where(b, large, f64(b, 0), size), above = where(b, large, size, f64(b, 20));
  const ValueId half = b.mul(below, 0.5);
  ValueId small = b.mul(polynomial(b, b.mul(half, half), near), b.unary("aten.exp", neg(b, below)));
  if (order == 1) small = b.mul(small, half);
  const ValueId great = b.mul(polynomial(b, b.unary("aten.reciprocal", above), far), b.unary("aten.rsqrt", b.mul(above, 2 * kPi)));
  const ValueId value = where(b, large, great, small);
  const ValueId signed_value = order == 1 ? b.mul(value, b.unary("aten.sign", x)) : value;
  return where(b, b.unary("aten.isnan", x), x, signed_value);
}

template <int order>
ValueId bessel_scaled(Builder& b, ValueId x) {
  return scaled_bessel(b, order, x);
}

// exp in two halves: the result may be finite where exp(|x|) is not. Of infinity it is NaN, as in torch.
template <int order>
ValueId bessel(Builder& b, ValueId x) {
  const ValueId root = b.unary("aten.exp", b.mul(b.unary("aten.abs", x), 0.5));
  return b.mul(b.mul(scaled_bessel(b, order, x), root), root);
}

void define_bessel(Table& ops) {
  composed_in_double(ops, "i0", true, bessel<0>);
  for (const char* name : {"special_i0", "special_modified_bessel_i0"}) composed_in_double(ops, name, false, bessel<0>);
  for (const char* name : {"special_i1", "special_modified_bessel_i1"}) composed_in_double(ops, name, false, bessel<1>);
  composed_in_double(ops, "special_i0e", false, bessel_scaled<0>);
  composed_in_double(ops, "special_i1e", false, bessel_scaled<1>);
}

// ---- integers ------------------------------------------------------------------------------------------------------------------------

// Euclid's steps that the largest numbers of a dtype need (consecutive Fibonacci numbers are the worst).
int euclid_steps(DType d) { return static_cast<int>(1.45 * 8 * static_cast<double>(size_of(d))) + 2; }

ValueId greatest_divisor(Builder& b, ValueId x, ValueId y) {
  if (b.failed()) return {};
  const DType d = b.tensor(x).dtype;
  const auto size = [&](ValueId v) { return d == DType::U8 ? v : b.unary("aten.abs", v); };
  ValueId big = size(x), small = size(y);
  const ValueId zero = b.full({}, 0, d);
  for (int i = 0; i < euclid_steps(d); ++i) {  // small = 0 ends it: the rest of big by 1 is 0 again
    const ValueId done = compare(b, "eq", small, 0);
    const ValueId times = b.call("aten.floor_divide", {big, b.call("aten.clamp", {small, 1})});
    const ValueId rest = where(b, done, zero, b.sub(big, b.mul(times, small)));
    big = where(b, done, big, small);
    small = rest;
  }
  return big;
}

void define_integers(Table& ops) {
  for (const std::string name : {"gcd", "lcm"}) {
    const bool multiple = name == "lcm";
    ops.define("aten::" + name + "(Tensor self, Tensor other) -> Tensor")
        .dtype(promoted(kBoth))
        .shape(broadcast_of(kBoth))
        .expand([multiple](Builder& b, const Call& c) {
          const DType d = c.promoted({"self", "other"});
          const ValueId x = b.cast(c.value("self"), d), y = b.cast(c.value("other"), d), divisor = greatest_divisor(b, x, y);
          if (!multiple) return divisor;
          const ValueId part = b.call("aten.div.Tensor_mode", {x, b.call("aten.clamp", {divisor, 1})}, {{"rounding_mode", "trunc"}});
          // C++ multiplies narrow integers as int.
          const DType wide = d == DType::I64 ? d : DType::I32;
          return b.cast(b.unary("aten.abs", b.mul(b.cast(part, wide), b.cast(y, wide))), d);
        });
    ops.in_place("aten::" + name + "_(Tensor(a!) self, Tensor other) -> Tensor(a!)");
  }
}

// ---- the bits of a float --------------------------------------------------------------------------------------------------------------

struct Format {
  int digits;    // of the mantissa, the hidden one included
  int smallest;  // exponent of the smallest number above 0
  double largest;
};

Format format_of(DType d) {
  if (d == DType::BF16) return {8, -133, 3.3895313892515355e38};
  if (d == DType::F16) return {11, -24, 65504};
  if (d == DType::F32) return {24, -149, std::numeric_limits<float>::max()};
  return {53, -1074, std::numeric_limits<double>::max()};
}

// The neighbour of x towards y: x moved by something between half and one and a half of the distance, then rounded.
ValueId next_after(Builder& b, ValueId x, ValueId y, DType d) {
  const Format f = format_of(d);
  const ValueId wide = b.cast(x, DType::F64), size = b.unary("aten.abs", wide);
  // What is near the smallest f64 moves in larger numbers; narrower dtypes have room below.
  const ValueId scale = d == DType::F64 ? where(b, compare(b, "lt", size, 0x1p-960), f64(b, 0x1p60), f64(b, 1)) : f64(b, 1);
  const ValueId relative = b.mul(b.mul(size, scale), std::ldexp(1 + 0x1p-5, -f.digits));
  const ValueId least = b.mul(b.mul(scale, 0.75), std::ldexp(1, d == DType::F64 ? f.smallest + 60 : f.smallest));
  const ValueId least_scaled = d == DType::F64 ? b.mul(least, 0x1p-60) : least;
  const ValueId move = b.call("aten.maximum", {relative, least_scaled});
  const ValueId up = compare(b, "lt", x, y);
  const ValueId scaled = b.mul(wide, scale);
  const ValueId moved = b.mul(where(b, up, b.add(scaled, move), b.sub(scaled, move)), b.unary("aten.reciprocal", scale));
  const ValueId limit = b.mul(b.unary("aten.sign", wide), f.largest);
  const ValueId next = b.cast(where(b, b.unary("aten.isinf", wide), limit, moved), d);
  const ValueId no_number = either(b, b.unary("aten.isnan", x), b.unary("aten.isnan", y));
  return where(b, no_number, b.add(x, y), where(b, compare(b, "eq", x, y), y, next));
}

// x = mantissa * 2^exponent with 0.5 <= |mantissa| < 1. log2 may be one off near powers of 2.
Values mantissa_and_exponent(Builder& b, const Call& c) {
  const DType d = c.tensor("self").dtype;
  const ValueId x = b.cast(c.value("self"), DType::F64), size = b.unary("aten.abs", x);
  const ValueId plain = both(b, compare(b, "gt", size, 0), compare(b, "lt", size, kInfinity));
  const ValueId guess = b.add(b.unary("aten.floor", b.unary("aten.log2", where(b, plain, size, f64(b, 0.5)))), 1);
  const ValueId first = b.unary("aten.trunc", b.mul(guess, 0.5)), second = b.sub(guess, first);  // 2^1024 is no f64
  const auto shrink = [&](ValueId v, ValueId e) { return b.mul(v, b.call("aten.pow.Scalar", {2.0, neg(b, e)})); };
  ValueId mantissa = shrink(shrink(x, first), second);
  const ValueId at = b.unary("aten.abs", mantissa);
  const ValueId high = b.cast(compare(b, "ge", at, 1), DType::F64), low = b.cast(compare(b, "lt", at, 0.5), DType::F64);
  const ValueId off = b.sub(high, low);
  mantissa = shrink(mantissa, off);
  const ValueId exponent = where(b, plain, b.add(guess, off), f64(b, 0));
  return {b.cast(where(b, plain, mantissa, x), d), b.cast(exponent, DType::I32)};
}

void define_bits(Table& ops) {
  ops.define("aten::nextafter(Tensor self, Tensor other) -> Tensor")
      .dtype(promoted(kBoth))
      .shape(broadcast_of(kBoth))
      .expand([](Builder& b, const Call& c) {
        const DType d = c.promoted({"self", "other"});
        return next_after(b, b.cast(c.value("self"), d), b.cast(c.value("other"), d), d);
      });
  ops.in_place("aten::nextafter_(Tensor(a!) self, Tensor other) -> Tensor(a!)");
  ops.define("aten::frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)")
      .infer([](const Call& c) -> Result<std::vector<Type>> {
        const TensorType& x = c.tensor("self");
        return std::vector<Type>{Type::of({x.dtype, x.sizes, {}, {}}), Type::of({DType::I32, x.sizes, {}, {}})};
      })
      .expand(mantissa_and_exponent);
}

}  // namespace

void define_special(Table& ops) {
  define_gamma(ops);
  define_bessel(ops);
  define_integers(ops);
  define_bits(ops);
}

}  // namespace edgec::ops
