#pragma once
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/portable_type/tensor_impl.h>

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <edgec/result.h>
#include "runtime/array.h"

// Between arrays in logical order and the runtime's tensors. Private to this folder.
namespace edgec::runtime {

// Zeroed memory at a 128-byte boundary, never empty. Large sizes cost only the pages that are touched.
class AlignedBytes {
 public:
  static constexpr size_t kAlignment = 128;
  AlignedBytes() = default;
  static std::optional<AlignedBytes> create(size_t size);  // nothing when there is no memory
  std::byte* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  std::shared_ptr<void> owner_;
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// An input as the method wants it: a tensor over memory of its own, laid out in the dim order.
class StagedTensor {
 public:
  // `element` may differ from the array's by name only (bfloat16 travels as uint16).
  static Result<StagedTensor> create(const Array& array, Element element, std::span<const uint8_t> dim_order);
  void fill(const Array& array);  // the same shape again
  executorch::aten::Tensor tensor() { return executorch::aten::Tensor(impl_.get()); }

 private:
  AlignedBytes bytes_;
  std::vector<int32_t> sizes_, strides_;
  std::vector<uint8_t> dim_order_;
  std::unique_ptr<executorch::runtime::etensor::TensorImpl> impl_;
};

Result<Array> array_of(const executorch::aten::Tensor&);

}  // namespace edgec::runtime
