#include <edgec/tensor_data.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "support/assert.h"

namespace edgec {

int64_t TensorData::numel() const {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  return n;
}

bool TensorData::in_bounds() const {
  if (sizes.size() != strides.size() || offset < 0) return false;
  int64_t last = offset, n = 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0 || strides[i] < 0) return false;
    if (__builtin_mul_overflow(n, sizes[i], &n)) return false;
    int64_t reach = 0;
    if (sizes[i] > 0 && (__builtin_mul_overflow(sizes[i] - 1, strides[i], &reach) || __builtin_add_overflow(last, reach, &last)))
      return false;
  }
  if (__builtin_mul_overflow(n, static_cast<int64_t>(size_of(dtype)), &n)) return false;
  if (n == 0) return true;
  int64_t end = 0;
  if (__builtin_add_overflow(last, int64_t{1}, &end) || __builtin_mul_overflow(end, static_cast<int64_t>(size_of(dtype)), &end))
    return false;
  return storage && end <= static_cast<int64_t>(storage->bytes.size());
}

std::vector<int64_t> contiguous_strides(const std::vector<int64_t>& sizes, const DimOrder& order) {
  std::vector<int64_t> strides(sizes.size(), 1);
  int64_t step = 1;
  for (size_t k = sizes.size(); k-- > 0;) {
    const size_t d = order.empty() ? k : order[k];
    strides[d] = step;
    step *= std::max<int64_t>(sizes[d], 1);
  }
  return strides;
}

std::span<const std::byte> TensorData::dense_bytes(const DimOrder& order) const {
  const int64_t bytes = nbytes();
  if (bytes == 0) return {};
  const auto want = contiguous_strides(sizes, order);
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] > 1 && strides[i] != want[i]) return {};
  return storage->bytes.subspan(static_cast<size_t>(offset) * size_of(dtype), static_cast<size_t>(bytes));
}

TensorData make_tensor_data(DType dtype, std::vector<int64_t> sizes, std::vector<std::byte> bytes) {
  auto owned = std::make_shared<std::vector<std::byte>>(std::move(bytes));
  auto storage = std::make_shared<Storage>();
  storage->bytes = *owned;
  storage->keep_alive = owned;
  TensorData t{storage, dtype, std::move(sizes), {}, 0};
  t.strides = contiguous_strides(t.sizes);
  EDGEC_ASSERT(t.in_bounds());
  return t;
}

namespace {

// The view's dims from outer to inner in the order wanted. Neighbours that are one run in memory are merged, so that
// the innermost loop is long.
struct Walk {
  std::vector<int64_t> size, stride;
};

Walk merged_walk(const TensorData& t, const DimOrder& order) {
  Walk w;
  for (size_t k = 0; k < t.sizes.size(); ++k) {
    const size_t d = order.empty() ? k : order[k];
    if (t.sizes[d] == 1) continue;
    if (!w.size.empty() && w.stride.back() == t.strides[d] * t.sizes[d]) {
      w.size.back() *= t.sizes[d];
      w.stride.back() = t.strides[d];
    } else {
      w.size.push_back(t.sizes[d]);
      w.stride.push_back(t.strides[d]);
    }
  }
  if (w.size.empty()) w = {{1}, {1}};
  return w;
}

template <size_t kWidth>
void copy_run(std::byte* to, const std::byte* from, size_t count, size_t stride) {
  if (stride == 1) {
    std::memcpy(to, from, count * kWidth);
    return;
  }
  for (size_t i = 0; i < count; ++i) std::memcpy(to + i * kWidth, from + i * stride * kWidth, kWidth);
}

void copy_run(size_t width, std::byte* to, const std::byte* from, size_t count, size_t stride) {
  switch (width) {
    case 1:
      return copy_run<1>(to, from, count, stride);
    case 2:
      return copy_run<2>(to, from, count, stride);
    case 4:
      return copy_run<4>(to, from, count, stride);
    case 8:
      return copy_run<8>(to, from, count, stride);
    default:
      return copy_run<16>(to, from, count, stride);
  }
}

}  // namespace

Status stream(const TensorData& t, const DimOrder& order, const std::function<Status(std::span<const std::byte>)>& sink) {
  constexpr size_t kPiece = 1 << 20;
  const int64_t total = t.numel();
  if (total == 0) return {};
  if (auto dense = t.dense_bytes(order); !dense.empty()) {
    for (size_t at = 0; at < dense.size(); at += kPiece) EDGEC_TRY_VOID(sink(dense.subspan(at, std::min(kPiece, dense.size() - at))));
    return {};
  }
  const size_t width = size_of(t.dtype);
  const Walk walk = merged_walk(t, order);
  const size_t inner = walk.size.size() - 1;
  const size_t run = static_cast<size_t>(walk.size[inner]), step = static_cast<size_t>(walk.stride[inner]);
  std::vector<int64_t> index(inner, 0);
  std::vector<std::byte> piece(std::min(kPiece, static_cast<size_t>(t.nbytes())));
  size_t filled = 0;
  const std::byte* from = t.storage->bytes.data() + static_cast<size_t>(t.offset) * width;
  for (size_t runs = static_cast<size_t>(total) / run; runs > 0; --runs) {
    for (size_t done = 0; done < run;) {
      const size_t count = std::min(run - done, (piece.size() - filled) / width);
      copy_run(width, piece.data() + filled, from + done * step * width, count, step);
      done += count;
      filled += count * width;
      if (filled == piece.size()) {
        EDGEC_TRY_VOID(sink(piece));
        filled = 0;
      }
    }
    for (size_t k = inner; k-- > 0;) {
      from += walk.stride[k] * static_cast<int64_t>(width);
      if (++index[k] < walk.size[k]) break;
      from -= walk.stride[k] * walk.size[k] * static_cast<int64_t>(width);
      index[k] = 0;
    }
  }
  return filled ? sink(std::span(piece).first(filled)) : Status();
}

std::vector<std::byte> gather(const TensorData& t, const DimOrder& order) {
  std::vector<std::byte> out;
  out.reserve(static_cast<size_t>(t.nbytes()));
  Status s = stream(t, order, [&](std::span<const std::byte> piece) {
    out.insert(out.end(), piece.begin(), piece.end());
    return Status();
  });
  EDGEC_ASSERT(bool(s));
  return out;
}

namespace {

template <class T>
T load(std::span<const std::byte> b, int64_t i) {
  T v;
  std::memcpy(&v, b.data() + static_cast<size_t>(i) * sizeof(T), sizeof(T));
  return v;
}
template <class T>
void store(std::vector<std::byte>& to, T v) {
  auto* p = reinterpret_cast<const std::byte*>(&v);
  to.insert(to.end(), p, p + sizeof(T));
}

// Out of range values have no defined result in torch; zero here.
int64_t to_integer(double v) {
  const double t = std::trunc(v);
  return t >= -9223372036854775808.0 && t < 9223372036854775808.0 ? static_cast<int64_t>(t) : 0;
}

// Floats of 8 and 16 bits: sign, exponent, mantissa.
struct SmallFloat {
  int mantissa_bits, bias;
  enum Special { Ieee, NoInfinity, OneNan } special;  // OneNan ("fnuz"): "-0" is the NaN, there is one zero
  uint32_t sign_bit;
};
constexpr SmallFloat kHalf = {10, 15, SmallFloat::Ieee, 0x8000};

std::optional<SmallFloat> small_float(DType d) {
  switch (d) {
    case DType::F16:
      return kHalf;
    case DType::F8E4M3FN:
      return SmallFloat{3, 7, SmallFloat::NoInfinity, 0x80};
    case DType::F8E5M2:
      return SmallFloat{2, 15, SmallFloat::Ieee, 0x80};
    case DType::F8E4M3FNUZ:
      return SmallFloat{3, 8, SmallFloat::OneNan, 0x80};
    case DType::F8E5M2FNUZ:
      return SmallFloat{2, 16, SmallFloat::OneNan, 0x80};
    default:
      return std::nullopt;
  }
}

double decode(const SmallFloat& f, uint32_t code) {
  const uint32_t magnitude = code & (f.sign_bit - 1), one = 1u << f.mantissa_bits;
  const uint32_t field = magnitude >> f.mantissa_bits, mantissa = magnitude & (one - 1);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  if (f.special == SmallFloat::OneNan && code == f.sign_bit) return nan;
  if (f.special == SmallFloat::NoInfinity && magnitude == f.sign_bit - 1) return nan;
  double value =
      field ? std::ldexp(mantissa | one, int(field) - f.bias - f.mantissa_bits) : std::ldexp(mantissa, 1 - f.bias - f.mantissa_bits);
  if (f.special == SmallFloat::Ieee && field == (f.sign_bit - 1) >> f.mantissa_bits)
    value = mantissa ? nan : std::numeric_limits<double>::infinity();
  return code & f.sign_bit ? -value : value;
}

// Round to nearest even. The code of a number is (exponent field << mantissa bits) + fraction; with the hidden one left
// in the fraction the field counts one less, which is right for subnormals and carries over by itself.
uint32_t encode(const SmallFloat& f, float x) {
  const uint32_t sign = std::signbit(x) ? f.sign_bit : 0;
  const uint32_t top = f.sign_bit - 1;  // all exponent and mantissa bits
  const uint32_t infinity = top >> f.mantissa_bits << f.mantissa_bits;
  if (std::isnan(x)) {
    if (f.special == SmallFloat::OneNan) return f.sign_bit;
    return sign | (f.special == SmallFloat::NoInfinity ? top : f.mantissa_bits == 10 ? infinity | 0x200 : top);
  }
  // Where there is no infinity the largest number stands for all above it (e4m3fn, as torch 2.13) or NaN does.
  const uint32_t overflow = f.special == SmallFloat::Ieee ? infinity : f.special == SmallFloat::NoInfinity ? top - 1 : top;
  uint32_t code = overflow + 1;
  if (std::isfinite(x)) {
    int exponent = 0;
    std::frexp(x, &exponent);  // |x| = m * 2^exponent, m in [0.5, 1)
    const int field = x == 0 ? 1 : std::max(exponent - 1 + f.bias, 1);
    const double fraction = std::nearbyint(std::ldexp(std::fabs(x), f.mantissa_bits + f.bias - field));
    if (field < 64) code = (uint32_t(field - 1) << f.mantissa_bits) + uint32_t(fraction);
  }
  if (f.special == SmallFloat::OneNan) return code > top ? f.sign_bit : code == 0 ? 0 : sign | code;
  return sign | std::min(code, overflow);
}

// 2^(code - 127), 255 is NaN.
uint8_t encode_e8m0(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x), exponent = (bits >> 23) & 0xff, mantissa = bits & 0x7fffff;
  if (exponent == 0xff) return 0xff;
  const bool up = mantissa > 0x400000 || (mantissa == 0x400000 && exponent > 0);
  return uint8_t(exponent + (up ? 1 : 0));
}

uint16_t float_to_bfloat16(float f) {
  const uint32_t bits = std::bit_cast<uint32_t>(f);
  if (std::isnan(f)) return 0x7fc0;
  return uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

}  // namespace

int64_t read_integer(std::span<const std::byte> b, DType d, int64_t i) {
  switch (d) {
    case DType::Bool:
      return load<uint8_t>(b, i) != 0;
    case DType::U8:
      return load<uint8_t>(b, i);
    case DType::I8:
      return load<int8_t>(b, i);
    case DType::I16:
      return load<int16_t>(b, i);
    case DType::U16:
      return load<uint16_t>(b, i);
    case DType::I32:
      return load<int32_t>(b, i);
    case DType::U32:
      return load<uint32_t>(b, i);
    case DType::I64:
    case DType::U64:
      return load<int64_t>(b, i);
    default:
      return to_integer(read_element(b, d, i));
  }
}

double read_element(std::span<const std::byte> b, DType d, int64_t i) {
  switch (d) {
    case DType::F16:
      return decode(kHalf, load<uint16_t>(b, i));
    case DType::BF16:
      return std::bit_cast<float>(uint32_t(load<uint16_t>(b, i)) << 16);
    case DType::F32:
      return load<float>(b, i);
    case DType::F64:
      return load<double>(b, i);
    case DType::F8E8M0: {
      const uint8_t code = load<uint8_t>(b, i);
      return code == 0xff ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, code - 127);
    }
    case DType::U64:
      return static_cast<double>(load<uint64_t>(b, i));
    default:
      EDGEC_ASSERT(!is_complex(d));
      if (auto f = small_float(d)) return decode(*f, load<uint8_t>(b, i));
      return static_cast<double>(read_integer(b, d, i));
  }
}

void append_integer(std::vector<std::byte>& to, DType d, int64_t v) {
  switch (d) {
    case DType::Bool:
      return store<uint8_t>(to, v != 0);
    case DType::U8:
    case DType::I8:
      return store(to, static_cast<uint8_t>(v));
    case DType::I16:
    case DType::U16:
      return store(to, static_cast<uint16_t>(v));
    case DType::I32:
    case DType::U32:
      return store(to, static_cast<uint32_t>(v));
    case DType::I64:
    case DType::U64:
      return store(to, v);
    default:
      return append_element(to, d, static_cast<double>(v));
  }
}

void append_element(std::vector<std::byte>& to, DType d, double v) {
  switch (d) {
    case DType::F16:
      return store(to, static_cast<uint16_t>(encode(kHalf, static_cast<float>(v))));
    case DType::BF16:
      return store(to, float_to_bfloat16(static_cast<float>(v)));
    case DType::F32:
      return store(to, static_cast<float>(v));
    case DType::F64:
      return store(to, v);
    case DType::Bool:
      return store<uint8_t>(to, v != 0);
    case DType::F8E8M0:
      return store(to, encode_e8m0(static_cast<float>(v)));
    case DType::U64:
      if (v >= 9223372036854775808.0 && v < 18446744073709551616.0) return store(to, static_cast<uint64_t>(v));
      return store(to, to_integer(v));
    default:
      EDGEC_ASSERT(!is_complex(d));
      if (auto f = small_float(d)) return store(to, static_cast<uint8_t>(encode(*f, static_cast<float>(v))));
      return append_integer(to, d, to_integer(v));
  }
}

}  // namespace edgec
