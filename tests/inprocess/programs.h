#pragma once
#include <vector>

#include "pipeline/pipeline.h"
#include "runtime/runner.h"

// From a program in memory to one that runs, without files.
namespace edgec::inprocess {

// The program file's bytes. `program` is transformed in place.
Result<std::vector<std::byte>> compile(Program& program, const pipeline::Options& options);
// On the official runtime, with all methods loaded.
Result<runtime::Runner> load(std::vector<std::byte> bytes);

}  // namespace edgec::inprocess
