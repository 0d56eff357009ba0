#pragma once
#include <span>
#include <string_view>

#include <edgec/diag.h>
#include <edgec/op.h>
#include <edgec/program.h>

// What may be assumed of a program at each stage, as a table of rules. Runs after every pass in tests.
namespace edgec {

// One graph of a method under check: the main one or a subgraph.
struct CheckedGraph {
  const Method& method;
  const Graph& graph;
  Stage stage;
  std::string_view rule;
  Diagnostics& diag;
  bool autocast = false;  // recorded dtypes are those of casts that are not in the graph (passes/inline_regions)

  bool is_main() const { return &graph == method.graph.get(); }
  // Reports a fault of the graph, or of one node.
  void fault(const std::string& message) const;
  void fault(NodeId, const std::string& message) const;
};

struct Rule {
  std::string_view name;
  Stage from, to;  // the stages in which it holds
  std::string_view promise;
  void (*check)(const CheckedGraph&);
  bool needed_by_others = false;  // when broken, the rules that follow cannot be asked
};

// All rules, in the order in which they are checked.
std::vector<Rule> verifier_rules();

// Reports every broken rule of the program's stage to `diag`. The failure is the input's in the ATen stage and ours
// later.
Status verify(const Program&, Diagnostics&);
Status verify(const Method&, Stage, Diagnostics&);

}  // namespace edgec
