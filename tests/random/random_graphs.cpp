// Random well-typed graphs through the compiler and the official runtime (README.md).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "arguments.h"
#include "draft.h"
#include "inprocess/workers.h"
#include "ops/table.h"
#include "shrink.h"

namespace edgec::random_graphs {
namespace {

struct Options {
  uint64_t from = 0, to = 500;
  unsigned jobs = 2;
  size_t nodes = 30, shrunk_per_cause = 1;
  bool print = false, values = false, refusals = false, coverage = false;
  std::string backend;
  std::vector<std::string> files;
};

constexpr unsigned kSecondsToShrink = 120;

// "ok", or the finding; and the operators of the graph, for the coverage.
std::string attempt(uint64_t seed, const Options& o) {
  const auto program = generate(seed, o.nodes, o.backend);
  std::string ops;
  const Graph& g = *program->methods[0]->graph;
  for (NodeId n = g.first(); n; n = g.next(n)) ops += g.node(n).op->name() + " ";
  return ops + "\n" + examine(*program, o.backend).str();
}

// The text of the shrunk program, behind a line with its operators.
std::string shrunk_text(uint64_t seed, const Options& o, const Finding& f) {
  const auto job = [&](size_t) {
    const auto small = shrunk(*generate(seed, o.nodes, o.backend), f, o.backend);
    const Graph& g = *small->methods[0]->graph;
    std::set<std::string> ops;
    for (NodeId n = g.first(); n; n = g.next(n)) ops.insert(g.node(n).op->name());
    return fmt::format("{}\n{}\n{}", fmt::join(ops, " "), print(*small), examine_apart(*small, o.backend).str());
  };
  return inprocess::run_isolated(1, 1, job, kSecondsToShrink)[0];
}

struct Cause {
  std::vector<uint64_t> seeds;
  Finding example;
};

// Shrunk programs of the same operators count once.
void report(const std::map<std::string, Cause>& causes, const Options& o) {
  for (const auto& [signature, cause] : causes) {
    if (cause.example.kind == "refused" && !o.refusals) continue;
    fmt::print("---- {} seeds, {}\n", cause.seeds.size(), signature);
    std::set<std::string> seen;
    const size_t count = std::min(cause.seeds.size(), o.shrunk_per_cause);
    const auto shrink = [&o, &c = cause](size_t i) { return shrunk_text(c.seeds[i], o, c.example); };
    const auto texts = inprocess::run_isolated(count, o.jobs, shrink, kSecondsToShrink);
    for (size_t i = 0; i < count; ++i) {
      const size_t line = std::min(texts[i].find('\n'), texts[i].size());
      if (!seen.insert(texts[i].substr(0, line)).second) continue;
      fmt::print("seed {}: {}\n", cause.seeds[i], texts[i]);
    }
    if (count == 0) fmt::print("seed {}: {}\n", cause.seeds[0], cause.example.str());
    fflush(stdout);
  }
}

void print_coverage(const std::map<std::string, size_t>& seen) {
  std::string never;
  size_t count = 0;
  for (const OpDef* op : usable_operators()) {
    if (seen.count(op->name())) continue;
    ++count;
    never += " " + op->name();
  }
  fmt::print("{} of {} usable operators never occurred:{}\n", count, usable_operators().size(), never);
}

int run_seeds(const Options& o) {
  const auto results = inprocess::run_isolated(o.to - o.from, o.jobs, [&](size_t i) { return attempt(o.from + i, o); });
  std::map<std::string, Cause> causes;
  std::map<std::string, size_t> kinds, operators;
  size_t nodes = 0;
  for (size_t i = 0; i < results.size(); ++i) {
    const size_t line = results[i].find('\n');
    const bool ended = results[i].starts_with(inprocess::kProcessEnded);
    const Finding f = Finding::from(ended || line == std::string::npos ? results[i] : results[i].substr(line + 1));
    if (!ended) {
      std::istringstream in(results[i].substr(0, line));
      for (std::string op; in >> op; ++nodes) ++operators[op];
    }
    ++kinds[f.kind];
    if (f.ok()) continue;
    Cause& cause = causes[f.signature()];
    if (cause.seeds.empty()) cause.example = f;
    cause.seeds.push_back(o.from + i);
  }
  report(causes, o);
  if (o.coverage) print_coverage(operators);
  fmt::print("{} seeds, {} nodes of {} operators:", results.size(), nodes, operators.size());
  for (const auto& [kind, n] : kinds) fmt::print(" {} {}", n, kind);
  fmt::print("\n");
  return kinds["ok"] + kinds["refused"] == results.size() ? 0 : 1;
}

// The bytes of weights are not part of the text; they follow from the names.
void refill_weights(Method& m) {
  for (size_t i = 0; i < m.inputs.size(); ++i) {
    if (!m.inputs[i].is_weight()) continue;
    const Value& v = m.graph->value(m.graph->inputs[i]);
    TensorData& data = m.constants[m.inputs[i].data.index].data;
    data = make_tensor_data(data.dtype, data.sizes, elements(v.name, data.dtype, data.numel(), 0));
  }
}

// The text of a graph whose results are all outputs, and as comments what went in and came out of every call.
std::string printed_with_values(uint64_t seed, const Options& o) {
  auto program = generate(seed, o.nodes, o.backend);
  Method& m = *program->methods[0];
  m.graph->outputs.clear();
  m.outputs.clear();
  for (NodeId n = m.graph->first(); n; n = m.graph->next(n)) {
    const Node& node = m.graph->node(n);
    if (node.op->random || node.op->schema().name.find("empty") != std::string::npos) continue;
    for (ValueId r : node.results) {
      m.graph->outputs.emplace_back(r);
      m.outputs.push_back({});
    }
  }
  return print(*program) + values_of_calls(*program);
}

int run_file(const std::string& path, const std::string& backend) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  auto program = parse_program(text.str());
  if (!program) {
    fmt::print("{}: {}\n", path, program.failure().message);
    return 2;
  }
  refill_weights(*(*program)->methods[0]);
  const Finding f = examine_apart(**program, backend);
  fmt::print("{}: {}\n", path, f.str());
  return f.ok() ? 0 : 1;
}

bool read_range(const std::string& text, Options& o) {
  const size_t dots = text.find("..");
  if (dots == std::string::npos) return false;
  const char* end = text.data() + text.size();
  return std::from_chars(text.data(), text.data() + dots, o.from).ec == std::errc() &&
         std::from_chars(text.data() + dots + 2, end, o.to).ec == std::errc() && o.from < o.to;
}

int main_of(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string a = argv[i];
    const char* next = i + 1 < argc ? argv[i + 1] : nullptr;
    if (a == "--seeds" && next && read_range(next, o))
      ++i;
    else if (a == "-j" && next)
      o.jobs = static_cast<unsigned>(std::strtoul(argv[++i], nullptr, 10));
    else if (a == "--nodes" && next)
      o.nodes = std::strtoul(argv[++i], nullptr, 10);
    else if (a == "--each" && next)
      o.shrunk_per_cause = std::strtoul(argv[++i], nullptr, 10);
    else if (a == "--backend" && next)
      o.backend = argv[++i];
    else if (a == "--print")
      o.print = true;
    else if (a == "--values")
      o.print = o.values = true;
    else if (a == "--refusals")
      o.refusals = true;
    else if (a == "--coverage")
      o.coverage = true;
    else if (!a.starts_with("-"))
      o.files.push_back(a);
    else {
      fmt::print(stderr,
                 "usage: edgec_random_graphs [--seeds FROM..TO] [-j N] [--nodes N] [--each N] [--backend NAME] [--print] [--values] "
                 "[--refusals] "
                 "[--coverage] [FILE.ir]...\n");
      return 2;
    }
  }
  ops::register_all();
  if (o.print) {
    const auto text = [&o](size_t i) {
      return o.values ? printed_with_values(o.from + i, o) : print(*generate(o.from + i, o.nodes, o.backend));
    };
    const auto texts = inprocess::run_isolated(o.to - o.from, o.jobs, text);
    for (size_t i = 0; i < texts.size(); ++i) fmt::print("# seed {}\n{}\n", o.from + i, texts[i]);
    return 0;
  }
  int worst = 0;
  for (const auto& f : o.files) worst = std::max(worst, run_file(f, o.backend));
  return o.files.empty() ? run_seeds(o) : worst;
}

}  // namespace
}  // namespace edgec::random_graphs

int main(int argc, char** argv) { return edgec::random_graphs::main_of(argc, argv); }
