#pragma once
#include <edgec/program.h>

#include <cstdint>
#include <vector>

namespace edgec::memory {

// When a value's content is needed: instruction numbers, both included. 0 is the call, `Liveness::end` the return.
struct Span {
  uint32_t first = 0, last = 0;
  bool overlaps(const Span& o) const { return first <= o.last && o.first <= last; }
};

// From where each value of an Exec graph is made to where it is used last. Branches lie one behind the other in the order of nodes, so
// what one side makes is dead in the other; what is used in a loop and made before it is needed until the loop ends. Memory that branches
// or turns assign (prim.alloc) is live from the first assignment. State is needed until the instruction that reads its old value last: the
// result of the write holds the new one until the return.
class Liveness {
 public:
  explicit Liveness(const Method& m);
  Span of(ValueId v) const { return spans_[v.index]; }
  bool is_used(ValueId v) const { return used_[v.index]; }
  uint32_t end() const { return end_; }
  uint32_t position(NodeId n) const { return positions_[n.index]; }

 private:
  struct Loop {
    uint32_t begin, end;
  };
  void visit(const Graph& g, NodeId id, uint32_t now);
  void use(const Graph& g, ValueId v, uint32_t now);

  std::vector<Span> spans_;
  std::vector<bool> used_;
  std::vector<uint32_t> positions_;  // of nodes
  std::vector<uint32_t> open_;       // the beginnings of the loops around
  std::vector<Loop> loops_;          // inner ones first
  uint32_t end_ = 0;
};

}  // namespace edgec::memory
