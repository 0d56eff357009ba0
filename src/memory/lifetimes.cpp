#include "memory/lifetimes.h"

#include <fmt/format.h>

#include <algorithm>

#include <edgec/op.h>

namespace edgec::memory {
namespace {

// What `v` shows of another value's memory: a view node, or the result of a write into its first argument.
std::optional<ValueId> shares_memory_of(const Graph& g, ValueId v) {
  const NodeId def = g.value(v).def;
  if (!def) return std::nullopt;
  const Node& n = g.node(def);
  if (n.args.empty() || !n.args[0].is_value()) return std::nullopt;  // erased: its values have no users
  if (n.op->memory_view || n.op->schema().mutates()) return n.args[0].value();
  return std::nullopt;
}

std::string unbounded_symbols(const TensorType& t) {
  std::string out;
  for (const Dim& d : t.sizes)
    if (!sym::upper_bound(d)) out += (out.empty() ? "" : ", ") + d.str();
  return out;
}

}  // namespace

ValueId memory_root(const Graph& g, ValueId v) {
  while (auto base = shares_memory_of(g, v)) v = *base;
  return v;
}

Result<std::vector<Block>> lifetimes(const Method& m, const PlanOptions& options) {
  const Graph& g = *m.graph;
  std::vector<Block> blocks;
  std::unordered_map<ValueId, size_t> index;
  Diagnostics diag;

  const auto add = [&](ValueId v, uint32_t first, uint32_t last, Location loc) {
    if (!g.type(v).is_tensor() || m.constant_of(g, v)) return;
    auto bytes = upper_bound_bytes(g.tensor(v));
    if (!bytes) {
      diag.error(
          loc,
          fmt::format("the size of %{} ({}) has no upper bound: {}", g.value(v).name, str(g.tensor(v)), unbounded_symbols(g.tensor(v))),
          "give one with torch._check at export, or with --bound SYMBOL=N");
      return;
    }
    index[v] = blocks.size();
    blocks.push_back({v, *bytes, first, last, -1});
  };

  // Time 0 is the call, the instructions follow from 1, `end` is the return.
  uint32_t end = 1;
  for (NodeId n = g.first(); n; n = g.next(n)) ++end;
  const auto uses = g.use_counts();
  for (size_t i = 0; i < m.inputs.size(); ++i) {
    const InputSpec& spec = m.inputs[i];
    const ValueId v = g.inputs[i];
    if (spec.is_weight()) {
      if (spec.mutated && options.alloc_mutable_buffers) add(v, 0, end, nullptr);  // state lives on between calls
    } else if (options.alloc_graph_input && uses[v.index] > 0) {
      add(v, 0, spec.mutated ? end : 0, nullptr);
    }
  }
  uint32_t now = 0;
  std::vector<uint32_t> open;                        // loops that have begun
  std::vector<std::pair<uint32_t, uint32_t>> loops;  // begin and end, inner ones first
  const auto touch = [&](ValueId v) {
    auto it = index.find(memory_root(g, v));
    if (it != index.end()) blocks[it->second].last = std::max(blocks[it->second].last, now);
  };
  for (NodeId n = g.first(); n; n = g.next(n)) {
    ++now;
    const Node& node = g.node(n);
    if (node.op->name() == "prim.loop") open.push_back(now);
    if (node.op->name().starts_with("prim.repeat") && !open.empty()) {
      loops.emplace_back(open.back(), now);
      open.pop_back();
    }
    for (const Arg& a : node.args) for_each_value(a, touch);
    for (ValueId r : node.results)
      if (memory_root(g, r) == r && node.op->name() != "prim.constant") add(r, now, now, node.loc);
  }
  // What comes from before a loop is needed again by its next turn.
  for (const auto& [begin, last] : loops)
    for (Block& b : blocks)
      if (b.first < begin && b.last > begin && b.last < last) b.last = last;
  now = end;
  for (const Arg& a : g.outputs) for_each_value(a, touch);
  if (diag.has_errors()) return diag.failure();
  if (!options.alloc_graph_output)
    for (const Arg& a : g.outputs)
      if (a.is_value()) std::erase_if(blocks, [&](const Block& b) { return b.value == memory_root(g, a.value()) && g.value(b.value).def; });
  return blocks;
}

}  // namespace edgec::memory
