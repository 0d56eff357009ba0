#pragma once
#include <edgec/program.h>
#include "emit/program.h"
#include "memory/plan.h"

namespace edgec::emit {

// Where the instructions of a program came from: for messages, profiles and reports.
struct InstructionOrigin {
  uint32_t instruction = 0;
  Location loc;
  std::string op;
};

struct Emitted {
  pte::Program program;
  std::vector<std::vector<InstructionOrigin>> origins;  // one list a method
  // Of methods in which values share tensors: with a tensor for each value, for pte::plan_faults. In the program itself a value that is
  // overwritten too early by one of the same tensor would not be told from what overwrote it.
  std::vector<pte::Plan> unshared;
};

// Values and instructions of a planned Exec program. Weights that are equal by content (all methods) become one constant; their bytes are
// read when the program is written.
Result<Emitted> lower(const Program& program);

}  // namespace edgec::emit
