#include "emit/memory_use.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "emit/operators.h"
#include "emit/scalar_type.h"

namespace edgec::pte {
namespace {

constexpr size_t kMaxSteps = size_t{1} << 24;  // visited pieces; real programs need a few per instruction
constexpr size_t kMaxLoops = 64;

// Time 0 is the start of the run, instruction i happens at i + 1, the outputs are read one after the last.
using Time = uint32_t;
using Position = std::pair<uint32_t, uint64_t>;  // memory, byte

struct Lifetime {  // of some bytes of one memory
  Position begin, end;
  Time from = 0, to = 0;
};

// The largest sum of covered bytes over all times: a sweep over time with a tree that counts covers by position.
class Coverage {
 public:
  explicit Coverage(const std::vector<Lifetime>& all) : all_(all) {
    for (const Lifetime& l : all) positions_.insert(positions_.end(), {l.begin, l.end});
    std::ranges::sort(positions_);
    positions_.erase(std::unique(positions_.begin(), positions_.end()), positions_.end());
    size_t leaves = 1;
    while (leaves < positions_.size()) leaves *= 2;
    leaves_ = leaves;
    covers_.resize(2 * leaves);
    covered_.resize(2 * leaves);
  }

  uint64_t largest() {
    std::vector<std::tuple<Time, int, size_t>> events;
    for (size_t i = 0; i < all_.size(); ++i) {
      events.emplace_back(all_[i].from, 1, i);
      events.emplace_back(all_[i].to + 1, -1, i);
    }
    std::ranges::sort(events);
    uint64_t most = 0;
    for (size_t i = 0; i < events.size(); ++i) {
      const auto [time, change, index] = events[i];
      add(1, 0, leaves_, at(all_[index].begin), at(all_[index].end), change);
      if (i + 1 == events.size() || std::get<0>(events[i + 1]) != time) most = std::max(most, covered_[1]);
    }
    return most;
  }

 private:
  size_t at(const Position& p) const { return static_cast<size_t>(std::ranges::lower_bound(positions_, p) - positions_.begin()); }
  uint64_t bytes_between(size_t a, size_t b) const {
    b = std::min(b, positions_.size() - 1);
    if (a >= b) return 0;
    // Nothing is counted across memories: no lifetime covers such a gap.
    return positions_[a].first == positions_[b].first ? positions_[b].second - positions_[a].second : 0;
  }
  void add(size_t node, size_t low, size_t high, size_t begin, size_t end, int change) {
    if (end <= low || high <= begin) return;
    if (begin <= low && high <= end) {
      covers_[node] += change;
    } else {
      add(2 * node, low, (low + high) / 2, begin, end, change);
      add(2 * node + 1, (low + high) / 2, high, begin, end, change);
    }
    if (covers_[node] > 0)
      covered_[node] = bytes_between(low, high);
    else
      covered_[node] = high - low == 1 ? 0 : covered_[2 * node] + covered_[2 * node + 1];
  }

  const std::vector<Lifetime>& all_;
  std::vector<Position> positions_;
  size_t leaves_ = 1;
  std::vector<int> covers_;
  std::vector<uint64_t> covered_;
};

class Liveness {
 public:
  explicit Liveness(const Plan& plan) : plan_(plan), written_(plan.values.size()) {}

  // What lives where and when; nothing when that took too long.
  std::optional<std::vector<Lifetime>> lifetimes() {
    const auto end = static_cast<Time>(plan_.instructions.size() + 1);
    for (int32_t v : plan_.inputs) write(v, 0);
    for (size_t v = 0; v < plan_.values.size(); ++v) {
      const auto* t = std::get_if<Tensor>(&plan_.values[v]);
      if (!t || !t->place || t->data_buffer_idx == 0) continue;
      written_[v] = true;
      if (const auto where = place_of(*t)) lifetimes_.push_back({where->first, where->second, 0, end});
    }
    for (size_t i = 0; i < plan_.instructions.size(); ++i)
      std::visit([&](const auto& x) { step(x, static_cast<Time>(i + 1)); }, plan_.instructions[i]);
    for (int32_t v : plan_.outputs) read(v, end);
    for (const auto& [begin, piece] : pieces_) lifetimes_.push_back({begin, piece.end, piece.from, piece.to});
    if (steps_ > kMaxSteps || loops_.size() > kMaxLoops) return std::nullopt;
    for (auto [first, last] : loops_) {  // what a loop reads must last until its end
      for (Lifetime& l : lifetimes_)
        if (l.from < first && l.to >= first && l.to <= last) l.to = last;
      for (auto [to, now] : rows_)
        if (first <= now && now <= last) add_rows(to, {first, last});
    }
    return std::move(lifetimes_);
  }

 private:
  struct Piece {  // bytes that were written together
    Position end;
    Time from = 0, to = 0;
  };
  using Range = std::pair<Position, Position>;

  const Value* value(int64_t i) const {
    return i >= 0 && std::cmp_less(i, plan_.values.size()) ? &plan_.values[static_cast<size_t>(i)] : nullptr;
  }

  static std::optional<Range> place_of(const Tensor& t) {
    const auto bytes = byte_count(t);
    if (!t.place || !bytes || *bytes == 0 || t.place->offset > UINT64_MAX - *bytes) return std::nullopt;
    return Range{{t.place->memory_id, t.place->offset}, {t.place->memory_id, t.place->offset + *bytes}};
  }

  // Calls fn(tensor's value index) for a tensor or each one in a list.
  template <class Fn>
  void for_tensors(int32_t v, Fn&& fn) const {
    const Value* x = value(v);
    if (!x) return;
    if (std::holds_alternative<Tensor>(*x)) fn(v);
    const std::vector<int32_t>* items = nullptr;
    if (const auto* l = std::get_if<TensorList>(x)) items = &l->items;
    if (const auto* l = std::get_if<OptionalTensorList>(x)) items = &l->items;
    if (!items) return;
    for (int32_t item : *items)
      if (const Value* one = value(item); one && std::holds_alternative<Tensor>(*one)) fn(item);
  }

  void split(const Position& at) {
    auto it = pieces_.upper_bound(at);
    if (it == pieces_.begin()) return;
    --it;
    if (it->first < at && at < it->second.end) {
      pieces_[at] = it->second;
      it->second.end = at;
    }
  }

  template <class Fn>
  void visit(int32_t v, Fn&& fn) {
    for_tensors(v, [&](int32_t one) {
      for (int i = 0; i < 8 && views_.contains(one); ++i) one = views_.at(one);
      const auto where = place_of(std::get<Tensor>(*value(one)));
      if (!where || ++steps_ > kMaxSteps) return;
      split(where->first);
      split(where->second);
      fn(one, *where);
    });
  }

  void read(int32_t v, Time now) {
    visit(v, [&](int32_t, const Range& where) {
      for (auto it = pieces_.lower_bound(where.first); it != pieces_.end() && it->first < where.second; ++it, ++steps_) it->second.to = now;
    });
  }

  void write(int32_t v, Time now) {
    for_tensors(v, [&](int32_t one) { written_[static_cast<size_t>(one)] = true; });
    visit(v, [&](int32_t, const Range& where) {
      auto it = pieces_.lower_bound(where.first);
      for (; it != pieces_.end() && it->first < where.second; it = pieces_.erase(it), ++steps_)
        lifetimes_.push_back({it->first, it->second.end, it->second.from, it->second.to});
      pieces_[where.first] = {where.second, now, now};
    });
  }

  bool is_operator(const KernelCall& c, std::string_view name) const {
    return c.op >= 0 && std::cmp_less(c.op, plan_.operators.size()) && plan_.operators[static_cast<size_t>(c.op)].name == name;
  }

  // The rows before stay, so from the first one on all of `to` is needed; in a loop from its beginning.
  void write_row(int32_t to, int32_t from, Time now) {
    read(from, now);
    bool is_new = true;
    for_tensors(to, [&](int32_t one) { is_new = is_new && !written_[static_cast<size_t>(one)]; });
    is_new ? write(to, now) : read(to, now);
    rows_.emplace_back(to, now);
  }

  void step(const KernelCall& c, Time now) {
    if (c.args.empty()) return;
    if (is_operator(c, "executorch_prim::et_copy_index") && c.args.size() > 2) return write_row(c.args[0], c.args[1], now);
    const int32_t result = c.args.back();
    std::set<int32_t> results;
    for_tensors(result, [&](int32_t v) { results.insert(v); });
    size_t n = c.args.size() - 1;
    for (size_t outs = results.size(); n > 0 && outs > 0 && results.contains(c.args[n - 1]); --outs)
      --n;  // each once; the same may be read
    for (size_t i = 0; i < n; ++i) read(c.args[i], now);
    const Value* x = value(result);
    const auto* t = x ? std::get_if<Tensor>(x) : nullptr;
    if (t && !t->place && is_operator(c, "executorch_prim::et_view") && n > 0 && c.args[0] != result) {
      const Value* self = value(c.args[0]);
      if (self && std::holds_alternative<Tensor>(*self)) views_[result] = c.args[0];
      return;
    }
    write(result, now);
  }

  // Which arguments are outputs is not told: those that nothing has written so far.
  void step(const DelegateCall& c, Time now) {
    std::vector<int32_t> outputs;
    for (int32_t v : c.args) {
      bool fresh = false;
      for_tensors(v, [&](int32_t one) {
        const auto& t = std::get<Tensor>(*value(one));
        fresh = fresh || (!written_[static_cast<size_t>(one)] && (t.place || t.data_buffer_idx == 0));
      });
      if (fresh)
        outputs.push_back(v);
      else
        read(v, now);
    }
    for (int32_t v : outputs) write(v, now);
  }

  void add_rows(int32_t to, std::pair<Time, Time> times) {
    for_tensors(to, [&](int32_t v) {
      if (const auto where = place_of(std::get<Tensor>(*value(v))))
        lifetimes_.push_back({where->first, where->second, times.first, times.second});
    });
  }

  void step(const MoveCall& c, Time now) {
    read(c.from, now);
    write(c.to, now);
  }

  void step(const JumpFalse& c, Time now) {
    read(c.cond, now);
    if (c.target < 0 || std::cmp_greater_equal(c.target, now)) return;
    // A guard leaves through an instruction that jumps to itself (emit/lower.cpp): no loop.
    const auto* exit = std::get_if<JumpFalse>(&plan_.instructions[static_cast<size_t>(c.target)]);
    if (exit && exit->target == c.target) return;
    const auto first = static_cast<Time>(c.target) + 1;
    if (first < now && loops_.size() <= kMaxLoops) loops_.emplace_back(first, now);
  }

  const Plan& plan_;
  std::vector<bool> written_;
  std::map<int32_t, int32_t> views_;  // made at run time: result -> operand
  std::map<Position, Piece> pieces_;
  std::vector<Lifetime> lifetimes_;
  std::vector<std::pair<Time, Time>> loops_;
  std::vector<std::pair<int32_t, Time>> rows_;  // written one by one: of which value, when
  size_t steps_ = 0;
};

}  // namespace

uint64_t planned_bytes(const Plan& plan) {
  uint64_t sum = 0;
  for (int64_t n : plan.buffer_sizes) sum += n > 0 ? static_cast<uint64_t>(n) : 0;
  return sum;
}

std::optional<uint64_t> max_live_bytes(const Plan& plan, uint64_t unit) {
  auto lifetimes = Liveness(plan).lifetimes();
  if (!lifetimes) return std::nullopt;
  for (Lifetime& l : *lifetimes) {
    l.begin.second -= l.begin.second % unit;
    if (const uint64_t more = (unit - l.end.second % unit) % unit; l.end.second <= UINT64_MAX - more) l.end.second += more;
  }
  return lifetimes->empty() ? 0 : Coverage(*lifetimes).largest();
}

std::optional<std::vector<LiveBytes>> live_bytes(const Plan& plan) {
  constexpr size_t kMaxPieces = size_t{1} << 17;  // nobody looks at more
  const auto lifetimes = Liveness(plan).lifetimes();
  if (!lifetimes || lifetimes->size() > kMaxPieces) return std::nullopt;
  std::vector<LiveBytes> out;
  for (const Lifetime& l : *lifetimes) out.push_back({l.begin.first, l.begin.second, l.end.second, l.from, l.to});
  return out;
}

std::string timeline(const Plan& plan, const std::vector<LiveBytes>& live, uint32_t memory) {
  constexpr uint64_t kRows = 16, kColumns = 64;
  if (memory >= plan.buffer_sizes.size() || plan.buffer_sizes[memory] <= 0) return {};
  const auto bytes = static_cast<uint64_t>(plan.buffer_sizes[memory]);
  const uint64_t times = plan.instructions.size() + 2, rows = std::min(kRows, bytes), columns = std::min(kColumns, times);
  const uint64_t row_bytes = (bytes - 1) / rows + 1, column_times = (times - 1) / columns + 1;
  std::vector<std::vector<uint64_t>> used(rows, std::vector<uint64_t>(columns));  // the most bytes that one piece leaves there, summed
  for (const LiveBytes& l : live) {
    if (l.memory != memory || l.begin >= l.end) continue;
    for (uint64_t r = l.begin / row_bytes; r < rows && r * row_bytes < l.end; ++r) {
      const uint64_t here = std::min(l.end, (r + 1) * row_bytes) - std::max(l.begin, r * row_bytes);
      for (uint64_t c = l.from / column_times; c < columns && c * column_times <= l.to; ++c) used[r][c] += here;
    }
  }
  std::string out;
  for (uint64_t r = rows; r-- > 0;) {
    for (uint64_t u : used[r]) out += u == 0 ? '.' : u >= std::min(row_bytes, bytes - std::min(bytes, r * row_bytes)) ? '#' : '+';
    out += '\n';
  }
  return out;
}

}  // namespace edgec::pte
