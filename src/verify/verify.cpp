#include "verify/verify.h"

#include <fmt/format.h>

#include "verify/rules.h"

namespace edgec {
namespace {

// False when a rule was broken that the ones after it rely on.
bool check_graph(const Method& m, const Graph& g, Stage stage, Diagnostics& diag, bool autocast = false) {
  for (const Rule& rule : verifier_rules()) {
    if (stage < rule.from || stage > rule.to) continue;
    const size_t before = diag.error_count();
    rule.check({m, g, stage, rule.name, diag, autocast});
    if (rule.needed_by_others && diag.error_count() > before) return false;
  }
  std::vector<bool> casts(g.subgraphs.size(), autocast);
  for (NodeId n = g.first(); n; n = g.next(n))
    if (g.node(n).op->name() == "higher_order.wrap_with_autocast")
      for (const Arg& a : g.node(n).args)
        if (a.is_graph()) casts[std::get<GraphId>(a.state).index] = true;
  for (size_t i = 0; i < g.subgraphs.size(); ++i)
    if (g.subgraphs[i]) check_graph(m, *g.subgraphs[i], stage, diag, casts[i]);
  return true;
}

}  // namespace

void CheckedGraph::fault(const std::string& message) const { diag.error(nullptr, fmt::format("@{}: {} ({})", method.name, message, rule)); }

void CheckedGraph::fault(NodeId n, const std::string& message) const {
  diag.error(graph.node(n).loc, fmt::format("{}: {} ({})", graph.node(n).op->name(), message, rule));
}

std::vector<Rule> verifier_rules() {
  std::vector<Rule> all;
  for (auto table : {structure_rules(), type_rules(), operator_rules(), edge_rules(), exec_rules(), flow_rules()})
    all.insert(all.end(), table.begin(), table.end());
  return all;
}

Status verify(const Method& m, Stage stage, Diagnostics& diag) {
  const size_t before = diag.error_count();
  check_graph(m, *m.graph, stage, diag);
  if (diag.error_count() == before) return {};
  return diag.failure(stage == Stage::ATen ? ErrorKind::Input : ErrorKind::Internal);
}

Status verify(const Program& p, Diagnostics& diag) {
  Status all;
  for (const auto& m : p.methods)
    if (Status one = verify(*m, p.stage, diag); !one) all = std::move(one);
  return all;
}

}  // namespace edgec
