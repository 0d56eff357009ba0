#include "pt2/archive.h"

#include <fmt/format.h>

namespace edgec::pt2 {

Failure Archive::error(std::string_view what) const { return input_error(fmt::format("{}: {}", path_, what)); }

Result<Archive> Archive::open(const std::string& path) {
  EDGEC_TRY(auto file, MappedFile::open(path));
  return open(std::move(file), path);
}

Result<Archive> Archive::open(std::shared_ptr<const MappedFile> file, const std::string& path) {
  EDGEC_TRY(ZipReader zip, ZipReader::open(file->bytes(), path));
  Archive a(std::move(file), std::move(zip), path);
  EDGEC_TRY_VOID(a.find_root());
  EDGEC_TRY_VOID(a.find_model());
  return a;
}

Status Archive::find_root() {
  for (const ZipEntry& e : zip_.entries()) {
    if (e.name == "serialized_exported_program.json")
      return model_error(path_ + ": an archive of torch 2.7 or older (serialized_exported_program.json), which is not supported\n"
                                 "  export the model again with torch 2.9 or later");
    // `<root>/archive_format`; the root's name is free.
    if (e.name.ends_with("/archive_format") || e.name == "archive_format") {
      root_ = e.name.substr(0, e.name.size() - std::string_view("archive_format").size());
      EDGEC_TRY(auto bytes, zip_.read(e, 64));
      const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      if (!text.starts_with("pt2")) return error(fmt::format("not a torch.export archive: archive_format is \"{}\"", text));
      return {};
    }
  }
  return error("a zip archive, but not one that torch.export.save wrote (no archive_format record)");
}

Status Archive::find_model() {
  if (const ZipEntry* e = zip_.find(root_ + "archive_version")) {
    EDGEC_TRY(auto bytes, zip_.read(*e, 64));
    std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
    if (!text.empty() && text != "0")
      return model_error(fmt::format("{}: archive version {} is not supported (0 is)", path_, text.substr(0, 20)));
  }
  if (const ZipEntry* e = zip_.find(root_ + "byteorder")) {
    EDGEC_TRY(auto bytes, zip_.read(*e, 64));
    if (!std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()).starts_with("little"))
      return model_error(path_ + ": only little-endian archives are supported");
  }
  std::vector<std::string> models;
  const std::string folder = root_ + "models/";
  for (const ZipEntry& e : zip_.entries())
    if (e.name.starts_with(folder) && e.name.ends_with(".json"))
      models.emplace_back(e.name.substr(folder.size(), e.name.size() - folder.size() - 5));
  if (models.empty()) return error("no models/<name>.json record: the archive holds no exported program");
  if (models.size() > 1)
    return model_error(fmt::format("{}: {} models in one archive ({}); save each in an archive of its own", path_, models.size(), fmt::join(models, ", ")));
  model_ = models[0];
  if (has("data/weights/" + model_ + ".pt") || has("data/constants/" + model_ + ".pt"))
    return model_error(path_ + ": an archive of torch 2.8 (weights as one pickled .pt file), which is not supported\n"
                               "  export the model again with torch 2.9 or later");
  return {};
}

Result<std::span<const std::byte>> Archive::json(const std::string& record) const {
  const ZipEntry* e = zip_.find(root_ + record);
  if (!e) return error(fmt::format("record {} is missing", record));
  if (!e->stored()) return model_error(fmt::format("{}: record {} is compressed; torch.export.save stores records as they are", path_, record));
  EDGEC_TRY_VOID(zip_.check_crc(*e));
  return zip_.bytes(*e);
}

Result<std::shared_ptr<const Storage>> Archive::storage(const std::string& record) const {
  const ZipEntry* e = zip_.find(root_ + record);
  auto s = std::make_shared<Storage>();
  s->name = record;
  if (e) {
    if (!e->stored()) return model_error(fmt::format("{}: record {} is compressed; torch.export.save stores records as they are", path_, record));
    EDGEC_TRY(s->bytes, zip_.bytes(*e));
  }
  s->keep_alive = file_;
  return std::shared_ptr<const Storage>(std::move(s));
}

}  // namespace edgec::pt2
