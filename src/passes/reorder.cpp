#include "passes/registry.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "memory/sharing.h"
#include "passes/share_memory.h"

#include <edgec/op.h>

// Nodes move to where less memory is live at the same time: between two nodes that stay where they are, the one goes first that adds the
// fewest bytes. The traced order stays unless the peak gets lower. What has effects (state, asserts, random numbers, branches and loops)
// keeps its place among all others.
namespace edgec::passes {
namespace {

constexpr size_t kMaxNodes = 20000;  // larger methods keep their order
constexpr size_t kWindow = 64;       // of the nodes that could come next, how many are compared

enum class Prefer { Smallest, Newest };

bool stays(const Graph& g, const Node& n) {
  const OpDef& op = *n.op;
  if (!op.known || op.random || op.side_effect || op.defines_symbols || op.schema().mutates() || op.schema().ns == "higher_order")
    return true;
  return op.schema().ns == "prim" && op.name() != "prim.constant" && !(n.results.size() == 1 && g.type(n.results[0]).is_sym());
}

// Orders the nodes of one stretch of the graph.
class Stretch {
 public:
  Stretch(const Graph& g, const memory::Storage& storage, std::vector<uint32_t>& uses_left, std::span<const NodeId> nodes)
      : g_(g), storage_(storage), uses_left_(uses_left), nodes_(nodes), waits_for_(nodes.size()), users_(nodes.size()) {
    std::unordered_map<ValueId, size_t> makers;
    for (size_t i = 0; i < nodes.size(); ++i) {
      for (const Arg& a : g.node(nodes[i]).args)
        for_each_value(a, [&](const ValueId& v) {
          if (const auto maker = makers.find(v); maker != makers.end()) {
            ++waits_for_[i];
            users_[maker->second].push_back(i);
          }
        });
      for (ValueId r : g.node(nodes[i]).results) makers[r] = i;
    }
  }

  std::vector<NodeId> ordered(Prefer prefer) {
    std::vector<size_t> ready;
    for (size_t i = 0; i < nodes_.size(); ++i)
      if (waits_for_[i] == 0) ready.push_back(i);
    std::vector<NodeId> out;
    while (!ready.empty()) {
      const size_t k = best(ready, prefer), i = ready[k];
      ready.erase(ready.begin() + static_cast<ptrdiff_t>(k));
      out.push_back(nodes_[i]);
      for (ValueId root : roots(i)) --uses_left_[root.index];
      for (size_t user : users_[i])
        if (--waits_for_[user] == 0) ready.insert(std::upper_bound(ready.begin(), ready.end(), user), user);
    }
    return out;
  }

 private:
  size_t best(const std::vector<size_t>& ready, Prefer prefer) const {
    const size_t from = prefer == Prefer::Newest && ready.size() > kWindow ? ready.size() - kWindow : 0;
    size_t chosen = from;
    int64_t least = std::numeric_limits<int64_t>::max();
    for (size_t k = from; k < ready.size() && k < from + kWindow; ++k) {
      int64_t more = added(ready[k]);
      if (prefer == Prefer::Newest && more > 0) more = 1;  // what frees nothing: the one that became ready behind the others
      if (more < least || (prefer == Prefer::Newest && more == least && more > 0)) least = more, chosen = k;
    }
    return chosen;
  }

  // Bytes that are live after the node and were not before.
  int64_t added(size_t i) const {
    const Node& n = g_.node(nodes_[i]);
    int64_t bytes = 0;
    for (ValueId r : n.results)
      if (g_.type(r).is_tensor() && storage_.of(r).root == r) bytes += size(r);
    for (ValueId root : roots(i))
      if (uses_left_[root.index] == 1) bytes -= size(root);
    return bytes;
  }

  // The pieces of memory that the node reads, each once.
  std::vector<ValueId> roots(size_t i) const {
    std::vector<ValueId> out;
    for (const Arg& a : g_.node(nodes_[i]).args)
      for_each_value(a, [&](const ValueId& v) {
        if (!g_.type(v).is_tensor()) return;
        const ValueId root = storage_.of(v).root;
        if (std::find(out.begin(), out.end(), root) == out.end()) out.push_back(root);
      });
    return out;
  }

  int64_t size(ValueId v) const { return upper_bound_bytes(g_.tensor(v)).value_or(0); }

  const Graph& g_;
  const memory::Storage& storage_;
  std::vector<uint32_t>& uses_left_;  // by root: nodes to come that read it; 0: none, or it is not counted
  std::span<const NodeId> nodes_;
  std::vector<uint32_t> waits_for_;
  std::vector<std::vector<size_t>> users_;
};

class Reorder {
 public:
  Reorder(Method& m, const PassContext& cx) : m_(m), g_(*m.graph), cx_(cx) {}

  void run() {
    if (g_.node_count() > kMaxNodes) return;
    std::vector<NodeId> best = g_.nodes_in_order();
    int64_t least = peak();
    const memory::Storage storage(g_);
    const std::vector<NodeId> traced = best;
    for (Prefer prefer : {Prefer::Smallest, Prefer::Newest}) {
      auto order = ordered(traced, storage, prefer);
      if (order == traced) continue;
      apply(order);
      if (const int64_t bytes = peak(); bytes < least) least = bytes, best = std::move(order);
    }
    apply(best);
  }

 private:
  std::vector<NodeId> ordered(const std::vector<NodeId>& traced, const memory::Storage& storage, Prefer prefer) const {
    std::vector<uint32_t> uses_left = uses(traced, storage);
    std::vector<NodeId> out;
    size_t begin = 0;
    for (size_t i = 0; i <= traced.size(); ++i) {
      if (i < traced.size() && !stays(g_, g_.node(traced[i]))) continue;
      const auto some = Stretch(g_, storage, uses_left, std::span(traced).subspan(begin, i - begin)).ordered(prefer);
      out.insert(out.end(), some.begin(), some.end());
      if (i < traced.size()) out.push_back(traced[i]);
      begin = i + 1;
    }
    return out;
  }

  // Nodes that read each piece of memory. What no reader frees counts one more: constants, state, outputs.
  std::vector<uint32_t> uses(const std::vector<NodeId>& nodes, const memory::Storage& storage) const {
    std::vector<uint32_t> out(g_.value_count());
    std::vector<NodeId> last(g_.value_count());
    for (NodeId n : nodes)
      for (const Arg& a : g_.node(n).args)
        for_each_value(a, [&](const ValueId& v) {
          const ValueId root = storage.of(v).root;
          if (last[root.index] == n) return;
          last[root.index] = n;
          ++out[root.index];
        });
    const auto kept = [&](ValueId v) { out[storage.of(v).root.index] += 1; };
    for (const Arg& a : g_.outputs) for_each_value(a, kept);
    for (size_t i = 0; i < m_.inputs.size(); ++i)
      if (m_.inputs[i].is_weight() || !cx_.alloc_graph_input) kept(g_.inputs[i]);
    for (NodeId n : nodes)
      if (g_.node(n).op->name() == "prim.constant") kept(g_.node(n).results[0]);
    return out;
  }

  void apply(const std::vector<NodeId>& order) {
    for (NodeId n : order) g_.move_before(n, {});
  }

  int64_t peak() { return peak_when_shared(m_, cx_); }

  Method& m_;
  Graph& g_;
  const PassContext& cx_;
};

}  // namespace

int64_t peak_when_shared(Method& m, const PassContext& cx) {
  auto kept = std::exchange(m.graph, m.graph->clone(m.syms));
  alias_views(m, cx);
  place_results(m, cx);
  write_in_place(m, cx);
  concat_in_place(m, cx);
  reuse_operands(m, cx);
  const int64_t bytes = memory::Sharing(m, plan_options(cx)).most_live();
  m.graph = std::move(kept);
  return bytes;
}

Status reorder(Program& p, PassContext& cx) {
  for (auto& m : p.methods) Reorder(*m, cx).run();
  return {};
}

}  // namespace edgec::passes
