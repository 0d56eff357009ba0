// Compiles and runs the programs that make_programs.py has packed and compares their results with torch's.
//
//   edgec_control_flow FILE.zip|FILE.txt... [SEED]      with a seed: only that program, and what it is compiled to
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <thread>

#include "inprocess/programs.h"
#include "inprocess/workers.h"
#include "ops/table.h"
#include "support/mapped_file.h"
#include "support/zip.h"

namespace edgec {
namespace {

struct Call {
  std::vector<runtime::Value> inputs;
  std::vector<runtime::Array> outputs;
};

struct Case {
  std::string seed, text;
  std::vector<Call> calls;
};

template <class T>
void append(std::vector<std::byte>& to, T v) {
  const auto bytes = std::as_bytes(std::span(&v, 1));
  to.insert(to.end(), bytes.begin(), bytes.end());
}

// "f32 [2, 3] 0.5 ..."
runtime::Array array_of(std::string_view line) {
  runtime::Array a;
  const size_t open = line.find('['), close = line.find(']');
  const std::string_view kind = line.substr(0, line.find(' '));
  a.element = kind == "f32"   ? runtime::Element::Float32
              : kind == "i64" ? runtime::Element::Int64
                              : runtime::Element::Bool;
  std::string sizes(line.substr(open + 1, close - open - 1)), values(line.substr(close + 1));
  for (char* at = sizes.data(); *at;) {
    a.shape.push_back(std::strtoll(at, &at, 10));
    while (*at == ',' || *at == ' ') ++at;
  }
  for (char* at = values.data(); *at;) {
    char* end = at;
    if (kind == "f32")
      append(a.bytes, std::strtof(at, &end));
    else if (kind == "i64")
      append(a.bytes, static_cast<int64_t>(std::strtoll(at, &end, 10)));
    else
      append(a.bytes, static_cast<uint8_t>(std::strtoll(at, &end, 10)));
    if (end == at) break;
    at = end;
  }
  return a;
}

std::vector<Case> cases_in(std::string_view text) {
  std::vector<Case> out;
  while (!text.empty()) {
    const size_t n = text.find('\n');
    const std::string_view line = text.substr(0, n);
    text.remove_prefix(n == std::string_view::npos ? text.size() : n + 1);
    if (line.starts_with("program ")) {
      out.push_back({std::string(line.substr(8)), {}, {}});
    } else if (out.empty() || line == "end") {
      continue;
    } else if (line == "call") {
      out.back().calls.emplace_back();
    } else if (!out.back().calls.empty() && line.starts_with("input ")) {
      out.back().calls.back().inputs.push_back({array_of(line.substr(6))});
    } else if (!out.back().calls.empty() && line.starts_with("output ")) {
      out.back().calls.back().outputs.push_back(array_of(line.substr(7)));
    } else {
      (out.back().text += line) += '\n';
    }
  }
  return out;
}

size_t count_of(std::string_view text, std::string_view word) {
  size_t n = 0;
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) ++n;
  return n;
}

bool close(double a, double b) { return std::abs(a - b) <= 1e-4 + 1e-4 * std::abs(b); }

std::string difference(const runtime::Value& got, const runtime::Array& want) {
  const auto* a = std::get_if<runtime::Array>(&got.held);
  if (!a) return "is no tensor";
  if (a->element != want.element || a->shape != want.shape)
    return fmt::format("is {}, not {}", runtime::describe(a->element, a->shape),
                       runtime::describe(want.element, want.shape));
  for (size_t i = 0; i < want.count(); ++i)
    if (!close(a->at(i), want.at(i))) return fmt::format("has {} for {} at {}", a->at(i), want.at(i), i);
  return {};
}

// What is wrong; empty when all results agree.
std::string run(const Case& c, bool show) {
  auto program = parse_program(c.text);
  if (!program) return program.failure().message;
  pipeline::Options options;
  options.verify_every_pass = true;
  if (show)
    options.on_stage = [](Stage s, const Program& p) -> Status {
      if (s == Stage::Exec || s == Stage::ATen) fmt::print("{}\n", print(p));
      return {};
    };
  auto bytes = inprocess::compile(**program, options);
  if (!bytes) return bytes.failure().message;
  auto runner = inprocess::load(*std::move(bytes));
  if (!runner) return runner.failure().message;
  for (size_t k = 0; k < c.calls.size(); ++k) {
    auto result = runner->call("forward", c.calls[k].inputs);
    if (!result) return fmt::format("call {}: {}", k, result.failure().message);
    if (result->outputs.size() != c.calls[k].outputs.size())
      return fmt::format("call {}: {} outputs", k, result->outputs.size());
    for (size_t i = 0; i < result->outputs.size(); ++i)
      if (auto d = difference(result->outputs[i], c.calls[k].outputs[i]); !d.empty())
        return fmt::format("call {}: output {} {}", k, i, d);
  }
  return {};
}

// The text of all records, or of a plain file.
Result<std::vector<Case>> read(const std::string& path) {
  EDGEC_TRY(auto file, MappedFile::open(path));
  const auto text = [](std::span<const std::byte> b) {
    return std::string_view(reinterpret_cast<const char*>(b.data()), b.size());
  };
  if (path.ends_with(".txt")) return cases_in(text(file->bytes()));
  EDGEC_TRY(ZipReader zip, ZipReader::open(file->bytes(), path));
  std::vector<Case> out;
  for (const ZipEntry& entry : zip.entries()) {
    EDGEC_TRY(auto bytes, zip.read(entry, 64 << 20));
    for (Case& c : cases_in(text(bytes))) out.push_back(std::move(c));
  }
  return out;
}

int main_of(const std::vector<std::string>& args) {
  ops::register_all();
  const auto start = std::chrono::steady_clock::now();
  std::vector<Case> cases;
  std::string only;
  for (const std::string& arg : args) {
    if (!arg.ends_with(".zip") && !arg.ends_with(".txt")) {
      only = arg;
      continue;
    }
    auto more = read(arg);
    if (!more) return fmt::print(stderr, "{}\n", more.failure().message), 2;
    for (Case& c : *more) cases.push_back(std::move(c));
  }
  if (!only.empty()) std::erase_if(cases, [&](const Case& c) { return c.seed != only; });
  size_t calls = 0, failed = 0;
  for (const Case& c : cases) calls += c.calls.size();
  // A worker takes a piece of the list: one process each would cost more than the programs.
  constexpr size_t kPiece = 50;
  const size_t pieces = (cases.size() + kPiece - 1) / kPiece;
  const auto faults = inprocess::run_isolated(
      pieces, std::max(1u, std::thread::hardware_concurrency()),
      [&](size_t piece) {
        std::string report;
        for (size_t i = piece * kPiece; i < std::min(cases.size(), (piece + 1) * kPiece); ++i)
          if (const std::string fault = run(cases[i], !only.empty()); !fault.empty())
            report += fmt::format("seed {}: {}\n", cases[i].seed, fault);
        return report;
      },
      300);
  for (const std::string& report : faults) {
    fmt::print("{}", report);
    const bool ended = report.find(inprocess::kProcessEnded) != std::string::npos;
    failed += ended ? kPiece : count_of(report, "seed ");
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  fmt::print("{} of {} programs agree with torch ({} calls, {:.1f} s)\n", cases.size() - std::min(failed, cases.size()),
             cases.size(), calls, seconds);
  return failed || cases.empty() ? 1 : 0;
}

}  // namespace
}  // namespace edgec

int main(int argc, char** argv) { return edgec::main_of({argv + 1, argv + argc}); }
