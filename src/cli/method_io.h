#pragma once
#include "emit/program.h"
#include "runtime/runner.h"

namespace edgec::cli {

// Which outputs of a method are new values of inputs that it writes to: those before the user's, whose number the
// method's out_spec tells. They are named by the input's position among all inputs.
runtime::MethodIO method_io(const pte::Plan& plan);

}  // namespace edgec::cli
