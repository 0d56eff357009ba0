#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "passes/complex_rules.h"

// Fourier transforms as products with matrices of cosines and sines: the runtime's own kernels need complex tensors.
namespace edgec::passes {
namespace {

using Results = std::vector<Parts>;
constexpr int64_t kLongest = 4096;

// What a transform along one dim does: the sign of its exponent, and the factor in front.
struct Plan {
  int64_t n = 0;
  bool inverse = false;
  double scale = 1;
};

// cos and sin of 2 pi k t / n, exact at multiples of a quarter.
std::pair<double, double> turn(int64_t product, int64_t n) {
  const int64_t q = product % n;
  const int64_t quarters = 4 * q / n;
  const double rest = 2 * std::numbers::pi * (static_cast<double>(4 * q - quarters * n) / (4.0 * static_cast<double>(n)));
  const double c = std::cos(rest), s = std::sin(rest);
  switch (quarters) {
    case 0:
      return {c, s};
    case 1:
      return {-s, c};
    case 2:
      return {-c, -s};
    default:
      return {s, -c};
  }
}

// [rows, columns] of weight(row) * cos and sin.
template <class Weight>
Parts matrices(const ComplexCall& c, int64_t n, int64_t rows, int64_t columns, DType d, Weight weight) {
  std::vector<double> cosines, sines;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t k = 0; k < columns; ++k) {
      const auto [x, y] = turn(i * k, n);
      cosines.push_back(weight(i) * x);
      sines.push_back(weight(i) * y);
    }
  const std::string size = fmt::format("{}x{}", rows, columns);
  return {c.constant("fourier.cos." + size, {rows, columns}, cosines, d), c.constant("fourier.sin." + size, {rows, columns}, sines, d)};
}

int64_t rank_of(const ComplexCall& c, ValueId x) { return c.b.failed() ? 1 : static_cast<int64_t>(c.b.tensor(x).rank()); }

ValueId swapped(const ComplexCall& c, ValueId x, int64_t axis) {
  return x ? c.b.call("aten.transpose.int", {x, axis, rank_of(c, x) - 1}) : x;
}

// The last dim cut or filled up with zeros.
ValueId fitted(const ComplexCall& c, ValueId x, int64_t n) {
  if (!x || c.b.failed()) return x;
  const Dim size = c.b.tensor(x).sizes.back();
  if (size == Dim(n)) return x;
  return c.b.call("aten.constant_pad_nd", {x, ArgList{0, Dim(n) - size}, 0});
}

bool too_long(const ComplexCall& c, int64_t n) {
  if (n < 1 || n > kLongest)
    c.b.fail(fmt::format("{} of length {}: transforms are made for static lengths up to {}", c.c.op().name(), n, kLongest));
  return c.b.failed();
}

// The first `count` frequencies of a real or complex tensor along a dim.
Parts transformed(const ComplexCall& c, Parts x, int64_t axis, const Plan& plan, int64_t count) {
  if (too_long(c, plan.n)) return x;
  const DType d = c.b.tensor(x.re).dtype;
  const ValueId re = fitted(c, swapped(c, x.re, axis), plan.n), im = fitted(c, swapped(c, x.im, axis), plan.n);
  const Parts m = matrices(c, plan.n, plan.n, count, d, [&](int64_t) { return plan.scale; });
  const auto times = [&](ValueId v, ValueId matrix) { return c.b.call("aten.matmul", {v, matrix}); };
  Parts y{times(re, m.re), times(re, m.im)};  // of exp(+i): the inverse
  if (!plan.inverse) y.im = c.b.unary("aten.neg", y.im);
  if (im) {
    const ValueId across = times(im, m.im);
    y.re = plan.inverse ? c.b.sub(y.re, across) : c.b.add(y.re, across);
    y.im = c.b.add(y.im, times(im, m.re));
  }
  return {swapped(c, y.re, axis), swapped(c, y.im, axis)};
}

// The real tensor whose first half of frequencies is given.
ValueId real_from_half(const ComplexCall& c, Parts x, int64_t axis, const Plan& plan) {
  if (too_long(c, plan.n)) return x.re;
  const int64_t half = plan.n / 2 + 1;
  const DType d = c.b.tensor(x.re).dtype;
  const ValueId re = fitted(c, swapped(c, x.re, axis), half), im = fitted(c, swapped(c, x.im, axis), half);
  const auto weight = [&](int64_t k) { return (k == 0 || 2 * k == plan.n ? 1.0 : 2.0) * plan.scale; };
  const Parts m = matrices(c, plan.n, half, plan.n, d, weight);
  ValueId y = c.b.call("aten.matmul", {re, m.re});
  if (im) y = c.b.sub(y, c.b.call("aten.matmul", {im, m.im}));
  return swapped(c, y, axis);
}

Parts conjugate(const ComplexCall& c, Parts x) { return {x.re, x.im ? c.b.unary("aten.neg", x.im) : x.im}; }

// ---- operators -----------------------------------------------------------------------------------------------------------------------

struct Request {
  std::string kind;  // "fft", "ifft", "rfft", ...
  std::vector<int64_t> axes, lengths;
  std::string norm;
};

Request request_of(const ComplexCall& c) {
  Request r;
  r.kind = c.c.op().schema().name.substr(4);
  const bool many = r.kind.back() == '2' || r.kind.back() == 'n';
  if (many) r.kind.pop_back();
  const auto rank = static_cast<int64_t>(c.c.rank("self"));
  const Dims asked = !many ? (c.c.has("n") ? c.c.dims("n") : Dims{}) : c.c.has("s") ? c.c.dims("s") : Dims{};
  if (c.c.has("dim"))
    r.axes = c.c.integers("dim");
  else
    for (int64_t i = asked.empty() ? 0 : rank - static_cast<int64_t>(asked.size()); i < rank; ++i) r.axes.push_back(i);
  r.norm = c.c.has("norm") ? c.c.string("norm") : "backward";
  const bool doubles = r.kind == "irfft" || r.kind == "hfft";
  for (size_t i = 0; i < r.axes.size(); ++i) {
    if (r.axes[i] < 0) r.axes[i] += rank;
    if (r.axes[i] < 0 || r.axes[i] >= rank) c.b.fail(c.c.op().name() + ": dim out of range");
    if (c.b.failed()) return r;
    const int64_t size = c.c.tensor("self").sizes[static_cast<size_t>(r.axes[i])].constant().value_or(-1);
    const int64_t given = i < asked.size() ? asked[i].constant().value_or(-1) : -1;
    const bool last = i + 1 == r.axes.size();
    r.lengths.push_back(given >= 0 ? given : size < 0 ? -1 : last && doubles ? 2 * (size - 1) : size);
  }
  if (r.axes.empty()) c.b.fail(c.c.op().name() + " without a dim");
  return r;
}

double scale_of(const std::string& norm, bool inverse, int64_t n) {
  if (norm == "ortho") return 1 / std::sqrt(static_cast<double>(n));
  return (norm == "forward") != inverse ? 1 / static_cast<double>(n) : 1;
}

Parts floats(const ComplexCall& c, Parts x) {
  if (c.b.failed() || is_float(c.b.tensor(x.re).dtype)) return x;
  return {c.b.cast(x.re, DType::F32), {}};
}

Results transform(const ComplexCall& c) {
  const Request r = request_of(c);
  if (c.b.failed()) return {};
  Parts x = floats(c, c.parts("self"));
  const size_t last = r.axes.size() - 1;
  const bool inverse = r.kind == "ifft" || r.kind == "irfft" || r.kind == "ihfft";
  const auto along = [&](size_t i, bool backwards, int64_t count) {
    x = transformed(c, x, r.axes[i], {r.lengths[i], backwards, scale_of(r.norm, inverse, r.lengths[i])}, count);
  };
  const auto others = [&](bool backwards) {
    for (size_t i = last; i-- > 0 && !c.b.failed();) along(i, backwards, r.lengths[i]);
  };
  const Plan real{r.lengths[last], inverse, scale_of(r.norm, inverse, r.lengths[last])};
  if (r.kind == "rfft" || r.kind == "ihfft") {
    along(last, false, r.lengths[last] / 2 + 1);
    if (r.kind == "ihfft") x = conjugate(c, x);
    others(inverse);
  } else if (r.kind == "irfft" || r.kind == "hfft") {
    others(inverse);
    return {{real_from_half(c, r.kind == "hfft" ? conjugate(c, x) : x, r.axes[last], real), {}}};
  } else {
    along(last, inverse, r.lengths[last]);
    others(inverse);
  }
  return {x};
}

// _fft_c2c, _fft_r2c, _fft_c2r: what torch's decomposition leaves. Normalization 1 is by the root of all lengths, 2 by them.
Results plain_transform(const ComplexCall& c) {
  const std::string kind = c.c.op().schema().name;
  Parts x = floats(c, c.parts("self"));
  const auto rank = static_cast<int64_t>(c.c.rank("self"));
  std::vector<int64_t> axes = c.c.integers("dim"), lengths;
  const bool to_real = kind == "_fft_c2r";
  double all = 1;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < 0) axes[i] += rank;
    if (axes[i] < 0 || axes[i] >= rank) c.b.fail(kind + ": dim out of range");
    if (c.b.failed()) return {};
    const Dim size = to_real && i + 1 == axes.size() ? c.c.dim("last_dim_size") : c.c.tensor("self").sizes[static_cast<size_t>(axes[i])];
    lengths.push_back(size.constant().value_or(-1));
    all *= static_cast<double>(lengths.back());
  }
  if (axes.empty()) return {x};
  const int64_t norm = c.c.integer("normalization");
  double scale = norm == 1 ? 1 / std::sqrt(all) : norm == 2 ? 1 / all : 1;
  const bool inverse = to_real || (kind == "_fft_c2c" && !c.c.flag("forward"));
  for (size_t i = 0; i < axes.size() && !c.b.failed(); ++i) {
    const bool last = i + 1 == axes.size(), once = i == 0;
    const Plan plan{lengths[i], inverse, once ? scale : 1};
    if (last && to_real) return {{real_from_half(c, x, axes[i], plan), {}}};
    if (last && kind == "_fft_r2c" && c.c.flag("onesided"))
      x = transformed(c, x, axes[i], plan, lengths[i] / 2 + 1);
    else
      x = transformed(c, x, axes[i], plan, lengths[i]);
  }
  return {x};
}

// The window of `stft` and `istft`, as long as the transform; undefined: all ones.
ValueId window_of(const ComplexCall& c, int64_t n, int64_t length, DType d) {
  if (!c.c.has("window") && length == n) return {};
  const ValueId window = c.c.has("window") ? c.b.cast(c.c.value("window"), d) : c.b.full({length}, 1, d);
  const int64_t before = (n - length) / 2;
  return length < n ? c.b.call("aten.constant_pad_nd", {window, Arg::ints({before, n - length - before}), 0}) : window;
}

// Windows of n_fft samples every `hop`, each transformed.
Results short_time(const ComplexCall& c) {
  const int64_t n = c.c.integer("n_fft"), hop = c.c.integer("hop_length", n / 4), length = c.c.integer("win_length", n);
  if (too_long(c, n) || hop < 1 || length < 1 || length > n) c.b.fail(c.c.op().name() + ": lengths do not fit");
  Parts x = floats(c, c.parts("self"));
  if (c.b.failed()) return {};
  Builder& b = c.b;
  const DType d = b.tensor(x.re).dtype;
  const bool batched = c.c.rank("self") == 2;
  const ValueId window = window_of(c, n, length, d);
  const auto framed = [&](ValueId v) {
    if (!v) return v;
    if (!batched) v = b.call("aten.unsqueeze", {v, 0});
    if (c.c.op().schema().find("center") >= 0 && c.c.flag("center"))
      v = b.call("aten.pad", {v, Arg::ints({n / 2, n / 2}), c.c.arg("pad_mode")});
    v = b.call("aten.unfold", {v, -1, n, hop});
    return window ? b.mul(v, window) : v;
  };
  x = {framed(x.re), framed(x.im)};
  const bool onesided = c.c.has("onesided") ? c.c.flag("onesided") : !x.im;
  const Plan plan{n, false, c.c.flag("normalized") ? 1 / std::sqrt(static_cast<double>(n)) : 1};
  const Parts y = transformed(c, x, 2, plan, onesided ? n / 2 + 1 : n);
  const auto shaped = [&](ValueId v) {
    v = b.call("aten.transpose.int", {v, 1, 2});
    return batched ? v : b.call("aten.squeeze.dim", {v, 0});
  };
  const Parts out{shaped(y.re), shaped(y.im)};
  if (b.failed() || is_complex(b.tensor(c.node.results[0]).dtype)) return {out};
  return {{b.call("aten.stack", {Arg::tensors({out.re, out.im}), -1}), {}}};
}

// Windows every `hop` added up, [batch, frames, n] to [batch, samples].
ValueId overlapped(const ComplexCall& c, ValueId frames, int64_t n, int64_t hop) {
  if (c.b.failed()) return frames;
  const Dims sizes = c.b.tensor(frames).sizes;
  const Dim samples = (sizes[1] - 1) * hop + n;
  const ValueId columns = c.b.call("aten.transpose.int", {frames, 1, 2});
  const ValueId sum =
      c.b.call("aten.col2im", {columns, ArgList{1, samples}, Arg::ints({1, n}), Arg::ints({1, 1}), Arg::ints({0, 0}), Arg::ints({1, hop})});
  return c.b.view(sum, {sizes[0], samples});
}

// Each frame transformed back, added up where they overlap, and divided by what the windows add up to there.
Results inverse_short_time(const ComplexCall& c) {
  const int64_t n = c.c.integer("n_fft"), hop = c.c.integer("hop_length", n / 4), length = c.c.integer("win_length", n);
  if (too_long(c, n) || hop < 1 || length < 1 || length > n) c.b.fail("istft: lengths do not fit");
  if (c.c.flag("return_complex")) c.b.fail("istft with a complex result is not supported");
  Parts x = c.parts("self");
  if (c.b.failed()) return {};
  Builder& b = c.b;
  const DType d = b.tensor(x.re).dtype;
  const bool batched = c.c.rank("self") == 3;
  const auto framed = [&](ValueId v) {  // [batch, frames, frequencies]
    if (!v) return v;
    if (!batched) v = b.call("aten.unsqueeze", {v, 0});
    return b.call("aten.transpose.int", {v, 1, 2});
  };
  x = {framed(x.re), framed(x.im)};
  if (b.failed()) return {};
  // Of all frequencies, too, torch takes the first half.
  const ValueId frames = real_from_half(c, x, 2, {n, true, scale_of(c.c.flag("normalized") ? "ortho" : "backward", true, n)});
  ValueId window = window_of(c, n, length, d);
  if (!window) window = b.full({Dim(n)}, 1, d);
  const Dims sizes = b.failed() ? Dims(3, Dim(1)) : b.tensor(frames).sizes;
  const ValueId weights = b.expand(b.view(b.mul(window, window), {1, 1, n}), {1, sizes[1], n});
  const ValueId sums = overlapped(c, b.mul(frames, window), n, hop), windows = overlapped(c, weights, n, hop);
  const Dim samples = (sizes[1] - 1) * hop + n, start = c.c.flag("center") ? n / 2 : 0;
  const Dim wanted = c.c.has("length") ? c.c.dim("length") : samples - start * 2;
  const Dim end = sym::min(start + wanted, samples);
  const auto cut = [&](ValueId v) { return b.call("aten.slice.Tensor", {v, 1, start, end, 1}); };
  ValueId y = b.call("aten.div.Tensor", {cut(sums), cut(windows)});
  if (const Dim missing = wanted - (end - start); missing != Dim(0)) y = b.call("aten.constant_pad_nd", {y, ArgList{0, missing}, 0});
  return {{batched ? y : b.call("aten.squeeze.dim", {y, 0}), {}}};
}

}  // namespace

void add_fourier_rules(ComplexRules& rules) {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const char* kind : {"fft", "ifft", "rfft", "irfft", "hfft", "ihfft"})
      for (const char* dims : {"", "2", "n"}) out.push_back(fmt::format("aten.fft_{}{}", kind, dims));
    return out;
  }();
  for (const std::string& name : names) rules[name] = transform;
  for (const char* name : {"aten._fft_c2c", "aten._fft_r2c", "aten._fft_c2r"}) rules[name] = plain_transform;
  for (const char* name : {"aten.stft", "aten.stft.center"}) rules[name] = short_time;
  rules["aten.istft"] = inverse_short_time;
}

}  // namespace edgec::passes
