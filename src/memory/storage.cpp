#include "memory/storage.h"

#include <algorithm>
#include <map>

#include <edgec/op.h>

namespace edgec::memory {
namespace {

using Where = Storage::Where;

// What `v` is a part of: the operand of a view, the target of a write, or what a pass chose.
std::optional<MemoryAlias> outer_of(const Graph& g, ValueId v) {
  if (!g.type(v).is_tensor()) return std::nullopt;
  if (const auto& inside = g.value(v).inside) return inside;
  const NodeId def = g.value(v).def;
  if (!def) return std::nullopt;
  const Node& n = g.node(def);
  if (n.args.empty() || !n.args[0].is_value()) return std::nullopt;  // erased: its values have no users
  if (n.op->memory_view || n.op->schema().mutates()) return MemoryAlias{n.args[0].value(), 0};
  return std::nullopt;
}

bool is_static_node(const Graph& g, const Node& n) {
  bool all = true;
  for (const Arg& a : n.args)
    for_each_value(a, [&](const ValueId& v) { all = all && (!g.type(v).is_tensor() || g.tensor(v).is_static()); });
  for (ValueId r : n.results) all = all && g.type(r).is_tensor() && g.tensor(r).is_static();
  return all;
}

// Whether every operand lies in the result, one behind the other.
bool is_joined(const Graph& g, const Storage& s, const Node& n) {
  Where at = s.of(n.results[0]);
  for (const Arg& a : n.args[0].list()) {
    if (s.of(a.value()) != at) return false;
    at.offset += upper_bound_bytes(g.tensor(a.value())).value_or(0);
  }
  return true;
}

}  // namespace

Storage::Storage(const Graph& g) : where_(g.value_count()) {
  std::vector<std::pair<ValueId, int64_t>> path;
  std::vector<bool> on_path(g.value_count());
  for (uint32_t i = 0; i < g.value_count(); ++i) {
    path.clear();
    Where w{ValueId(i), 0};
    while (!where_[w.root.index].root) {
      const auto outer = on_path[w.root.index] ? std::nullopt : outer_of(g, w.root);
      if (!outer) {  // a root, or text that puts values inside each other
        where_[w.root.index] = {w.root, 0};
        break;
      }
      on_path[w.root.index] = true;
      path.emplace_back(w.root, outer->offset);
      w.root = outer->of;
    }
    w = where_[w.root.index];
    for (; !path.empty(); path.pop_back()) {
      w.offset += path.back().second;
      where_[path.back().first.index] = w;
      on_path[path.back().first.index] = false;
    }
  }
}

bool same_memory(const Graph& g, const Storage& s, ValueId a, ValueId b) {
  const TensorType &x = g.tensor(a), &y = g.tensor(b);
  return s.of(a) == s.of(b) && x.dtype == y.dtype && x.sizes == y.sizes && x.dim_order == y.dim_order;
}

bool is_free(const Graph& g, const Storage& s, NodeId id) {
  const Node& n = g.node(id);
  return n.results.size() == 1 && g.value(n.results[0]).place && lies_in_place(g, s, id);
}

bool lies_in_place(const Graph& g, const Storage& s, NodeId id) {
  const Node& n = g.node(id);
  if (n.results.size() != 1 || !is_static_node(g, n)) return false;
  if (n.op->memory_view) return true;
  if (joins_outermost(g, id)) return is_joined(g, s, n);
  const auto offset = window_offset(g, id);
  if (!offset) return false;
  const Where whole = s.of(n.args[0].value());
  return s.of(n.results[0]) == Where{whole.root, whole.offset + *offset};
}

std::vector<bool> views_for_delegates(const Graph& g, const Storage& s) {
  std::vector<bool> out(g.value_count());
  std::vector<uint32_t> seen(g.value_count());  // by root: its parts
  const auto count = [&](ValueId v) { seen[s.of(v).root.index] += g.type(v).is_tensor(); };
  for (ValueId v : g.inputs) count(v);
  for (NodeId n = g.first(); n; n = g.next(n))
    for (ValueId r : g.node(n).results) count(r);
  for (NodeId n = g.first(); n; n = g.next(n)) {
    if (g.node(n).op->schema().ns != "executorch") continue;
    std::map<uint32_t, ValueId> first;  // by root
    for_each_value(g.node(n).args[1], [&](const ValueId& v) {
      if (!g.type(v).is_tensor()) return;
      const uint32_t root = s.of(v).root.index;
      const auto [it, is_first] = first.try_emplace(root, v);
      if (!is_first && it->second != v) out[v.index] = out[it->second.index] = true;
      if (seen[root] > 2) out[v.index] = true;
    });
  }
  return out;
}

std::optional<int64_t> outer_stride(const TensorType& t, size_t axis) {
  int64_t bytes = static_cast<int64_t>(size_of(t.dtype));
  bool inner = false;  // of the axis, in memory
  for (size_t i = 0; i < t.rank(); ++i) {
    const size_t d = t.dim_order.empty() ? i : t.dim_order[i];
    const auto size = t.sizes[d].constant();
    if (!size || (!inner && d != axis && *size != 1)) return std::nullopt;
    if (inner && __builtin_mul_overflow(bytes, *size, &bytes)) return std::nullopt;
    inner = inner || d == axis;
  }
  return bytes;
}

bool joins_outermost(const Graph& g, NodeId id) {
  const Node& n = g.node(id);
  const bool stack = n.op->name() == "aten.stack";
  if ((!stack && n.op->name() != "aten.cat") || !n.args[0].is_list() || !is_static_node(g, n)) return false;
  const TensorType& whole = g.tensor(n.results[0]);
  const auto axis = Call(g, *n.op, n.args).axis("dim", whole.rank());
  if (!axis || whole.rank() == 0 || !outer_stride(whole, *axis) || (stack && !whole.dim_order.empty())) return false;
  return std::all_of(n.args[0].list().begin(), n.args[0].list().end(), [&](const Arg& a) {
    const TensorType& part = g.tensor(a.value());
    return part.dtype == whole.dtype && part.rank() + stack == whole.rank() && part.dim_order == whole.dim_order;
  });
}

std::optional<int64_t> window_offset(const Graph& g, NodeId id) {
  const Node& n = g.node(id);
  const bool select = n.op->name() == "aten.select.int";
  if ((!select && n.op->name() != "aten.slice.Tensor") || !n.args[0].is_value() || !is_static_node(g, n)) return std::nullopt;
  const TensorType &whole = g.tensor(n.args[0].value()), &part = g.tensor(n.results[0]);
  const Call c(g, *n.op, n.args);
  const auto axis = c.axis("dim", whole.rank());
  if (!axis || whole.rank() == 0 || (select ? !whole.dim_order.empty() || !part.dim_order.empty() : whole.dim_order != part.dim_order))
    return std::nullopt;
  const auto stride = outer_stride(whole, *axis);
  const int64_t size = *whole.sizes[*axis].constant();
  const char* param = select ? "index" : "start";
  const auto start = c.has(param) ? c.dim(param).constant() : std::optional<int64_t>(0);
  if (!stride || !start || (!select && c.dim("step") != Dim(1))) return std::nullopt;
  if (select && (*start < -size || *start >= size)) return std::nullopt;  // for the kernel to refuse
  const int64_t from = std::clamp<int64_t>(*start < 0 ? *start + size : *start, 0, size);
  return upper_bound_bytes(part).value_or(0) == 0 ? 0 : from * *stride;
}

}  // namespace edgec::memory
