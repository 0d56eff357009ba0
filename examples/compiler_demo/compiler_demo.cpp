// ExecuTorch's BackendWithCompilerDemo: a whole graph, and parts of one.
#include <edgec/delegates.h>
#include <edgec/extensions.h>

#include "../run.h"

using namespace example;

// The whole graph as one module, which is a program of its own.
static void whole_graph(const std::string& models, const std::string& folder) {
  auto edge = ok(edgec::to_edge(ok(edgec::load(models + "/sin.pt2"))));
  auto lowered = ok(edgec::to_backend("BackendWithCompilerDemo", edge.exported_program(), {}));
  std::printf("payload: %.*s\n", static_cast<int>(lowered.processed_bytes().size()),
              reinterpret_cast<const char*>(lowered.processed_bytes().data()));
  auto program = ok(lowered.to_executorch({
      .passes = {},
      .memory_planning_pass = edgec::MemoryPlanningPass{},
  }));
  check(close(run(program, folder + "/sin.pte", {{{1}, {0.5f}}}), {std::sin(0.5f)}), "sin in the delegate");

  // The same module as a part of a larger program: sin(sin(x)), made by a pass.
  auto larger = ok(edgec::to_edge(ok(edgec::load(models + "/sin.pt2"))));
  edgec::passes::PassInfo twice{"sin-twice", edgec::Stage::Edge, edgec::Stage::Edge, "calls the lowered module on the result",
                                [&](edgec::Program& p, edgec::passes::PassContext&) -> edgec::Status {
                                  edgec::Method& m = *p.methods[0];
                                  EDGEC_TRY(auto results, lowered.call(m, *m.graph, {m.graph->outputs[0]}));
                                  m.graph->outputs[0] = results[0];
                                  return {};
                                }};
  ok(larger.transform({twice}));
  auto both = ok(larger.to_executorch());
  check(close(run(both, folder + "/sin_twice.pte", {{{1}, {0.5f}}}), {std::sin(std::sin(0.5f))}), "a lowered module in a larger program");
}

// (a @ x + b), minus a on the host, and again.
static void two_regions(const std::string& models, const std::string& folder) {
  auto edge = ok(edgec::to_edge(ok(edgec::load(models + "/two_regions.pt2"))));
  const auto backend = edgec::Extensions::global().find_backend("BackendWithCompilerDemo");
  check(backend != nullptr, "the backend is known");
  auto partitioner = ok(edgec::partitioner_for(backend, ok(backend->parse_options({}))));
  ok(edge.to_backend(*partitioner));
  check(edge.exported_program().program().methods[0]->lowered.size() == 2, "two regions");
  for (const std::string& reason : edge.undelegated()) std::printf("%s\n", reason.c_str());
  auto program = ok(edge.to_executorch());
  const Input a{{2, 2}, {1, 2, 3, 4}}, x{{2, 2}, {1, 0, 0, 1}}, b{{2, 2}, {1, 1, 1, 1}};
  // With the unit matrix as x: z = a + 1, a = z - a = 1, and 1 + 1.
  check(close(run(program, folder + "/two_regions.pte", {a, x, b}), {2, 2, 2, 2}), "two regions and a host part");
}

int main(int argc, char** argv) {
  check(argc == 3, "usage: compiler_demo MODELS OUTPUT_FOLDER");
  edgec::register_delegates();
  whole_graph(argv[1], argv[2]);
  two_regions(argv[1], argv[2]);
  std::printf("ok\n");
}
