#include "cli/profile_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "support/json.h"
#include "support/mapped_file.h"
#include "support/text.h"

namespace edgec::cli {
namespace {

// (instruction, debug handle or -1) -> "model.py:12  aten.mm"
using Lines = std::map<std::pair<int64_t, int64_t>, std::string>;

Result<std::string> line_of(JsonObject o) {
  std::string file, node;
  int64_t line = 0;
  for (auto [key, value] : o) {
    if (key == "line") {
      EDGEC_TRY(line, value.as_int());
    } else if (key == "file" || key == "node") {
      EDGEC_TRY(std::string_view text, value.as_string());
      (key == "file" ? file : node) = text;
    }
  }
  return fmt::format("{}  {}", file.empty() ? "<no line>" : fmt::format("{}:{}", file, line), node);
}

Result<std::optional<int64_t>> number(JsonObject o, std::string_view name) {
  for (auto [key, value] : o)
    if (key == name) {
      EDGEC_TRY(int64_t n, value.as_int());
      return std::optional(n);
    }
  return std::optional<int64_t>();
}

Result<std::map<int64_t, std::string>> handles_of(JsonObject delegate) {
  std::map<int64_t, std::string> out;
  for (auto [key, value] : delegate) {
    if (key != "handles") continue;
    EDGEC_TRY(JsonArray handles, value.as_array());
    for (JsonValue h : handles) {
      EDGEC_TRY(JsonObject entry, h.as_object());
      EDGEC_TRY(auto handle, number(entry, "handle"));
      if (!handle) continue;
      EDGEC_TRY(out[*handle], line_of(entry));
    }
  }
  return out;
}

// The lines of one method, and its name.
Result<std::pair<std::string, Lines>> lines_of(JsonObject method) {
  std::pair<std::string, Lines> out;
  std::vector<std::map<int64_t, std::string>> delegates;
  std::vector<std::pair<int64_t, int64_t>> calls;  // instruction, delegate
  for (auto [key, value] : method) {
    if (key == "name") {
      EDGEC_TRY(std::string_view name, value.as_string());
      out.first = name;
    } else if (key == "instructions") {
      EDGEC_TRY(JsonArray all, value.as_array());
      for (JsonValue one : all) {
        EDGEC_TRY(JsonObject entry, one.as_object());
        EDGEC_TRY(auto index, number(entry, "index"));
        EDGEC_TRY(auto delegate, number(entry, "delegate"));
        if (!index) continue;
        EDGEC_TRY(out.second[std::make_pair(*index, int64_t{-1})], line_of(entry));
        if (delegate) calls.emplace_back(*index, *delegate);
      }
    } else if (key == "delegates") {
      EDGEC_TRY(JsonArray all, value.as_array());
      for (JsonValue one : all) {
        EDGEC_TRY(JsonObject entry, one.as_object());
        EDGEC_TRY(delegates.emplace_back(), handles_of(entry));
      }
    }
  }
  for (const auto& [instruction, delegate] : calls)
    if (delegate >= 0 && static_cast<size_t>(delegate) < delegates.size())
      for (const auto& [handle, line] : delegates[static_cast<size_t>(delegate)])
        out.second[std::make_pair(instruction, handle)] = fmt::format("{} in delegate {}", line, delegate);
  return out;
}

}  // namespace

Result<std::string> profile_by_line(const std::string& report, const std::vector<NamedCall>& calls) {
  EDGEC_TRY(auto file, MappedFile::open(report));
  EDGEC_TRY(JsonDocument doc, JsonDocument::parse(file->bytes(), report));
  EDGEC_TRY(JsonObject root, doc.root().as_object());
  std::map<std::string, Lines> methods;
  for (auto [key, value] : root) {
    if (key != "methods") continue;
    EDGEC_TRY(JsonArray all, value.as_array());
    for (JsonValue one : all) {
      EDGEC_TRY(JsonObject method, one.as_object());
      EDGEC_TRY(auto lines, lines_of(method));
      methods.insert(std::move(lines));
    }
  }
  std::string out;
  for (size_t i = 0; i < calls.size(); ++i) {
    const Lines& lines = methods[calls[i].method];
    std::map<std::string, double> time;
    for (const runtime::PartTime& part : calls[i].result.parts)
      if (auto it = lines.find({part.instruction, part.handle}); it != lines.end()) time[it->second] += part.milliseconds;
    std::vector<std::pair<std::string, double>> sorted(time.begin(), time.end());
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    out += fmt::format("call {}: {}: by line\n", i, calls[i].method);
    for (const auto& [line, ms] : sorted) out += fmt::format("  {:10.4f} ms {}\n", ms, printable(line));
  }
  return out;
}

}  // namespace edgec::cli
