#include "memory/planners.h"

namespace edgec::memory {

Arrangement NaivePlanner::arrange(const Problem& problem, int64_t) const {
  Arrangement out;
  for (const Problem::Item& i : problem.items) {
    out.offsets.push_back(out.height);
    out.height += i.size;
  }
  return out;
}

}  // namespace edgec::memory
