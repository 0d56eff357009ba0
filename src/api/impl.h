#pragma once
#include <edgec/edgec.h>

#include "pipeline/pipeline.h"

// What the classes of the public API hold.
namespace edgec {

struct EdgeProgramManager::Impl {
  std::unique_ptr<Program> program;
  std::set<std::string> disabled_passes;
  bool share_state = false;
  partition::Report partition;
};

struct ExecutorchProgramManager::Impl {
  pipeline::Outcome outcome;
  std::vector<std::string> methods;
  pte::WriteOptions write;
};

}  // namespace edgec
