#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include <edgec/result.h>
#include "support/sink.h"

namespace edgec {

// Writes a file so that its name holds either the old content or all of the new one: the bytes go to a temporary file
// in the same folder, `commit()` renames it. Without a commit the destructor removes the temporary file. "-" is
// standard output; it, devices and pipes are written directly. Failures are of kind Output and name the file and the
// system's reason.
class OutputFile final : public Sink {
 public:
  static Result<OutputFile> create(const std::string& path);

  OutputFile(OutputFile&&) noexcept;
  OutputFile& operator=(OutputFile&&) noexcept;
  ~OutputFile() override;

  // Small pieces are gathered, large ones go to the system as they are. After a failure the file can only be dropped.
  Status write(std::span<const std::byte> bytes) override;
  Status write(const std::string& text);
  // Everything so far is in the file of this name, which `commit` will rename: to be read and checked. Empty when the
  // output is written directly (standard output, devices).
  Result<std::string> flushed_file();
  // The last call. `to_disk`: also waits until the bytes are on the medium.
  Status commit(bool to_disk = false);

 private:
  struct State;
  explicit OutputFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// On SIGINT, SIGTERM and SIGHUP: removes the temporary files of all live OutputFiles, then ends the process with exit
// code 130. For the command line only; a library leaves signals to its host.
void install_interrupt_handler();

}  // namespace edgec
