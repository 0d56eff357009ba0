#pragma once
#include <edgec/backend.h>
#include <edgec/diag.h>

#include <set>
#include <string>
#include <vector>

#include "partition/regions.h"

// What crosses the border of a region (docs/delegate-contract.md).
namespace edgec::partition {

// The region's nodes are `nodes` of graph `g` of method `m`.
struct RegionView {
  const Method& m;
  const Graph& g;
  const Dependencies& deps;
  const Regions& regions;
  int32_t index;                               // of `regions`
  const std::set<std::string>& shared_states;  // names of buffers that other methods have too: no delegate keeps them
  const std::vector<NodeId>& nodes() const { return regions.nodes[static_cast<size_t>(index)]; }
  bool has(NodeId n) const { return n && regions.of[n.index] == index; }
};

struct Border {
  std::vector<ValueId> weights;         // move in: weight inputs and constants
  std::vector<ValueId> states;          // buffers that the delegate keeps
  std::vector<ValueId> tensors;         // inputs of the delegate
  std::vector<sym::Expr> numbers;       // symbols that come in, as numbers or rank-0 tensors
  std::vector<NodeId> made_inside;      // nodes outside whose symbol the region computes again
  std::vector<ValueId> number_results;  // numbers made inside and used outside
  std::vector<ValueId> results;         // tensors made inside and used outside
  std::vector<size_t> state_outputs;    // outputs of the method that are new values of `states`
};

// A node that cannot stay in the region, and why.
struct Refusal {
  NodeId node;
  std::string reason;
};

// What a graph's values and symbols are used by, as far as borders ask.
class Uses {
 public:
  Uses(const Graph& g, const Dependencies& deps, const Regions& regions);
  bool outside(ValueId v, int32_t region) const;  // a node that is not of the region, or the graph's output uses it
  bool outside(const sym::Expr& symbol, int32_t region) const;

 private:
  static constexpr int32_t kNobody = -2, kSeveral = -3;  // else: the one region that uses it, or -1 for nodes outside
  static void use(int32_t& by, int32_t region) { by = by == kNobody || by == region ? region : kSeveral; }
  std::vector<int32_t> values_;
  std::map<sym::Expr, int32_t, sym::ExprLess> symbols_;
};

// Fails by `refusals`: nodes that need a symbol which the backend cannot get, or give one that it cannot hand out.
Border border_of(const RegionView& region, const Uses& uses, const Backend& backend, const CompileSpecs& specs, bool whole_graph,
                 std::vector<Refusal>& refusals);

}  // namespace edgec::partition
