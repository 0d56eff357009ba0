#include "partition/regions.h"

#include <edgec/op.h>

#include <algorithm>
#include <numeric>
#include <queue>
#include <set>

namespace edgec::partition {
namespace {

using Symbols = std::set<sym::Expr, sym::ExprLess>;

void add_symbols(const Arg& a, Symbols& to) {
  for_each_expr(a, [&](const sym::Expr& e) {
    for (const sym::Expr& s : sym::free_symbols(e)) to.insert(s);
  });
}

void add_symbols(const Graph& g, const Node& n, Symbols& to) {
  for (const Arg& a : n.args) {
    add_symbols(a, to);
    if (!a.is_graph()) continue;
    const Graph& sub = *g.subgraphs[std::get<GraphId>(a.state).index];
    for (NodeId i = sub.first(); i; i = sub.next(i)) add_symbols(sub, sub.node(i), to);
    for (const Arg& out : sub.outputs) add_symbols(out, to);
  }
}

void add_symbols(const Type& t, Symbols& to) {
  const auto add = [&](const sym::Expr& e) {
    for (const sym::Expr& s : sym::free_symbols(e)) to.insert(s);
  };
  for (const Dim& d : t.tensor.sizes) add(d);
  if (t.is_sym()) add(t.expr);
}

// Sets of nodes that grow together.
class Unions {
 public:
  explicit Unions(size_t n) : parent_(n) { std::iota(parent_.begin(), parent_.end(), 0u); }
  uint32_t find(uint32_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void merge(uint32_t a, uint32_t b) { parent_[find(a)] = find(b); }

 private:
  std::vector<uint32_t> parent_;
};

// A level counts how often a path enters a region. Along every edge it does not fall, and it rises where a path enters a region from a
// node of another color. So a path that leaves a region (color and level) comes back to its color on a higher level only: no cycles.
class Leveler {
 public:
  Leveler(const Dependencies& deps, const std::vector<uint32_t>& color)
      : deps_(deps), color_(color), level_(color.size(), 0), sets_(color.size()) {}

  void run(bool join_independent) {
    for (NodeId n : deps_.order) {
      for (NodeId p : deps_.producers[n.index]) level_[n.index] = std::max(level_[n.index], level_[p.index] + enters(p, n));
      join(n, deps_.producers[n.index]);
    }
    raise(join_independent);
  }

  // All nodes of one color and level may be one region: no path between them leaves it and comes back.
  void join_levels() {
    std::map<std::pair<uint32_t, int>, uint32_t> first;
    for (NodeId n : deps_.order)
      if (color_[n.index]) sets_.merge(n.index, first.try_emplace({color_[n.index], level_[n.index]}, n.index).first->second);
  }

  Regions regions() {
    Regions out;
    out.of.assign(color_.size(), -1);
    std::vector<int32_t> number(color_.size(), -1);
    for (NodeId n : deps_.order) {
      if (!color_[n.index]) continue;
      int32_t& r = number[sets_.find(n.index)];
      if (r < 0) {
        r = static_cast<int32_t>(out.nodes.size());
        out.nodes.emplace_back();
      }
      out.of[n.index] = r;
      out.nodes[static_cast<size_t>(r)].push_back(n);
    }
    return out;
  }

 private:
  int enters(NodeId from, NodeId to) const { return color_[to.index] && color_[from.index] != color_[to.index] ? 1 : 0; }

  void join(NodeId n, const std::vector<NodeId>& neighbours) {
    if (!color_[n.index]) return;
    for (NodeId p : neighbours)
      if (color_[p.index] == color_[n.index] && level_[p.index] == level_[n.index]) sets_.merge(p.index, n.index);
  }

  // The highest level that users outside of `set` leave to a node of it.
  int bound(NodeId n, uint32_t set) {
    int out = INT32_MAX;
    for (NodeId u : deps_.users[n.index])
      if (!color_[u.index] || sets_.find(u.index) != set) out = std::min(out, level_[u.index] - enters(n, u));
    return out;
  }

  // %a feeds only a region on a higher level: it may as well be part of that one. So may what feeds nothing on the levels between, where
  // parts that do not depend on each other are joined. From the highest level down: what stays outside goes up as far as its users let it,
  // then regions to the highest level that one of their color has.
  void raise(bool join_independent) {
    std::map<uint32_t, std::vector<NodeId>> members;
    std::map<int, std::vector<NodeId>, std::greater<>> outside;
    std::map<int, std::vector<uint32_t>, std::greater<>> sets;
    for (size_t i = deps_.order.size(); i-- > 0;) {
      const NodeId n = deps_.order[i];
      if (!color_[n.index]) {
        outside[level_[n.index]].push_back(n);
        continue;
      }
      auto& set = members[sets_.find(n.index)];
      if (set.empty()) sets[level_[n.index]].push_back(sets_.find(n.index));
      set.push_back(n);
    }
    std::map<uint32_t, std::set<int>> levels;  // of regions, by color
    const int top = sets.empty() ? 0 : sets.begin()->first;
    for (int level = top; level >= 0; --level) {
      for (NodeId n : outside[level])
        if (join_independent) level_[n.index] = std::min(bound(n, n.index), top);
      for (uint32_t set : sets[level]) {
        const auto& nodes = members[set];
        const uint32_t color = color_[nodes.front().index];
        int highest = INT32_MAX, used_at = -1;
        for (NodeId n : nodes) {
          highest = std::min(highest, bound(n, set));
          for (NodeId u : deps_.users[n.index])
            if (color_[u.index] == color && level_[u.index] > level) used_at = std::max(used_at, level_[u.index]);
        }
        auto& taken = levels[color];
        auto above = taken.upper_bound(highest);
        const int target = !join_independent ? used_at : above == taken.begin() ? -1 : *std::prev(above);
        const int to = target > level && highest > level ? join_independent ? target : highest : level;
        for (NodeId n : nodes) level_[n.index] = to;
        taken.insert(to);
        if (to > level)
          for (NodeId n : nodes) join(n, deps_.users[n.index]);
      }
    }
  }

  const Dependencies& deps_;
  const std::vector<uint32_t>& color_;
  std::vector<int> level_;
  Unions sets_;
};

}  // namespace

std::vector<sym::Expr> symbols_of(const Graph& g, const Node& n) {
  Symbols out;
  add_symbols(g, n, out);
  return {out.begin(), out.end()};
}

Dependencies dependencies(const Graph& g) {
  Dependencies d;
  d.order = g.nodes_in_order();
  d.producers.resize(g.node_capacity());
  d.users.resize(g.node_capacity());
  Symbols known;
  for (ValueId v : g.inputs) add_symbols(g.type(v), known);
  for (NodeId id : d.order) {
    const Node& n = g.node(id);
    auto& producers = d.producers[id.index];
    const auto needs = [&](NodeId p) {
      if (p && p != id && std::find(producers.begin(), producers.end(), p) == producers.end()) producers.push_back(p);
    };
    for (const Arg& a : n.args)
      for_each_value(a, [&](const ValueId& v) {
        const NodeId def = g.value(v).def;
        if (def && g.node(def).op->name() != "prim.constant") needs(def);
      });
    for (const sym::Expr& s : symbols_of(g, n))
      if (auto it = d.definer.find(s); it != d.definer.end()) needs(it->second);
    for (NodeId p : producers) d.users[p.index].push_back(id);
    Symbols brought;
    for (ValueId r : n.results) add_symbols(g.type(r), brought);
    for (const sym::Expr& s : brought)
      if (known.insert(s).second) d.definer[s] = id;
  }
  return d;
}

Regions find_regions(const Dependencies& deps, const std::vector<uint32_t>& color, bool join_independent) {
  Leveler leveler(deps, color);
  leveler.run(join_independent);
  if (join_independent) leveler.join_levels();
  return leveler.regions();
}

std::vector<Step> schedule(const Dependencies& deps, const Regions& regions) {
  // A region is known by its first node.
  const auto unit = [&](NodeId n) {
    const int32_t r = regions.of[n.index];
    return r < 0 ? n : regions.nodes[static_cast<size_t>(r)].front();
  };
  std::vector<uint32_t> waits(regions.of.size(), 0), position(regions.of.size(), 0);
  for (uint32_t i = 0; i < deps.order.size(); ++i) position[deps.order[i].index] = i;
  for (NodeId n : deps.order)
    for (NodeId p : deps.producers[n.index])
      if (unit(p) != unit(n)) ++waits[unit(n).index];
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
  for (NodeId n : deps.order)
    if (unit(n) == n && waits[n.index] == 0) ready.push(position[n.index]);
  std::vector<Step> out;
  while (!ready.empty()) {
    const NodeId u = deps.order[ready.top()];
    ready.pop();
    const int32_t r = regions.of[u.index];
    out.push_back(r < 0 ? Step{u, -1} : Step{{}, r});
    const std::vector<NodeId> alone = {u};
    for (NodeId n : r < 0 ? alone : regions.nodes[static_cast<size_t>(r)])
      for (NodeId user : deps.users[n.index])
        if (unit(user) != u && --waits[unit(user).index] == 0) ready.push(position[unit(user).index]);
  }
  return out;
}

}  // namespace edgec::partition
