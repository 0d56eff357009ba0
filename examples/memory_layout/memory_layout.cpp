// A pass that computes the elementwise operators of 4-D tensors in channels-last order, with copies at the inputs and outputs.
#include <edgec/op.h>
#include <edgec/rewriter.h>

#include "../run.h"

using namespace example;
using namespace edgec;

static ValueId in_order(Builder& b, ValueId v, const std::vector<int64_t>& order) {
  return b.call("dim_order_ops._to_dim_order_copy", {v}, {{"dim_order", Arg::ints(order)}});
}

// Every operator must take any order: else the graph stays as it is.
static bool all_preserve(const Graph& g) {
  for (NodeId n = g.first(); n; n = g.next(n))
    if (g.node(n).op->layout != LayoutRule::Preserve || g.node(n).results.size() != 1 || g.tensor(g.node(n).results[0]).rank() != 4)
      return false;
  return true;
}

static Status channels_last(Program& p, passes::PassContext&) {
  for (auto& m : p.methods) {
    Graph& g = *m->graph;
    if (!all_preserve(g)) continue;
    const NodeId first = g.first();
    const std::vector<NodeId> nodes = g.nodes_in_order();
    Builder b(g, nullptr, first);
    std::unordered_map<ValueId, ValueId> converted;
    for (size_t i = 0; i < m->inputs.size(); ++i)
      if (m->inputs[i].kind == InputSpec::Kind::UserInput) converted[g.inputs[i]] = in_order(b, g.inputs[i], {0, 2, 3, 1});
    EDGEC_TRY_VOID(b.status());
    for (NodeId n : nodes) {
      for (Arg& a : g.node(n).args)
        for_each_value(a, [&](ValueId& v) {
          if (auto it = converted.find(v); it != converted.end()) v = it->second;
        });
      g.value(g.node(n).results[0]).type.tensor.dim_order = {0, 2, 3, 1};
    }
    Builder end(g, nullptr);
    for (Arg& out : g.outputs) out = in_order(end, out.value(), {0, 1, 2, 3});
    EDGEC_TRY_VOID(end.status());
  }
  return {};
}

// Forgets to convert the outputs' types: the rules of the stage find it.
static Status broken(Program& p, passes::PassContext&) {
  Graph& g = *p.methods[0]->graph;
  g.value(g.outputs[0].value()).type.tensor.sizes = {7};
  return {};
}

int main(int argc, char** argv) {
  check(argc == 3, "usage: memory_layout MODELS OUTPUT_FOLDER");
  const passes::PassInfo pass{"all-channels-last", Stage::Backend, Stage::Backend, "4-D tensors in channels-last order", channels_last};
  auto edge = ok(to_edge(ok(load(std::string(argv[1]) + "/activations.pt2"))));
  auto plain = ok(edge.to_executorch()), changed = ok(edge.to_executorch({.passes = {pass}}));
  std::vector<float> values(48);
  for (size_t i = 0; i < values.size(); ++i) values[i] = 0.05f * static_cast<float>(i) - 1;
  const Input x{{1, 3, 4, 4}, values};
  const std::string folder = argv[2];
  check(close(run(plain, folder + "/plain.pte", {x}), run(changed, folder + "/channels_last.pte", {x})), "the same in channels-last order");
  check(ok(changed.buffer()) != ok(plain.buffer()), "the pass changed something");
  auto refused = edge.to_executorch({.passes = {{"broken", Stage::Backend, Stage::Backend, "", broken}}});
  check(!refused && refused.failure().message.find("pass broken breaks the graph") != std::string::npos, "a broken pass is named");
  std::printf("ok\n");
}
