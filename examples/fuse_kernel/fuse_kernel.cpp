// A pass that fuses x * sigmoid(x) to an operator of the user's own, whose kernel the user's program registers in the runtime.
#include <edgec/op.h>
#include <edgec/rewriter.h>
#include <executorch/runtime/kernel/operator_registry.h>

#include "../run.h"

using namespace example;
using namespace edgec;

// example::swish.out(Tensor x, *, Tensor(a!) out): x, out, and the result again.
static void swish_kernel(executorch::runtime::KernelRuntimeContext&, executorch::runtime::Span<executorch::runtime::EValue*> args) {
  const auto x = args[0]->toTensor();
  auto out = args[1]->toTensor();
  for (ssize_t i = 0; i < x.numel(); ++i) {
    const float v = x.const_data_ptr<float>()[i];
    out.mutable_data_ptr<float>()[i] = v / (1 + std::exp(-v));
  }
}

// %s = aten.sigmoid(%x); %y = aten.mul.Tensor(%s, %x)   ->   %y = example.swish(%x)
static Status fuse_swish(Program& p, passes::PassContext&) {
  return passes::for_each_graph(p, [](Method&, Graph& g) -> Status {
    passes::Rewriter rw(g);
    for (NodeId n : g.nodes_in_order()) {
      rw.refresh(n);
      const Node node = g.node(n);
      if (node.op->name() != "aten.mul.Tensor") continue;
      for (size_t side : {0, 1}) {
        const NodeId def = g.value(node.args[side].value()).def;
        if (!def || g.node(def).op->name() != "aten.sigmoid" || g.node(def).args[0] != node.args[1 - side]) continue;
        Builder b(g, node.loc, n);
        const ValueId fused = b.call("example.swish", {node.args[1 - side]});
        EDGEC_TRY_VOID(b.status());
        rw.replace_node(n, std::vector<ValueId>{fused});
        break;
      }
    }
    rw.finish();
    remove_dead_nodes(g);
    return {};
  });
}

static void define_operator() {
  OpDef& op = Registry::global().define("example::swish(Tensor x) -> Tensor");
  op.infer = [](const Call& c) -> Result<std::vector<Type>> { return std::vector<Type>{Type::of(c.tensor("x"))}; };
  op.layout = LayoutRule::Preserve;
  op.kernel = {"example::swish", "out", {}};
}

int main(int argc, char** argv) {
  check(argc == 3, "usage: fuse_kernel MODELS OUTPUT_FOLDER");
  define_operator();
  check(executorch::runtime::register_kernel(executorch::runtime::Kernel("example::swish.out", swish_kernel)) ==
            executorch::runtime::Error::Ok,
        "the kernel is registered");
  const passes::PassInfo pass{"fuse-swish", Stage::Backend, Stage::Backend, "x * sigmoid(x) in one kernel", fuse_swish};
  auto edge = ok(to_edge(ok(load(std::string(argv[1]) + "/activations.pt2"))));
  auto plain = ok(edge.to_executorch()), fused = ok(edge.to_executorch({.passes = {pass}}));
  std::vector<float> values(48);
  for (size_t i = 0; i < values.size(); ++i) values[i] = 0.05f * static_cast<float>(i) - 1;
  const Input x{{1, 3, 4, 4}, values};
  const std::string folder = argv[2];
  check(close(run(plain, folder + "/plain.pte", {x}), run(fused, folder + "/fused.pte", {x})), "the fused program gives the same");
  check(ok(fused.buffer()) != ok(plain.buffer()), "the pass changed something");
  std::printf("ok\n");
}
