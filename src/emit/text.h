#pragma once
#include <string>

#include "emit/program.h"

namespace edgec::pte {

// A program for people: sizes, then each method with its memory, inputs, outputs, operators, delegates, values and
// instructions.
std::string describe_text(const Program& program);

}  // namespace edgec::pte
