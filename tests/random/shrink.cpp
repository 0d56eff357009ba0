#include "shrink.h"

#include <numeric>

#include "draft.h"

namespace edgec::random_graphs {
namespace {

class Shrinker {
 public:
  Shrinker(const Program& start, const Finding& finding, const std::string& backend) : signature_(finding.signature()), backend_(backend) {
    best_ = rebuilt(start, all_nodes(start), all_outputs(start));
  }

  std::unique_ptr<Program> run() {
    one_output();
    while (drop_run_of_nodes(8) || drop_run_of_nodes(3) || drop_run_of_nodes(1) || drop_outputs()) {
    }
    return std::move(best_);
  }

 private:
  static const Graph& graph_of(const Program& p) { return *p.methods[0]->graph; }
  static std::vector<bool> all_nodes(const Program& p) { return std::vector<bool>(graph_of(p).node_capacity(), true); }
  static std::vector<size_t> all_outputs(const Program& p) {
    std::vector<size_t> out(graph_of(p).outputs.size());
    std::iota(out.begin(), out.end(), size_t{0});
    return out;
  }

  bool accept(const std::vector<bool>& keep, const std::vector<size_t>& outputs) {
    auto candidate = rebuilt(*best_, keep, outputs);
    if (examine_apart(*candidate, backend_).signature() != signature_) return false;
    best_ = std::move(candidate);
    return true;
  }

  void one_output() {
    const auto outputs = all_outputs(*best_);
    for (size_t o : outputs)
      if (accept(all_nodes(*best_), {o})) return;
  }

  bool drop_outputs() {
    bool changed = false;
    for (size_t i = graph_of(*best_).outputs.size(); i-- > 0;) {
      auto outputs = all_outputs(*best_);
      outputs.erase(outputs.begin() + static_cast<ptrdiff_t>(i));
      changed = accept(all_nodes(*best_), outputs) || changed;
    }
    return changed;
  }

  // From the end: what is used by few goes first.
  bool drop_run_of_nodes(size_t length) {
    bool changed = false;
    for (size_t end = graph_of(*best_).node_count(); end > 0; end = end > length ? end - length : 0) {
      const auto nodes = graph_of(*best_).nodes_in_order();
      auto keep = all_nodes(*best_);
      for (size_t i = end > length ? end - length : 0; i < std::min(end, nodes.size()); ++i) keep[nodes[i].index] = false;
      changed = accept(keep, all_outputs(*best_)) || changed;
    }
    return changed;
  }

  std::string signature_, backend_;
  std::unique_ptr<Program> best_;
};

}  // namespace

std::unique_ptr<Program> shrunk(const Program& program, const Finding& finding, const std::string& backend) {
  return Shrinker(program, finding, backend).run();
}

}  // namespace edgec::random_graphs
