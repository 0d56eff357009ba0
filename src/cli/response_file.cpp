#include "cli/response_file.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <optional>

namespace edgec::cli {
namespace {

constexpr int kMaxDepth = 16;  // a file that names itself ends here

std::optional<std::vector<std::string>> split(const std::string& text) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    const bool space = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (!quote && space) {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (quote == c)
      quote = 0;
    else if (!quote && (c == '\'' || c == '"'))
      quote = c;
    else if (c == '\\' && quote != '\'' && i + 1 < text.size())
      words.back() += text[++i];
    else
      words.back() += c;
  }
  if (quote) return std::nullopt;
  return words;
}

Status expand(const std::vector<std::string>& arguments, int depth, std::vector<std::string>& out) {
  for (const std::string& argument : arguments) {
    if (argument.size() < 2 || argument[0] != '@') {
      out.push_back(argument);
      continue;
    }
    if (argument[1] == '@') {
      out.push_back(argument.substr(1));
      continue;
    }
    const std::string path = argument.substr(1);
    if (depth == kMaxDepth) return usage_error(fmt::format("error: response files are nested too deeply at {}", argument));
    std::ifstream file(path, std::ios::binary);
    if (!file) return input_error(fmt::format("error: cannot read the response file {}", path));
    auto words = split(std::string(std::istreambuf_iterator<char>(file), {}));
    if (!words) return usage_error(fmt::format("error: a quote in the response file {} does not end", path));
    EDGEC_TRY_VOID(expand(*words, depth + 1, out));
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> expand_response_files(const std::vector<std::string>& arguments) {
  std::vector<std::string> out;
  EDGEC_TRY_VOID(expand(arguments, 0, out));
  return out;
}

}  // namespace edgec::cli
