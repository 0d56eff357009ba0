#include "passes/orders.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include <edgec/op.h>

namespace edgec::passes {
namespace {

constexpr size_t kWindow = 64;  // of the nodes that could come next, how many are compared

int64_t size(const Graph& g, ValueId v) { return upper_bound_bytes(g.tensor(v)).value_or(0); }

// The pieces of memory that the node reads, each once.
std::vector<ValueId> roots_of(const Graph& g, const memory::Storage& storage, NodeId n) {
  std::vector<ValueId> out;
  for (const Arg& a : g.node(n).args)
    for_each_value(a, [&](const ValueId& v) {
      if (!g.type(v).is_tensor()) return;
      const ValueId root = storage.of(v).root;
      if (std::find(out.begin(), out.end(), root) == out.end()) out.push_back(root);
    });
  return out;
}

// The pieces of memory that the node makes.
template <class See>
void for_each_made(const Graph& g, const memory::Storage& storage, NodeId n, See&& see) {
  for (ValueId r : g.node(n).results)
    if (g.type(r).is_tensor() && storage.of(r).root == r) see(r);
}

// Calls see(i, k) for each operand of the k-th node that the i-th one makes.
template <class See>
void for_each_need(const Graph& g, std::span<const NodeId> nodes, See&& see) {
  std::unordered_map<ValueId, size_t> makers;
  for (size_t k = 0; k < nodes.size(); ++k) {
    for (const Arg& a : g.node(nodes[k]).args)
      for_each_value(a, [&](const ValueId& v) {
        if (const auto maker = makers.find(v); maker != makers.end()) see(maker->second, k);
      });
    for (ValueId r : g.node(nodes[k]).results) makers[r] = k;
  }
}

// Takes one after the other of those that wait for none that is left: the one at the place in that list (which ascends) that `choose`
// gives. `taken` hears of each; `waiting`: by index, those that wait for it.
template <class Choose, class Taken>
void take_all(std::vector<uint32_t> waits_for, const std::vector<std::vector<size_t>>& waiting, Choose&& choose, Taken&& taken) {
  std::vector<size_t> ready;
  for (size_t i = 0; i < waits_for.size(); ++i)
    if (waits_for[i] == 0) ready.push_back(i);
  while (!ready.empty()) {
    const size_t k = choose(ready), i = ready[k];
    ready.erase(ready.begin() + static_cast<ptrdiff_t>(k));
    taken(i);
    for (size_t w : waiting[i])
      if (--waits_for[w] == 0) ready.insert(std::upper_bound(ready.begin(), ready.end(), w), w);
  }
}

// Orders the nodes of one stretch of the graph.
class Forwards {
 public:
  Forwards(const Graph& g, const memory::Storage& storage, std::vector<uint32_t>& uses_left, std::span<const NodeId> nodes)
      : g_(g), storage_(storage), uses_left_(uses_left), nodes_(nodes), waits_for_(nodes.size()), users_(nodes.size()) {
    for_each_need(g, nodes, [&](size_t maker, size_t user) {
      ++waits_for_[user];
      users_[maker].push_back(user);
    });
  }

  std::vector<NodeId> ordered(Prefer prefer) {
    std::vector<NodeId> out;
    take_all(
        waits_for_, users_, [&](const std::vector<size_t>& ready) { return best(ready, prefer); },
        [&](size_t i) {
          out.push_back(nodes_[i]);
          for (ValueId root : roots_of(g_, storage_, nodes_[i])) --uses_left_[root.index];
        });
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
    int64_t bytes = 0;
    for_each_made(g_, storage_, nodes_[i], [&](ValueId r) { bytes += size(g_, r); });
    for (ValueId root : roots_of(g_, storage_, nodes_[i]))
      if (uses_left_[root.index] == 1) bytes -= size(g_, root);
    return bytes;
  }

  const Graph& g_;
  const memory::Storage& storage_;
  std::vector<uint32_t>& uses_left_;  // by root: nodes to come that read it; 0: none, or it is not counted
  std::span<const NodeId> nodes_;
  std::vector<uint32_t> waits_for_;
  std::vector<std::vector<size_t>> users_;
};

// Orders the nodes of one stretch of the graph from the last one to the first.
class Backwards {
 public:
  // `needed`: by root, whether a node behind the stretch reads it; afterwards whether one in or behind it does.
  Backwards(const Graph& g, const memory::Storage& storage, std::vector<bool>& needed, std::span<const NodeId> nodes)
      : g_(g), storage_(storage), needed_(needed), nodes_(nodes), waits_for_(nodes.size()), makers_(nodes.size()) {
    for_each_need(g, nodes, [&](size_t maker, size_t user) {
      ++waits_for_[maker];
      makers_[user].push_back(maker);
    });
  }

  std::vector<NodeId> ordered(Prefer prefer) {
    std::vector<NodeId> out;
    take_all(
        waits_for_, makers_, [&](const std::vector<size_t>& ready) { return best(ready, prefer); },
        [&](size_t i) {
          out.push_back(nodes_[i]);
          pass(nodes_[i]);
        });
    std::reverse(out.begin(), out.end());
    return out;
  }

  // Each node right before the first that reads its results, where that leaves less in memory on the way. Views follow.
  std::vector<NodeId> late() {
    std::vector<size_t> order(nodes_.size()), place(nodes_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    place = order;
    std::vector<std::vector<size_t>> users(nodes_.size());
    for (size_t i = 0; i < nodes_.size(); ++i)
      for (size_t maker : makers_[i]) users[maker].push_back(i);
    std::unordered_map<uint32_t, std::vector<size_t>> readers;  // by root
    for (size_t i = 0; i < nodes_.size(); ++i)
      for (ValueId root : roots_of(g_, storage_, nodes_[i])) readers[root.index].push_back(i);
    for (size_t i = nodes_.size(); i-- > 0;) {
      size_t to = nodes_.size();
      for (size_t u : users[i]) to = std::min(to, place[u]);
      if (to <= place[i] + 1) continue;
      int64_t gain = g_.node(nodes_[i]).op->memory_view ? 1 : 0;
      for_each_made(g_, storage_, nodes_[i], [&](ValueId r) { gain += needed_[r.index] || readers.count(r.index) ? size(g_, r) : 0; });
      for (ValueId root : roots_of(g_, storage_, nodes_[i])) {
        const auto& others = readers[root.index];
        const bool lives =
            needed_[root.index] || std::any_of(others.begin(), others.end(), [&](size_t o) { return o != i && place[o] >= to; });
        if (!lives) gain -= size(g_, root);
      }
      if (gain <= 0) continue;
      const size_t from = place[i];
      std::rotate(order.begin() + static_cast<ptrdiff_t>(from), order.begin() + static_cast<ptrdiff_t>(from) + 1,
                  order.begin() + static_cast<ptrdiff_t>(to));
      for (size_t k = from; k < to; ++k) place[order[k]] = k;
    }
    std::vector<NodeId> out;
    for (size_t i : order) out.push_back(nodes_[i]);
    for (size_t i = out.size(); i-- > 0;) pass(out[i]);
    return out;
  }

  void pass(NodeId id) {
    for_each_made(g_, storage_, id, [&](ValueId r) { needed_[r.index] = false; });
    for (const Arg& a : g_.node(id).args) for_each_value(a, [&](const ValueId& v) { needed_[storage_.of(v).root.index] = true; });
  }

 private:
  size_t best(const std::vector<size_t>& ready, Prefer prefer) const {
    const size_t count = std::min(ready.size(), kWindow);
    size_t chosen = ready.size() - 1;
    int64_t least = std::numeric_limits<int64_t>::max();
    for (size_t k = ready.size(); k-- > ready.size() - count;) {
      int64_t more = added(ready[k]);
      if (prefer == Prefer::Newest && more > 0) more = 1;
      if (more < least) least = more, chosen = k;
    }
    return chosen;
  }

  // Bytes that are live before the node and are not behind it.
  int64_t added(size_t i) const {
    int64_t bytes = 0;
    for_each_made(g_, storage_, nodes_[i], [&](ValueId r) { bytes -= needed_[r.index] ? size(g_, r) : 0; });
    for (ValueId root : roots_of(g_, storage_, nodes_[i]))
      if (!needed_[root.index]) bytes += size(g_, root);
    return bytes;
  }

  const Graph& g_;
  const memory::Storage& storage_;
  std::vector<bool>& needed_;
  std::span<const NodeId> nodes_;
  std::vector<uint32_t> waits_for_;  // users that are not placed
  std::vector<std::vector<size_t>> makers_;
};

}  // namespace

bool stays_in_order(const Graph& g, const Node& n) {
  const OpDef& op = *n.op;
  if (!op.known || op.random || op.side_effect || op.defines_symbols || op.schema().mutates() || op.schema().ns == "higher_order")
    return true;
  return op.schema().ns == "prim" && op.name() != "prim.constant" && !(n.results.size() == 1 && g.type(n.results[0]).is_sym());
}

// What no reader frees: outputs, weights, constants, inputs that lie elsewhere.
template <class See>
void Orders::for_each_kept(const std::vector<NodeId>& nodes, See&& see) const {
  for (const Arg& a : g_.outputs) for_each_value(a, see);
  for (size_t i = 0; i < m_.inputs.size(); ++i)
    if (m_.inputs[i].is_weight() || !cx_.alloc_graph_input) see(g_.inputs[i]);
  for (NodeId n : nodes)
    if (g_.node(n).op->name() == "prim.constant") see(g_.node(n).results[0]);
}

std::vector<NodeId> Orders::forwards(const std::vector<NodeId>& nodes, Prefer prefer) const {
  std::vector<uint32_t> uses_left = uses(nodes);
  std::vector<NodeId> out;
  size_t begin = 0;
  for (size_t i = 0; i <= nodes.size(); ++i) {
    if (i < nodes.size() && !stays_in_order(g_, g_.node(nodes[i]))) continue;
    const auto some = Forwards(g_, storage_, uses_left, std::span(nodes).subspan(begin, i - begin)).ordered(prefer);
    out.insert(out.end(), some.begin(), some.end());
    if (i < nodes.size()) out.push_back(nodes[i]);
    begin = i + 1;
  }
  return out;
}

std::vector<NodeId> Orders::from_the_end(const std::vector<NodeId>& nodes, std::optional<Prefer> prefer) const {
  std::vector<bool> needed(g_.value_count());
  for_each_kept(nodes, [&](ValueId v) { needed[storage_.of(v).root.index] = true; });
  std::vector<NodeId> out;
  size_t end = nodes.size();
  for (size_t i = nodes.size() + 1; i-- > 0;) {
    if (i > 0 && !stays_in_order(g_, g_.node(nodes[i - 1]))) continue;
    Backwards stretch(g_, storage_, needed, std::span(nodes).subspan(i, end - i));
    const auto some = prefer ? stretch.ordered(*prefer) : stretch.late();
    out.insert(out.end(), some.rbegin(), some.rend());
    if (i > 0) {
      out.push_back(nodes[i - 1]);
      stretch.pass(nodes[i - 1]);
    }
    end = i > 0 ? i - 1 : 0;
  }
  std::reverse(out.begin(), out.end());
  return out;
}

// Nodes that read each piece of memory; what no reader frees counts one more.
std::vector<uint32_t> Orders::uses(const std::vector<NodeId>& nodes) const {
  std::vector<uint32_t> out(g_.value_count());
  std::vector<NodeId> last(g_.value_count());
  for (NodeId n : nodes)
    for (const Arg& a : g_.node(n).args)
      for_each_value(a, [&](const ValueId& v) {
        const ValueId root = storage_.of(v).root;
        if (last[root.index] == n) return;
        last[root.index] = n;
        ++out[root.index];
      });
  for_each_kept(nodes, [&](ValueId v) { ++out[storage_.of(v).root.index]; });
  return out;
}

std::vector<NodeId> Orders::backwards(const std::vector<NodeId>& nodes, Prefer prefer) const { return from_the_end(nodes, prefer); }
std::vector<NodeId> Orders::late(const std::vector<NodeId>& nodes) const { return from_the_end(nodes, std::nullopt); }

}  // namespace edgec::passes
