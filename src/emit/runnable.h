#pragma once
#include <string>

#include "emit/program.h"

namespace edgec::pte {

// Whether the runtime can trust what it loads: the structure of a program, and of the programs nested in it, has no faults. Everything that
// runs programs asks this first. A failure (kind Model) names the first few faults; `name` stands for the program in it.
Status check_runnable(const Program& program, const std::string& name);

}  // namespace edgec::pte
