#include "cli/input_file.h"

#include <fmt/format.h>

#include <string_view>

#include "emit/file_format.h"
#include "emit/runnable.h"
#include "ops/table.h"
#include "ops/user_ops.h"
#include "pt2/read.h"
#include "verify/verify.h"

namespace edgec::cli {
namespace {

FileKind kind_of(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with("PK\x03\x04") || text.starts_with("PK\x05\x06")) return FileKind::Archive;
  if (text.size() >= pte::kIdentifierAt + 4 && text.substr(pte::kIdentifierAt, 2) == "ET") return FileKind::Program;
  return FileKind::Unknown;
}

Failure is_something_else(const InputFile& file, const char* wanted) {
  const char* is = file.kind == FileKind::Archive   ? "a zip archive"
                   : file.kind == FileKind::Program ? "an ExecuTorch program"
                                                    : "neither an ExecuTorch program nor a zip archive";
  return input_error(fmt::format("error: {} is {}, wanted is {}", file.name, is, wanted));
}

}  // namespace

Result<InputFile> open_input(const std::string& path) {
  InputFile out;
  out.name = path == "-" ? "standard input" : path;
  EDGEC_TRY(out.file, MappedFile::open(path));
  out.kind = kind_of(out.file->bytes());
  return out;
}

Result<pte::Program> read_program(const InputFile& file) {
  if (file.kind != FileKind::Program) return is_something_else(file, "an ExecuTorch program (.pte)");
  auto program = pte::read(file.file->bytes(), file.file);
  if (!program) return Failure{program.failure().kind, fmt::format("error: {}: {}", file.name, program.failure().message)};
  return program;
}

Result<pte::Program> read_runnable_program(const InputFile& file) {
  EDGEC_TRY(pte::Program program, read_program(file));
  EDGEC_TRY_VOID(pte::check_runnable(program, file.name));
  return program;
}

Status load_user_operators(const std::vector<std::string>& files) {
  if (!files.empty()) ops::register_all();
  for (const std::string& path : files) {
    EDGEC_TRY(const auto file, MappedFile::open(path));
    const auto bytes = file->bytes();
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    EDGEC_TRY_VOID(ops::read_user_operators(text, path == "-" ? "standard input" : path));
  }
  return {};
}

Result<std::unique_ptr<Program>> read_model(const InputFile& file, const std::string& method) {
  if (file.kind != FileKind::Archive) return is_something_else(file, "an archive of torch.export.save (.pt2)");
  ops::register_all();
  auto program = std::make_unique<Program>();
  EDGEC_TRY(auto loaded, pt2::load(file.file, file.name, method));
  program->methods.push_back(std::move(loaded));
  Diagnostics diag;
  EDGEC_TRY_VOID(verify(*program, diag));
  return program;
}

}  // namespace edgec::cli
