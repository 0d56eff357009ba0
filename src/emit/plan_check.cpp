#include "emit/plan_check.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "emit/operators.h"
#include "emit/scalar_type.h"

namespace edgec::pte {
namespace {

constexpr int kWays = 12;                   // ways through the jumps: none taken, all taken, mixed ones
constexpr int kChoices = 3;                 // of one jump in a run; then it goes the other way, so that loops end
constexpr uint64_t kMaxWork = 300'000'000;  // bytes-ranges looked at; real programs need less than a million
constexpr uint32_t kNobody = 0xffffffffu;
constexpr int32_t kMethodStart = -1, kMethodEnd = -2;  // besides instruction numbers

constexpr std::string_view kView = "executorch_prim::et_view.default";          // self, size, out: out gets self's memory
constexpr std::string_view kCopyRow = "executorch_prim::et_copy_index.tensor";  // to, from, index: writes a row of to

// Kernels that read their input again after they have begun to write: the output must not lie on it, not even exactly.
constexpr std::string_view kNotInPlace[] = {
    "aten::addmm.out", "aten::bmm.out", "aten::convolution.out", "aten::flip.out", "aten::linear.out", "aten::mm.out",
};
// These look at a tensor's sizes only.
constexpr std::string_view kReadsNoData[] = {
    "aten::full_like.out",
    "aten::sym_numel",
    "aten::sym_size.int",
    "dim_order_ops::_empty_dim_order.out",
};

bool any_of(std::span<const std::string_view> names, std::string_view name) { return std::ranges::find(names, name) != names.end(); }

struct Range {
  uint32_t memory = 0;
  uint64_t begin = 0, end = 0;
  bool empty() const { return begin == end; }
  bool contains(const Range& o) const { return memory == o.memory && begin <= o.begin && o.end <= end; }
  bool overlaps(const Range& o) const { return memory == o.memory && begin < o.end && o.begin < end; }
  friend bool operator==(const Range&, const Range&) = default;
};

// Who wrote what last, for each byte of the memories.
class Shadow {
 public:
  struct Piece {
    uint64_t end = 0;
    uint32_t writer = kNobody;
    uint64_t time = 0;
    int32_t instruction = 0;
  };

  void write(const Range& r, Piece piece) {
    auto& pieces = memories_[r.memory];
    split(pieces, r.begin);
    split(pieces, r.end);
    pieces.erase(pieces.lower_bound(r.begin), pieces.lower_bound(r.end));
    piece.end = r.end;
    pieces[r.begin] = piece;
  }

  template <class F>
  void each(const Range& r, F&& visit) const {
    auto memory = memories_.find(r.memory);
    if (memory == memories_.end()) return;
    auto at = memory->second.upper_bound(r.begin);
    if (at != memory->second.begin()) --at;
    for (; at != memory->second.end() && at->first < r.end; ++at)
      if (at->second.end > r.begin) visit(at->second);
  }

  // Whether each writer with bytes in `r`, `whole` aside, still has all bytes of its own range that lie in there.
  bool is_whole(const Range& r, const std::vector<Range>& ranges, uint32_t whole = kNobody) const {
    auto memory = memories_.find(r.memory);
    if (memory == memories_.end()) return true;
    auto at = memory->second.upper_bound(r.begin);
    if (at != memory->second.begin()) --at;
    std::map<uint32_t, uint64_t> bytes;
    for (; at != memory->second.end() && at->first < r.end; ++at)
      if (at->second.end > r.begin) bytes[at->second.writer] += std::min(at->second.end, r.end) - std::max(at->first, r.begin);
    return std::ranges::all_of(bytes, [&](const auto& part) {
      const Range& own = ranges[part.first];
      return part.first == whole || part.second == std::min(own.end, r.end) - std::max(own.begin, r.begin);
    });
  }

 private:
  using Pieces = std::map<uint64_t, Piece>;
  static void split(Pieces& pieces, uint64_t where) {
    auto at = pieces.upper_bound(where);
    if (at == pieces.begin()) return;
    --at;
    if (at->first == where || at->second.end <= where) return;
    Piece rest = at->second;
    at->second.end = where;
    pieces[where] = rest;
  }
  std::map<uint32_t, Pieces> memories_;
};

// What an instruction does with tensors; `to` of a binding afterwards stands for the memory of `from`.
struct Effects {
  std::vector<uint32_t> reads, writes;
  uint32_t from = kNobody, to = kNobody;
  bool may_be_views = false;  // writes: all but the last may be inputs, that is views (of a delegate)
  bool in_place_ok = true;
};

class PlanCheck {
 public:
  explicit PlanCheck(const Plan& plan) : plan_(plan) {}

  std::vector<std::string> run() {
    prepare();
    int ways = decides_ ? kWays : 1;
    for (int way = 0; way < ways && work_ < kMaxWork; ++way) {
      reset();
      for (int round = 0; round < 2; ++round) run_method(way);
    }
    if (work_ >= kMaxWork) faults_.push_back("the memory plan is too fragmented to be checked");
    return std::move(faults_);
  }

 private:
  // -- facts that hold for all runs

  void prepare() {
    size_t n = plan_.values.size();
    ranges_.resize(n);
    is_state_.resize(n), is_input_.resize(n), is_written_.resize(n);
    for (uint32_t v = 0; v < n; ++v) {
      const auto* t = std::get_if<Tensor>(&plan_.values[v]);
      if (!t || !t->place) continue;
      ranges_[v] = {t->place->memory_id, t->place->offset, t->place->offset + byte_count(*t).value_or(0)};
      is_state_[v] = t->data_buffer_idx > 0 || !t->external_name.empty();
    }
    for (int32_t i : plan_.inputs) is_input_[index(i)] = true;
    for (const Operator& op : plan_.operators) names_.push_back(full_name(op));
    for (const Instruction& i : plan_.instructions) {
      if (const auto* move = std::get_if<MoveCall>(&i)) is_written_[index(move->to)] = true;
      const auto* kernel = std::get_if<KernelCall>(&i);
      if (!kernel) continue;
      bool writes_first = names_[index(kernel->op)] == kCopyRow;
      int32_t result = writes_first ? kernel->args.front() : kernel->args.back();
      is_written_[index(result)] = true;
      for (uint32_t v : tensors(result)) is_written_[v] = true;
    }
    find_delegate_outputs();
    find_jumps();
    find_reads();
  }

  // The arguments of a delegate are its inputs, then its outputs, without a mark. An output is new to the method.
  void find_delegate_outputs() {
    first_output_.resize(plan_.instructions.size());
    std::vector<bool> known(is_written_.size(), false);  // a kernel may write to it later: state that is updated in place
    for (size_t v = 0; v < known.size(); ++v)
      if (is_input_[v] || is_state_[v] || ranges_[v].empty()) known[v] = true;
    for (size_t i = 0; i < plan_.instructions.size(); ++i) {
      const auto* call = std::get_if<DelegateCall>(&plan_.instructions[i]);
      const auto* kernel = std::get_if<KernelCall>(&plan_.instructions[i]);
      const std::vector<int32_t>* args = call ? &call->args : kernel ? &kernel->args : nullptr;
      if (!args) continue;
      if (call) {
        size_t first = args->size();
        // Numbers and empty tensors have no memory, so it does not matter what they are taken for.
        while (first > 0 && (!known[index((*args)[first - 1])] || ranges_[index((*args)[first - 1])].empty())) --first;
        first_output_[i] = first;
      }
      for (int32_t a : *args) {
        known[index(a)] = true;
        for (uint32_t item : tensors(a)) known[item] = true;
      }
    }
  }

  void find_reads() {  // in the order of the list; bindings are not followed
    last_read_.resize(plan_.values.size());
    begins_as_view_.resize(plan_.values.size());
    std::vector<bool> met(plan_.values.size());
    for (size_t v = 0; v < met.size(); ++v) met[v] = is_state_[v] || is_input_[v];
    for (size_t i = 0; i < plan_.instructions.size(); ++i) {
      const Effects e = effects(i);
      for (uint32_t v : e.reads) {
        last_read_[v] = i;
        if (!met[v]) met[v] = begins_as_view_[v] = true;
      }
      for (uint32_t v : e.writes) met[v] = true;
    }
    for (int32_t o : plan_.outputs)
      for (uint32_t v : tensors(o)) last_read_[v] = plan_.instructions.size();
    for (size_t v = 0; v < last_read_.size(); ++v)
      if (is_state_[v]) last_read_[v] = plan_.instructions.size();
  }

  void find_jumps() {
    in_loop_.resize(plan_.instructions.size());
    size_t loop_end = 0;
    std::vector<size_t> ends(plan_.instructions.size());
    for (size_t i = 0; i < plan_.instructions.size(); ++i) {
      const auto* jump = std::get_if<JumpFalse>(&plan_.instructions[i]);
      if (!jump) continue;
      if (index(jump->target) <= i) ends[index(jump->target)] = std::max(ends[index(jump->target)], i + 1);
      decides_ |= kind_of(*jump) == Jump::Choice;
    }
    for (size_t i = 0; i < plan_.instructions.size(); ++i) {
      loop_end = std::max(loop_end, ends[i]);
      in_loop_[i] = i < loop_end;
    }
  }

  enum class Jump { Never, Always, Choice, Stop };

  Jump kind_of(const JumpFalse& jump) const {
    if (stops(jump)) return Jump::Stop;
    if (const auto* constant = std::get_if<bool>(&plan_.values[index(jump.cond)]); constant && !is_written_[index(jump.cond)])
      return *constant ? Jump::Never : Jump::Always;
    // A guard: it leads to an instruction that ends the run.
    if (index(jump.target) < plan_.instructions.size())
      if (const auto* next = std::get_if<JumpFalse>(&plan_.instructions[index(jump.target)]); next && stops(*next)) return Jump::Never;
    return Jump::Choice;
  }
  bool stops(const JumpFalse& jump) const {
    return std::holds_alternative<int64_t>(plan_.values[index(jump.cond)]) && !is_written_[index(jump.cond)];
  }

  // -- one run

  void reset() {
    shadow_ = {};
    size_t n = plan_.values.size();
    bound_.resize(n);
    for (uint32_t v = 0; v < n; ++v) bound_[v] = v;
    has_content_.assign(n, false);
    written_at_.assign(n, 0);
    for (uint32_t v = 0; v < n; ++v)
      if (is_state_[v]) write(v, kMethodStart);
  }

  void run_method(int way) {
    run_start_ = ++time_;
    for (int32_t i : plan_.inputs)
      for (uint32_t v : tensors(i)) write(v, kMethodStart);
    std::map<size_t, int> taken;
    uint64_t random = 0x9e3779b97f4a7c15ull * static_cast<uint64_t>(way + 1);
    size_t steps_left = 4 * plan_.instructions.size() + 1000;
    size_t pc = 0;
    while (pc < plan_.instructions.size()) {
      if (steps_left-- == 0 || work_ >= kMaxWork) return;
      const auto* jump = std::get_if<JumpFalse>(&plan_.instructions[pc]);
      if (!jump) {
        execute(pc++);
        continue;
      }
      for (uint32_t v : tensors(jump->cond)) read(v, static_cast<int32_t>(pc));
      Jump kind = kind_of(*jump);
      if (kind == Jump::Stop) return;
      bool take = kind == Jump::Always;
      if (kind == Jump::Choice) {
        random = random * 6364136223846793005ull + 1442695040888963407ull;
        take = way == 0 ? false : way == 1 ? true : (random >> 40) % 2 == 1;
        if (++taken[pc] > kChoices) take = index(jump->target) > pc;  // forward ways leave loops, backward ones stay in them
      }
      pc = take ? index(jump->target) : pc + 1;
    }
    for (int32_t o : plan_.outputs)
      for (uint32_t v : tensors(o)) read(v, kMethodEnd);
  }

  void execute(size_t pc) {
    auto i = static_cast<int32_t>(pc);
    Effects e = effects(pc);
    for (uint32_t v : e.reads) read(v, i);
    for (size_t k = 0; k < e.writes.size(); ++k) {
      uint32_t w = e.writes[k];
      if (e.may_be_views && k + 1 < e.writes.size() && is_view_argument(pc, w)) continue;
      for (uint32_t r : e.reads) check_same_instruction(w, r, e.in_place_ok, i);
      write(w, i);
    }
    if (e.to != kNobody) bound_[e.to] = bound_[e.from];
  }

  Effects effects(size_t pc) {
    Effects e;
    if (const auto* move = std::get_if<MoveCall>(&plan_.instructions[pc])) {
      e.from = index(move->from), e.to = index(move->to);
    } else if (const auto* call = std::get_if<DelegateCall>(&plan_.instructions[pc])) {
      e.may_be_views = true, e.in_place_ok = false;
      for (size_t k = 0; k < call->args.size(); ++k) append(k < first_output_[pc] ? e.reads : e.writes, tensors(call->args[k]));
    } else if (const auto* kernel = std::get_if<KernelCall>(&plan_.instructions[pc])) {
      kernel_effects(*kernel, e);
    }
    return e;
  }

  void kernel_effects(const KernelCall& call, Effects& e) {
    std::string_view name = names_[index(call.op)];
    if (name == kView && call.args.size() >= 3) {
      e.from = index(call.args[0]), e.to = index(call.args[2]);
      return;
    }
    if (name == kCopyRow) {
      e.writes = tensors(call.args[0]);
      e.reads = tensors(call.args[1]);
      return;
    }
    e.writes = tensors(call.args.back());
    if (any_of(kReadsNoData, name)) return;
    for (size_t k = 0; k + 1 < call.args.size(); ++k) append(e.reads, tensors(call.args[k]));
    // The out parameter is among the arguments as well, once. An operator like index_put_ has it as what it starts
    // from.
    bool updates = plan_.operators[index(call.op)].name.ends_with('_') && name != "aten::copy_";
    if (!updates)
      for (uint32_t w : e.writes)
        if (auto at = std::find(e.reads.rbegin(), e.reads.rend(), w); at != e.reads.rend()) e.reads.erase(std::next(at).base());
    e.in_place_ok = !any_of(kNotInPlace, name) && !moves_elements(name, call);
  }

  // Whether a permutation changes the order of elements in memory, as far as literals tell.
  bool moves_elements(std::string_view name, const KernelCall& call) const {
    const auto* in = std::get_if<Tensor>(&plan_.values[index(call.args[0])]);
    if (!in) return false;
    auto rank = static_cast<int64_t>(in->sizes.size());
    std::vector<int64_t> order;
    auto number = [&](int64_t value) {
      const auto* i = std::get_if<int64_t>(&plan_.values[static_cast<size_t>(value)]);
      return i ? (*i < 0 ? *i + rank : *i) : -1;
    };
    if (name == "aten::permute_copy.out") {
      const auto* dims = std::get_if<IntList>(&plan_.values[index(call.args[1])]);
      if (dims)
        for (int64_t item : dims->items) order.push_back(number(item));
    } else if (name == "aten::transpose_copy.int_out" && call.args.size() >= 4) {
      for (int64_t i = 0; i < rank; ++i) order.push_back(i);
      int64_t a = number(call.args[1]), b = number(call.args[2]);
      if (a >= 0 && b >= 0 && a < rank && b < rank) std::swap(order[static_cast<size_t>(a)], order[static_cast<size_t>(b)]);
    } else if (name == "aten::t_copy.out" && rank == 2) {
      order = {1, 0};
    }
    std::erase_if(order, [&](int64_t d) { return d < 0 || d >= rank || in->sizes[static_cast<size_t>(d)] == 1; });
    return std::ranges::is_sorted(in->dim_order) && !std::ranges::is_sorted(order);
  }

  // The tensors that a value stands for now: itself, what it is bound to, the items of a list.
  std::vector<uint32_t> tensors(int32_t value) {
    ++work_;
    uint32_t v = bound_.empty() ? index(value) : bound_[index(value)];
    if (std::holds_alternative<Tensor>(plan_.values[v])) return {v};
    std::vector<uint32_t> out;
    auto add_items = [&](const std::vector<int32_t>& items) {
      work_ += items.size();
      for (int32_t item : items) {
        if (item < 0) continue;
        uint32_t x = bound_.empty() ? index(item) : bound_[index(item)];
        if (std::holds_alternative<Tensor>(plan_.values[x])) out.push_back(x);
      }
    };
    if (const auto* l = std::get_if<TensorList>(&plan_.values[v])) add_items(l->items);
    if (const auto* l = std::get_if<OptionalTensorList>(&plan_.values[v])) add_items(l->items);
    return out;
  }

  void write(uint32_t v, int32_t instruction) {
    ++work_;
    has_content_[v] = true;
    written_at_[v] = time_ + 1;
    if (!ranges_[v].empty()) shadow_.write(ranges_[v], {.end = 0, .writer = v, .time = ++time_, .instruction = instruction});
  }

  void read(uint32_t v, int32_t instruction) {
    const Range& r = ranges_[v];
    if (r.empty()) return;
    // Without a write in this run there is nothing of it to lose: the way leads past a loop that has turns for certain.
    if (decides_ && is_written_[v] && !is_state_[v] && !is_input_[v] && written_at_[v] < run_start_) return;
    if (has_content_[v] && !is_view_again(v)) {
      shadow_.each(r, [&](const Shadow::Piece& p) {
        ++work_;
        if (p.writer != v && !updates(p, v, instruction)) report(v, p.writer, instruction, p.instruction);
      });
      return;
    }
    // A view: its content came with tensors around or inside it. What lies across its border may be a part of the same whole (a slice of a
    // concatenation) when nothing of the other parts has gone; else it came later and is foreign.
    if (shadow_.is_whole(r, ranges_)) return;
    uint64_t oldest = ~uint64_t{0}, newest = 0;
    shadow_.each(r, [&](const Shadow::Piece& p) {
      ++work_;
      if (!nested(v, p.writer)) return;
      oldest = std::min(oldest, p.time), newest = std::max(newest, p.time);
    });
    bool dynamic = std::get<Tensor>(plan_.values[v]).dynamism != Dynamism::Static;  // may end before its place does
    shadow_.each(r, [&](const Shadow::Piece& p) {
      if (!nested(v, p.writer) && p.time > (dynamic ? newest : oldest)) report(v, p.writer, instruction, p.instruction);
    });
  }

  // What is a view first and written over then is a view again in the next run, or in the next turn of a loop: nothing that it wrote is
  // left.
  bool is_view_again(uint32_t v) {
    if (!begins_as_view_[v]) return false;
    ++work_;
    const bool in_this_run = written_at_[v] >= run_start_;
    bool all = true;
    shadow_.each(ranges_[v], [&](const Shadow::Piece& p) {
      all = all && p.writer != v && (!in_this_run || (p.instruction >= 0 && in_loop_[static_cast<size_t>(p.instruction)]));
    });
    return all;
  }

  bool nested(uint32_t a, uint32_t b) const { return ranges_[a].contains(ranges_[b]) || ranges_[b].contains(ranges_[a]); }

  // Another value at exactly the place of `v` holds the new content of `v`: state that was updated in the run before
  // (or is given out at the end), or the carry of a loop.
  bool updates(const Shadow::Piece& p, uint32_t v, int32_t reader) const {
    if (ranges_[p.writer] != ranges_[v]) {  // part by part; what is not written stays as it was
      const bool lasts = (is_state_[v] && p.time < run_start_) || (reader == kMethodEnd && (is_state_[v] || is_input_[v]));
      return lasts && ranges_[v].contains(ranges_[p.writer]) && shadow_.is_whole(ranges_[v], ranges_, v);
    }
    if (p.instruction >= 0 && in_loop_[static_cast<size_t>(p.instruction)]) return true;
    if (reader == kMethodEnd && (is_state_[v] || is_input_[v])) return true;
    return is_state_[v] && p.time < run_start_;
  }

  // Whether an argument of a delegate that may be an input or an output is an input: a view of something that is still
  // read afterwards. Decided when the delegate is met first, before memory holds what an earlier run left.
  bool is_view_argument(size_t pc, uint32_t v) {
    auto [known, is_new] = view_arguments_.try_emplace({pc, v}, false);
    if (!is_new) return known->second;
    bool inside = false, all = true;
    shadow_.each(ranges_[v], [&](const Shadow::Piece& p) {
      bool around = ranges_[p.writer].contains(ranges_[v]) && (in_loop_[pc] || last_read_[p.writer] > pc);
      inside |= around;
      all &= around;
    });
    return known->second = inside && all;
  }

  void check_same_instruction(uint32_t out, uint32_t in, bool in_place_ok, int32_t instruction) {
    ++work_;
    const Range &o = ranges_[out], &i = ranges_[in];
    if (!o.overlaps(i)) return;
    bool fine = in_place_ok && (o.begin == i.begin || nested(out, in));
    if (fine || !reported_.insert({in, out}).second) return;
    faults_.push_back(fmt::format("{} writes {} over its own input, {}", at(instruction), shown(out), shown(in)));
  }

  void report(uint32_t v, uint32_t writer, int32_t reader, int32_t writing) {
    if (!reported_.insert({v, writer}).second) return;
    faults_.push_back(fmt::format("{} reads {}, over which {} has written {}", at(reader), shown(v), at(writing), shown(writer)));
  }

  std::string shown(uint32_t v) const {
    const Range& r = ranges_[v];
    return fmt::format("value {} (memory {}, bytes {} to {})", v, r.memory, r.begin, r.end);
  }
  std::string at(int32_t instruction) const {
    if (instruction == kMethodStart) return "the start";
    if (instruction == kMethodEnd) return "the end";
    const Instruction& i = plan_.instructions[static_cast<size_t>(instruction)];
    if (const auto* k = std::get_if<KernelCall>(&i)) return fmt::format("instruction {} ({})", instruction, names_[index(k->op)]);
    if (std::holds_alternative<DelegateCall>(i)) return fmt::format("instruction {} (delegate)", instruction);
    return fmt::format("instruction {}", instruction);
  }

  static uint32_t index(int32_t i) { return static_cast<uint32_t>(i); }
  static void append(std::vector<uint32_t>& to, const std::vector<uint32_t>& more) { to.insert(to.end(), more.begin(), more.end()); }

  const Plan& plan_;
  std::vector<std::string> names_;  // of operators
  std::vector<Range> ranges_;       // of values; empty when not planned
  std::vector<bool> is_state_, is_input_;
  std::vector<bool> is_written_;      // by a kernel or a move
  std::vector<bool> in_loop_;         // instructions
  std::vector<size_t> first_output_;  // of delegate calls
  std::vector<bool> begins_as_view_;  // what is read before it is written
  std::vector<size_t> last_read_;     // of values: instruction, or their number for the method's end
  std::map<std::pair<size_t, uint32_t>, bool> view_arguments_;
  bool decides_ = false;

  Shadow shadow_;
  std::vector<uint32_t> bound_;
  std::vector<bool> has_content_;
  std::vector<uint64_t> written_at_;
  uint64_t time_ = 0, run_start_ = 0, work_ = 0;
  std::set<std::pair<uint32_t, uint32_t>> reported_;
  std::vector<std::string> faults_;
};

}  // namespace

std::vector<std::string> plan_faults(const Plan& plan) { return PlanCheck(plan).run(); }

}  // namespace edgec::pte
