#include "passes/orders.h"

#include <edgec/op.h>

// %s = aten.slice.Tensor(%x, 1, 8, 16)                  %s = aten.slice.Tensor(%x, 1, 8, 16)
// ... nodes that need neither %x nor %k            ->   %k2 = aten.copy_(%k, %s)
// %k2 = aten.copy_(%k, %s)                              ...
namespace edgec::passes {
namespace {

class Writes {
 public:
  explicit Writes(Graph& g) : g_(g), last_reader_(g.value_count()), place_(g.node_capacity()) {
    for (uint32_t i = 0; i < g.value_count(); ++i) shown_.emplace_back(i);
  }

  void run() {
    for (NodeId n = g_.first(); n; n = g_.next(n)) collect(n);
    for (NodeId n : writes_) move_up(n);
  }

 private:
  void collect(NodeId id) {
    const Node& n = g_.node(id);
    place_[id.index] = ++now_;
    if (n.op->schema().ns == "prim" && n.results.empty()) flow_ = id;
    const bool writes = n.op->name() == "aten.copy_" && n.args[1].is_value();
    for (const Arg& a : n.args)
      if (!writes || &a != &n.args[0]) for_each_value(a, [&](const ValueId& v) { read(v, id); });
    if (writes) writes_.push_back(id);
    if (n.op->memory_view || memory::window_offset(g_, id) || n.op->schema().mutates()) shown_[n.results[0].index] = n.args[0].value();
  }

  void read(ValueId v, NodeId reader) {
    last_reader_[v.index] = reader;
    while (shown_[v.index] != v) last_reader_[(v = shown_[v.index]).index] = reader;
  }

  // Behind the last marker of a branch or loop, what makes the value, and the last reader of the old one. Views of the value come along.
  void move_up(NodeId write) {
    std::vector<NodeId> moved{write};
    ValueId value = g_.node(write).args[1].value();
    for (; shown_[value.index] != value && g_.value(value).def; value = shown_[value.index]) moved.push_back(g_.value(value).def);
    NodeId after = flow_;
    for (NodeId n : {g_.value(value).def, last_reader_[g_.node(write).args[0].value().index]})
      if (n && n != write && place(n) > place(after)) after = n;
    for (; !moved.empty(); moved.pop_back()) {
      const NodeId n = moved.back();
      if (place(n) <= place(after)) continue;
      const NodeId before = after ? g_.next(after) : g_.first();
      if (before != n) g_.move_before(n, before);
      place_[n.index] = place(after);
      after = n;
    }
  }

  uint32_t place(NodeId n) const { return n ? place_[n.index] : 0; }

  Graph& g_;
  std::vector<NodeId> last_reader_;  // by value, through what shows it
  std::vector<uint32_t> place_;      // by node, in the order; 0 is before all
  std::vector<ValueId> shown_;       // by value: what it is a view or a piece of
  std::vector<NodeId> writes_;
  NodeId flow_;  // the last marker
  uint32_t now_ = 0;
};

}  // namespace

void write_early(Graph& g) { Writes(g).run(); }

}  // namespace edgec::passes
