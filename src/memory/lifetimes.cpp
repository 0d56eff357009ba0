#include "memory/lifetimes.h"

#include <fmt/format.h>

#include <algorithm>

#include <edgec/op.h>

#include "memory/liveness.h"
#include "memory/parts.h"

namespace edgec::memory {
namespace {

std::string unbounded_symbols(const TensorType& t) {
  std::string out;
  for (const Dim& d : t.sizes)
    if (!sym::upper_bound(d)) out += (out.empty() ? "" : ", ") + d.str();
  return out;
}

// The values that have memory of their own or share some, in the order in which they are made: inputs first.
std::vector<ValueId> tensors_in_order(const Graph& g) {
  std::vector<ValueId> out;
  const auto add = [&](ValueId v) {
    if (g.type(v).is_tensor()) out.push_back(v);
  };
  for (ValueId v : g.inputs) add(v);
  for (NodeId n = g.first(); n; n = g.next(n))
    for (ValueId r : g.node(n).results) add(r);
  return out;
}

// The bytes that `v` takes at its greatest sizes. A view takes those of what it shows, whose bound may be the looser one: the program may
// have one value for both.
std::optional<int64_t> bytes_taken(const Graph& g, ValueId v) {
  auto bytes = upper_bound_bytes(g.tensor(v));
  while (bytes && !g.value(v).inside && g.value(v).def) {
    const Node& n = g.node(g.value(v).def);
    if (!n.op->memory_view || n.args.empty() || !n.args[0].is_value()) break;
    v = n.args[0].value();
    bytes = std::max(*bytes, upper_bound_bytes(g.tensor(v)).value_or(0));
  }
  return bytes;
}

}  // namespace

bool is_planned(const Method& m, ValueId root, bool is_used, const PlanOptions& options) {
  const Graph& g = *m.graph;
  if (!g.type(root).is_tensor() || m.constant_of(g, root)) return false;
  if (const InputSpec* spec = m.spec_of(root))
    return spec->is_weight() ? spec->mutated && options.alloc_mutable_buffers : options.alloc_graph_input && (is_used || spec->mutated);
  if (options.alloc_graph_output) return true;
  return std::none_of(g.outputs.begin(), g.outputs.end(), [&](const Arg& a) { return a == Arg(root); });
}

Result<std::vector<Block>> lifetimes(const Method& m, const PlanOptions& options) {
  const Graph& g = *m.graph;
  const Storage storage(g);
  const Liveness live(m);
  std::vector<Block> blocks;
  std::vector<size_t> index(g.value_count(), SIZE_MAX);  // by root
  Diagnostics diag;
  for (ValueId v : tensors_in_order(g)) {
    const auto [root, offset] = storage.of(v);
    if (!is_planned(m, root, live.is_used(root) || root != v, options)) continue;
    const auto bytes = bytes_taken(g, v);
    if (!bytes) {
      diag.error(
          g.value(v).def ? g.node(g.value(v).def).loc : nullptr,
          fmt::format("the size of %{} ({}) has no upper bound: {}", g.value(v).name, str(g.tensor(v)), unbounded_symbols(g.tensor(v))),
          "give one with torch._check at export, or with --bound SYMBOL=N");
      continue;
    }
    if (index[root.index] == SIZE_MAX) {
      index[root.index] = blocks.size();
      blocks.push_back({root, 0, live.of(v).first, 0, {}});
    }
    Block& b = blocks[index[root.index]];
    b.bytes = std::max(b.bytes, offset + *bytes);
    b.first = std::min(b.first, live.of(v).first);
    b.last = std::max(b.last, live.of(v).last);
    for (const Span& s : live.spans(v)) b.parts.push_back({offset, *bytes, s.first, s.last});
  }
  if (diag.has_errors()) return diag.failure();
  for (Block& b : blocks) {
    b.parts = disjoint(std::move(b.parts));
    const InputSpec* spec = m.spec_of(b.value);
    if (spec && spec->mutated) b.first = 0, b.last = live.end(), b.parts.clear();  // lives on between calls
    if (b.parts.size() == 1 && b.parts[0].bytes == b.bytes) b.parts.clear();
  }
  return blocks;
}

}  // namespace edgec::memory
