#include "ir/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace edgec::text {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool starts_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool continues_word(char c) { return starts_word(c) || is_digit(c); }

constexpr std::array<std::string_view, 4> kFormats = {"contiguous_format", "channels_last", "channels_last_3d", "preserve_format"};

std::optional<int> hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return std::nullopt;
}

}  // namespace

std::string_view format_name(MemoryFormat f) {
  const size_t i = static_cast<size_t>(f) - 1;
  return i < kFormats.size() ? kFormats[i] : "invalid_format";
}

std::optional<MemoryFormat> format_from_name(std::string_view n) {
  for (size_t i = 0; i < kFormats.size(); ++i)
    if (kFormats[i] == n) return static_cast<MemoryFormat>(i + 1);
  return std::nullopt;
}

bool is_reserved(std::string_view w) {
  constexpr std::array<std::string_view, 6> words = {"true", "false", "none", "nan", "inf", "graph"};
  return std::find(words.begin(), words.end(), w) != words.end() || dtype_from_name(w) || format_from_name(w);
}

bool is_word(std::string_view w) { return !w.empty() && starts_word(w[0]) && std::all_of(w.begin(), w.end(), continues_word); }

std::string quoted(std::string_view s) {
  std::string out = "\"";
  for (char c : s) {
    if (c == '\n')
      out += "\\n";
    else if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      out += c;
  }
  return out + "\"";
}

std::string float_text(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  std::string s = fmt::format("{}", v);
  if (s.find_first_of(".e") == std::string::npos) s += ".0";
  return s;
}

std::string expr_text(const sym::Expr& e) {
  const bool bare = e.is_static() || (e.kind() == sym::Kind::Symbol && !is_reserved(e.symbol_name()));
  return bare ? e.str() : "{" + e.str() + "}";
}

std::string values_text(const TensorData& t) {
  constexpr int64_t kMost = 16;
  if (is_complex(t.dtype) || !t.in_bounds() || t.numel() == 0 || t.numel() > kMost) return {};
  const auto bytes = gather(t);
  if (std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{}; })) return {};
  std::string out = " = [";
  for (int64_t i = 0; i < t.numel(); ++i) {
    if (i) out += ", ";
    out += is_float(t.dtype) ? float_text(read_element(bytes, t.dtype, i)) : std::to_string(read_integer(bytes, t.dtype, i));
  }
  return out + "]";
}

void Scanner::skip() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r')
      ++at_;
    else if (c == '#' && (at_ + 1 == text_.size() || !is_digit(text_[at_ + 1])))
      at_ = std::min(text_.find('\n', at_), text_.size());
    else
      break;
  }
}

size_t Scanner::offset() {
  skip();
  return at_;
}

bool Scanner::at_end() { return offset() == text_.size(); }

char Scanner::peek() {
  skip();
  return peek_raw();
}

char Scanner::peek_raw() const { return at_ < text_.size() ? text_[at_] : '\0'; }

bool Scanner::eat(char c) {
  if (at_end() || text_[at_] != c) return false;
  ++at_;
  return true;
}

bool Scanner::eat(std::string_view symbol) {
  skip();
  if (!text_.substr(at_).starts_with(symbol)) return false;
  at_ += symbol.size();
  return true;
}

bool Scanner::eat_word(std::string_view w) {
  const size_t start = offset();
  if (word() == w) return true;
  at_ = start;
  return false;
}

std::string_view Scanner::word() {
  skip();
  size_t end = at_;
  if (end < text_.size() && starts_word(text_[end]))
    while (end < text_.size() && continues_word(text_[end])) ++end;
  const std::string_view out = text_.substr(at_, end - at_);
  at_ = end;
  return out;
}

std::string_view Scanner::name_here() {
  const size_t start = at_;
  while (at_ < text_.size() && continues_word(text_[at_])) ++at_;
  return text_.substr(start, at_ - start);
}

std::string_view Scanner::dotted_name() {
  const size_t start = offset();
  if (word().empty()) return {};
  while (at_ + 1 < text_.size() && text_[at_] == '.' && continues_word(text_[at_ + 1])) {
    ++at_;
    while (at_ < text_.size() && continues_word(text_[at_])) ++at_;
  }
  return text_.substr(start, at_ - start);
}

std::string_view Scanner::number() {
  skip();
  const std::string_view rest = text_.substr(at_);
  size_t n = rest.starts_with('-') ? 1 : 0;
  auto digits = [&] {
    const size_t from = n;
    while (n < rest.size() && is_digit(rest[n])) ++n;
    return n > from;
  };
  if (rest.substr(n).starts_with("inf")) {
    n += 3;
  } else {
    if (!digits()) return {};
    if (n + 1 < rest.size() && rest[n] == '.' && is_digit(rest[n + 1])) {
      ++n;
      digits();
    }
    if (n < rest.size() && rest[n] == 'e') {
      const size_t before = n++;
      if (n < rest.size() && (rest[n] == '-' || rest[n] == '+')) ++n;
      if (!digits()) n = before;
    }
  }
  if (n < rest.size() && continues_word(rest[n])) return {};
  at_ += n;
  return rest.substr(0, n);
}

std::optional<std::string> Scanner::string() {
  const size_t start = offset();
  if (!eat('"')) return std::nullopt;
  std::string out;
  while (at_ < text_.size() && text_[at_] != '\n') {
    const char c = text_[at_++];
    if (c == '"') return out;
    if (c != '\\') {
      out += c;
      continue;
    }
    const char escape = peek_raw();
    ++at_;
    if (escape == 'n') {
      out += '\n';
    } else if (escape == '"' || escape == '\\') {
      out += escape;
    } else if (escape == 'x' && at_ + 2 <= text_.size()) {
      const auto high = hex_digit(text_[at_]), low = hex_digit(text_[at_ + 1]);
      if (!high || !low) break;
      out += static_cast<char>(*high * 16 + *low);
      at_ += 2;
    } else {
      break;
    }
  }
  at_ = start;
  return std::nullopt;
}

std::optional<std::string_view> Scanner::balanced(char close, bool stop_at_comma) {
  constexpr size_t kMaxDepth = 200;
  const size_t start = offset();
  std::string open;  // the closing brackets waited for
  for (size_t i = start; i < text_.size(); ++i) {
    const char c = text_[i];
    if (open.empty() && (c == close || (stop_at_comma && c == ','))) {
      at_ = i;
      return text_.substr(start, i - start);
    }
    if (c == '(' || c == '[' || c == '{') {
      open += c == '(' ? ')' : c == '[' ? ']' : '}';
      if (open.size() > kMaxDepth) break;
    } else if (c == ')' || c == ']' || c == '}') {
      if (open.empty() || open.back() != c) break;
      open.pop_back();
    } else if (c == '"') {
      at_ = i;
      if (!string()) break;
      i = at_ - 1;
    } else if (c == '#' || c == '\n') {  // comments may hold anything
      at_ = i;
      skip();
      if (at_ > i) i = at_ - 1;
    }
  }
  at_ = start;
  return std::nullopt;
}

std::optional<std::string_view> Scanner::until_close(char close) {
  auto out = balanced(close, false);
  if (out) ++at_;
  return out;
}

std::optional<std::string_view> Scanner::item(char close) { return balanced(close, true); }

Position Scanner::position_of(size_t offset) const {
  if (offset < known_offset_) {
    known_offset_ = 0;
    known_ = {};
  }
  for (; known_offset_ < std::min(offset, text_.size()); ++known_offset_) {
    if (text_[known_offset_] == '\n') {
      ++known_.line;
      known_.column = 1;
    } else {
      ++known_.column;
    }
  }
  return known_;
}

std::string_view Scanner::line_text(size_t offset) const {
  const size_t before = offset == 0 ? std::string_view::npos : text_.rfind('\n', offset - 1);
  const size_t start = before == std::string_view::npos ? 0 : before + 1;
  return text_.substr(start, std::min(text_.find('\n', offset), text_.size()) - start);
}

Failure Scanner::failure(size_t offset, std::string_view message) const {
  const Position p = position_of(offset);
  return input_error(fmt::format("{}:{}: {}", p.line, p.column, message));
}

Failure Scanner::expected(std::string_view what) {
  const size_t here = offset();
  if (here == text_.size()) return failure(here, fmt::format("expected {}, the text ends here", what));
  size_t n = 1;
  if (continues_word(text_[here]))
    while (here + n < text_.size() && continues_word(text_[here + n]) && n < 40) ++n;
  return failure(here, fmt::format("expected {}, found `{}`", what, text_.substr(here, n)));
}

}  // namespace edgec::text
