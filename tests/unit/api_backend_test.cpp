#include <edgec/edgec.h>
#include <edgec/op.h>
#include <gtest/gtest.h>

#include <charconv>

#include "emit/program.h"
#include "ops/table.h"
#include "pipeline/pipeline.h"

// What the library promises to backends: weights stored once however many regions name them, methods that are lowered one by one, regions
// that are not too small.
namespace edgec {
namespace {

std::string hex(std::span<const std::byte> bytes) {
  std::string out;
  for (const std::byte b : bytes)
    out += "0123456789abcdef"[std::to_integer<size_t>(b) >> 4], out += "0123456789abcdef"[std::to_integer<size_t>(b) & 15];
  return out;
}

// Takes linear and relu. Weights become named data whose keys are their bytes, so that equal ones have one key. Specs: what it takes, and
// the least number of nodes of a region.
class Keeper final : public Backend {
 public:
  std::string id() const override { return "Keeper"; }
  std::string name() const override { return "keeper"; }
  std::string summary() const override { return ""; }
  Result<CompileSpecs> parse_options(std::span<const std::pair<std::string, std::string>>) const override { return CompileSpecs{}; }
  BackendTraits traits(const CompileSpecs& specs) const override {
    BackendTraits t;
    t.min_region = spec_text(specs, "least").value_or("1")[0] - '0';
    return t;
  }
  std::optional<std::string> refuses(const Method&, const Graph& g, NodeId n, const CompileSpecs& specs) const override {
    const std::string op = g.node(n).op->name();
    if (spec_text(specs, "takes").value_or("aten.linear aten.relu").find(op) != std::string::npos) return std::nullopt;
    return "it is not among those taken";
  }
  Result<Payload> preprocess(const Method& region, const CompileSpecs&) const override {
    Payload payload;
    for (const Constant& weight : region.constants) payload.named_data.push_back({hex(gather(weight.data)), weight.data, 64});
    payload.bytes.resize(region.graph->nodes_in_order().size());
    return payload;
  }
};

CompileSpecs specs(std::string takes, std::string least = "1") {
  return {compile_spec("takes", std::move(takes)), compile_spec("least", std::move(least))};
}

std::shared_ptr<const Partitioner> keeper(CompileSpecs s) {
  return std::make_shared<CapabilityPartitioner>(std::make_shared<Keeper>(), std::move(s));
}

ExportedProgram mlp() { return *load(std::string(EDGEC_TESTS_DIR) + "/models/data/mlp/model.pt2"); }  // linear, relu, linear

std::map<std::string, ExportedProgram> two_methods() {
  std::map<std::string, ExportedProgram> out;
  out.emplace("first", mlp());
  out.emplace("second", mlp());
  return out;
}

size_t bytes_of(const std::vector<pte::NamedData>& all) {
  size_t sum = 0;
  for (const auto& n : all) sum += n.data.size;
  return sum;
}

TEST(ApiBackend, MethodsAreLoweredOneByOne) {
  auto edge = to_edge(two_methods());
  ASSERT_TRUE(edge) << edge.failure().message;
  const auto delegates = [&] {
    const auto bytes = edge->to_executorch()->buffer();
    const auto program = pte::read(*bytes);
    std::vector<size_t> out;
    for (const pte::Plan& plan : program->plans) out.push_back(plan.delegates.size());
    return out;
  };
  ASSERT_TRUE(edge->to_backend(*keeper(specs("aten.linear")), "second"));
  EXPECT_EQ(delegates(), (std::vector<size_t>{0, 2}));
  EXPECT_NE(edge->exported_program("first").str().find("aten.linear"), std::string::npos);
  EXPECT_NE(edge->exported_program("second").str().find("call_delegate"), std::string::npos);
  ASSERT_TRUE(edge->to_backend(*keeper(specs("aten.relu")), "first"));
  EXPECT_EQ(delegates(), (std::vector<size_t>{1, 2}));
  ASSERT_TRUE(edge->to_backend(*keeper(specs("aten.linear aten.relu"))));  // all methods: what is left
  EXPECT_EQ(delegates(), (std::vector<size_t>{3, 3}));
  EXPECT_TRUE(edge->undelegated().empty());
}

TEST(ApiBackend, EqualWeightsOfTwoMethodsAreStoredOnce) {
  auto one = to_edge(mlp()), both = to_edge(two_methods());
  ASSERT_TRUE(one && both);
  ASSERT_TRUE(one->to_backend(*keeper(specs("aten.linear"))));
  ASSERT_TRUE(both->to_backend(*keeper(specs("aten.linear"))));
  const auto one_bytes = one->to_executorch()->buffer(), both_bytes = both->to_executorch()->buffer();
  const auto one_program = pte::read(*one_bytes), both_program = pte::read(*both_bytes);
  ASSERT_TRUE(one_program && both_program);
  EXPECT_EQ(both_program->named_data.size(), 4u);
  EXPECT_EQ(bytes_of(both_program->named_data), 848u);  // of the archive's weights
  EXPECT_EQ(bytes_of(both_program->named_data), bytes_of(one_program->named_data));
  EXPECT_EQ(both_program->plans[0].delegates.size() + both_program->plans[1].delegates.size(), 4u);
}

// One graph whose two regions use one weight, and one of equal bytes.
pte::Program compiled(CompileSpecs s) {
  ops::register_all();
  auto p = parse_program(R"(stage functional
constant #0 "w" f32[2, 2] = [1.0, 2.0, 3.0, 4.0]
constant #1 "same" f32[2, 2] = [1.0, 2.0, 3.0, 4.0]
method @forward(%w: f32[2, 2] = parameter "w" #0, %same: f32[2, 2] = parameter "same" #1, %x: f32[1, 2] = input "x") {
  %a = aten.linear(%x, %w) : f32[1, 2]
  %b = aten.sin(%a) : f32[1, 2]
  %c = aten.linear(%b, %w) : f32[1, 2]
  %d = aten.sin(%c) : f32[1, 2]
  %e = aten.linear(%d, %same) : f32[1, 2]
  %f = aten.relu(%e) : f32[1, 2]
  return %f
})");
  EXPECT_TRUE(p) << p.failure().message;
  pipeline::Options options;
  options.partitioners = {keeper(std::move(s))};
  auto out = pipeline::compile(**p, options);
  EXPECT_TRUE(out) << out.failure().message;
  return out->emitted.program;
}

TEST(ApiBackend, EqualWeightsOfTwoRegionsAreStoredOnce) {
  const pte::Program p = compiled(specs("aten.linear"));
  EXPECT_EQ(p.plans[0].delegates.size(), 3u);
  ASSERT_EQ(p.named_data.size(), 1u);
  EXPECT_EQ(p.named_data[0].data.size, 16u);
  EXPECT_EQ(p.named_data[0].data.alignment, 64u);
}

TEST(ApiBackend, RegionsBelowTheLeastSizeStayOutside) {
  EXPECT_EQ(compiled(specs("aten.linear aten.relu", "1")).plans[0].delegates.size(), 3u);
  const pte::Program two = compiled(specs("aten.linear aten.relu", "2"));  // linear and relu at the end
  ASSERT_EQ(two.plans[0].delegates.size(), 1u);
  EXPECT_EQ(two.payloads[two.plans[0].delegates[0].payload].view.size(), 2u);
  EXPECT_TRUE(compiled(specs("aten.linear aten.relu", "3")).plans[0].delegates.empty());

  auto edge = to_edge(mlp());
  ASSERT_TRUE(edge);
  ASSERT_TRUE(edge->to_backend(*keeper(specs("aten.linear", "2"))));
  const auto left = edge->undelegated();
  ASSERT_EQ(left.size(), 3u);
  EXPECT_NE(left[1].find("its region would have 1 node, and keeper wants at least 2"), std::string::npos) << left[1];
}

}  // namespace
}  // namespace edgec
