#include "support/assert.h"

#include <cstdio>
#include <cstdlib>

namespace edgec {

void assertion_failed(const char* what, const char* file, int line) {
  std::fprintf(stderr,
               "edgec: internal error: %s (%s:%d)\n"
               "  This is a bug in edgec. Please report it with the command line and, if possible, the .pt2 file.\n",
               what, file, line);
  std::fflush(stderr);
  std::_Exit(70);
}

}  // namespace edgec
