#pragma once
#include <string>

#include <edgec/program.h>

namespace edgec::random_graphs {

// What is wrong with a program, or how it ended. "ok" when nothing is.
//
//   verifier  the rules of the ATen stage do not hold of it: a fault of the generator or of an entry's type rule
//   text      its text reads back as another program
//   refused   edgec says that it cannot compile the model: an operator, a dtype
//   internal  edgec made something wrong and noticed
//   levers    compiles with optimizing passes off and not with them on, or the other way round
//   runtime   the runtime does not take the program, or does not run it
//   mismatch  results differ between optimizing passes off and on
//   ended     the process crashed or did not come back
struct Finding {
  std::string kind = "ok", message;
  bool ok() const { return kind == "ok"; }
  std::string str() const { return ok() ? kind : kind + ": " + message; }
  static Finding from(const std::string& text);
  // Findings of one cause look alike: names and numbers are left out.
  std::string signature() const;
};

// Compiles with all optimizing passes off, with those on that keep every bit, and with all on; runs and compares.
Finding examine(const Program& program);
// Compiles by kernels alone and with a backend; runs and compares within the tolerance of a delegate. Empty `backend`: examine().
Finding examine(const Program& program, const std::string& backend);
// What goes in and comes out of each call, as comments: "# call", "# in NAME f32 2,3: 1 2 ...", "# out f32 2,3: 1 2
// ...".
std::string values_of_calls(const Program& program);
// In a process of its own.
Finding examine_apart(const Program& program, const std::string& backend = {});

}  // namespace edgec::random_graphs
