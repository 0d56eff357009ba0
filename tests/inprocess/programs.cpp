#include "inprocess/programs.h"

#include <edgec/delegates.h>

#include "support/mapped_file.h"
#include "support/sink.h"

namespace edgec::inprocess {

Result<std::vector<std::byte>> compile(Program& program, const pipeline::Options& options) {
  EDGEC_TRY(pipeline::Outcome out, pipeline::compile(program, options));
  BytesSink memory;
  EDGEC_TRY_VOID(pte::write(out.emitted.program, memory, options.write));
  return std::move(memory.bytes);
}

Result<runtime::Runner> load(std::vector<std::byte> bytes) {
  register_delegates();
  EDGEC_TRY(runtime::Runner runner, runtime::Runner::load(MappedFile::of(std::move(bytes))));
  EDGEC_TRY_VOID(runner.load_methods(runner.method_names()));
  return runner;
}

}  // namespace edgec::inprocess
