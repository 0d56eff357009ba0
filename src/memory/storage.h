#pragma once
#include <edgec/program.h>

#include <cstdint>
#include <vector>

namespace edgec::memory {

// Which values of an Exec graph are parts of one piece of memory: views and writes of the value that they view or write, and values that a
// pass put inside another one (Value::inside). A tree of values by piece; its root is the one that lies in no other.
class Storage {
 public:
  struct Where {
    ValueId root;
    int64_t offset = 0;  // bytes from where the root begins
    friend bool operator==(const Where&, const Where&) = default;
  };
  explicit Storage(const Graph& g);
  Where of(ValueId v) const { return where_[v.index]; }

 private:
  std::vector<Where> where_;  // by value
};

// Whether two tensors are the same bytes of memory as far as the plan says: then a copy from one to the other does nothing.
bool same_memory(const Graph& g, const Storage& s, ValueId a, ValueId b);
// Whether the node's result is its operands' memory as it is, so that the node costs nothing: views of static size, and concatenations of
// what lies there already. Wants a planned graph.
bool is_free(const Graph& g, const Storage& s, NodeId n);
// The same before there is a plan, for what passes have put inside each other.
bool lies_in_place(const Graph& g, const Storage& s, NodeId n);
// By value: operands of delegates whose memory has more parts than the operand and what it is a view of, or of which the delegate takes
// several. A program does not say which arguments of a delegate are its inputs; a reader could take such a one for a result in memory that
// is in use, so the program makes these views by instructions.
std::vector<bool> views_for_delegates(const Graph& g, const Storage& s);

// Bytes between neighbours along `axis` when everything outside of it in memory has size 1, so that pieces along it are one behind the
// other; none otherwise, and for dynamic sizes.
std::optional<int64_t> outer_stride(const TensorType& t, size_t axis);
// Whether the node joins its operands (cat, stack) along the outermost dim, so that they are pieces of its result, one behind the other.
bool joins_outermost(const Graph& g, NodeId n);
// Where the result of a slice or select begins in its operand, when it is one piece of that; none for other nodes.
std::optional<int64_t> window_offset(const Graph& g, NodeId n);

}  // namespace edgec::memory
