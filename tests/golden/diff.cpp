#include "diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace edgec {
namespace {

using Lines = std::vector<std::string_view>;

Lines lines_of(std::string_view text) {
  Lines out;
  while (!text.empty()) {
    const size_t n = std::min(text.find('\n'), text.size());
    out.push_back(text.substr(0, n));
    text.remove_prefix(std::min(n + 1, text.size()));
  }
  return out;
}

struct Edit {
  char mark;  // ' ', '-' or '+'
  std::string_view line;
};

// By the longest common subsequence; the texts of tests are short.
std::vector<Edit> edits(const Lines& a, const Lines& b) {
  std::vector<std::vector<uint32_t>> common(a.size() + 1, std::vector<uint32_t>(b.size() + 1, 0));
  for (size_t i = a.size(); i-- > 0;)
    for (size_t j = b.size(); j-- > 0;)
      common[i][j] = a[i] == b[j] ? common[i + 1][j + 1] + 1 : std::max(common[i + 1][j], common[i][j + 1]);
  std::vector<Edit> out;
  size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    if (i < a.size() && j < b.size() && a[i] == b[j]) {
      out.push_back({' ', a[i]});
      ++i, ++j;
    } else if (i < a.size() && (j == b.size() || common[i + 1][j] >= common[i][j + 1])) {
      out.push_back({'-', a[i++]});
    } else {
      out.push_back({'+', b[j++]});
    }
  }
  return out;
}

}  // namespace

std::string unified_diff(std::string_view expected, std::string_view actual) {
  constexpr size_t kContext = 3;
  const auto all = edits(lines_of(expected), lines_of(actual));
  std::string out;
  size_t shown = 0, line_a = 1, line_b = 1;  // lines of `all` passed so far, and their numbers in both texts
  auto pass = [&](size_t to) {
    for (; shown < to; ++shown) {
      line_a += all[shown].mark != '+';
      line_b += all[shown].mark != '-';
    }
  };
  for (size_t at = 0; at < all.size();) {
    if (all[at].mark == ' ') {
      ++at;
      continue;
    }
    const size_t start = std::max(at > kContext ? at - kContext : 0, shown);
    size_t end = at, quiet = 0;
    for (; end < all.size() && quiet <= 2 * kContext; ++end) quiet = all[end].mark == ' ' ? quiet + 1 : 0;
    end -= quiet > kContext ? quiet - kContext : 0;
    pass(start);
    const auto count = [&](char without) {
      return std::count_if(all.begin() + static_cast<std::ptrdiff_t>(start), all.begin() + static_cast<std::ptrdiff_t>(end),
                           [&](const Edit& e) { return e.mark != without; });
    };
    out += fmt::format("@@ -{},{} +{},{} @@\n", line_a, count('+'), line_b, count('-'));
    for (size_t k = start; k < end; ++k) out += fmt::format("{}{}\n", all[k].mark, all[k].line);
    pass(end);
    at = end;
  }
  return out;
}

}  // namespace edgec
