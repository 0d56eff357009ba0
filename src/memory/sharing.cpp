#include "memory/sharing.h"

#include <algorithm>

#include <edgec/op.h>

#include "memory/parts.h"

namespace edgec::memory {
namespace {

constexpr uint32_t kNone = UINT32_MAX;
constexpr int64_t kFar = int64_t{1} << 60;  // bytes
constexpr size_t kMaxPairs = 1 << 16;       // of members looked at for one decision; more are refused

int64_t bytes_of(const Graph& g, ValueId v) { return upper_bound_bytes(g.tensor(v)).value_or(0); }

bool same_kind(const TensorType& a, const TensorType& b) { return a.dtype == b.dtype && a.sizes == b.sizes && a.dim_order == b.dim_order; }

}  // namespace

bool may_overwrite(const Graph& g, const Node& n, ValueId operand) {
  if (!n.op->in_place_ok || n.results.empty() || !g.type(n.results[0]).is_tensor() || !same_kind(g.tensor(n.results[0]), g.tensor(operand)))
    return false;
  const Schema& s = n.op->schema();
  bool right = false;
  for (size_t i = 0; i < n.args.size(); ++i) {
    bool has = false;
    for_each_value(n.args[i], [&](const ValueId& v) { has = has || v == operand; });
    // Elementwise operators take any operand; others read what is not their first one again.
    const bool elementwise = std::find(n.op->promotes.begin(), n.op->promotes.end(), s.params[i].name) != n.op->promotes.end();
    if (has && i != 0 && !elementwise) return false;
    right = right || has;
  }
  return right;
}

// ---- the pieces as they are
// ---------------------------------------------------------------------------------------------------------------

Sharing::Sharing(Method& m, const PlanOptions& options)
    : m_(m),
      g_(*m.graph),
      live_(m),
      time_(live_.end() + 1),
      alignment_(options.alignment),
      piece_of_(m.graph->value_count(), kNone),
      begin_(m.graph->value_count()),
      changes_(m.graph->value_count()) {
  const Storage storage(g_);
  for (uint32_t i = 0; i < g_.value_count(); ++i) contents_.push_back({i, 0, -kFar, kFar});
  for (ValueId v : g_.inputs) collect(v, storage, options);
  for (NodeId n = g_.first(); n; n = g_.next(n))
    for (ValueId r : g_.node(n).results) collect(r, storage, options);
  for (Piece& p : pieces_) {
    p.parts = p.stays ? std::vector<MemoryPart>{{0, p.bytes, p.hull.first, p.hull.last}} : disjoint(std::move(p.parts));
    count(p, 1);
  }
  for (NodeId n = g_.first(); n; n = g_.next(n)) {
    find_changing(n);
    unite_contents(n, storage);
    needed_ = std::max(needed_, needed_by(n));
  }
}

void Sharing::collect(ValueId v, const Storage& storage, const PlanOptions& options) {
  if (!g_.type(v).is_tensor() || !upper_bound_bytes(g_.tensor(v))) return;
  const auto [root, offset] = storage.of(v);
  if (!is_planned(m_, root, live_.is_used(root) || root != v, options)) return;
  uint32_t& piece = piece_of_[root.index];
  if (piece == kNone) {
    piece = static_cast<uint32_t>(pieces_.size());
    Piece& p = pieces_.emplace_back();
    p.root = root;
    const InputSpec* spec = m_.spec_of(root);
    p.stays = spec && spec->mutated;
    if (p.stays) {  // what the methods share or the caller gets back
      p.hull = {0, live_.end()};
      p.limit = p.bytes = bytes_of(g_, root);
    }
  }
  piece_of_[v.index] = piece;
  begin_[v.index] = offset;
  const int64_t bytes = bytes_of(g_, v);
  add_member(pieces_[piece], {v, offset, offset + bytes, live_.spans(v)});
  for (const Span& s : live_.spans(v)) pieces_[piece].parts.push_back({offset, bytes, s.first, s.last});
}

void Sharing::add_member(Piece& p, const Member& member) {
  p.bytes = std::max(p.bytes, member.end);
  const auto later = [](const Member& a, const Member& b) { return a.last() < b.last(); };
  p.members.insert(std::upper_bound(p.members.begin(), p.members.end(), member, later), member);
  if (!p.stays && p.members.size() == 1) p.hull = {member.first(), member.last()};
  p.hull = {std::min(p.hull.first, member.first()), std::max(p.hull.last, member.last())};
}

// Bytes that are live at each time, in whole units of the alignment.
void Sharing::count(const Piece& p, int sign) {
  if (p.parts.size() < 2) {
    for (const MemoryPart& m : p.parts) time_.add(m.first, m.last, sign * aligned(m.offset + m.bytes));
    return;
  }
  std::vector<MemoryPart> units = p.parts;
  for (MemoryPart& m : units) {
    const int64_t end = aligned(m.offset + m.bytes);
    m.offset = m.offset / alignment_ * alignment_;
    m.bytes = end - m.offset;
  }
  for (const MemoryPart& m : disjoint(std::move(units))) time_.add(m.first, m.last, sign * m.bytes);
}

// Views, and what earlier passes have put where its bytes are wanted.
void Sharing::unite_contents(NodeId id, const Storage& storage) {
  const Node& n = g_.node(id);
  const std::string& op = n.op->name();
  const auto unite = [&](ValueId inner, ValueId outer, int64_t offset) {
    const Storage::Where whole = storage.of(outer);
    if (storage.of(inner) != Storage::Where{whole.root, whole.offset + offset}) return;
    const uint32_t from = content(inner).id;
    if (const Content to = link(inner, outer, offset); to.id != from) contents_[from] = to;
  };
  if (n.op->memory_view) unite(n.results[0], n.args[0].value(), 0);
  if (const auto offset = window_offset(g_, id)) unite(n.results[0], n.args[0].value(), *offset);
  if (op == "aten.copy_") unite(n.args[1].value(), n.results[0], 0);
  if (joins_outermost(g_, id)) {
    int64_t at = 0;
    for (const Arg& a : n.args[0].list()) {
      unite(a.value(), n.results[0], at);
      at += bytes_of(g_, a.value());
    }
  }
}

// What a loop carries has another content in each turn, and the rows that it writes come one by one. The same goes for what shows them.
void Sharing::find_changing(NodeId id) {
  const Node& n = g_.node(id);
  if (n.op->name() == "prim.loop") for_each_value(n.args[0], [&](const ValueId& v) { changes_[v.index] = true; });
  if (n.op->name() == "executorch_prim.et_copy_index.tensor") changes_[n.args[0].value().index] = true;
  // The program does not say which arguments of a delegate are inputs: they are told by an instruction that writes them.
  if (n.op->schema().ns == "executorch")
    for (const Arg& a : n.args)
      for_each_value(a, [&](ValueId v) {
        for (changes_[v.index] = true; g_.value(v).def && g_.node(g_.value(v).def).op->memory_view; changes_[v.index] = true)
          v = g_.node(g_.value(v).def).args[0].value();
      });
  if ((n.op->memory_view || window_offset(g_, id)) && changes_[n.args[0].value().index]) changes_[n.results[0].index] = true;
}

// What no sharing can save: a node's operands and results, but for a result that may lie over an operand.
int64_t Sharing::needed_by(NodeId id) const {
  const Node& n = g_.node(id);
  if (n.op->memory_view || n.op->schema().mutates()) return 0;
  std::vector<ValueId> operands;
  for (const Arg& a : n.args)
    for_each_value(a, [&](const ValueId& v) {
      if (piece_of_[v.index] != kNone && std::find(operands.begin(), operands.end(), v) == operands.end()) operands.push_back(v);
    });
  int64_t results = 0, out = 0;
  for (ValueId r : n.results)
    if (piece_of_[r.index] != kNone) results += aligned(bytes_of(g_, r));
  if (joins_outermost(g_, id)) return results;
  bool in_place = false;
  for (ValueId v : operands) {
    out += aligned(bytes_of(g_, v));
    in_place = in_place || (may_overwrite(g_, n, v) && live_.of(v).last == live_.position(id));
  }
  return out + results - (in_place ? aligned(bytes_of(g_, n.results[0])) : 0);
}

Sharing::NamedByPlace Sharing::named(const Storage& storage) const {
  NamedByPlace out;
  const auto name = [&](ValueId v, uint32_t now) {
    if (!g_.type(v).is_tensor() || piece_of_[v.index] == kNone) return;
    const auto [root, offset] = storage.of(v);
    auto& here = out[{root.index, offset}];
    // The program has one tensor for values of one static type at one place (emit/tensors.h).
    const auto same = std::ranges::find_if(
        here, [&](const Named& n) { return n.value == v || (g_.tensor(v).is_static() && same_kind(g_.tensor(n.value), g_.tensor(v))); });
    if (same == here.end())
      here.push_back({v, aligned(bytes_of(g_, v)), {now, now}});
    else
      same->times.last = now;
  };
  for (ValueId v : g_.inputs) name(v, 0);
  for (NodeId n = g_.first(); n; n = g_.next(n)) {
    const Node& node = g_.node(n);
    if (lies_in_place(g_, storage, n) || node.op->name() == "prim.alloc") continue;
    for (const Arg& a : node.args) for_each_value(a, [&](const ValueId& v) { name(v, live_.position(n)); });
    for (ValueId r : node.results) name(r, live_.position(n));
  }
  for (const Arg& a : g_.outputs) for_each_value(a, [&](const ValueId& v) { name(v, live_.end()); });
  for (auto& [place, all] : out) {
    std::ranges::sort(all, {}, [](const Named& n) { return n.times.first; });
    size_t end = 0;
    for (size_t i = 0; i < all.size(); ++i) {
      if (end == 0 || all[i].times.first > all[end - 1].times.last) {
        all[end++] = all[i];
        continue;
      }
      all[end - 1].bytes = std::max(all[end - 1].bytes, all[i].bytes);
      all[end - 1].times.last = std::max(all[end - 1].times.last, all[i].times.last);
    }
    all.resize(end);
  }
  return out;
}

int64_t Sharing::most_named() const {
  Timeline time(live_.end() + 1);
  for (const auto& [place, all] : named(Storage(g_)))
    for (const Named& n : all) time.add(n.times.first, n.times.last, n.bytes);
  return std::min(time.most(0, live_.end()), most_live());
}

Sharing::Unnamed Sharing::unnamed() const {
  const Storage storage(g_);
  const NamedByPlace by_place = named(storage);
  Timeline time(live_.end() + 1);
  for (const auto& [place, all] : by_place)
    for (const Named& n : all) time.add(n.times.first, n.times.last, n.bytes);
  const int64_t most = most_live();
  uint32_t at = 0;
  int64_t seen = -1;
  for (uint32_t t = 0; t <= live_.end(); ++t)
    if (time_.most(t, t) == most && time.most(t, t) > seen) at = t, seen = time.most(t, t);
  Unnamed out;
  for (NodeId n = g_.first(); n; n = g_.next(n))
    if (live_.position(n) == at) out.at = n;
  const auto is_at = [&](const Span& s) { return s.first <= at && at <= s.last; };
  for (const Piece& p : pieces_)
    for (const Member& m : p.members) {
      const auto [root, offset] = storage.of(m.value);
      const auto names = by_place.find({root.index, offset});
      const bool is_named = names != by_place.end() && std::ranges::any_of(names->second, [&](const Named& n) { return is_at(n.times); });
      if (!is_named && std::ranges::any_of(m.live, is_at)) out.values.push_back(m.value);
    }
  return out;
}

const std::vector<Sharing::Member>& Sharing::members(ValueId v) const {
  static const std::vector<Member> none;
  return piece_of_[v.index] == kNone ? none : pieces_[piece_of_[v.index]].members;
}

bool Sharing::in_state(ValueId v) const { return piece_of_[v.index] != kNone && pieces_[piece_of_[v.index]].stays; }

// ---- contents
// -----------------------------------------------------------------------------------------------------------------------------

Sharing::Content Sharing::composed(const Content& first, const Content& then) {
  return {then.id, first.offset + then.offset, std::max(first.begin, then.begin - first.offset),
          std::min(first.end, then.end - first.offset)};
}

Sharing::Content Sharing::content(ValueId v) {
  std::vector<uint32_t> path;
  uint32_t root = v.index;
  for (; contents_[root].id != root; root = contents_[root].id) path.push_back(root);
  Content c = contents_[root];
  for (; !path.empty(); path.pop_back()) c = contents_[path.back()] = composed(contents_[path.back()], c);  // the way gets short
  return root == assumed_ ? composed(c, assumed_to_) : c;
}

// What the tree of `inner` hangs on when its bytes are those of `outer` at an offset. Only those: what else the trees hold may differ.
Sharing::Content Sharing::link(ValueId inner, ValueId outer, int64_t offset) {
  const Content in = content(inner), out = content(outer);
  const Content step{outer.index, offset, 0, bytes_of(g_, inner)}, way = composed(step, out);
  return {out.id, way.offset - in.offset, std::max(way.begin, in.begin) + in.offset, std::min(way.end, in.end) + in.offset};
}

// ---- decisions
// ----------------------------------------------------------------------------------------------------------------------------

// Whether the node that makes one may write it over the other, which it reads last; they are live together at no other time.
bool Sharing::overwrites(const Member& made, const Member& dying) const {
  const NodeId def = g_.value(made.value).def;
  if (!def || made.begin != dying.begin) return false;
  const Node& n = g_.node(def);
  if (n.results[0] != made.value || !may_overwrite(g_, n, dying.value)) return false;
  const uint32_t now = live_.position(def);
  const auto ends_now = [&](const Span& s) { return s.last == now; };
  const auto begins_now = [&](const Span& s) { return s.first == now; };
  if (std::ranges::none_of(dying.live, ends_now) || std::ranges::none_of(made.live, begins_now)) return false;
  std::vector<Span> others(made.live.begin(), made.live.end());
  for (Span& s : others) s.first += s.first == now;
  std::erase_if(others, [](const Span& s) { return s.first > s.last; });
  return !overlap(others, dying.live);
}

bool Sharing::clash(const Member& a, const Member& b) {
  if (a.end <= b.begin || b.end <= a.begin || !overlap(a.live, b.live)) return false;
  if (overwrites(b, a) || overwrites(a, b) || by_rows(a.value, b.value)) return false;
  // A window over the end of one value and what lies behind it is nobody's view: who reads the program could not tell it from a fault.
  const bool nested = (a.begin <= b.begin && b.end <= a.end) || (b.begin <= a.begin && a.end <= b.end);
  if (!nested) return true;
  const Content x = content(a.value), y = content(b.value);
  const int64_t from = std::max(a.begin, b.begin), to = std::min(a.end, b.end);
  const auto known = [&](const Member& m, const Content& c) { return c.begin <= from - m.begin && to - m.begin <= c.end; };
  return x.id != y.id || a.begin - x.offset != b.begin - y.offset || !known(a, x) || !known(b, y);
}

// Whether two pieces clash when `inner` is moved by `shift` bytes.
bool Sharing::conflict(const Piece& outer, const Piece& inner, int64_t shift) {
  if (!outer.hull.overlaps(inner.hull)) return false;
  const uint32_t from = std::max(outer.hull.first, inner.hull.first), to = std::min(outer.hull.last, inner.hull.last);
  const auto live_from = [&](const Piece& p) {
    return std::lower_bound(p.members.begin(), p.members.end(), from, [](const Member& m, uint32_t t) { return m.last() < t; });
  };
  size_t looked_at = 0;
  for (auto b = live_from(inner); b != inner.members.end(); ++b) {
    if (b->first() > to) continue;
    Member moved = *b;
    moved.begin += shift, moved.end += shift;
    for (auto a = live_from(outer); a != outer.members.end(); ++a)
      if (++looked_at > kMaxPairs || clash(*a, moved)) return true;
  }
  return false;
}

void Sharing::add_parts(Piece& p, std::span<const MemoryPart> parts, int64_t shift) {
  for (MemoryPart m : parts) {
    m.offset += shift;
    p.parts.push_back(m);
  }
  p.parts = disjoint(std::move(p.parts));
}

bool Sharing::takes_more(const Piece& outer, const Piece& inner, const Piece& both) {
  const int64_t before = time_.most(both.hull.first, both.hull.last);
  count(outer, -1), count(inner, -1), count(both, 1);
  if (time_.most(both.hull.first, both.hull.last) <= std::max(before, needed_)) return false;  // stays counted
  count(outer, 1), count(inner, 1), count(both, -1);
  return true;
}

bool Sharing::put(ValueId inner, ValueId outer, int64_t offset, Relation relation) {
  uint32_t in = piece_of_[inner.index], out = piece_of_[outer.index];
  if (in == kNone || out == kNone) return false;
  int64_t shift = begin_[outer.index] + offset - begin_[inner.index];  // of the inner piece in the outer one
  const bool rows = relation == Relation::Rows;
  if (relation == Relation::Equal && (changes_[inner.index] || changes_[outer.index])) return false;
  if (in == out) return shift == 0 && relation != Relation::Apart && !rows;
  if (shift < 0 || (shift == 0 && pieces_[in].stays)) std::swap(in, out), shift = -shift;
  Piece &p = pieces_[out], &q = pieces_[in];
  if (q.stays || (p.limit >= 0 && q.bytes + shift > p.limit)) return false;

  const uint32_t own = content(inner).id;
  const Content to = link(inner, outer, offset);
  const bool joins = relation != Relation::Apart && !rows && own != to.id;
  if (joins) assumed_ = own, assumed_to_ = to;
  if (rows) rows_inner_ = inner, rows_outer_ = outer;
  const bool wrong = conflict(p, q, shift);
  assumed_ = kNone;
  rows_inner_ = rows_outer_ = {};
  Piece both;
  both.hull = {std::min(p.hull.first, q.hull.first), std::max(p.hull.last, q.hull.last)};
  both.bytes = std::max(p.bytes, q.bytes + shift);
  both.parts = p.parts;
  add_parts(both, q.parts, shift);
  if (wrong || takes_more(p, q, both)) return false;

  if (joins && relation == Relation::Equal) contents_[own] = to;
  p.bytes = both.bytes;
  p.parts = std::move(both.parts);
  for (Member m : q.members) {
    m.begin += shift, m.end += shift;
    begin_[m.value.index] = m.begin;
    piece_of_[m.value.index] = out;
    add_member(p, m);
  }
  p.hull = both.hull;
  g_.value(q.root).inside = MemoryAlias{p.root, shift};
  q = {};
  return true;
}

}  // namespace edgec::memory
