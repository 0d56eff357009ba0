#include <edgec/edgec.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace edgec {
namespace {

std::string model(const char* name) { return std::string(EDGEC_TESTS_DIR) + "/models/data/" + name + "/model.pt2"; }

TEST(Api, LoadToEdgeToExecutorchWrite) {
  auto exported = load(model("mlp"));
  ASSERT_TRUE(exported) << exported.failure().message;
  auto edge = to_edge(*std::move(exported));
  ASSERT_TRUE(edge) << edge.failure().message;
  EXPECT_NE(edge->str().find("edge.aten.linear"), std::string::npos);
  auto planned = edge->to_executorch();
  ASSERT_TRUE(planned) << planned.failure().message;
  auto unplanned_input = edge->to_executorch({.memory_planning_pass = {.alloc_graph_input = false}});
  ASSERT_TRUE(unplanned_input) << unplanned_input.failure().message;
  EXPECT_NE(*unplanned_input->buffer(), *planned->buffer());

  const auto path = std::filesystem::temp_directory_path() / "edgec_api_test.pte";
  ASSERT_TRUE(planned->write_to_file(path.string()));
  auto bytes = planned->buffer();
  ASSERT_TRUE(bytes);
  EXPECT_EQ(std::filesystem::file_size(path), bytes->size());
  std::filesystem::remove(path);
}

TEST(Api, SeveralMethodsShareEqualWeights) {
  std::map<std::string, ExportedProgram> two;
  for (const char* name : {"first", "second"}) {
    auto exported = load(model("mlp"));
    ASSERT_TRUE(exported);
    two.emplace(name, *std::move(exported));
  }
  auto one = to_edge(*load(model("mlp")))->to_executorch()->buffer();
  auto both = to_edge(std::move(two), {.disabled_passes = {}, .constant_methods = {{"get_max_seq_len", "128"}}});
  ASSERT_TRUE(both) << both.failure().message;
  EXPECT_EQ(both->methods(), (std::vector<std::string>{"first", "second"}));
  auto bytes = both->to_executorch()->buffer();
  ASSERT_TRUE(bytes);
  EXPECT_LT(bytes->size(), one->size() + 1500);  // the second method's instructions, not its weights
}

TEST(Api, FailuresAreValues) {
  auto missing = load("/nowhere/model.pt2");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.failure().kind, ErrorKind::Input);
  auto open = load(model("unbounded_dim"));
  ASSERT_TRUE(open);
  EXPECT_EQ(open->set_bound("nothing", 3).failure().kind, ErrorKind::Usage);
  EXPECT_TRUE(open->set_bound("s31", 64));
  EXPECT_TRUE(to_edge(*std::move(open)));
}

}  // namespace
}  // namespace edgec
