#include "pt2/archive.h"

#include <fmt/format.h>

#include "pt2/record.h"

namespace edgec::pt2 {

namespace {
constexpr const char* kProgram27 = "serialized_exported_program.json";
}

Failure Archive::error(std::string_view what) const { return input_error(fmt::format("{}: {}", path_, what)); }

Result<Archive> Archive::open(const std::string& path) {
  EDGEC_TRY(auto file, MappedFile::open(path));
  return open(std::move(file), path);
}

Result<Archive> Archive::open(std::shared_ptr<const MappedFile> file, const std::string& path) {
  EDGEC_TRY(ZipReader zip, ZipReader::open(file->bytes(), path));
  EDGEC_TRY_VOID(check_unpacked_size(zip));
  Archive a(std::move(file), std::move(zip), path);
  if (a.has(kProgram27)) {
    a.parts_ = {kProgram27, "serialized_state_dict.pt", "serialized_constants.pt", true};
    return a;
  }
  EDGEC_TRY_VOID(a.find_root());
  EDGEC_TRY_VOID(a.find_model());
  return a;
}

Status Archive::find_root() {
  for (const ZipEntry& e : zip_.entries()) {
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
    return model_error(fmt::format("{}: {} models in one archive ({}); save each in an archive of its own", path_, models.size(),
                                   fmt::join(models, ", ")));
  const std::string& m = models[0];
  const std::string weights = "data/weights/" + m, constants = "data/constants/" + m;
  const bool pickled = has(weights + ".pt") || has(constants + ".pt");
  parts_ = {"models/" + m + ".json", weights + (pickled ? ".pt" : "_weights_config.json"),
            constants + (pickled ? ".pt" : "_constants_config.json"), pickled};
  return {};
}

Result<std::shared_ptr<const Storage>> Archive::checked(const std::string& record) const {
  const ZipEntry* e = zip_.find(root_ + record);
  if (!e) return error(fmt::format("record {} is missing", record));
  if (e->stored()) EDGEC_TRY_VOID(zip_.check_crc(*e));
  return read_record(zip_, *e, file_, record);
}

Result<std::shared_ptr<const Storage>> Archive::storage(const std::string& record) const {
  if (const ZipEntry* e = zip_.find(root_ + record)) return read_record(zip_, *e, file_, record);
  auto none = std::make_shared<Storage>();
  none->name = record;
  return std::shared_ptr<const Storage>(std::move(none));
}

}  // namespace edgec::pt2
