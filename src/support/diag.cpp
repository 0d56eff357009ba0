#include <edgec/diag.h>

#include <fmt/format.h>

#include <map>

namespace edgec {

std::string SourceLocation::str() const { return known() ? fmt::format("{}:{}", file, line) : std::string("<unknown>"); }

std::string Diagnostic::str() const {
  const char* kind = severity == Severity::Error ? "error" : severity == Severity::Warning ? "warning" : "note";
  std::string out = where && where->known() ? fmt::format("{}: {}: {}", where->str(), kind, message) : fmt::format("{}: {}", kind, message);
  if (where && !where->text.empty()) {
    out += fmt::format("\n    {}", where->text);
    if (!where->module_class.empty())
      out += fmt::format("    in {} ({})", where->module_class, where->module_path.empty() ? "the model" : where->module_path);
  }
  if (!hint.empty()) out += fmt::format("\n  {}", hint);
  return out;
}

void Diagnostics::error(Location where, std::string message, std::string hint) {
  all_.push_back({Severity::Error, std::move(where), std::move(message), std::move(hint)});
  ++errors_;
}

void Diagnostics::warning(Location where, std::string message, std::string hint) {
  all_.push_back({Severity::Warning, std::move(where), std::move(message), std::move(hint)});
}

static std::string render(const std::vector<Diagnostic>& all, Severity severity) {
  std::vector<std::string> order;
  std::map<std::string, int> counts;
  for (const auto& d : all) {
    if (d.severity != severity) continue;
    auto text = d.str();
    if (counts[text]++ == 0) order.push_back(std::move(text));
  }
  std::string out;
  for (const auto& text : order) {
    if (!out.empty()) out += '\n';
    out += text;
    if (counts[text] > 1) out += fmt::format("\n  ({} times)", counts[text]);
  }
  return out;
}

Failure Diagnostics::failure(ErrorKind kind) const { return {kind, render(all_, Severity::Error)}; }
std::string Diagnostics::warnings_str() const { return render(all_, Severity::Warning); }

}  // namespace edgec
