#include "backends/executor/share_weights.h"

#include "support/hash.h"

namespace edgec::backends {
namespace {

constexpr uint64_t kSmallest = 1024;  // bytes; named data begin at multiples of the segment alignment

class Gather final : public Sink {
 public:
  std::vector<std::byte> bytes;
  Status write(std::span<const std::byte> piece) override {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
    return {};
  }
};

// The bytes where they lie, or gathered when they are strided.
Result<TensorData> data_of(const pte::Blob& blob) {
  const auto size = static_cast<int64_t>(blob.size);
  if (blob.view.size() != blob.size) {
    Gather gather;
    EDGEC_TRY_VOID(blob.write(gather));
    return make_tensor_data(DType::U8, {size}, std::move(gather.bytes));
  }
  auto storage = std::make_shared<Storage>();
  storage->bytes = blob.view;
  storage->keep_alive = blob.keep_alive;
  return TensorData{std::move(storage), DType::U8, {size}, {1}, 0};
}

}  // namespace

Result<std::vector<NamedData>> share_weights(pte::Program& nested) {
  std::vector<NamedData> out;
  std::vector<std::string> key(nested.constants.size());
  std::vector<uint32_t> index(nested.constants.size(), 0);  // of those that stay, as tensors count them
  std::vector<pte::Blob> stay;
  for (size_t i = 0; i < nested.constants.size(); ++i) {
    pte::Blob& blob = nested.constants[i];
    if (blob.size < kSmallest) {
      stay.push_back(std::move(blob));
      index[i] = static_cast<uint32_t>(stay.size());
      continue;
    }
    EDGEC_TRY(TensorData data, data_of(blob));
    key[i] = hash128(data.dense_bytes()).hex();
    out.push_back({key[i], std::move(data), 16});
  }
  nested.constants = std::move(stay);
  for (pte::Plan& plan : nested.plans)
    for (pte::Value& v : plan.values) {
      auto* t = std::get_if<pte::Tensor>(&v);
      if (!t || t->place || t->data_buffer_idx == 0) continue;
      const size_t i = t->data_buffer_idx - 1;
      t->data_buffer_idx = index[i];
      t->external_name = key[i];
    }
  return out;
}

}  // namespace edgec::backends
