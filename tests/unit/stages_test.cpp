#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "backends/registry.h"
#include "pipeline/pipeline.h"

// Every model at hand through all stages: the rules hold after each pass, and the text of each stage parses back to the same program.
namespace edgec {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> models() {
  std::vector<fs::path> folders = {fs::path(EDGEC_TESTS_DIR) / "models/data"};
  const char* shared = std::getenv("EDGEC_SHARED");
  const fs::path root = shared ? fs::path(shared) : fs::path("../shared");
  folders.push_back(root / "models");
  folders.push_back(root / "models-torch-2.14");
  std::vector<fs::path> out;
  for (const auto& folder : folders) {
    if (!fs::is_directory(folder)) continue;
    for (const auto& entry : fs::directory_iterator(folder))
      if (fs::exists(entry.path() / "model.pt2")) out.push_back(entry.path() / "model.pt2");
  }
  std::sort(out.begin(), out.end());
  return out;
}

Status round_trip(const Program& p) {
  const std::string text = print(p);
  auto back = parse_program(text);
  if (!back) return internal_error(std::string(name(p.stage)) + " stage does not parse back: " + back.failure().message);
  std::string why;
  if (!same_program(p, **back, &why)) return internal_error(std::string(name(p.stage)) + " stage parses to another program: " + why);
  if (print(**back) != text) return internal_error(std::string(name(p.stage)) + " stage prints differently after parsing");
  return {};
}

void every_model_keeps_the_rules(const std::vector<std::shared_ptr<const Partitioner>>& partitioners) {
  int compiled = 0;
  for (const fs::path& model : models()) {
    SCOPED_TRACE(model.parent_path().filename().string());
    std::vector<pipeline::Timing> timings;
    auto program = pipeline::load({{"forward", model.string()}}, timings);
    if (!program) {
      EXPECT_EQ(program.failure().kind, ErrorKind::Model) << program.failure().message;
      continue;
    }
    pipeline::Options options;
    options.verify_every_pass = true;
    options.bound_all = 512;
    options.partitioners = partitioners;
    std::set<Stage> seen;
    options.on_stage = [&](Stage stage, const Program& p) {
      seen.insert(stage);
      return round_trip(p);
    };
    auto outcome = pipeline::compile(**program, options);
    if (!outcome) {  // what cannot be compiled is the model's, never ours
      EXPECT_EQ(outcome.failure().kind, ErrorKind::Model) << outcome.failure().message;
      continue;
    }
    ++compiled;
    EXPECT_EQ(seen.size(), 6u);  // all stages
  }
  EXPECT_GE(compiled, 8);  // the repository's own
}

TEST(Stages, EveryModelKeepsTheRulesAndPrintsWhatParsesBack) { every_model_keeps_the_rules({}); }

TEST(Stages, SoDoesEveryModelInRandomParts) {
  const auto backend = backends::executor();
  for (const char* symints : {"int", "inside", "rank0"})
    every_model_keeps_the_rules(
        {std::make_shared<CapabilityPartitioner>(backend, CompileSpecs{compile_spec("seed", "1"), compile_spec("symints", symints)})});
}

}  // namespace
}  // namespace edgec
