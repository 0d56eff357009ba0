#include "pt2/weights.h"

#include <fmt/format.h>

namespace edgec::pt2 {

namespace {

Result<std::vector<int64_t>> read_numbers(JsonValue meta, std::string_view key) {
  EDGEC_TRY(JsonArray items, meta.array(key));
  std::vector<int64_t> out;
  for (JsonValue item : items) {
    EDGEC_TRY(int64_t v, item.integer("as_int"));
    out.push_back(v);
  }
  return out;
}

}  // namespace

Result<DType> read_dtype(JsonValue meta) {
  EDGEC_TRY(int64_t number, meta.integer("dtype"));
  auto d = dtype_from_serialized(number);
  if (!d) return meta.error(fmt::format("dtype {} is not known", number));
  return *d;
}

const Weights::Weight* Weights::find(std::string_view name) const {
  auto it = weights_.find(std::string(name));
  return it == weights_.end() ? nullptr : &it->second;
}

Result<Weights> Weights::read(const Archive& archive, Method& method) {
  Weights w(archive, method);
  const Archive::Parts& parts = archive.parts();
  for (const std::string& record : {parts.weights, parts.constants}) {
    if (parts.pickled)
      EDGEC_TRY_VOID(w.read_pickled(record));
    else
      EDGEC_TRY_VOID(w.read_config(record));
  }
  return w;
}

// torch 2.9 and later: {"config": {name: payload}}, each payload in a record next to the config.
Status Weights::read_config(const std::string& record) {
  EDGEC_TRY(auto json, archive_.checked(record));
  EDGEC_TRY(JsonDocument doc, JsonDocument::parse(json->bytes, archive_.path() + ": " + record));
  EDGEC_TRY(JsonObject config, doc.root().object("config"));
  const std::string folder = record.substr(0, record.rfind('/') + 1);
  for (auto [name, payload] : config)
    if (!payload.is_null()) EDGEC_TRY_VOID(read_payload(name, payload, folder));
  return {};
}

Status Weights::read_payload(std::string_view name, JsonValue payload, const std::string& folder) {
  EDGEC_TRY(std::string_view path, payload.string("path_name"));
  const std::string record = folder + std::string(path);
  auto meta = payload.find("tensor_meta");
  if (!meta || meta->is_null()) {  // an object
    weights_[std::string(name)] = {};
    return {};
  }
  EDGEC_TRY(bool pickled, payload.boolean("use_pickle"));
  if (pickled) {
    auto& file = files_[record];
    if (!file) {
      EDGEC_TRY(auto bytes, archive_.storage(record));
      EDGEC_TRY(file, TorchFile::open(std::move(bytes), archive_.path()));
    }
    return add(name, file, file->root());
  }
  auto& storage = storages_[record];
  if (!storage) {
    EDGEC_TRY(storage, archive_.storage(record));
  }
  TensorData data;
  data.storage = storage;
  EDGEC_TRY(data.dtype, read_dtype(*meta));
  EDGEC_TRY(data.sizes, read_numbers(*meta, "sizes"));
  EDGEC_TRY(data.strides, read_numbers(*meta, "strides"));
  EDGEC_TRY(JsonValue offset, meta->at("storage_offset"));
  EDGEC_TRY(data.offset, offset.integer("as_int"));
  if (!data.in_bounds())
    return archive_.error(fmt::format("weight \"{}\" does not fit its record {}: {}[{}] needs more than its {} bytes", name, record,
                                      torch_name(data.dtype), fmt::join(data.sizes, ", "), data.storage->bytes.size()));
  weights_[std::string(name)] = {.data = m_.add_constant(std::string(name), std::move(data)), .file = {}, .pickled = {}};
  return {};
}

// torch 2.7 and 2.8: one torch.save file with a dict of all.
Status Weights::read_pickled(const std::string& record) {
  if (record == archive_.parts().constants && !archive_.has(record)) return {};
  EDGEC_TRY(auto bytes, archive_.checked(record));
  EDGEC_TRY(auto file, TorchFile::open(std::move(bytes), archive_.path()));
  const PickleValue all = file->root();
  const bool ordered = all.is(PickleKind::Object) && all.global() == "collections.OrderedDict" && all.args().size() == 0;
  if (!all.is(PickleKind::Dict) && !ordered) return all.expected("a dict of tensors");
  for (size_t i = 0; i < all.entry_count(); ++i) {
    const auto [key, value] = all.entry(i);
    EDGEC_TRY(std::string_view name, key.as_string());
    EDGEC_TRY_VOID(add(name, file, value));
  }
  return {};
}

Status Weights::add(std::string_view name, const std::shared_ptr<TorchFile>& file, PickleValue value) {
  Weight w{{}, file, value};
  if (TorchFile::kind_of(value) == TorchFile::Kind::Tensor) {
    EDGEC_TRY(TensorData data, file->tensor(value));
    w = {.data = m_.add_constant(std::string(name), std::move(data)), .file = {}, .pickled = {}};
  }
  weights_[std::string(name)] = std::move(w);
  return {};
}

}  // namespace edgec::pt2
