#pragma once
#include <functional>
#include <span>
#include <vector>

#include <edgec/rewriter.h>

namespace edgec::passes {

// Copies the nodes of sub-graphs into another graph. Inputs are bound to the operands; where the two differ in a symbol
// (a size that the sub-graph calls by its own name), the copy says it the operand's way.
class Inliner {
 public:
  explicit Inliner(Graph& to) : to_(to) {}

  // Takes a node (arguments are those of the copy already) over itself and gives what stands for its results; an empty
  // list leaves the node to be copied like the others.
  using Special = std::function<std::vector<Arg>(const Graph& from, const Node&, std::vector<Arg>&, const sym::Bindings&)>;
  Special special;
  NodeId before;  // where the copies go; none: to the end

  // The outputs of `from` called with the operands. `symbols`: what the symbols of the graph around it stand for.
  std::vector<Arg> call(const Graph& from, std::span<const Arg> operands, sym::Bindings symbols);

  // The symbol of a type that was made up for a result becomes what the result turned out to be, in the whole graph at
  // `finish`.
  void rename(const Type& recorded, const Type& actual) { bind(recorded, actual, renamed_); }
  void finish();

 private:
  static void bind(const Type& formal, const Type& actual, sym::Bindings& symbols);
  Graph& to_;
  sym::Bindings renamed_;
};

void substitute(Arg&, const sym::Bindings&);
void substitute(Type&, const sym::Bindings&);
void substitute(Graph&, const sym::Bindings&);  // types, arguments and outputs, in sub-graphs too
// The type of an argument: of the value, or a number's.
Type type_of(const Graph&, const Arg&);

}  // namespace edgec::passes
