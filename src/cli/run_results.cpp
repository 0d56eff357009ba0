#include "cli/run_results.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "runtime/npy.h"
#include "support/output_file.h"

namespace edgec::cli {
namespace {

using runtime::Array;
using runtime::Element;
using runtime::List;
using runtime::None;
using runtime::Value;

constexpr size_t kShownValues = 8;

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      out += '\\', out += c;
    else if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out += c;
  }
  return out + "\"";
}

// As Python's json module writes floats: always recognisable as one, NaN and Infinity by name.
std::string float_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  std::string text = fmt::format("{}", value);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

std::string scalar_text(const Value& value) {
  if (const auto* v = std::get_if<int64_t>(&value.held)) return fmt::format("{}", *v);
  if (const auto* v = std::get_if<double>(&value.held)) return float_text(*v);
  if (const auto* v = std::get_if<bool>(&value.held)) return *v ? "true" : "false";
  if (const auto* v = std::get_if<std::string>(&value.held)) return json_string(*v);
  return "null";
}

std::string_view kind_of(const Value& value) {
  constexpr std::string_view kKinds[] = {"none", "int", "float", "bool", "string", "tensor", "list"};  // in the variant's order
  return kKinds[value.held.index()];
}

// Writes one value's files under dir/stem and returns its entry of outputs.json.
Result<std::string> write_value(const std::string& dir, const std::string& stem, const Value& value) {
  if (const auto* array = std::get_if<Array>(&value.held)) {
    const std::string file = stem + ".npy";
    EDGEC_TRY_VOID(runtime::write_npy(dir + "/" + file, *array));
    return fmt::format(R"({{"kind": "tensor", "dtype": "{}", "shape": [{}], "file": {}}})", runtime::torch_name(array->element),
                       fmt::join(array->shape, ", "), json_string(file));
  }
  if (const auto* list = std::get_if<List>(&value.held)) {
    std::vector<std::string> items;
    for (const Value& item : *list) {
      EDGEC_TRY(std::string text, write_value(dir, fmt::format("{}.{}", stem, items.size()), item));
      items.push_back(std::move(text));
    }
    return fmt::format(R"({{"kind": "list", "items": [{}]}})", fmt::join(items, ", "));
  }
  if (std::holds_alternative<None>(value.held)) return std::string(R"({"kind": "none"})");
  return fmt::format(R"({{"kind": "{}", "value": {}}})", kind_of(value), scalar_text(value));
}

Status make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return output_error(fmt::format("error: cannot create the folder {}: {}", path, error.message()));
  return {};
}

// Names of inputs become file names; Python's identifiers pass unchanged.
std::string file_name(std::string name) {
  std::replace(name.begin(), name.end(), '/', '_');
  return name == "." || name == ".." || name.empty() ? "_" + name : name;
}

Result<std::string> write_call(const std::string& dir, size_t index, const runtime::CallResult& call) {
  EDGEC_TRY_VOID(make_folder(fmt::format("{}/{}", dir, index)));
  std::vector<std::string> entries;
  for (const Value& output : call.outputs) {
    EDGEC_TRY(std::string text, write_value(dir, fmt::format("{}/{}", index, entries.size()), output));
    entries.push_back(std::move(text));
  }
  if (!call.mutated.empty()) EDGEC_TRY_VOID(make_folder(fmt::format("{}/{}/mutated", dir, index)));
  for (const auto& [name, value] : call.mutated) {
    EDGEC_TRY(std::string unused, write_value(dir, fmt::format("{}/mutated/{}", index, file_name(name)), value));
  }
  return fmt::format("  {{\"outputs\": [{}{}]}}", entries.empty() ? "" : "\n   ", fmt::join(entries, ",\n   "));
}

std::string element_text(const Array& array, size_t index) {
  if (array.element == Element::Int64) {
    int64_t value;
    std::memcpy(&value, array.bytes.data() + index * sizeof value, sizeof value);
    return fmt::format("{}", value);
  }
  if (array.element == Element::Bool) return array.at(index) != 0 ? "true" : "false";
  return fmt::format("{:.6g}", array.at(index));
}

std::string value_text(const Value& value) {
  if (const auto* array = std::get_if<Array>(&value.held)) {
    std::string text = runtime::describe(array->element, array->shape) + ":";
    for (size_t i = 0; i < std::min(array->count(), kShownValues); ++i) text += " " + element_text(*array, i);
    return array->count() > kShownValues ? text + " ..." : text;
  }
  if (const auto* list = std::get_if<List>(&value.held)) {
    std::vector<std::string> items;
    for (const Value& item : *list) items.push_back(value_text(item));
    return fmt::format("[{}]", fmt::join(items, ", "));
  }
  return std::holds_alternative<None>(value.held) ? "none" : fmt::format("{} {}", kind_of(value), scalar_text(value));
}

}  // namespace

Status write_results(const std::string& dir, const std::vector<NamedCall>& calls) {
  EDGEC_TRY_VOID(make_folder(dir));
  std::vector<std::string> entries;
  for (const NamedCall& call : calls) {
    EDGEC_TRY(std::string text, write_call(dir, entries.size(), call.result));
    entries.push_back(std::move(text));
  }
  const std::string json = fmt::format("{{\"calls\": [\n{}\n]}}\n", fmt::join(entries, ",\n"));
  EDGEC_TRY(OutputFile file, OutputFile::create(dir + "/outputs.json"));
  EDGEC_TRY_VOID(file.write(json));
  return file.commit();
}

std::string results_text(const std::vector<NamedCall>& calls) {
  std::string text;
  for (size_t i = 0; i < calls.size(); ++i) {
    text += fmt::format("call {}: {}\n", i, calls[i].method);
    const auto& outputs = calls[i].result.outputs;
    for (size_t n = 0; n < outputs.size(); ++n) text += fmt::format("  {}: {}\n", n, value_text(outputs[n]));
    for (const auto& [name, value] : calls[i].result.mutated) text += fmt::format("  written to {}: {}\n", name, value_text(value));
  }
  return text;
}

std::string profile_text(const std::vector<NamedCall>& calls) {
  std::string text;
  for (size_t i = 0; i < calls.size(); ++i) {
    std::vector<double> times = calls[i].result.milliseconds;
    std::sort(times.begin(), times.end());
    const size_t n = times.size();
    const double median = (times[(n - 1) / 2] + times[n / 2]) / 2;
    text += fmt::format("call {}: {}: {} runs, min {:.4f} ms, median {:.4f} ms, max {:.4f} ms\n", i, calls[i].method, n, times.front(),
                        median, times.back());
    for (const runtime::OperatorTime& op : calls[i].result.operators)
      text += fmt::format("  {:10.4f} ms {:6} x {}\n", op.milliseconds, op.calls, op.name);
  }
  return text;
}

}  // namespace edgec::cli
