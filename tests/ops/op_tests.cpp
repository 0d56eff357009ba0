// Compiles each case in-process, runs it on the official runtime and compares with torch's results.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include <edgec/extensions.h>
#include <edgec/op.h>
#include <edgec/partitioner.h>
#include <edgec/tensor_data.h>
#include "backends/registry.h"
#include "backends/xnnpack/lowering.h"
#include "cases.h"
#include "inprocess/programs.h"
#include "inprocess/workers.h"
#include "memory/storage.h"
#include "ops/table.h"

namespace edgec::op_tests {
namespace {

struct Options {
  std::vector<std::string> files, only;
  bool all_files = false;  // a folder was named
  bool print_programs = false, verify_passes = false;
  std::shared_ptr<const Partitioner> partitioner;  // of --backend
  unsigned jobs = 2;
};

Result<runtime::Runner> built(const Case& c, const Options& asked) {
  EDGEC_TRY(auto program, parse_program(c.program));
  pipeline::Options options;
  options.verify_every_pass = asked.verify_passes;
  if (asked.partitioner) options.partitioners.push_back(asked.partitioner);
  EDGEC_TRY(auto bytes, inprocess::compile(*program, options));
  return inprocess::load(std::move(bytes));
}

struct Tolerance {
  double rtol, atol;
};

// A delegate has approximations of its own for exp, tanh and the like, and sums in other orders.
Tolerance delegated(DType d) { return d == DType::F16 ? Tolerance{1e-2, 2e-3} : d == DType::F32 ? Tolerance{2e-5, 1e-5} : Tolerance{0, 0}; }

Tolerance tolerance_of(const Case& c, DType d, const Options& asked) {
  if (asked.partitioner) {
    const Tolerance own = tolerance_of(c, d, {}), theirs = delegated(d);
    return {std::max(own.rtol, theirs.rtol), std::max(own.atol, theirs.atol)};
  }
  if (c.rtol >= 0) return {c.rtol, c.atol};
  switch (d) {
    case DType::F16:
      return {2e-3, 1e-4};
    case DType::BF16:
      return {1.6e-2, 1e-4};
    case DType::F32:
      return {2e-6, 2e-6};
    case DType::F64:
      return {1e-11, 1e-11};
    default:
      return {0, 0};
  }
}

bool close(double got, double want, Tolerance t) {
  if (std::isnan(want)) return std::isnan(got);
  if (std::isinf(want)) return got == want;
  return std::abs(got - want) <= t.atol + t.rtol * std::abs(want);
}

// Operators of which a delegate's kernels or approximations give something else where the result is NaN or infinite; docs/limits.md says
// what. All others are compared there too.
bool is_odd_in_delegates(const std::string& op) {
  static const std::set<std::string> kOps = {"aten.exp",
                                             "aten.sqrt",
                                             "aten.maximum",
                                             "aten.minimum",
                                             "aten.logaddexp",
                                             "aten.max_pool2d",
                                             "aten.avg_pool2d",
                                             "aten.log_sigmoid_forward",
                                             "aten.upsample_bilinear2d.vec",
                                             "aten.amax",
                                             "aten.logsumexp",
                                             "aten.special_logsumexp"};
  return kOps.count(op) != 0;
}

// What is wrong with a tensor; empty when nothing.
std::string difference(const Case& c, const Tensor& want, const runtime::Array& got, const Options& asked) {
  if (static_cast<int>(got.element) != c10_number(want.dtype))
    return fmt::format("dtype {} instead of {}", runtime::torch_name(got.element), torch_name(want.dtype));
  if (got.shape != want.sizes) return fmt::format("sizes {} instead of {}", got.shape, want.sizes);
  const auto count = static_cast<int64_t>(got.count());
  if (c.random) {
    for (int64_t i = 0; i < count; ++i)
      if (const double v = read_element(got.bytes, want.dtype, i); v < c.low || v > c.high || (std::isnan(v) && std::isfinite(c.low)))
        return fmt::format("element {} is {}, not within {} and {}", i, v, c.low, c.high);
    return {};
  }
  constexpr int64_t kRarely = 20;
  int64_t wrong = 0, first = -1, rounded = 0;
  const bool odd = asked.partitioner && is_float(want.dtype) && is_odd_in_delegates(c.op);
  for (int64_t i = 0; i < count; ++i) {
    const double g = read_element(got.bytes, want.dtype, i), w = read_element(want.bytes, want.dtype, i);
    if (odd && !std::isfinite(w)) continue;
    const bool same = is_integral(want.dtype) ? read_integer(got.bytes, want.dtype, i) == read_integer(want.bytes, want.dtype, i)
                                              : close(g, w, tolerance_of(c, want.dtype, asked));
    if (same) continue;
    // What lies between two steps of a quantization is rounded to one or the other, now and then.
    if (c.step > 0 && std::abs(g - w) <= c.step * 1.001 && ++rounded <= std::max<int64_t>(1, count / kRarely)) continue;
    if (wrong++ == 0) first = i;
  }
  if (wrong == 0) return {};
  return fmt::format("{} of {} elements differ; the first, {}, is {} instead of {}", wrong, count, first,
                     read_element(got.bytes, want.dtype, first), read_element(want.bytes, want.dtype, first));
}

std::string difference(const Case& c, const Expected& want, const runtime::Value& got, const Options& asked) {
  if (want.is_tensor) {
    const auto* array = std::get_if<runtime::Array>(&got.held);
    return array ? difference(c, want.tensor, *array, asked) : "no tensor";
  }
  double number = std::nan("");
  if (const auto* i = std::get_if<int64_t>(&got.held)) number = static_cast<double>(*i);
  if (const auto* d = std::get_if<double>(&got.held)) number = *d;
  if (const auto* b = std::get_if<bool>(&got.held)) number = *b;
  return close(number, want.number, {1e-6, 0}) ? "" : fmt::format("{} instead of {}", number, want.number);
}

// With nothing that it takes by default left out.
bool is_whole_xnnpack(const Options& asked) {
  return asked.partitioner && asked.partitioner->backend()->name() == "xnnpack" && asked.partitioner->compile_specs().empty();
}

// The program of a case with its delegates; null when it cannot be lowered.
std::unique_ptr<Program> delegated_program(const Case& c, const Options& asked) {
  auto program = parse_program(c.program);
  if (!program) return nullptr;
  pipeline::Options options;
  options.partitioners.push_back(asked.partitioner);
  pipeline::Outcome outcome;
  if (!pipeline::lower_to(**program, Stage::Backend, options, outcome)) return nullptr;
  return *std::move(program);
}

template <class F>
void for_each_region(const Program& p, F&& f) {
  for (const auto& m : p.methods)
    for (const auto& lowered : m->lowered) f(*lowered->region);
}

// What the delegates of a case were made of.
std::set<std::string> taken(const Case& c, const Options& asked) {
  std::set<std::string> out;
  if (const auto program = delegated_program(c, asked))
    for_each_region(*program, [&](const Method& region) {
      for (NodeId n = region.graph->first(); n; n = region.graph->next(n)) out.insert(region.graph->node(n).op->name());
    });
  return out;
}

bool is_integer(xnnpack::DataType t) { return t != xnnpack::DataType::F32 && t != xnnpack::DataType::F16; }

// Of a payload's products, sums, means and maxima: those whose first operand is of integers, and those of which only a weight is.
std::pair<int, int> integer_operators(const xnnpack::Net& net) {
  using xnnpack::Op;
  constexpr std::array kOps = {Op::FullyConnected, Op::Conv,     Op::DepthwiseConv, Op::TransposedConv,    Op::Add,
                               Op::Subtract,       Op::Multiply, Op::MaxPool,       Op::GlobalAveragePool, Op::AveragePool};
  std::pair<int, int> count;
  for (const xnnpack::NetNode& n : net.nodes()) {
    if (std::find(kOps.begin(), kOps.end(), n.op) == kOps.end()) continue;
    if (is_integer(net.value(n.in[0]).type))
      ++count.first;
    else if (n.in.size() > 1 && is_integer(net.value(n.in[1]).type))
      ++count.second;
  }
  return count;
}

// What is wrong with how the delegate computes a case; results alone do not tell integers from floats that they are turned to.
std::string other_kernels(const Case& c, const Options& asked) {
  if (!c.integers || !is_whole_xnnpack(asked)) return {};
  const auto program = delegated_program(c, asked);
  if (!program) return "it does not reach the backend";
  int integers = 0, weights = 0;
  for_each_region(*program, [&](const Method& region) {
    const xnnpack::Options defaults;
    xnnpack::Lowering lowering(region, defaults);
    if (!lowering.run()) return;
    const auto count = integer_operators(lowering.net());
    integers += count.first;
    weights += count.second;
  });
  if (integers == *c.integers && weights == *c.integer_weights) return {};
  return fmt::format("{} operators of the delegate are of integers, {} of floats and integer weights; not {} and {}", integers, weights,
                     *c.integers, *c.integer_weights);
}

// Empty when the case holds.
std::string outcome(const Case& c, const Options& asked) {
  auto runner = built(c, asked);
  if (!c.refused.empty()) {
    if (runner) return "compiles, but should be refused: " + c.refused;
    return runner.failure().message.find(c.refused) == std::string::npos ? "refused in other words: " + runner.failure().message : "";
  }
  if (!runner) return runner.failure().message;
  if (std::string fault = other_kernels(c, asked); !fault.empty()) return fault;
  for (size_t k = 0; k < c.calls.size(); ++k) {
    std::vector<runtime::Value> inputs;
    for (const Tensor& t : c.calls[k].inputs) {
      const auto element = runtime::element_of(c10_number(t.dtype));
      if (!element) return "the runtime has no such dtype";
      inputs.push_back({runtime::Array{*element, t.sizes, t.bytes}});
    }
    auto result = runner->call("forward", inputs);
    if (!result) return fmt::format("call {}: {}", k, result.failure().message);
    // New values of written inputs come before the user's outputs.
    const auto& want = c.calls[k].outputs;
    if (result->outputs.size() != want.size()) return fmt::format("{} outputs instead of {}", result->outputs.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i)
      if (auto d = difference(c, want[i], result->outputs[i], asked); !d.empty()) return fmt::format("call {}: output {}: {}", k, i, d);
  }
  return {};
}

bool chosen(const Case& c, const std::vector<std::string>& only) {
  const std::string name = c.op + "/" + c.name;
  return only.empty() || std::any_of(only.begin(), only.end(), [&](const std::string& o) {
           return o.ends_with('$') ? c.op == o.substr(0, o.size() - 1) : name.find(o) != std::string::npos;
         });
}

std::string indented(const std::string& text) {
  std::string out = "    ";
  for (char c : text) out += c == '\n' ? std::string("\n    ") : std::string(1, c);
  return out;
}

// Operators without a value to compare: checks, and what only makes a size of a number. tests/models has them all.
const std::set<std::string> kWithoutCase = {"aten._assert_async",
                                            "aten._assert_async.msg",
                                            "aten._assert_scalar",
                                            "aten._assert_tensor_metadata",
                                            "aten._conj",
                                            "aten._local_scalar_dense",
                                            "aten.item",
                                            "aten.sym_constrain_range",
                                            "aten.sym_constrain_range_for_size"};

// Operators of the table that no case has.
size_t report_uncovered(const std::vector<Case>& cases) {
  std::set<std::string> covered;
  for (const Case& c : cases) covered.insert(c.op);
  size_t missing = 0;
  for (const OpDef* op : Registry::global().all()) {
    if (op->schema().ns != "aten" && op->schema().ns != "quantized_decomposed" && op->schema().ns != "torchao") continue;
    if (covered.count(op->name()) + kWithoutCase.count(op->name()) == 1) continue;
    ++missing;
    fmt::print("FAIL {}: {}\n", op->name(), covered.count(op->name()) ? "is said to have no case" : "has no case");
  }
  return missing;
}

// The operators of a case whose results lie over an operand in its program.
std::set<std::string> reusing(const Case& c) {
  std::set<std::string> out;
  auto program = parse_program(c.program);
  if (!program) return out;
  pipeline::Outcome outcome;
  if (!pipeline::lower_to(**program, Stage::Exec, {}, outcome)) return out;
  const Graph& g = *(*program)->methods[0]->graph;
  const memory::Storage storage(g);
  for (NodeId id = g.first(); id; id = g.next(id)) {
    const Node& n = g.node(id);
    if (!n.op->in_place_ok || upper_bound_bytes(g.tensor(n.results[0])).value_or(0) == 0) continue;
    for (const Arg& a : n.args)
      for_each_value(a, [&](const ValueId& v) {
        if (g.type(v).is_tensor() && storage.of(v) == storage.of(n.results[0])) out.insert(n.op->name());
      });
  }
  return out;
}

// Operators that may write over an operand and do so in no case: nothing shows then that their kernels can.
size_t report_unproven(const std::vector<Case>& cases) {
  std::set<std::string> unproven;
  for (const OpDef* op : Registry::global().all())
    if (op->in_place_ok) unproven.insert(op->name());
  for (const bool own : {true, false})  // its own cases first
    for (const Case& c : cases)
      if (!unproven.empty() && (!own || unproven.count(c.op)))
        for (const std::string& op : reusing(c)) unproven.erase(op);
  for (const std::string& op : unproven) fmt::print("FAIL {}: in_place_ok, but no case has its result over an operand\n", op);
  return unproven.size();
}

// Rows of the XNNPACK backend's table that too few cases bring into a delegate: nothing shows that they compute what torch does.
size_t report_untaken(const std::vector<Case>& cases, const Options& asked) {
  constexpr size_t kLeast = 3;
  if (!is_whole_xnnpack(asked)) return 0;
  std::map<std::string, size_t> count;
  for (const Case& c : cases)
    for (const std::string& op : taken(c, asked)) ++count[op];
  size_t missing = 0;
  for (std::string_view name : xnnpack::row_names()) {
    const std::string row(name);
    if (count[row] >= kLeast) continue;
    ++missing;
    fmt::print("FAIL {}: in the table of the backend, and taken in {} cases, not {}\n", row, count[row], kLeast);
  }
  return missing;
}

int run(const Options& options) {
  ops::register_all();
  std::vector<Case> cases;
  for (const std::string& file : options.files) {
    auto some = read_cases(file);
    if (!some) {
      fmt::print(stderr, "{}\n", some.failure().message);
      return 2;
    }
    for (Case& c : *some)
      if (chosen(c, options.only)) cases.push_back(std::move(c));
  }
  std::set<std::string> covered;
  for (const Case& c : cases) covered.insert(c.op);

  const auto results = inprocess::run_isolated(cases.size(), options.jobs, [&](size_t i) { return outcome(cases[i], options); });

  std::map<std::string, size_t> failed;
  size_t count = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    if (results[i].empty()) continue;
    ++count;
    ++failed[cases[i].op];
    fmt::print("FAIL {}/{}  ({}:{})\n{}\n", cases[i].op, cases[i].name, std::filesystem::path(cases[i].file).filename().string(),
               cases[i].line, indented(results[i]));
    if (options.print_programs) fmt::print("{}\n", indented(cases[i].program));
  }
  if (!failed.empty()) fmt::print("failures by operator:\n");
  for (const auto& [op, n] : failed) fmt::print("  {:4} {}\n", n, op);
  const bool all = options.only.empty() && options.all_files;
  const size_t unproven = all ? report_unproven(cases) + report_uncovered(cases) + report_untaken(cases, options) : 0;
  fmt::print("{} passed, {} failed ({} operators)\n", cases.size() - count, count, covered.size());
  return count + unproven == 0 && !cases.empty() ? 0 : 1;
}

// NAME[,key=value...]; null: not one.
std::shared_ptr<const Partitioner> partitioner_of(std::string_view text) {
  backends::register_all();
  std::vector<std::pair<std::string, std::string>> options;
  const std::string_view name = text.substr(0, text.find(','));
  for (text.remove_prefix(name.size()); !text.empty();) {
    text.remove_prefix(1);
    const std::string_view option = text.substr(0, text.find(',')), key = option.substr(0, option.find('='));
    options.emplace_back(key, option.substr(std::min(key.size() + 1, option.size())));
    text.remove_prefix(option.size());
  }
  const auto backend = Extensions::global().find_backend(name);
  if (!backend) return nullptr;
  auto specs = backend->parse_options(options);
  return specs ? std::make_shared<CapabilityPartitioner>(backend, *std::move(specs)) : nullptr;
}

}  // namespace
}  // namespace edgec::op_tests

// edgec_op_tests [-j N] [--programs] [--verify-passes] [--backend NAME[,key=value...]] [--only SUBSTRING|NAME$]... FILE.cases... | FOLDER
int main(int argc, char** argv) {
  edgec::op_tests::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string a = argv[i];
    if (a == "--only" && i + 1 < argc)
      options.only.emplace_back(argv[++i]);
    else if (a == "-j" && i + 1 < argc)
      options.jobs = static_cast<unsigned>(std::strtoul(argv[++i], nullptr, 10));
    else if (a == "--programs")
      options.print_programs = true;
    else if (a == "--backend" && i + 1 < argc) {
      options.partitioner = edgec::op_tests::partitioner_of(argv[++i]);
      if (!options.partitioner) return 2;
    } else if (a == "--verify-passes")
      options.verify_passes = true;
    else if (std::filesystem::is_directory(a)) {
      for (const auto& f : std::filesystem::directory_iterator(a))
        if (f.path().extension() == ".cases") options.files.push_back(f.path().string()), options.all_files = true;
    } else
      options.files.push_back(a);
  }
  std::sort(options.files.begin(), options.files.end());
  return edgec::op_tests::run(options);
}
