#pragma once
#include <memory>
#include <string>

#include <edgec/tensor_data.h>
#include "support/mapped_file.h"
#include "support/zip.h"

namespace edgec::pt2 {

// A mapped .pt2 file. torch 2.8 and later: `<root>/models/<m>.json`, `<root>/data/weights`, `<root>/data/constants`;
// in 2.8 the last two hold one torch.save file a model, since 2.9 one record a storage. torch 2.7: four records without
// a root.
class Archive {
 public:
  // Fails with kind Input for unreadable or damaged files, kind Model for layouts of other torch versions.
  static Result<Archive> open(const std::string& path);
  static Result<Archive> open(std::shared_ptr<const MappedFile> file, const std::string& path);  // path for messages

  const std::string& path() const { return path_; }
  // The records of the one model of the archive, below the root.
  struct Parts {
    std::string program;             // JSON
    std::string weights, constants;  // JSON that names records, or one torch.save file of all
    bool pickled = false;            // the latter
  };
  const Parts& parts() const { return parts_; }
  bool has(const std::string& record) const { return zip_.find(root_ + record) != nullptr; }
  // A record's bytes with their CRC checked, which is for those that are read here and now.
  Result<std::shared_ptr<const Storage>> checked(const std::string& record) const;
  // A record of weights: its CRC is not looked at. Absent records give no bytes.
  Result<std::shared_ptr<const Storage>> storage(const std::string& record) const;
  Failure error(std::string_view what) const;

 private:
  Archive(std::shared_ptr<const MappedFile> file, ZipReader zip, std::string path)
      : file_(std::move(file)), zip_(std::move(zip)), path_(std::move(path)) {}
  Status find_root();
  Status find_model();

  std::shared_ptr<const MappedFile> file_;
  ZipReader zip_;
  std::string path_, root_;
  Parts parts_;
};

}  // namespace edgec::pt2
