// A pass that splits the call of a delegate into a start and a wait, as far apart as the graph allows: the host works meanwhile.
#include <edgec/op.h>
#include <edgec/rewriter.h>

#include <algorithm>

#include "../backend/unary_backend.h"
#include "../backend/unary_delegate.h"
#include "../run.h"

using namespace example;
using namespace edgec;

// The same payload with another phase.
static LoweredId with_phase(Method& m, const LoweredModule& from, const char* phase) {
  auto out = std::make_shared<LoweredModule>();
  out->backend_id = from.backend_id;
  out->compile_specs = from.compile_specs;
  out->compile_specs.push_back(compile_spec("phase", phase));
  out->payload = from.payload;
  out->region = clone(*from.region);
  m.lowered.push_back(std::move(out));
  return LoweredId(static_cast<uint32_t>(m.lowered.size() - 1));
}

static NodeId first_user(const Graph& g, NodeId of) {
  for (NodeId n = g.next(of); n; n = g.next(n)) {
    bool uses = false;
    for (const Arg& a : g.node(n).args) for_each_value(a, [&](const ValueId& v) { uses = uses || g.value(v).def == of; });
    if (uses) return n;
  }
  return {};
}

// The host's nodes that the call does not need to wait for go behind its start: those that come before it only by the order of the graph.
static void hoist(Graph& g, NodeId call) {
  std::vector<NodeId> needs;
  for (const Arg& a : g.node(call).args) for_each_value(a, [&](const ValueId& v) { needs.push_back(g.value(v).def); });
  NodeId place = g.first();
  for (NodeId n = g.first(); n && n != call; n = g.next(n))
    if (std::find(needs.begin(), needs.end(), n) != needs.end()) place = g.next(n);
  g.move_before(call, place);
}

// %y = executorch.call_delegate(&0, [%x])   ->   %t = executorch.call_delegate(&1, [%x])
//                                                ... what does not need %y ...
//                                                %y = executorch.call_delegate(&2, [%t])
static Status split_calls(Program& p, passes::PassContext&) {
  for (auto& m : p.methods) {
    Graph& g = *m->graph;
    for (NodeId n : g.nodes_in_order()) {
      if (g.node(n).op->name() != "executorch.call_delegate") continue;
      hoist(g, n);
      const NodeId user = first_user(g, n);
      const Node call = g.node(n);
      const std::shared_ptr<const LoweredModule> module = m->lowered[std::get<LoweredId>(call.args[0].state).index];
      const NodeId start =
          g.add_node(call.op, {with_phase(*m, *module, "start"), call.args[1]}, {Type::of({DType::I64, {}, {}, {}})}, call.loc, n);
      std::vector<Type> types;
      for (ValueId r : call.results) types.push_back(g.type(r));
      const NodeId wait = g.add_node(call.op, {with_phase(*m, *module, "wait"), ArgList{g.node(start).results[0]}}, types, call.loc, user);
      std::unordered_map<ValueId, ValueId> with;
      for (size_t i = 0; i < call.results.size(); ++i) with[call.results[i]] = g.node(wait).results[i];
      g.replace_uses(with);
      g.erase(n);
    }
  }
  return {};
}

int main(int argc, char** argv) {
  check(argc == 3, "usage: async MODELS OUTPUT_FOLDER");
  register_unary_delegate();
  // sigmoid and mul stay on the host; exp of them and cos of the input are two regions.
  auto edge = ok(to_edge(ok(load(std::string(argv[1]) + "/activations.pt2"))));
  auto plain = ok(edge.to_executorch());
  ok(edge.to_backend(CapabilityPartitioner(unary_backend())));
  std::string text;
  const passes::PassInfo pass{"split-calls", Stage::Backend, Stage::Backend, "delegates run while the host works", split_calls};
  const passes::PassInfo look{"look", Stage::Backend, Stage::Backend, "", [&](Program& p, passes::PassContext&) {
                                text = print(p);
                                return Status();
                              }};
  auto both = ok(edge.to_executorch({.passes = {pass, look}}));
  const size_t start = text.find("executorch.call_delegate(", text.rfind("method @forward(")), host = text.find("aten.sigmoid", start);
  check(start != std::string::npos && host != std::string::npos, "host work stands behind a start");
  check(text.find("executorch.call_delegate(", host) != std::string::npos, "a wait stands behind the host work");
  std::vector<float> values(48);
  for (size_t i = 0; i < values.size(); ++i) values[i] = 0.05f * static_cast<float>(i) - 1;
  const Input x{{1, 3, 4, 4}, values};
  const std::string folder = argv[2];
  check(close(run(plain, folder + "/plain.pte", {x}), run(both, folder + "/async.pte", {x})), "the same result");
  std::printf("%sok\n", text.substr(text.rfind("method @forward(")).c_str());
}
