#include "backends/xnnpack/pixels.h"

#include <algorithm>
#include <cstring>
#include <utility>

// [n, h, w, c] with stride s, kernel kw   ->   [n, h, w / s, s * c] with stride 1, kernel kw / s
// The delegate's kernel finds its pixels through pointers, one for each place of the weights. Of few channels it spends its time on these:
// a waveform of one channel convolved over 256 samples in steps of 128 is two wide pixels instead.
namespace edgec::xnnpack {
namespace {

// Measured: a place costs about as much as one and a half channels.
constexpr double kPlace = 1.5, kGain = 0.9;

double cost(int64_t places, int64_t channels) { return static_cast<double>(places) * (static_cast<double>(channels) + kPlace); }

Convolution as_row(Lowering& l, Convolution c) {
  const Dims d = l.dims(c.image);
  ConvAttrs& a = c.attrs;
  const bool column = d[2] == Dim(1) && d[1] != Dim(1) && a.kernel[1] == 1 && a.padding[1] == 0 && a.padding[3] == 0;
  if (!column || !at_most_one_dynamic(d)) return c;
  TensorData filter = *l.net().value(c.filter).data;
  std::swap(filter.sizes[1], filter.sizes[2]);
  std::swap(filter.strides[1], filter.strides[2]);
  c.image = l.reshape(c.image, {d[0], d[2], d[1], d[3]});
  c.filter = l.constant(std::move(filter));
  std::swap(a.kernel[0], a.kernel[1]);
  std::swap(a.stride[0], a.stride[1]);
  std::swap(a.dilation[0], a.dilation[1]);
  a.padding[3] = std::exchange(a.padding[0], 0);
  a.padding[1] = std::exchange(a.padding[2], 0);
  std::swap(c.out[1], c.out[2]);
  return c;
}

// Weights [o, kh, kw, c] with zeros before and behind the columns, as [o, kh, count, step * c].
TensorData widened(const TensorData& w, int64_t step, int64_t before, int64_t count) {
  const std::vector<std::byte> from = gather(w);
  const auto pixel = static_cast<size_t>(w.sizes[3]) * size_of(w.dtype);
  const size_t row = static_cast<size_t>(w.sizes[2]) * pixel, wide_row = static_cast<size_t>(count * step) * pixel;
  const auto rows = static_cast<size_t>(w.sizes[0] * w.sizes[1]);
  std::vector<std::byte> to(rows * wide_row, std::byte{0});
  for (size_t i = 0; i < rows; ++i) std::memcpy(to.data() + i * wide_row + static_cast<size_t>(before) * pixel, from.data() + i * row, row);
  return make_tensor_data(w.dtype, {w.sizes[0], w.sizes[1], count, step * w.sizes[3]}, std::move(to));
}

}  // namespace

Convolution with_wide_pixels(Lowering& l, Convolution given) {
  if (!l.net().value(given.filter).data || l.net().value(given.filter).type != DataType::F32) return given;
  Convolution c = as_row(l, given);
  ConvAttrs& a = c.attrs;
  const Dims d = l.dims(c.image);
  const int64_t step = a.stride[1], kernel = a.kernel[1], left = a.padding[3];
  const auto width = d[2].constant(), columns = c.out[2].constant(), channels = d[3].constant();
  if (step == 1 || a.dilation[1] != 1 || !width || !columns || !channels || *width % step != 0 || !at_most_one_dynamic(d)) return given;
  const int64_t wide_left = (left + step - 1) / step, before = wide_left * step - left;
  const int64_t count = (before + kernel + step - 1) / step;
  const int64_t wide_right = *columns - 1 + count - *width / step - wide_left;
  const int64_t rows = a.kernel[0];
  if (wide_right < 0 || cost(rows * count, step * *channels) > kGain * cost(rows * kernel, *channels)) return given;
  c.filter = l.constant(widened(*l.net().value(c.filter).data, step, before, count));
  c.image = l.reshape(c.image, {d[0], d[1], Dim(*width / step), Dim(step * *channels)});
  a.kernel[1] = static_cast<uint32_t>(count);
  a.stride[1] = 1;
  a.padding[3] = static_cast<uint32_t>(wide_left);
  a.padding[1] = static_cast<uint32_t>(wide_right);
  a.group_input_channels = static_cast<uint32_t>(step * *channels);
  return c;
}

}  // namespace edgec::xnnpack
