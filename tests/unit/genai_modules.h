#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "genai/graph_bundle.h"
#include "ir/text.h"
#include "ops/table.h"

namespace edgec::genai {

inline Module parsed(const std::string& text) {
  ops::register_all();
  auto program = parse_program(text);
  EXPECT_TRUE(program) << program.failure().message;
  return Module(std::move(*program));
}

// A path of its own for a test's files; nothing is there before and after.
struct Folder {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("edgec_genai_" + std::to_string(::getpid()));
  Folder() { std::filesystem::remove_all(path); }
  ~Folder() { std::filesystem::remove_all(path); }
};

}  // namespace edgec::genai
