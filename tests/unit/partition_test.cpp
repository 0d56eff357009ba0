#include <gtest/gtest.h>

#include <random>

#include <edgec/extensions.h>
#include <edgec/op.h>
#include "backends/registry.h"
#include "ops/table.h"
#include "partition/partition.h"
#include "partition/regions.h"
#include "verify/verify.h"

namespace edgec::partition {
namespace {

// Sums of two earlier values each.
std::unique_ptr<Program> random_graph(std::mt19937& rng, size_t nodes) {
  ops::register_all();
  auto p = std::make_unique<Program>();
  p->stage = Stage::Edge;
  p->methods.push_back(std::make_unique<Method>());
  Method& m = *p->methods[0];
  Graph& g = *m.graph;
  std::vector<ValueId> values;
  for (const char* name : {"x", "y"}) {
    values.push_back(g.add_input(name, Type::of({DType::F32, {2}, {}, {}})));
    InputSpec spec;
    spec.name = name;
    m.inputs.push_back(spec);
  }
  Builder b(g, nullptr);
  for (size_t i = 0; i < nodes; ++i) {
    const size_t near = std::min<size_t>(values.size(), 1 + rng() % 12);
    values.push_back(b.add(values[values.size() - 1 - rng() % near], values[rng() % values.size()]));
  }
  for (size_t i = 0; i < 3; ++i) {
    g.outputs.push_back(values[values.size() - 1 - i]);
    m.outputs.push_back({});
  }
  return p;
}

void expect_sound(const Dependencies& deps, const Regions& regions, const std::vector<uint32_t>& color) {
  for (NodeId n : deps.order) {
    EXPECT_EQ(regions.of[n.index] >= 0, color[n.index] != 0);
    if (regions.of[n.index] >= 0) {
      EXPECT_EQ(color[n.index], color[regions.nodes[static_cast<size_t>(regions.of[n.index])].front().index]);
    }
  }
  // A schedule runs everything once, and each after what it needs: there are no cycles.
  std::vector<bool> done(color.size(), false);
  size_t ran = 0;
  for (const Step& step : schedule(deps, regions)) {
    const std::vector<NodeId> now = step.region < 0 ? std::vector<NodeId>{step.node} : regions.nodes[static_cast<size_t>(step.region)];
    for (NodeId n : now)
      for (NodeId p : deps.producers[n.index]) EXPECT_TRUE(done[p.index] || (step.region >= 0 && regions.of[p.index] == step.region));
    for (NodeId n : now) done[n.index] = true;
    ran += now.size();
  }
  EXPECT_EQ(ran, deps.order.size());
}

TEST(Partition, RandomTagsGiveRegionsWithoutCycles) {
  std::mt19937 rng(1);
  for (int round = 0; round < 300; ++round) {
    auto p = random_graph(rng, 5 + rng() % 60);
    const Graph& g = *p->methods[0]->graph;
    std::vector<uint32_t> color(g.node_capacity());
    const uint32_t colors = 2 + rng() % 4;
    for (uint32_t& c : color) c = rng() % colors;
    const Dependencies deps = dependencies(g);
    expect_sound(deps, find_regions(deps, color), color);
  }
}

TEST(Partition, OneColorIsOneRegion) {
  std::mt19937 rng(2);
  auto p = random_graph(rng, 40);
  const Dependencies deps = dependencies(*p->methods[0]->graph);
  std::vector<uint32_t> color(p->methods[0]->graph->node_capacity(), 1);
  // What hangs together is one region; sums of x and y always do in the end, but for those that nothing uses.
  const Regions regions = find_regions(deps, color);
  size_t largest = 0;
  for (const auto& nodes : regions.nodes) largest = std::max(largest, nodes.size());
  EXPECT_GE(largest, 35u);
}

// Alternately taken and refused: thousands of regions.
class EveryOther : public Partitioner {
 public:
  std::shared_ptr<const Backend> backend() const override { return backend_; }
  const CompileSpecs& compile_specs() const override { return specs_; }
  NodeMap<Choice> choose(const Method&, const Graph& g) const override {
    NodeMap<Choice> out;
    bool take = false;
    for (NodeId n : g.nodes_in_order()) out[n] = (take = !take) ? Choice{0, {}} : Choice{std::nullopt, "it is an odd one"};
    return out;
  }

 private:
  class Nothing : public Backend {
   public:
    std::string id() const override { return "Nothing"; }
    std::string name() const override { return "nothing"; }
    std::string summary() const override { return ""; }
    Result<CompileSpecs> parse_options(std::span<const std::pair<std::string, std::string>>) const override { return CompileSpecs{}; }
    std::optional<std::string> refuses(const Method&, const Graph&, NodeId, const CompileSpecs&) const override { return std::nullopt; }
    Result<Payload> preprocess(const Method&, const CompileSpecs&) const override { return Payload{}; }
  };
  std::shared_ptr<const Backend> backend_ = std::make_shared<Nothing>();
  CompileSpecs specs_;
};

TEST(Partition, ThousandsOfIslands) {
  ops::register_all();
  Program p;
  p.stage = Stage::Edge;
  p.methods.push_back(std::make_unique<Method>());
  Method& m = *p.methods[0];
  ValueId v = m.graph->add_input("x", Type::of({DType::F32, {2}, {}, {}}));
  m.inputs.push_back({});
  m.inputs[0].name = "x";
  Builder b(*m.graph, nullptr);
  for (int i = 0; i < 4000; ++i) v = b.unary("aten.relu", v);
  m.graph->outputs.push_back(v);
  m.outputs.push_back({});
  Report report;
  ASSERT_TRUE(lower(p, EveryOther(), {}, report));
  EXPECT_EQ(m.lowered.size(), 2000u);
  EXPECT_EQ(report.left.size(), 2000u);
  EXPECT_EQ(report.breaks.size(), 2000u);
  Diagnostics diag;
  EXPECT_TRUE(verify(p, diag));
}

}  // namespace
}  // namespace edgec::partition
