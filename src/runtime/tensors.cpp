#include "runtime/tensors.h"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <limits>

namespace edgec::runtime {
namespace {

using Strides = std::vector<size_t>;  // in bytes

Strides contiguous(const std::vector<int64_t>& shape, size_t element_size) {
  Strides strides(shape.size());
  size_t step = element_size;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = step;
    step *= static_cast<size_t>(shape[d]);
  }
  return strides;
}

// Copies all elements of `shape`, each side with its own strides.
void copy_strided(std::byte* to, const Strides& to_strides, const std::byte* from, const Strides& from_strides,
                  const std::vector<int64_t>& shape, size_t count, size_t element_size) {
  if (to_strides == from_strides) {  // both are dense: one of them is contiguous
    if (count > 0) std::memcpy(to, from, count * element_size);
    return;
  }
  std::vector<int64_t> index(shape.size(), 0);
  for (size_t done = 0; done < count; ++done) {
    std::memcpy(to, from, element_size);
    for (size_t d = shape.size(); d-- > 0;) {
      to += to_strides[d];
      from += from_strides[d];
      if (++index[d] < shape[d]) break;
      to -= to_strides[d] * static_cast<size_t>(shape[d]);
      from -= from_strides[d] * static_cast<size_t>(shape[d]);
      index[d] = 0;
    }
  }
}

Strides bytes_of(std::span<const int32_t> element_strides, size_t element_size) {
  Strides strides;
  for (int32_t stride : element_strides) strides.push_back(static_cast<size_t>(stride) * element_size);
  return strides;
}

}  // namespace

std::optional<AlignedBytes> AlignedBytes::create(size_t size) {
  if (size > std::numeric_limits<size_t>::max() - 2 * kAlignment) return std::nullopt;
  void* memory = std::calloc(size + kAlignment, 1);
  if (!memory) return std::nullopt;
  AlignedBytes bytes;
  bytes.owner_.reset(memory, std::free);
  const size_t past = reinterpret_cast<uintptr_t>(memory) % kAlignment;
  bytes.data_ = static_cast<std::byte*>(memory) + (kAlignment - past);
  bytes.size_ = size;
  return bytes;
}

Result<StagedTensor> StagedTensor::create(const Array& array, Element element, std::span<const uint8_t> dim_order) {
  StagedTensor staged;
  std::optional<AlignedBytes> bytes = AlignedBytes::create(array.bytes.size());
  if (!bytes) return model_error(fmt::format("error: no memory for {} bytes of input", array.bytes.size()));
  staged.bytes_ = *bytes;
  staged.dim_order_.assign(dim_order.begin(), dim_order.end());
  staged.strides_.resize(array.shape.size());
  int64_t step = 1;
  for (size_t d = dim_order.size(); d-- > 0;) {
    const size_t dim = dim_order[d];
    if (dim >= array.shape.size() || step > std::numeric_limits<int32_t>::max())
      return model_error("error: the input's sizes are too large for the runtime");
    staged.strides_[dim] = static_cast<int32_t>(step);
    step *= std::max<int64_t>(array.shape[dim], 1);
  }
  for (int64_t size : array.shape) {
    if (size > std::numeric_limits<int32_t>::max()) return model_error("error: the input's sizes are too large for the runtime");
    staged.sizes_.push_back(static_cast<int32_t>(size));
  }
  staged.fill(array);
  staged.impl_ = std::make_unique<executorch::runtime::etensor::TensorImpl>(
      static_cast<executorch::aten::ScalarType>(element), static_cast<ssize_t>(staged.sizes_.size()), staged.sizes_.data(),
      staged.bytes_.data(), staged.dim_order_.data(), staged.strides_.data());
  return staged;
}

void StagedTensor::fill(const Array& array) {
  const size_t element_size = size_of(array.element);
  copy_strided(bytes_.data(), bytes_of(strides_, element_size), array.bytes.data(), contiguous(array.shape, element_size), array.shape,
               array.count(), element_size);
}

Result<Array> array_of(const executorch::aten::Tensor& tensor) {
  const auto element = element_of(static_cast<int>(tensor.scalar_type()));
  if (!element)
    return model_error(fmt::format("an output has the element type {}, which .npy cannot hold", static_cast<int>(tensor.scalar_type())));
  Array array{*element, {}, {}};
  for (int32_t size : tensor.sizes()) array.shape.push_back(size);
  const auto count = static_cast<size_t>(tensor.numel());
  if (count > 0 && !tensor.const_data_ptr()) return model_error("an output has no memory");
  array.bytes.resize(count * size_of(*element));
  const std::span<const int32_t> strides(tensor.strides().data(), tensor.strides().size());
  copy_strided(array.bytes.data(), contiguous(array.shape, size_of(*element)), static_cast<const std::byte*>(tensor.const_data_ptr()),
               bytes_of(strides, size_of(*element)), array.shape, count, size_of(*element));
  return array;
}

}  // namespace edgec::runtime
