#include "memory/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "memory/check_plan.h"
#include "memory/layers.h"
#include "memory/parts.h"
#include "memory/planners.h"
#include "memory/share_state.h"
#include "memory/storage.h"

namespace edgec::memory {
namespace {

constexpr int64_t kMaxTotal = int64_t{1} << 61;

// Bytes read and written over a block's life, views of it included.
std::unordered_map<ValueId, int64_t> accesses(const Graph& g, const Storage& storage) {
  std::unordered_map<ValueId, int64_t> out;
  const auto touch = [&](ValueId v) {
    if (!g.type(v).is_tensor()) return;
    int64_t& sum = out[storage.of(v).root];
    sum = std::min(kMaxTotal, sum + std::min(kMaxTotal, upper_bound_bytes(g.tensor(v)).value_or(0)));
  };
  for (NodeId n = g.first(); n; n = g.next(n)) {
    for (const Arg& a : g.node(n).args) for_each_value(a, touch);
    for (ValueId r : g.node(n).results) touch(r);
  }
  return out;
}

class MethodPlanner {
 public:
  MethodPlanner(Method& m, const PlanningOptions& options) : m_(m), g_(*m.graph), storage_(*m.graph), options_(options) {}

  Result<Plan> run(const std::map<std::string, int64_t>& shared) {
    plan_.layers = options_.layers;
    if (plan_.layers.empty()) plan_.layers.push_back({});
    for (MemoryLayer& l : plan_.layers) l.alignment = std::max(l.alignment, options_.alignment);
    EDGEC_TRY_VOID(collect());
    EDGEC_TRY_VOID(place(shared));
    write_places();
    plan_.buffer_bytes = {0};
    for (const MemoryBlock& b : plan_.blocks) {
      if (b.memory_id >= plan_.buffer_bytes.size()) plan_.buffer_bytes.resize(b.memory_id + 1);
      plan_.buffer_bytes[b.memory_id] = std::max(plan_.buffer_bytes[b.memory_id], b.offset + b.bytes);
    }
    for (int64_t& bytes : plan_.buffer_bytes) plan_.arena_bytes += bytes = (bytes + 15) / 16 * 16;
    const std::vector<MemoryBlock> all(plan_.blocks.begin(), plan_.blocks.end());
    plan_.max_live_bytes = Problem::of(all, plan_.layers[0].alignment).max_live() * plan_.layers[0].alignment;
    measure_symbols();
    return std::move(plan_);
  }

 private:
  Status collect() {
    EDGEC_TRY(const std::vector<Block> found, lifetimes(m_, options_));
    const auto touched = accesses(g_, storage_);
    int64_t total = 0;
    for (const Block& b : found) {
      PlannedBlock p;
      p.value = b.value;
      p.name = g_.value(b.value).name;
      p.bytes = b.bytes;
      p.first = b.first;
      p.last = b.last;
      p.parts = b.parts;
      if (auto it = touched.find(b.value); it != touched.end()) p.accesses = it->second;
      if (b.bytes > kMaxTotal / 2 - total)
        return model_error(fmt::format("error: the tensors of method {} are too large together", m_.name));
      total += b.bytes;
      plan_.blocks.push_back(std::move(p));
    }
    return {};
  }

  // The planner works on a copy: nothing but the answer comes back.
  Status place(const std::map<std::string, int64_t>& shared) {
    std::vector<MemoryBlock> open;
    std::vector<size_t> index;
    for (size_t i = 0; i < plan_.blocks.size(); ++i) {
      PlannedBlock& b = plan_.blocks[i];
      const InputSpec* spec = m_.spec_of(b.value);
      const auto state = options_.share_state && spec && spec->is_weight() ? shared.find(spec->name) : shared.end();
      if (state != shared.end()) {
        b.memory_id = kSharedStateId;
        b.offset = state->second;
      } else {
        open.push_back(b);
        index.push_back(i);
      }
    }
    const MemoryPlanner& planner = options_.planner ? *options_.planner : *built_in_planner("best");
    plan_.planner = planner.name();
    if (Status ok = planner.plan(open, plan_.layers); !ok)
      return Failure{ok.failure().kind, fmt::format("{}\n  in method {}", ok.failure().message, m_.name)};
    for (size_t k = 0; k < open.size(); ++k) {
      plan_.blocks[index[k]].memory_id = open[k].memory_id;
      plan_.blocks[index[k]].offset = open[k].offset;
    }
    if (open.size() < plan_.blocks.size()) plan_.layers.push_back({kSharedStateId, "shared state", -1, options_.alignment, 1});
    const std::vector<MemoryBlock> all(plan_.blocks.begin(), plan_.blocks.end());
    if (Status ok = check_plan(all, plan_.layers); !ok) {
      const std::string message =
          fmt::format("error: the memory plan that \"{}\" made for method {} is wrong: {}", planner.name(), m_.name, ok.failure().message);
      return built_in_planner(planner.name()) == &planner ? internal_error(message + " (a bug in edgec, please report it)")
                                                          : model_error(message);
    }
    return {};
  }

  void write_places() {
    for (const PlannedBlock& b : plan_.blocks) g_.value(b.value).place = MemoryPlace{b.memory_id, b.offset};
    for (uint32_t i = 0; i < g_.value_count(); ++i) {
      const ValueId v(i);
      const auto [root, offset] = storage_.of(v);
      if (const auto& place = g_.value(root).place; place && root != v)
        g_.value(v).place = MemoryPlace{place->memory_id, place->offset + offset};
    }
  }

  // The fullest moment, and what of it has sizes with each symbol.
  void measure_symbols() {
    if (m_.syms->symbols().empty()) return;
    uint32_t fullest = 0;
    {
      std::map<uint64_t, int64_t> change;
      for (const MemoryBlock& b : plan_.blocks)
        for (const MemoryPart& p : parts_of(b)) change[p.first] += p.bytes, change[uint64_t{p.last} + 1] -= p.bytes;
      int64_t live = 0, most = -1;
      for (const auto& [time, bytes] : change)
        if ((live += bytes) > most) most = live, fullest = static_cast<uint32_t>(time);
    }
    std::map<std::string, SymbolBytes> sums;
    for (const PlannedBlock& b : plan_.blocks) {
      int64_t bytes = 0;
      for (const MemoryPart& p : parts_of(b)) bytes += p.first <= fullest && fullest <= p.last ? p.bytes : 0;
      if (bytes == 0) continue;
      std::set<std::string> symbols;
      for (const Dim& d : g_.tensor(b.value).sizes)
        for (const sym::Expr& s : sym::free_symbols(d)) {
          symbols.insert(std::string(s.symbol_name()));
          sums[std::string(s.symbol_name())].bound = sym::upper_bound(s).value_or(0);
        }
      for (const std::string& s : symbols) sums[s].symbol = s, sums[s].bytes += bytes;
    }
    for (auto& [name, one] : sums) plan_.symbols.push_back(std::move(one));
    std::stable_sort(plan_.symbols.begin(), plan_.symbols.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  }

  Method& m_;
  Graph& g_;
  const Storage storage_;
  const PlanningOptions& options_;
  Plan plan_;
};

}  // namespace

Result<std::vector<Plan>> plan(Program& program, const PlanningOptions& options) {
  if (Status ok = check_layers(options.layers); !ok) return usage_error("error: " + ok.failure().message);
  if (options.alignment < 1 || (options.alignment & (options.alignment - 1)) != 0)
    return usage_error("error: the alignment of the memory plan is not a power of two");
  std::map<std::string, int64_t> shared;
  if (options.share_state) {
    if (!options.alloc_mutable_buffers) return usage_error("error: state that has no place in the plan cannot be shared by methods");
    for (const MemoryLayer& l : options.layers)
      if (l.id == kSharedStateId)
        return usage_error("error: memory 2 holds the state that methods share: give layers the ids 1, 3, 4, ...");
    EDGEC_TRY(shared, shared_state_offsets(program, options.alignment));
  }
  std::vector<Plan> plans;
  for (auto& m : program.methods) {
    EDGEC_TRY(Plan p, MethodPlanner(*m, options).run(shared));
    plans.push_back(std::move(p));
  }
  return plans;
}

}  // namespace edgec::memory
