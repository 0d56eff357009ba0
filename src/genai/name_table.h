#pragma once
#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>

#include <edgec/result.h>

namespace edgec::genai {

// The text form of an enum: one constexpr table that both directions use.
template <class E>
struct Named {
  E value;
  std::string_view text;
};

template <class Table, class E>
std::string_view text_of(const Table& table, E value) {
  for (const auto& row : table)
    if (row.value == value) return row.text;
  return {};
}

template <class Table>
std::string names_of(const Table& table) {
  std::string list;
  for (const auto& row : table) list += (list.empty() ? "" : ", ") + std::string(row.text);
  return list;
}

// Exact and case-sensitive; the failure lists the names there are.
template <class Table>
auto value_of(const Table& table, std::string_view text, std::string_view what) -> Result<decltype(std::begin(table)->value)> {
  for (const auto& row : table)
    if (row.text == text) return row.value;
  return usage_error(fmt::format("\"{}\" is no {}; valid names: {}", text, what, names_of(table)));
}

}  // namespace edgec::genai
