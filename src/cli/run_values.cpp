#include "cli/run_values.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "runtime/npy.h"

namespace edgec::cli {
namespace {

using runtime::Value;

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  if (text.empty()) return parts;
  parts.emplace_back();
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ',')
      parts.emplace_back();
    else if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == ',')
      parts.back() += text[++i];
    else
      parts.back() += text[i];
  }
  return parts;
}

template <class T>
std::optional<T> number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

Result<Value> parse_value(const std::string& text) {
  if (text.empty()) return usage_error("error: a value in the inputs is empty");
  if (text == "none") return Value{runtime::None{}};
  if (text == "true" || text == "false") return Value{text == "true"};
  if (auto v = number<int64_t>(text)) return Value{*v};
  if (auto v = number<double>(text)) return Value{*v};
  EDGEC_TRY(runtime::Array array, runtime::read_npy(text));
  return Value{std::move(array)};
}

}  // namespace

Result<std::vector<Value>> parse_values(const std::string& text) {
  std::vector<Value> values;
  for (const std::string& part : split(text)) {
    EDGEC_TRY(Value value, parse_value(part));
    values.push_back(std::move(value));
  }
  return values;
}

}  // namespace edgec::cli
