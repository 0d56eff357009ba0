#include "emit/tensors.h"

#include <algorithm>
#include <map>

#include <edgec/op.h>

namespace edgec::emit {
namespace {

constexpr size_t kMaxLookedAt = 64;  // writes behind a tensor's last one: a view behind more gets a tensor of its own

class Tensors {
 public:
  Tensors(const Graph& g, const memory::Storage& s, std::vector<bool> apart)
      : g_(g),
        s_(s),
        apart_(std::move(apart)),
        out_(tensor_of_each(g)),
        filled_(g.value_count()),
        writes_(g.value_count()),
        ranges_(g.value_count()),
        uses_(g.use_counts()) {
    for (ValueId v : out_) {
      if (!is_planned(v)) continue;
      const auto [root, offset] = s_.of(v);
      ranges_[root.index].push_back({offset, offset + upper_bound_bytes(g_.tensor(v)).value_or(0)});
    }
    for (NodeId n = g.first(); n; n = g.next(n)) set_apart(g.node(n));
    for (const Arg& a : g.outputs) for_each_value(a, [&](const ValueId& v) { --uses_[v.index]; });
  }

  std::vector<ValueId> run() {
    for (ValueId v : g_.inputs)
      if (is_planned(v)) write(v);
    for (NodeId n = g_.first(); n; n = g_.next(n)) visit(n);
    return std::move(out_);
  }

 private:
  struct Range {
    int64_t begin, end;  // bytes from the root's begin
  };
  struct Write {
    uint32_t time;
    ValueId tensor;
    int64_t begin, end;  // bytes from the root's begin
  };

  void set_apart(const Node& n) {
    const auto mark = [&](const ValueId& v) { apart_[v.index] = true; };
    if (n.op->name() == "executorch_prim.et_copy_index.tensor") mark(n.args[0].value());  // sets the size by rows
    if (n.op->schema().ns != "executorch") return;
    for (const Arg& a : n.args) for_each_value(a, mark);  // a reader tells the results of a delegate by their being new
    for (ValueId r : n.results) mark(r);
  }

  bool is_planned(ValueId v) const { return g_.type(v).is_tensor() && g_.value(v).place; }

  void visit(NodeId id) {
    const Node& n = g_.node(id);
    const std::string& op = n.op->name();
    if (n.op->schema().mutates() || op == "prim.assign" || op == "executorch_prim.et_copy_index.tensor") {
      if (is_planned(n.args[0].value())) write(n.args[0].value());
    } else if (op == "prim.alloc") {
      if (is_planned(n.results[0])) join(n.results[0]);
    } else if (op.starts_with("prim.") && n.results.empty()) {
      flow_ = ++now_;  // what was true before need not be behind it
    } else {
      const bool is_view = n.op->memory_view || memory::is_free(g_, s_, id);
      for (ValueId r : n.results)
        if (is_planned(r)) is_view ? view(r) : write(r);
    }
  }

  // Whether the value may be put together of what others write in its parts: no writer of its own would tell that from what was there
  // before.
  bool has_parts(ValueId v) const {
    if (!g_.value(v).def || g_.node(g_.value(v).def).op->name() != "prim.alloc") return false;
    const auto [root, begin] = s_.of(v);
    const int64_t end = begin + upper_bound_bytes(g_.tensor(v)).value_or(0);
    const auto inside = [&, first = begin](const Range& r) { return first <= r.begin && r.end <= end && r.end - r.begin < end - first; };
    return std::ranges::any_of(ranges_[root.index], inside);
  }

  // The tensor of the value's memory and type: of one before, or the value's own.
  ValueId join(ValueId v) {
    if (apart_[v.index] || !g_.tensor(v).is_static() || has_parts(v)) return v;
    const auto [root, offset] = s_.of(v);
    std::vector<ValueId>& known = tensors_[{root.index, offset}];
    const auto same = std::ranges::find_if(known, [&](ValueId k) { return memory::same_memory(g_, s_, k, v); });
    if (same != known.end()) return out_[v.index] = *same;
    known.push_back(v);
    return v;
  }

  void write(ValueId v) {
    const ValueId tensor = out_[v.index] == v ? join(v) : out_[v.index];
    const auto [root, offset] = s_.of(v);
    filled_[tensor.index] = ++now_;
    writes_[root.index].push_back({now_, tensor, offset, offset + upper_bound_bytes(g_.tensor(v)).value_or(0)});
  }

  void view(ValueId v) {
    const ValueId tensor = join(v);
    // An input's memory with the last content of its parts is given back.
    const bool given_back = uses_[v.index] == 0 && !g_.value(tensor).def;
    if (tensor != v && !shows(tensor, given_back)) out_[v.index] = v;
    if (out_[v.index] == v) filled_[v.index] = ++now_;
  }

  // Whether the tensor's memory still holds what was there when it was written or began to view it; `but_parts`: or others in its parts.
  bool shows(ValueId tensor, bool but_parts) const {
    const uint32_t since = filled_[tensor.index];
    if (since < flow_ && !but_parts) return false;
    const auto [root, begin] = s_.of(tensor);
    const int64_t end = begin + upper_bound_bytes(g_.tensor(tensor)).value_or(0);
    const std::vector<Write>& all = writes_[root.index];
    for (size_t i = all.size(); i-- > 0 && all[i].time > since;) {
      if (all.size() - i > kMaxLookedAt) return false;
      if (all[i].begin >= end || all[i].end <= begin || all[i].tensor == tensor) continue;
      if (!but_parts || all[i].begin < begin || all[i].end > end) return false;
    }
    return true;
  }

  const Graph& g_;
  const memory::Storage& s_;
  std::vector<bool> apart_;
  std::vector<ValueId> out_;
  std::vector<uint32_t> filled_;                                          // by tensor: when it was written or began to view
  std::vector<std::vector<Write>> writes_;                                // by root, in order of time
  std::vector<std::vector<Range>> ranges_;                                // of values, by root
  std::map<std::pair<uint32_t, int64_t>, std::vector<ValueId>> tensors_;  // by root and offset
  std::vector<uint32_t> uses_;                                            // by nodes
  uint32_t now_ = 0, flow_ = 0;
};

}  // namespace

std::vector<ValueId> tensor_of_each(const Graph& g) {
  std::vector<ValueId> out;
  for (uint32_t i = 0; i < g.value_count(); ++i) out.emplace_back(i);
  return out;
}

std::vector<ValueId> tensors_of(const Graph& g, const memory::Storage& s, const std::vector<bool>& apart) {
  return Tensors(g, s, apart).run();
}

}  // namespace edgec::emit
