// Runs golden tests. A file is
//
//   # run: remove-noop            one or more passes; `verify` and `print` are always there, and `backend:NAME+key=value` partitions
//   method @forward(%x: f32[2]) { ... }      %y = aten.foo(%x) : f32[2]   # error: what the line is to blame for
//   # result
//   method @forward(...) { ... }
//
// Without a `stage` line the program is at the stage that the first pass wants. The outcome is verified, printed, read
// back and compared with the result part as text, after that went through the reader and printer too. Errors must match
// the `# error:` marks one by one; with marks there is no result part.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <edgec/program.h>
#include "diff.h"
#include "ops/table.h"
#include "verify/verify.h"
#ifdef EDGEC_GOLDEN_PASSES
#include <edgec/extensions.h>

#include "backends/registry.h"
#include "partition/partition.h"
#include "passes/registry.h"
#endif

namespace edgec {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kResult = "# result\n", kError = "# error:", kRun = "# run:";

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && isspace(static_cast<unsigned char>(s.front()))) s.remove_prefix(1);
  while (!s.empty() && isspace(static_cast<unsigned char>(s.back()))) s.remove_suffix(1);
  return s;
}

// An error that happened, or one that the file asks for; line 0: somewhere.
struct Mark {
  int line = 0;
  std::string text;
  std::string str() const { return line ? fmt::format("line {}: {}", line, text) : text; }
};

struct Golden {
  std::vector<std::string> passes;
  std::string input, result;  // input: all up to the result part
  bool has_result = false;
  std::vector<Mark> marks;
};

Golden split(std::string_view text) {
  Golden g;
  size_t at = text.starts_with(kResult) ? 0 : text.find(fmt::format("\n{}", kResult));
  if (at != std::string_view::npos) {
    g.has_result = true;
    g.input = text.substr(0, at + 1);
    g.result = text.substr(at + 1 + kResult.size());
  } else {
    g.input = text;
  }
  std::istringstream lines(g.input);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.starts_with(kRun)) {
      std::string names = line.substr(kRun.size());
      std::replace(names.begin(), names.end(), ',', ' ');
      std::istringstream in(names);
      for (std::string name; in >> name;) g.passes.push_back(name);
    } else if (size_t mark = line.find(kError); mark != std::string::npos) {
      g.marks.push_back({number, std::string(trimmed(std::string_view(line).substr(mark + kError.size())))});
    }
  }
  return g;
}

bool says_its_stage(std::string_view text) {
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);)
    if (trimmed(line).starts_with("stage ")) return true;
  return false;
}

// "3:14: message" of the reader.
Mark mark_of_failure(const std::string& message) {
  Mark m{0, message};
  auto [end, ec] = std::from_chars(message.data(), message.data() + message.size(), m.line);
  if (ec != std::errc() || end == message.data() + message.size() || *end != ':') m.line = 0;
  return m;
}

void collect(const Diagnostics& diag, std::vector<Mark>& to) {
  for (const Diagnostic& d : diag.all())
    if (d.severity == Severity::Error) to.push_back({d.where ? d.where->line : 0, d.message});
}

struct Outcome {
  std::unique_ptr<Program> program;
  Stage stage = Stage::ATen;  // that the result is at when it does not say
  std::vector<Mark> errors;
};

void check(Outcome& out) {
  Diagnostics diag;
  if (Status s = verify(*out.program, diag); !s) collect(diag, out.errors);
}

#ifdef EDGEC_GOLDEN_PASSES
// "backend:executor+symints=rank0"
Status run_backend(std::string_view text, Program& program) {
  backends::register_all();
  std::vector<std::pair<std::string, std::string>> options;
  std::istringstream parts{std::string(text.substr(text.find(':') + 1))};
  std::string backend;
  std::getline(parts, backend, '+');
  for (std::string part; std::getline(parts, part, '+');)
    options.emplace_back(part.substr(0, part.find('=')), part.substr(part.find('=') + 1));
  const bool whole = !options.empty() && options.back().first == "whole-graph";
  if (whole) options.pop_back();
  const auto found = Extensions::global().find_backend(backend);
  if (!found) return usage_error("no such backend");
  EDGEC_TRY(CompileSpecs specs, found->parse_options(options));
  EDGEC_TRY(auto partitioner, partitioner_for(found, std::move(specs)));
  partition::Report report;
  return partition::lower(program, *partitioner, {.whole_graph = whole, .only_method = {}}, report);
}

void run_pass(const std::string& name, bool first, bool stage_given, Outcome& out) {
  if (name.starts_with("backend:")) {
    if (!stage_given) out.program->stage = Stage::Edge;
    if (Status s = run_backend(name, *out.program); !s) out.errors.push_back(mark_of_failure(s.failure().message));
    return;
  }
  const passes::PassInfo* info = passes::find_pass(name);
  if (!info) {
    out.errors.push_back({0, fmt::format("no pass is called {}", name)});
    return;
  }
  if (first && !stage_given) out.program->stage = info->from;
  passes::PassContext cx;
  cx.quantized_io = true;  // for the pass of that name
  Status s = info->fn(*out.program, cx);
  collect(cx.diag, out.errors);
  if (!s && out.errors.empty()) out.errors.push_back(mark_of_failure(s.failure().message));
}
#else
void run_pass(const std::string& name, bool, bool, Outcome& out) { out.errors.push_back({0, fmt::format("no pass is called {}", name)}); }
#endif

Outcome run(const Golden& g) {
  Outcome out;
  auto program = parse_program(g.input);
  if (!program) {
    out.errors.push_back(mark_of_failure(program.failure().message));
    return out;
  }
  out.program = std::move(*program);
  bool first = true;
  for (const auto& name : g.passes) {
    if (name == "verify")
      check(out);
    else if (name != "print")
      run_pass(name, first, says_its_stage(g.input), out);
    first = false;
    if (!out.errors.empty()) return out;
  }
  out.stage = out.program->stage;
  const bool only_print = g.passes.size() == 1 && g.passes[0] == "print";
  if (!only_print) check(out);
  return out;
}

// Every mark takes one error of its line that contains its text; what remains on either side is reported.
std::string compare_errors(std::vector<Mark> wanted, std::vector<Mark> seen) {
  std::string report;
  for (const Mark& w : wanted) {
    auto it = std::find_if(seen.begin(), seen.end(),
                           [&](const Mark& s) { return (s.line == 0 || s.line == w.line) && s.text.find(w.text) != std::string::npos; });
    if (it == seen.end())
      report += fmt::format("no such error: {}\n", w.str());
    else
      seen.erase(it);
  }
  for (const Mark& s : seen) report += fmt::format("unexpected error: {}\n", s.str());
  return report;
}

// The text of a result without a `stage` line that says nothing new.
std::string result_text(const Program& p, Stage stage) {
  std::string text = print(p);
  const std::string line = fmt::format("stage {}\n", name(stage));
  return text.starts_with(line) ? text.substr(line.size()) : text;
}

std::string round_trip(const Program& p) {
  const std::string text = print(p);
  auto again = parse_program(text);
  if (!again) return "the result does not read back: " + again.failure().message + "\n" + text;
  std::string why;
  if (!same_program(p, **again, &why)) return "the result reads back as another program: " + why + "\n";
  const std::string diff = unified_diff(text, print(**again));
  return diff.empty() ? "" : "the result reads back differently:\n" + diff;
}

std::string compare_result(const Golden& g, const std::string& actual, Stage stage) {
  if (!g.has_result) return "no result part; the result is\n" + actual;
  auto wanted = parse_program(g.result);
  if (!wanted) return unified_diff(g.result, actual);
  if (!says_its_stage(g.result)) (*wanted)->stage = stage;
  return unified_diff(result_text(**wanted, stage), actual);
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

// What is wrong with a test; empty when it passes.
std::string test(const fs::path& path, bool bless) {
  const Golden g = split(read_file(path));
  if (g.passes.empty()) return "no `# run: pass` line\n";
  const Outcome out = run(g);
  if (!g.marks.empty() || !out.errors.empty()) return compare_errors(g.marks, out.errors);
  if (std::string fault = round_trip(*out.program); !fault.empty()) return fault;
  const bool only_check = g.passes.size() == 1 && g.passes[0] == "verify";
  if (only_check && !g.has_result) return {};
  const std::string actual = result_text(*out.program, out.stage);
  const std::string diff = compare_result(g, actual, out.stage);
  if (diff.empty() || !bless) return diff;
  std::ofstream file(path, std::ios::binary);
  file << g.input << (g.input.ends_with('\n') ? "" : "\n") << kResult << actual;
  return {};
}

std::vector<fs::path> files_in(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> out;
  for (const auto& entry : fs::recursive_directory_iterator(path))
    if (entry.path().extension() == ".ir") out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

int main_of(const std::vector<std::string>& args) {
  bool bless = false;
  std::vector<fs::path> files;
  for (const auto& a : args) {
    if (a == "--bless") {
      bless = true;
    } else if (a.starts_with("-") || !fs::exists(a)) {
      fmt::print(stderr, "usage: edgec_golden [--bless] FILE_OR_FOLDER...\n");
      return 2;
    } else {
      for (auto& f : files_in(a)) files.push_back(std::move(f));
    }
  }
  ops::register_all();
  size_t failed = 0;
  for (const auto& f : files) {
    const std::string fault = test(f, bless);
    if (fault.empty()) continue;
    ++failed;
    fmt::print("FAILED {}\n{}", f.string(), fault);
  }
  fmt::print("{} passed, {} failed\n", files.size() - failed, failed);
  return failed || files.empty() ? 1 : 0;
}

}  // namespace
}  // namespace edgec

int main(int argc, char** argv) { return edgec::main_of({argv + 1, argv + argc}); }
