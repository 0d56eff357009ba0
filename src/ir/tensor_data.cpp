#include "ir/tensor_data.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

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
    if (sizes[i] > 0 &&
        (__builtin_mul_overflow(sizes[i] - 1, strides[i], &reach) || __builtin_add_overflow(last, reach, &last)))
      return false;
  }
  if (__builtin_mul_overflow(n, static_cast<int64_t>(size_of(dtype)), &n)) return false;
  if (n == 0) return true;
  int64_t end = 0;
  if (__builtin_add_overflow(last, int64_t{1}, &end) ||
      __builtin_mul_overflow(end, static_cast<int64_t>(size_of(dtype)), &end))
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

Status stream(const TensorData& t, const DimOrder& order,
              const std::function<Status(std::span<const std::byte>)>& sink) {
  constexpr size_t kPiece = 1 << 20;
  const int64_t total = t.numel();
  if (total == 0) return {};
  if (auto dense = t.dense_bytes(order); !dense.empty()) {
    for (size_t at = 0; at < dense.size(); at += kPiece)
      EDGEC_TRY_VOID(sink(dense.subspan(at, std::min(kPiece, dense.size() - at))));
    return {};
  }
  const size_t rank = t.sizes.size(), width = size_of(t.dtype);
  // Sizes and strides from outer to inner in the order wanted.
  std::vector<int64_t> size(rank), stride(rank), index(rank, 0);
  for (size_t k = 0; k < rank; ++k) {
    const size_t d = order.empty() ? k : order[k];
    size[k] = t.sizes[d];
    stride[k] = t.strides[d];
  }
  const std::byte* base = t.storage->bytes.data() + static_cast<size_t>(t.offset) * width;
  std::vector<std::byte> piece;
  piece.reserve(std::min<size_t>(kPiece + width, static_cast<size_t>(total) * width));
  int64_t at = 0;
  for (int64_t n = 0; n < total; ++n) {
    const std::byte* from = base + static_cast<size_t>(at) * width;
    piece.insert(piece.end(), from, from + width);
    if (piece.size() >= kPiece) {
      EDGEC_TRY_VOID(sink(piece));
      piece.clear();
    }
    for (size_t k = rank; k-- > 0;) {
      at += stride[k];
      if (++index[k] < size[k]) break;
      at -= stride[k] * size[k];
      index[k] = 0;
    }
  }
  return piece.empty() ? Status() : sink(piece);
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

float half_to_float(uint16_t h) {
  const uint32_t sign = uint32_t(h & 0x8000) << 16, mantissa = h & 0x3ff;
  const int exponent = (h >> 10) & 0x1f;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  const float value =
      exponent == 0 ? std::ldexp(float(mantissa), -24) : std::ldexp(float(mantissa | 0x400), exponent - 25);
  return sign ? -value : value;
}

uint16_t float_to_half(float f) {
  const uint32_t bits = std::bit_cast<uint32_t>(f);
  const uint16_t sign = uint16_t((bits >> 16) & 0x8000);
  if (std::isnan(f)) return uint16_t(sign | 0x7e00);
  const float a = std::fabs(f);
  if (a >= 65520.0f) return uint16_t(sign | 0x7c00);
  int exponent = 0;
  if (a < std::ldexp(1.0f, -14)) return uint16_t(sign | uint16_t(std::nearbyint(std::ldexp(a, 24))));
  std::frexp(a, &exponent);  // a = m * 2^exponent, m in [0.5, 1)
  const uint32_t mantissa = uint32_t(std::nearbyint(std::ldexp(a, 11 - exponent)));  // 1024..2048
  return uint16_t(sign | ((uint32_t(exponent + 13) << 10) + mantissa));
}

uint16_t float_to_bfloat16(float f) {
  const uint32_t bits = std::bit_cast<uint32_t>(f);
  if (std::isnan(f)) return uint16_t((bits >> 16) | 0x40);
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
      return static_cast<int64_t>(read_element(b, d, i));
  }
}

double read_element(std::span<const std::byte> b, DType d, int64_t i) {
  switch (d) {
    case DType::F16:
      return half_to_float(load<uint16_t>(b, i));
    case DType::BF16:
      return std::bit_cast<float>(uint32_t(load<uint16_t>(b, i)) << 16);
    case DType::F32:
      return load<float>(b, i);
    case DType::F64:
      return load<double>(b, i);
    default:
      return is_integral(d) || d == DType::Bool ? static_cast<double>(read_integer(b, d, i)) : 0.0;
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
      return store(to, float_to_half(static_cast<float>(v)));
    case DType::BF16:
      return store(to, float_to_bfloat16(static_cast<float>(v)));
    case DType::F32:
      return store(to, static_cast<float>(v));
    case DType::F64:
      return store(to, v);
    case DType::Bool:
      return store<uint8_t>(to, v != 0);
    default: {
      const double t = std::trunc(v);
      const bool fits = t >= -9223372036854775808.0 && t < 9223372036854775808.0;
      return append_integer(to, d, fits ? static_cast<int64_t>(t) : 0);
    }
  }
}

}  // namespace edgec
