#include "pipeline/pipeline.h"
#include "passes/registry.h"
#include "pipeline/stopwatch.h"
#include "pipeline/to_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "emit/plan_check.h"
#include "emit/verify.h"
#include "memory/share_state.h"
#include "ops/table.h"
#include "ops/user_ops.h"
#include "pt2/read.h"
#include "support/mapped_file.h"
#include "support/output_file.h"
#include "verify/verify.h"

namespace edgec::pipeline {
namespace {

constexpr std::string_view kPartition = "partition";  // the step between passes in which regions become delegates

// The order of passes on the way to Exec. Clean-up runs again after decomposition has made its nodes.
// clang-format off
constexpr std::string_view kOrder[] = {
    "inline-regions", "resolve-symbols", "functionalize",                                               // -> Functional
    "complex-parts", "bind-weights", "fuse-attention", "fuse-linear", "decompose",                      // -> Core
    "fuse-quantized", "quantized-io", "fuse-linear", "fold-constants", "remove-noop", "cse", "remove-dead", "unify-dtypes", "cse", "fold-constants", "dim-order",  // -> Edge
    "remove-dead", kPartition,                                                                          // -> Backend
    "choose-kernels", "inline-control-flow", "write-back", "materialize-symbols", "fold-weights", "remove-dead",  // -> Exec
    "split-slopes", "split-rows", "reorder", "alias-views", "place-results", "write-in-place", "concat-in-place", "reuse-inputs", "reuse-operands"};          // less memory to plan
// clang-format on

constexpr int64_t kLargeArena = 1 << 20;  // below it nobody minds

// The first node that uses an input: where a message about the input points to.
Location first_use(const Graph& g, ValueId v) {
  for (NodeId n = g.first(); n; n = g.next(n))
    for (const Arg& a : g.node(n).args) {
      bool uses = false;
      for_each_value(a, [&](const ValueId& u) { uses = uses || u == v; });
      if (uses && g.node(n).loc) return g.node(n).loc;
    }
  return nullptr;
}

// Gives open symbols the bounds that the options name, and reports inputs that stay open.
Status apply_bounds(Program& program, const Options& options) {
  Diagnostics diag;
  std::set<std::string> known;
  for (auto& m : program.methods) {
    for (const sym::Expr& s : m->syms->symbols()) {
      known.emplace(s.symbol_name());
      sym::Range r = m->syms->range_of(s);
      auto named = options.bounds.find(std::string(s.symbol_name()));
      const std::optional<int64_t> bound = named != options.bounds.end() ? std::optional(named->second) : options.bound_all;
      if (!bound || r.hi) continue;
      if (r.lo && *bound < *r.lo)
        return model_error(
            fmt::format("error: --bound {}={} is below the least value {} that the model was exported with", s.str(), *bound, *r.lo));
      r.hi = bound;
      m->syms->set_range(s, r);
    }
    for (size_t i = 0; i < m->inputs.size(); ++i) {
      const Type& t = m->graph->type(m->graph->inputs[i]);
      if (m->inputs[i].kind != InputSpec::Kind::UserInput || !t.is_tensor()) continue;
      for (size_t d = 0; d < t.tensor.rank(); ++d) {
        const Dim& size = t.tensor.sizes[d];
        if (sym::upper_bound(size)) continue;
        const auto symbols = sym::free_symbols(size);
        diag.error(
            first_use(*m->graph, m->graph->inputs[i]),
            fmt::format("input \"{}\" dim {} ({}) has no upper bound, and memory is planned for the largest size", m->inputs[i].name, d,
                        size.str()),
            fmt::format("give one with --bound {}=N, or export with Dim(\"...\", max=N)", symbols.empty() ? "SYMBOL" : symbols[0].str()));
      }
    }
  }
  for (const auto& [name, bound] : options.bounds)
    if (!known.count(name)) return usage_error(fmt::format("error: --bound {}={}: the model has no symbol {}", name, bound, name));
  return diag.has_errors() ? Status(diag.failure()) : Status();
}

// Sizes at their bound may take nearly all memory; then a lower bound is the way to less.
std::string symbol_warnings(const std::vector<memory::Plan>& plans, const Program& program) {
  std::string out;
  for (size_t i = 0; i < plans.size(); ++i) {
    const memory::Plan& p = plans[i];
    if (p.symbols.empty() || p.max_live_bytes < kLargeArena || p.symbols[0].bytes <= p.max_live_bytes / 10 * 9) continue;
    const memory::SymbolBytes& s = p.symbols[0];
    out += fmt::format(
        "{}warning: {} of the {} bytes planned for method {} are for sizes with {} at its bound {}; a lower bound (--bound {}=N) saves "
        "memory",
        out.empty() ? "" : "\n", s.bytes, p.max_live_bytes, program.methods[i]->name, s.symbol, s.bound, s.symbol);
  }
  return out;
}

}  // namespace

bool is_lever(std::string_view pass) {
  constexpr std::string_view kLevers[] = {"bind-weights",  "fuse-linear",    "fuse-quantized",  "remove-noop",
                                          "split-slopes",  "fold-constants", "fold-weights",    "cse",
                                          "remove-dead",   "reorder",        "split-rows",      "alias-views",
                                          "place-results", "write-in-place", "concat-in-place", "reuse-operands",
                                          "reuse-inputs",  "choose-kernels"};
  return std::find(std::begin(kLevers), std::end(kLevers), pass) != std::end(kLevers);
}

Result<std::unique_ptr<Program>> load(const std::vector<std::pair<std::string, std::string>>& methods, std::vector<Timing>& timings) {
  ops::register_all();
  auto program = std::make_unique<Program>();
  for (const auto& [name, path] : methods) {
    Stopwatch watch(timings, "read " + path);
    EDGEC_TRY(auto method, pt2::load(path, name));
    program->methods.push_back(std::move(method));
  }
  Diagnostics diag;
  EDGEC_TRY_VOID(verify(*program, diag));
  return program;
}

Status lower_to(Program& program, Stage stage, const Options& options, Outcome& out) {
  passes::PassContext cx;
  cx.guards = options.guards;
  cx.quantized_io = options.quantized_io;
  cx.weight_growth = options.weight_growth;
  cx.alloc_graph_input = options.plan.alloc_graph_input;
  cx.alloc_graph_output = options.plan.alloc_graph_output;
  cx.alloc_mutable_buffers = options.plan.alloc_mutable_buffers;
  cx.keeps_whole = keeps_whole(options);
  cx.may_keep_whole = may_keep_whole(options);
  EDGEC_TRY_VOID(apply_bounds(program, options));
  if (options.on_stage) EDGEC_TRY_VOID(options.on_stage(program.stage, program));
  const Stage start = program.stage;
  Stage reported = start;
  for (std::string_view name : kOrder) {
    if (name == kPartition) {
      if (stage < Stage::Backend) break;
      if (program.stage < Stage::Backend) {
        if (options.on_stage) EDGEC_TRY_VOID(options.on_stage(program.stage, program));
        EDGEC_TRY_VOID(run_user_passes(program, options.passes, cx, out.timings));
        EDGEC_TRY_VOID(to_backend(program, options, cx, out));
      }
      if (program.stage == Stage::Backend) EDGEC_TRY_VOID(run_user_passes(program, options.passes, cx, out.timings));
      if (stage == Stage::Backend) break;
      continue;
    }
    const passes::PassInfo* pass = passes::find_pass(name);
    if (pass->to < start || (pass->to == start && pass->from < start)) continue;  // done before
    if (is_lever(name) && options.disabled_passes.count(std::string(name))) continue;
    if (pass->to > stage && program.stage >= stage) break;
    // A stage is complete when the pass that leads out of it is next.
    if (pass->to > program.stage && reported != program.stage) {
      reported = program.stage;
      if (options.on_stage) EDGEC_TRY_VOID(options.on_stage(program.stage, program));
    }
    Stopwatch watch(out.timings, std::string(name));
    EDGEC_TRY_VOID(pass->fn(program, cx));
    if (name == "functionalize" && options.plan.share_state) EDGEC_TRY_VOID(memory::mark_shared_state(program));
    if (options.verify_every_pass) {
      Diagnostics diag;
      if (Status ok = verify(program, diag); !ok)
        return internal_error(
            fmt::format("the program is wrong after pass {} (a bug in edgec, please report it):\n{}", name, ok.failure().message));
    }
  }
  out.warnings = cx.diag.warnings_str();
  if (stage == Stage::Exec) {
    Stopwatch watch(out.timings, "plan memory");
    EDGEC_TRY(out.plans, memory::plan(program, options.plan));
    out.warnings += symbol_warnings(out.plans, program);
  }
  if (options.on_stage) EDGEC_TRY_VOID(options.on_stage(program.stage, program));
  return {};
}

Result<Outcome> compile(Program& program, const Options& options) {
  Outcome out;
  EDGEC_TRY_VOID(lower_to(program, Stage::Exec, options, out));
  {
    Stopwatch watch(out.timings, "emit");
    EDGEC_TRY(out.emitted, emit::lower(program));
  }
  Stopwatch watch(out.timings, "check");
  std::vector<std::string> faults = pte::faults(out.emitted.program, {.more_operators = ops::user_kernels()});
  for (const pte::Plan& plan : std::exchange(out.emitted.unshared, {}))
    for (const std::string& fault : pte::plan_faults(plan)) faults.push_back(fmt::format("method '{}': {}", plan.name, fault));
  if (!faults.empty())
    return internal_error(fmt::format("the program made is wrong (a bug in edgec, please report it):\n  {}", fmt::join(faults, "\n  ")));
  return out;
}

Status write_file(const pte::Program& program, const std::string& path, const pte::WriteOptions& options) {
  EDGEC_TRY(OutputFile file, OutputFile::create(path));
  EDGEC_TRY_VOID(pte::write(program, file, options));
  EDGEC_TRY(std::string written, file.flushed_file());
  if (!written.empty()) {
    EDGEC_TRY(auto mapped, MappedFile::open(written));
    auto back = pte::read(mapped->bytes(), mapped);
    if (!back) return internal_error(fmt::format("the file written does not read back: {}", back.failure().message));
  }
  return file.commit();
}

}  // namespace edgec::pipeline
