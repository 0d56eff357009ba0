#pragma once
#include <memory>
#include <string>
#include <vector>

#include <edgec/program.h>
#include "emit/program.h"
#include "support/mapped_file.h"

namespace edgec::cli {

// What a file is, told by its content: a zip archive of torch.export (.pt2) or an ExecuTorch program (.pte).
enum class FileKind { Archive, Program, Unknown };

struct InputFile {
  std::string name;  // for messages
  std::shared_ptr<const MappedFile> file;
  FileKind kind = FileKind::Unknown;
};

Result<InputFile> open_input(const std::string& path);  // "-" is standard input

// The file as what it must be, or a failure that says what it is.
Result<pte::Program> read_program(const InputFile& file);
// A program, and the programs nested in it, in which the runtime can trust what it loads: the structure has no faults.
Result<pte::Program> read_runnable_program(const InputFile& file);
// In the ATen stage, its rules checked.
Result<std::unique_ptr<Program>> read_model(const InputFile& file, const std::string& method);

// `--ops FILE`: user operators join the table. Call before a model is read.
Status load_user_operators(const std::vector<std::string>& files);

}  // namespace edgec::cli
