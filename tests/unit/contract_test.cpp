#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

// docs/delegate-contract.md and the golden tests say the same: every line has a test, and every test a line.
namespace edgec {
namespace {

namespace fs = std::filesystem;

TEST(DelegateContract, EveryLineIsATest) {
  const fs::path tests = EDGEC_TESTS_DIR;
  std::ifstream in(tests / "../docs/delegate-contract.md");
  std::stringstream text;
  text << in.rdbuf();
  const std::string all = text.str();
  std::set<std::string> named, present;
  const std::regex line("\\| `([a-z0-9_]+)` \\|\n");
  for (std::sregex_iterator it(all.begin(), all.end(), line), end; it != end; ++it) named.insert((*it)[1]);
  const std::string prefix = "contract_";
  for (const auto& entry : fs::directory_iterator(tests / "golden"))
    if (const std::string stem = entry.path().stem().string(); stem.starts_with(prefix)) present.insert(stem.substr(prefix.size()));
  EXPECT_FALSE(named.empty());
  EXPECT_EQ(named, present);
}

}  // namespace
}  // namespace edgec
