#include <gtest/gtest.h>

#include <edgec/op.h>
#include "ops/table.h"
#include "pipeline/pipeline.h"

// Composite operators that a backend wants to see whole.
namespace edgec {
namespace {

class Whole : public Backend {
 public:
  explicit Whole(size_t min_region) : min_region_(min_region) {}
  std::string id() const override { return "Whole"; }
  std::string name() const override { return "whole"; }
  std::string summary() const override { return ""; }
  Result<CompileSpecs> parse_options(std::span<const std::pair<std::string, std::string>>) const override { return CompileSpecs{}; }
  BackendTraits traits(const CompileSpecs&) const override {
    BackendTraits t;
    t.min_region = min_region_;
    return t;
  }
  std::vector<std::string> keeps_whole(const CompileSpecs&) const override { return {"aten.silu"}; }
  std::optional<std::string> refuses(const Method&, const Graph& g, NodeId n, const CompileSpecs&) const override {
    if (g.node(n).op->name() == "aten.silu" && g.tensor(g.node(n).results[0]).rank() == 1) return std::nullopt;
    return "it is no silu of a vector";
  }
  Result<Payload> preprocess(const Method&, const CompileSpecs&) const override { return Payload{{std::byte{1}}, {}, {}}; }

 private:
  size_t min_region_;
};

std::string lowered(size_t min_region) {
  ops::register_all();
  auto p = parse_program(R"(stage functional
method @forward(%x: f32[2] = input "x", %y: f32[2, 2] = input "y") {
  %a = aten.silu(%x) : f32[2]
  %b = aten.silu(%y) : f32[2, 2]
  return %a, %b
})");
  EXPECT_TRUE(p);
  pipeline::Options options;
  options.verify_every_pass = true;
  options.partitioners = {std::make_shared<CapabilityPartitioner>(std::make_shared<Whole>(min_region))};
  pipeline::Outcome out;
  const Status s = pipeline::lower_to(**p, Stage::Backend, options, out);
  EXPECT_TRUE(s) << s.failure().message;
  return print(**p);
}

TEST(KeepsWhole, TheBackendSeesTheOperator) {
  const std::string text = lowered(1);
  EXPECT_NE(text.find("edge.aten.silu(%x)"), std::string::npos) << text;
  EXPECT_NE(text.find("call_delegate"), std::string::npos) << text;
  EXPECT_EQ(text.find("aten.silu(%y)"), std::string::npos) << text;  // refused: decomposed at once
}

TEST(KeepsWhole, WhatIsNotTakenInTheEndIsDecomposed) {
  const std::string text = lowered(2);
  EXPECT_EQ(text.find("silu("), std::string::npos) << text;
  EXPECT_EQ(text.find("call_delegate"), std::string::npos) << text;
  EXPECT_NE(text.find("stage backend"), std::string::npos) << text;
  EXPECT_NE(text.find("aten.sigmoid(%x)"), std::string::npos) << text;
}

}  // namespace
}  // namespace edgec
