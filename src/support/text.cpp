#include "support/text.h"

#include <fmt/format.h>

namespace edgec {

// Length of the well-formed UTF-8 sequence at the front, 0 when there is none (overlong forms and surrogates are none).
static size_t sequence_length(std::string_view s) {
  const auto byte = [&](size_t i) { return i < s.size() ? static_cast<unsigned char>(s[i]) : 0u; };
  const auto follows = [&](size_t i) { return (byte(i) & 0xc0u) == 0x80u; };
  const unsigned a = byte(0);
  if (a < 0x80) return 1;
  if (a >= 0xc2 && a <= 0xdf) return follows(1) ? 2 : 0;
  if (a >= 0xe0 && a <= 0xef) {
    const bool ok = follows(1) && follows(2) && !(a == 0xe0 && byte(1) < 0xa0) && !(a == 0xed && byte(1) > 0x9f);
    return ok ? 3 : 0;
  }
  if (a >= 0xf0 && a <= 0xf4) {
    const bool ok = follows(1) && follows(2) && follows(3) && !(a == 0xf0 && byte(1) < 0x90) && !(a == 0xf4 && byte(1) > 0x8f);
    return ok ? 4 : 0;
  }
  return 0;
}

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t n = sequence_length(text);
    const auto c = static_cast<unsigned char>(text[0]);
    const bool control = n == 1 && (c < 0x20 || c == 0x7f) && c != '\n' && c != '\t';
    if (n == 0 || control)
      out += fmt::format("\\x{:02x}", c);
    else
      out += text.substr(0, n);
    text.remove_prefix(n == 0 ? 1 : n);
  }
  return out;
}

}  // namespace edgec
