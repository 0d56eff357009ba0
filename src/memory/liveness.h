#pragma once
#include <edgec/program.h>

#include <cstdint>
#include <span>
#include <vector>

namespace edgec::memory {

// When a value's content is needed: instruction numbers, both included. 0 is the call, `Liveness::end` the return.
struct Span {
  uint32_t first = 0, last = 0;
  bool overlaps(const Span& o) const { return first <= o.last && o.first <= last; }
  friend bool operator==(const Span&, const Span&) = default;
};

// The times when a value is needed: in order, none touching the next.
using Spans = std::span<const Span>;
bool overlap(Spans a, Spans b);

// When each value of an Exec graph is needed: from where it is made on every way to a use, along branches and loops. What one side of a
// branch makes is dead in the other, and so is what only that one reads; what is made before a loop and used in it is needed until the
// loop ends. Memory that branches or turns assign (prim.alloc) is dead from its last use until it is assigned again. State is needed
// until the instruction that reads its old value last: the result of the write holds the new one until the return.
class Liveness {
 public:
  explicit Liveness(const Method& m);
  Span of(ValueId v) const { return {spans(v).front().first, spans(v).back().last}; }  // from the first time to the last
  Spans spans(ValueId v) const { return Spans(spans_).subspan(begins_[v.index], begins_[v.index + 1] - begins_[v.index]); }
  bool is_used(ValueId v) const { return used_[v.index]; }
  uint32_t end() const { return end_; }
  uint32_t position(NodeId n) const { return positions_[n.index]; }

 private:
  std::vector<Span> spans_;       // of all values, one behind the other
  std::vector<uint32_t> begins_;  // by value: where its spans begin
  std::vector<bool> used_;
  std::vector<uint32_t> positions_;  // of nodes
  uint32_t end_ = 0;
};

}  // namespace edgec::memory
