#pragma once
#include <memory>
#include <string>

#include "ir/tensor_data.h"
#include "support/mapped_file.h"
#include "support/zip.h"

namespace edgec::pt2 {

// A mapped .pt2 file of torch 2.9 or later: `<root>/models/<m>.json`, `<root>/data/weights`, `<root>/data/constants`.
class Archive {
 public:
  // Fails with kind Input for unreadable or damaged files, kind Model for layouts of other torch versions.
  static Result<Archive> open(const std::string& path);
  static Result<Archive> open(std::shared_ptr<const MappedFile> file, const std::string& path);  // path for messages

  const std::string& path() const { return path_; }
  const std::string& model() const { return model_; }  // the one model of the archive
  // The bytes of a JSON record below the root, its CRC checked.
  Result<std::span<const std::byte>> json(const std::string& record) const;
  bool has(const std::string& record) const { return zip_.find(root_ + record) != nullptr; }
  // A weight record as storage that keeps the mapping alive. Absent records give no storage.
  Result<std::shared_ptr<const Storage>> storage(const std::string& record) const;
  Failure error(std::string_view what) const;

 private:
  Archive(std::shared_ptr<const MappedFile> file, ZipReader zip, std::string path)
      : file_(std::move(file)), zip_(std::move(zip)), path_(std::move(path)) {}
  Status find_root();
  Status find_model();

  std::shared_ptr<const MappedFile> file_;
  ZipReader zip_;
  std::string path_, root_, model_;
};

}  // namespace edgec::pt2
