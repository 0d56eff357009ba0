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
};

// Values and instructions of a planned Exec program. Weights that are equal by content (all methods) become one constant; their bytes are
// read when the program is written.
Result<Emitted> lower(const Program& program);

}  // namespace edgec::emit
