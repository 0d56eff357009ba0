#pragma once
#include <fmt/format.h>

#include <string>
#include <string_view>

#include "sym/node.h"

// What both readers of text share; private to src/sym.
namespace edgec::sym {

// The text in a message: not the 64 KB of it.
inline std::string excerpt(std::string_view text) {
  std::string s(text.substr(0, 120));
  for (char& c : s)
    if (c < ' ' || c > '~') c = '?';
  return text.size() > 120 ? s + "..." : s;
}

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_word(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
inline bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Stops a text that expands without end: (a + b + ...) ** 9 over and over.
class WorkLimit {
 public:
  explicit WorkLimit(Context& cx) : cx_(cx), start_(cx.impl().work) {}
  bool exceeded() const { return cx_.impl().work - start_ > kMaxWork; }

 private:
  Context& cx_;
  uint64_t start_;
};

}  // namespace edgec::sym
