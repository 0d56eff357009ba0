#pragma once
#include <memory>
#include <string>
#include <unordered_map>

#include <edgec/tensor_data.h>
#include "pt2/pickle.h"
#include "support/zip.h"

namespace edgec::pt2 {

// A file that torch.save wrote: a zip of `<root>/data.pkl`, a pickle of tensors in containers, and `<root>/data/<k>`,
// the bytes of storage k. Only names of an allow-list may occur in the pickle (torch's own functions that rebuild
// tensors, torchao's tensor classes and their settings); any other one fails with kind Model and is named, wherever it
// stands. None of them is called: they say what the arguments mean.
class TorchFile {
 public:
  // `file` holds the bytes of the zip; its name is what errors call it.
  static Result<std::shared_ptr<TorchFile>> open(std::shared_ptr<const Storage> file, const std::string& where);

  PickleValue root() const { return pickle_.root(); }
  const std::string& name() const { return zip_.name(); }

  enum class Kind : uint8_t {
    Tensor,    // plain, or a parameter or buffer
    Subclass,  // a class of tensors that holds others as attributes
    Other
  };
  static Kind kind_of(PickleValue v);
  // The tensor's data, a view of the file's bytes.
  Result<TensorData> tensor(PickleValue v);
  // A subclass: its class as module.name, and one of its attributes (empty: it has no such).
  static std::string class_of(PickleValue subclass);
  static std::optional<PickleValue> attribute(PickleValue subclass, std::string_view name);

 private:
  TorchFile(std::shared_ptr<const Storage> file, ZipReader zip, std::string root, Pickle pickle)
      : file_(std::move(file)), zip_(std::move(zip)), root_(std::move(root)), pickle_(std::move(pickle)) {}
  Status check_names() const;
  Status check_storage_id(PickleValue id) const;
  struct StorageRef;
  Result<StorageRef> storage(PickleValue v);
  Failure error(std::string_view what) const;

  std::shared_ptr<const Storage> file_;
  ZipReader zip_;
  std::string root_;  // "archive/"
  Pickle pickle_;
  std::unordered_map<std::string, std::shared_ptr<const Storage>> storages_;  // by key; tied tensors share one
};

}  // namespace edgec::pt2
