#include "pipeline/to_backend.h"

#include <edgec/op.h>
#include <edgec/rewriter.h>
#include <fmt/format.h>

#include <algorithm>

#include "pipeline/stopwatch.h"
#include "verify/verify.h"

namespace edgec::pipeline {
namespace {

// What decomposition makes goes the way to Edge again; what is there already passes through unchanged.
constexpr std::string_view kToEdge[] = {"decompose",    "fold-constants", "remove-noop", "remove-dead",
                                        "unify-dtypes", "dim-order",      "remove-dead"};

Status decompose_rest(Program& program, const Options& options, passes::PassContext& cx) {
  const std::set<std::string> kept = may_keep_whole(options);
  bool any = false;
  EDGEC_TRY_VOID(passes::for_each_graph(program, [&](Method&, Graph& g) {
    for (NodeId n = g.first(); n; n = g.next(n)) any = any || (g.node(n).op->expand && kept.count(g.node(n).op->name()));
    return Status();
  }));
  if (!any) return {};
  cx.keeps_whole = nullptr;
  for (std::string_view name : kToEdge) EDGEC_TRY_VOID(passes::find_pass(name)->fn(program, cx));
  return {};
}

}  // namespace

std::set<std::string> may_keep_whole(const Options& options) {
  std::set<std::string> out;
  for (const auto& p : options.partitioners)
    for (std::string& name : p->backend()->keeps_whole(p->compile_specs())) out.insert(std::move(name));
  return out;
}

std::function<bool(const Method&, const Graph&, NodeId)> keeps_whole(const Options& options) {
  struct Keeper {
    std::shared_ptr<const Partitioner> partitioner;
    std::set<std::string> names;
  };
  std::vector<Keeper> keepers;
  for (const auto& p : options.partitioners) {
    const auto names = p->backend()->keeps_whole(p->compile_specs());
    if (!names.empty()) keepers.push_back({p, {names.begin(), names.end()}});
  }
  if (keepers.empty()) return nullptr;
  return [keepers = std::move(keepers)](const Method& m, const Graph& g, NodeId n) {
    return std::any_of(keepers.begin(), keepers.end(), [&](const Keeper& k) {
      return k.names.count(g.node(n).op->name()) != 0 && !k.partitioner->backend()->refuses(m, g, n, k.partitioner->compile_specs());
    });
  };
}

Status to_backend(Program& program, const Options& options, passes::PassContext& cx, Outcome& out) {
  for (const auto& partitioner : options.partitioners) {
    Stopwatch watch(out.timings, "partition for " + partitioner->backend()->name());
    EDGEC_TRY_VOID(partition::lower(program, *partitioner, {options.whole_graph, {}, options.plan.share_state}, out.partition));
    if (options.whole_graph) break;
  }
  if (!options.partitioners.empty()) EDGEC_TRY_VOID(decompose_rest(program, options, cx));
  program.stage = Stage::Backend;
  if (!options.verify_every_pass) return {};
  Diagnostics diag;
  if (Status ok = verify(program, diag); !ok)
    return internal_error(
        fmt::format("the program is wrong after partition (a bug in edgec, please report it):\n{}", ok.failure().message));
  return {};
}

Status run_user_passes(Program& program, std::span<const passes::PassInfo> all, passes::PassContext& cx, std::vector<Timing>& timings) {
  for (const passes::PassInfo& pass : all) {
    if (pass.from != program.stage) continue;
    Stopwatch watch(timings, pass.name);
    const Stage stage = program.stage;
    if (Status done = pass.fn(program, cx); !done)
      return Failure{done.failure().kind, fmt::format("pass {} failed:\n{}", pass.name, done.failure().message)};
    program.stage = stage;
    Diagnostics diag;
    if (Status ok = verify(program, diag); !ok)
      return model_error(fmt::format("error: pass {} breaks the graph:\n{}", pass.name, ok.failure().message));
  }
  return {};
}

}  // namespace edgec::pipeline
