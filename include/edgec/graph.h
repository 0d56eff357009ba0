#pragma once
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <edgec/arg.h>
#include <edgec/diag.h>

namespace edgec EDGEC_API {

struct OpDef;

// Where a planned tensor lies: set by the memory planner, Exec stage only.
struct MemoryPlace {
  uint32_t memory_id = 1;
  int64_t offset = 0;  // bytes
  friend bool operator==(const MemoryPlace&, const MemoryPlace&) = default;
};

// A value whose memory is part of another one's: decided by the passes that share memory, Exec stage only.
struct MemoryAlias {
  ValueId of;
  int64_t offset = 0;  // bytes from where `of` begins
};

struct Value {
  std::string name;  // unique in the graph, without '%'
  Type type;
  NodeId def;           // none for graph inputs
  uint32_t result = 0;  // index among the results of `def`, or among the graph's inputs
  std::optional<MemoryPlace> place;
  std::optional<MemoryAlias> inside = std::nullopt;
};

struct Node {
  const OpDef* op = nullptr;
  std::vector<Arg> args;         // one per parameter of the schema, defaults filled in
  std::vector<ValueId> results;  // a Tensor[] result is flattened into its elements
  Location loc;
  NodeId prev, next;  // order of execution
};

// A graph in static single assignment form. Nodes and values are indices and live as long as the graph; erased nodes
// leave the order.
class Graph {
 public:
  explicit Graph(std::shared_ptr<sym::Context> syms) : syms_(std::move(syms)) {}

  sym::Context& syms() const { return *syms_; }
  const std::shared_ptr<sym::Context>& syms_ptr() const { return syms_; }

  std::vector<ValueId> inputs;
  std::vector<Arg> outputs;
  std::vector<std::unique_ptr<Graph>> subgraphs;  // arguments of higher-order operators

  ValueId add_input(std::string name, Type type);
  // Adds a node before `before` (none: at the end). Result names are made unique from `names` or the operator's name.
  NodeId add_node(const OpDef* op, std::vector<Arg> args, std::vector<Type> results, Location loc, NodeId before = {},
                  std::span<const std::string> names = {});
  void erase(NodeId);                       // results must have no uses left
  void move_before(NodeId, NodeId before);  // none: to the end

  Node& node(NodeId id) { return nodes_[id.index]; }
  const Node& node(NodeId id) const { return nodes_[id.index]; }
  Value& value(ValueId id) { return values_[id.index]; }
  const Value& value(ValueId id) const { return values_[id.index]; }
  const Type& type(ValueId id) const { return values_[id.index].type; }
  const TensorType& tensor(ValueId id) const { return values_[id.index].type.tensor; }
  size_t value_count() const { return values_.size(); }
  size_t node_capacity() const { return nodes_.size(); }

  NodeId first() const { return first_; }
  NodeId next(NodeId id) const { return nodes_[id.index].next; }
  std::vector<NodeId> nodes_in_order() const;
  size_t node_count() const { return count_; }

  std::string unique_name(std::string_view base);
  // Number of uses of every value by nodes and outputs, indexed by value.
  std::vector<uint32_t> use_counts() const;
  // Every use of a value becomes its entry in `with` (chains are followed). Linear in the graph.
  void replace_uses(const std::unordered_map<ValueId, ValueId>& with);
  std::unique_ptr<Graph> clone(std::shared_ptr<sym::Context> syms) const;

 private:
  void link(NodeId, NodeId before);
  void unlink(NodeId);
  std::shared_ptr<sym::Context> syms_;
  std::deque<Node> nodes_;  // deques: references to types and nodes stay valid while the graph grows
  std::deque<Value> values_;
  NodeId first_, last_;
  size_t count_ = 0;
  std::unordered_map<std::string, uint32_t> names_;  // base -> next number
};

template <class T>
using NodeMap = std::unordered_map<NodeId, T>;
template <class T>
using ValueMap = std::unordered_map<ValueId, T>;

}  // namespace EDGEC_API
