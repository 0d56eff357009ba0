#pragma once
#include <string>
#include <vector>

#include "emit/program.h"

namespace edgec::pte {

// Finds values that are read after the memory plan let another value overwrite them: runs the method in the mind, twice
// in a row (state lives on), along several ways through its jumps, and notes for every byte of planned memory which
// value was written there last. Sharing that keeps values whole is no fault:
//   - a value without a writer of its own is a view: of what its place, a larger one around it or the parts inside hold
//   (cat);
//   - an output at the place of an input that dies with the instruction;
//   - state, inputs and loop carries that another value of the same place updates.
// Wants a plan whose indices and places are in bounds (verify.cpp checks them before).
std::vector<std::string> plan_faults(const Plan& plan);

}  // namespace edgec::pte
