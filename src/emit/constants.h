#pragma once
#include <unordered_map>
#include <vector>

#include <edgec/tensor_data.h>
#include "emit/program.h"
#include "support/hash.h"

namespace edgec::emit {

// Collects weights and tells which are the same bytes: equal 128-bit hash, then compared. A weight is hashed only when another one has
// its size, and read piece by piece.
class ConstantPool {
 public:
  // Index into `blobs()`. The bytes are those of `data` in that dim order.
  uint32_t add(const TensorData& data, const DimOrder& order);
  std::vector<pte::Blob> take_blobs();

 private:
  struct Entry {
    TensorData data;
    DimOrder order;
    std::optional<Hash128> hash;
  };
  static bool same_view(const Entry& a, const Entry& b);
  static bool same_bytes(const Entry& a, const Entry& b);
  static Hash128 hash_of(const Entry& e);
  std::vector<Entry> entries_;
  std::unordered_map<int64_t, std::vector<uint32_t>> by_size_;
};

}  // namespace edgec::emit
