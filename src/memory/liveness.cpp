#include "memory/liveness.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <edgec/op.h>

namespace edgec::memory {
namespace {

// Instructions between which nothing jumps. Empty (`first` above `last`) where a join follows a marker at once.
struct Stretch {
  Span times;
  std::vector<uint32_t> before, after;  // stretches that lead here, and where it leads
};

struct Event {
  uint32_t at = 0;
  enum Kind : uint8_t { Read, Write, Part } kind = Read;  // Part: writes some of it, the rest stays needed
};

// The stretches of a method and the ways between them.
class Flow {
 public:
  explicit Flow(const Graph& g) {
    uint32_t now = 0;
    begin(0);
    for (NodeId n = g.first(); n; n = g.next(n)) visit(g.node(n).op->name(), ++now);
    stretches_.back().times.last = now + 1;
  }
  const Stretch& operator[](uint32_t s) const { return stretches_[s]; }
  uint32_t size() const { return static_cast<uint32_t>(stretches_.size()); }
  uint32_t at(uint32_t time) const {
    const auto after =
        std::upper_bound(stretches_.begin(), stretches_.end(), time, [](uint32_t t, const Stretch& s) { return t < s.times.first; });
    return static_cast<uint32_t>(after - stretches_.begin()) - 1;
  }

 private:
  struct Open {
    uint32_t stretch = 0;         // that the marker ends: a branch, its other side, a loop
    std::vector<uint32_t> exits;  // that leave the loop
  };

  uint32_t last() const { return size() - 1; }
  void begin(uint32_t time) {
    if (!stretches_.empty()) stretches_.back().times.last = time - 1;
    stretches_.push_back({{time, time}, {}, {}});
  }
  void lead(uint32_t from, uint32_t to) {
    stretches_[from].after.push_back(to);
    stretches_[to].before.push_back(from);
  }

  void visit(const std::string& op, uint32_t now) {
    if (!op.starts_with("prim.")) return;
    const bool repeats = op == "prim.repeat" || op == "prim.repeat_until";
    if (op == "prim.join") return join(now);
    if (op == "prim.branch" || op == "prim.loop") {
      open_.push_back({last(), {}});
      begin(now + 1);
      lead(last() - 1, last());
    } else if (op == "prim.exit_unless" && !open_.empty()) {
      open_.back().exits.push_back(last());
      begin(now + 1);
      lead(last() - 1, last());
    } else if (op == "prim.otherwise" && !open_.empty()) {
      begin(now + 1);
      lead(open_.back().stretch, last());
      open_.back().exits.push_back(last() - 1);
    } else if (repeats && !open_.empty()) {
      const Open loop = std::move(open_.back());
      open_.pop_back();
      lead(last(), loop.stretch + 1);
      begin(now + 1);
      if (op == "prim.repeat_until") lead(last() - 1, last());
      for (uint32_t e : loop.exits) lead(e, last());
    }
  }
  void join(uint32_t now) {
    begin(now);
    lead(last() - 1, last());
    if (open_.empty()) return;
    for (uint32_t e : open_.back().exits) lead(e, last());
    open_.pop_back();
  }

  std::vector<Stretch> stretches_;
  std::vector<Open> open_;
};

// The events of each value, in the order of time.
class Events {
 public:
  Events(const Method& m, std::vector<uint32_t>& positions) : begins_(m.graph->value_count() + 1), used_(m.graph->value_count()) {
    const Graph& g = *m.graph;
    for (ValueId v : g.inputs) add(v, 0, Event::Write);
    uint32_t now = 0;
    for (NodeId n = g.first(); n; n = g.next(n)) {
      positions[n.index] = ++now;
      visit(g.node(n), now);
    }
    const uint32_t end = now + 1;
    for (const Arg& a : g.outputs) for_each_value(a, [&](const ValueId& v) { read(v, end); });
    // State and inputs that are written hold their value to the end: the old one where no write gives a new one.
    std::vector<bool> written(g.value_count());
    for (NodeId n = g.first(); n; n = g.next(n)) {
      const Node& node = g.node(n);
      if (!node.op->schema().mutates() || node.results.empty()) continue;
      written[node.args[0].value().index] = true;
      add(node.results[0], end, Event::Read);
    }
    for (size_t i = 0; i < m.inputs.size(); ++i)
      if (m.inputs[i].mutated && !written[g.inputs[i].index]) add(g.inputs[i], end, Event::Read);
    sort_by_value();
  }
  std::span<const Event> of(uint32_t v) const { return std::span(events_).subspan(begins_[v], begins_[v + 1] - begins_[v]); }
  const std::vector<bool>& used() const { return used_; }

 private:
  void add(ValueId v, uint32_t at, Event::Kind kind) { added_.push_back({v.index, {at, kind}}); }
  // They were added in the order of time, and stay in it.
  void sort_by_value() {
    for (const auto& [v, event] : added_) ++begins_[v + 1];
    std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
    std::vector<uint32_t> next(begins_.begin(), begins_.end() - 1);
    events_.resize(added_.size());
    for (const auto& [v, event] : added_) events_[next[v]++] = event;
    added_.clear();
  }
  void read(ValueId v, uint32_t at) {
    used_[v.index] = true;
    add(v, at, Event::Read);
  }
  void visit(const Node& n, uint32_t now) {
    const std::string& op = n.op->name();
    const bool assigns = op == "prim.assign", copies_row = op == "executorch_prim.et_copy_index.tensor";
    const bool overwrites = op == "aten.copy_" || assigns || copies_row;  // the first argument is not read
    const bool marks =
        op == "prim.loop" || op == "prim.join" || op == "prim.repeat" || op == "prim.repeat_until";  // names lists, reads none
    for (const Arg& a : n.args)
      if ((!overwrites || &a != &n.args[0]) && (!marks || !a.is_list())) for_each_value(a, [&](const ValueId& v) { read(v, now); });
    if (assigns) add(n.args[0].value(), now, Event::Write);
    if (copies_row) add(n.args[0].value(), now, Event::Part);
    if (op != "prim.alloc")
      for (ValueId r : n.results) add(r, now, Event::Write);
  }

  std::vector<std::pair<uint32_t, Event>> added_;  // of which value, in the order of time
  std::vector<Event> events_;                      // by value, one behind the other
  std::vector<uint32_t> begins_;                   // by value: where its events begin
  std::vector<bool> used_;
};

// The times of one value: where a way leads to a read, and a way from a write leads there.
class Times {
 public:
  explicit Times(const Flow& flow) : flow_(flow), needed_behind_(flow.size()), written_before_(flow.size()), seen_(flow.size()) {}

  // `assigned`: by markers, here and there; else the first event is the only write and precedes all others.
  void append_to(std::vector<Span>& out, std::span<const Event> events, bool assigned) {
    const size_t begin = out.size();
    if (flow_.size() == 1) {
      in_stretch(0, events, !assigned, out);
    } else {
      events_ = events;
      for (const Event& e : events)
        if (const uint32_t s = flow_.at(e.at); touched_.empty() || touched_.back() != s) touched_.push_back(s), seen_[s] = true;
      const std::vector<uint32_t> own = touched_;
      spread_needs(own);
      if (assigned) spread_writes(own);
      std::sort(touched_.begin(), touched_.end());
      for (uint32_t s : touched_) in_stretch(s, events_in(s), !assigned || written_before_[s], out);
      for (uint32_t s : touched_) needed_behind_[s] = written_before_[s] = seen_[s] = false;
      touched_.clear();
    }
    join_neighbours(out, begin);
    if (out.size() == begin) out.push_back({0, 0});  // nothing makes or reads it
  }

 private:
  using Slice = std::span<const Event>;

  Slice events_in(uint32_t s) const {
    const Span t = flow_[s].times;
    const auto from = std::lower_bound(events_.begin(), events_.end(), t.first, [](const Event& e, uint32_t x) { return e.at < x; });
    const auto to = std::find_if(from, events_.end(), [&](const Event& e) { return e.at > t.last; });
    return {from, to};
  }
  bool is_written_in(uint32_t s) const {
    return std::ranges::any_of(events_in(s), [](const Event& e) { return e.kind == Event::Write; });
  }

  // Goes to a stretch once for each of the two marks.
  void reach(uint32_t s, std::vector<bool>& mark, std::vector<uint32_t>& work) {
    if (mark[s]) return;
    mark[s] = true;
    work.push_back(s);
    if (!seen_[s]) seen_[s] = true, touched_.push_back(s);
  }
  // Backwards from what is read, to where it is written.
  void spread_needs(const std::vector<uint32_t>& own) {
    std::vector<uint32_t> work;
    const auto go_back = [&](uint32_t s) {
      for (uint32_t b : flow_[s].before) reach(b, needed_behind_, work);
    };
    for (uint32_t s : own)
      if (events_in(s).front().kind != Event::Write) go_back(s);
    for (; !work.empty();) {
      const uint32_t s = work.back();
      work.pop_back();
      if (!is_written_in(s)) go_back(s);
    }
  }
  void spread_writes(const std::vector<uint32_t>& own) {
    std::vector<uint32_t> work;
    const auto go_on = [&](uint32_t s) {
      for (uint32_t a : flow_[s].after) reach(a, written_before_, work);
    };
    for (uint32_t s : own)
      if (std::ranges::any_of(events_in(s), [](const Event& e) { return e.kind != Event::Read; })) go_on(s);
    for (; !work.empty();) {
      const uint32_t s = work.back();
      work.pop_back();
      go_on(s);
    }
  }

  // From the end of the stretch to its beginning. `is_written`: before it begins.
  void in_stretch(uint32_t s, Slice events, bool is_written, std::vector<Span>& out) const {
    const Span times = flow_[s].times;
    const size_t begin = out.size();
    bool needed = needed_behind_[s], comes_in = is_written;
    uint32_t first = times.first, last = times.last;
    for (size_t i = events.size(); i-- > 0;) {
      const Event& e = events[i];
      if (!needed) last = e.at;
      needed = e.kind != Event::Write;
      if (e.kind == Event::Write) out.push_back({e.at, last});
      if (e.kind == Event::Part && !is_written) first = e.at, comes_in = true;  // the earliest one is seen last
    }
    if (needed && comes_in && first <= last) out.push_back({first, last});
    std::reverse(out.begin() + static_cast<std::ptrdiff_t>(begin), out.end());
  }

  static void join_neighbours(std::vector<Span>& out, size_t begin) {
    size_t end = begin;
    for (size_t i = begin; i < out.size(); ++i)
      if (end > begin && out[i].first <= out[end - 1].last + 1)
        out[end - 1].last = std::max(out[end - 1].last, out[i].last);
      else
        out[end++] = out[i];
    out.resize(end);
  }

  const Flow& flow_;
  std::vector<bool> needed_behind_, written_before_, seen_;  // by stretch
  std::vector<uint32_t> touched_;
  Slice events_;
};

}  // namespace

bool overlap(Spans a, Spans b) {
  for (size_t i = 0, k = 0; i < a.size() && k < b.size();) {
    if (a[i].overlaps(b[k])) return true;
    a[i].last < b[k].last ? ++i : ++k;
  }
  return false;
}

Liveness::Liveness(const Method& m) : positions_(m.graph->node_capacity()) {
  const Graph& g = *m.graph;
  const Flow flow(g);
  const Events events(m, positions_);
  end_ = flow[flow.size() - 1].times.last;
  Times times(flow);
  for (uint32_t v = 0; v < g.value_count(); ++v) {
    begins_.push_back(static_cast<uint32_t>(spans_.size()));
    const NodeId def = g.value(ValueId(v)).def;
    times.append_to(spans_, events.of(v), def && g.node(def).op->name() == "prim.alloc");
  }
  begins_.push_back(static_cast<uint32_t>(spans_.size()));
  used_ = events.used();
}

}  // namespace edgec::memory
