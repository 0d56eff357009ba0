#pragma once
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include <edgec/program.h>
#include "pt2/archive.h"
#include "pt2/torch_file.h"
#include "support/json.h"

namespace edgec::pt2 {

// The parameters, buffers and constants of an archive by their fully qualified names.
class Weights {
 public:
  struct Weight {
    ConstId data;  // of the method; none for what is not one plain tensor
    // A tensor subclass (of torchao), or an object: those are only an error where something uses them.
    std::shared_ptr<TorchFile> file;
    std::optional<PickleValue> pickled;
    bool is_subclass() const { return pickled && TorchFile::kind_of(*pickled) == TorchFile::Kind::Subclass; }
  };

  // Adds every plain tensor to the method's constants.
  static Result<Weights> read(const Archive& archive, Method& method);
  const Weight* find(std::string_view name) const;

 private:
  Weights(const Archive& archive, Method& method) : archive_(archive), m_(method) {}
  Status read_config(const std::string& record);
  Status read_payload(std::string_view name, JsonValue payload, const std::string& folder);
  Status read_pickled(const std::string& record);
  Status add(std::string_view name, const std::shared_ptr<TorchFile>& file, PickleValue value);

  const Archive& archive_;
  Method& m_;
  std::unordered_map<std::string, Weight> weights_;
  // By record: tied weights name one several times.
  std::unordered_map<std::string, std::shared_ptr<const Storage>> storages_;
  std::unordered_map<std::string, std::shared_ptr<TorchFile>> files_;
};

// The dtype of a `tensor_meta`.
Result<DType> read_dtype(JsonValue meta);

}  // namespace edgec::pt2
