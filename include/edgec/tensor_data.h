#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <edgec/result.h>
#include <edgec/type.h>

namespace edgec EDGEC_API {

// Bytes that outlive the graph: a member of a mapped archive, or bytes that a pass made.
struct Storage {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> keep_alive;
  std::string name;  // archive member; empty when made by a pass
};

// A constant tensor as a strided view of a storage. Transposing or slicing a weight changes strides, never bytes; the
// values are gathered only when they are written.
struct TensorData {
  std::shared_ptr<const Storage> storage;
  DType dtype = DType::F32;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;  // elements, not negative
  int64_t offset = 0;            // elements

  int64_t numel() const;
  int64_t nbytes() const { return numel() * static_cast<int64_t>(size_of(dtype)); }
  // True when every element lies inside the storage (sizes, strides and offset are untrusted).
  bool in_bounds() const;
  // The bytes as they are, when dense in that dim order; empty otherwise.
  std::span<const std::byte> dense_bytes(const DimOrder& order = {}) const;
};

TensorData make_tensor_data(DType, std::vector<int64_t> sizes, std::vector<std::byte> contiguous_bytes);
template <class T>
TensorData make_tensor_data(DType dtype, std::vector<int64_t> sizes, const std::vector<T>& values) {
  auto bytes = std::as_bytes(std::span(values));
  return make_tensor_data(dtype, std::move(sizes), std::vector<std::byte>(bytes.begin(), bytes.end()));
}
std::vector<int64_t> contiguous_strides(const std::vector<int64_t>& sizes, const DimOrder& order = {});

// Gives the elements in the given dim order, in pieces of at most 1 MB.
Status stream(const TensorData&, const DimOrder&, const std::function<Status(std::span<const std::byte>)>& sink);
std::vector<std::byte> gather(const TensorData&, const DimOrder& order = {});

// One element of real dtype as a number (index into the logical, contiguous order of a gathered buffer).
double read_element(std::span<const std::byte> contiguous, DType, int64_t index);
int64_t read_integer(std::span<const std::byte> contiguous, DType, int64_t index);
// Appends a number converted to the dtype (round to nearest even; integers wrap as torch's casts do).
void append_element(std::vector<std::byte>& to, DType, double value);
void append_integer(std::vector<std::byte>& to, DType, int64_t value);

}  // namespace EDGEC_API
