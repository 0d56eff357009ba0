#include "examine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstring>

#include <edgec/extensions.h>
#include <edgec/op.h>
#include "backends/registry.h"
#include "calls.h"
#include "inprocess/programs.h"
#include "inprocess/workers.h"
#include "verify/verify.h"

namespace edgec::random_graphs {
namespace {

using Outputs = std::vector<runtime::Value>;  // of all calls

// Passes that --no-pass switches off. All but fuse-linear and split-slopes only move data, leave out work or share memory.
std::set<std::string> levers() {
  std::set<std::string> out;
  for (const passes::PassInfo& pass : passes::all_passes())
    if (pipeline::is_lever(pass.name)) out.insert(pass.name);
  return out;
}

Finding of_failure(const Failure& f) { return {f.kind == ErrorKind::Internal ? "internal" : "refused", f.message}; }

Result<std::vector<std::byte>> compiled(const Program& program, const std::set<std::string>& disabled,
                                        std::shared_ptr<const Partitioner> partitioner = nullptr) {
  auto copy = clone(program);
  pipeline::Options options;
  options.disabled_passes = disabled;
  options.verify_every_pass = true;
  if (partitioner) options.partitioners = {std::move(partitioner)};
  return inprocess::compile(*copy, options);
}

// Random nodes go to nested programs, with one of the policies for sizes at their borders.
std::shared_ptr<const Partitioner> random_parts(const Program& program) {
  constexpr const char* kSymints[] = {"int", "inside", "rank0", "refuse"};
  const uint64_t seed = std::hash<std::string>{}(print(program)) % 1000;
  return std::make_shared<CapabilityPartitioner>(
      backends::executor(), CompileSpecs{compile_spec("seed", std::to_string(seed)), compile_spec("symints", kSymints[seed % 4]),
                                         compile_spec("disable", "fuse-linear+split-slopes")});
}

bool writes(const Graph& g) {
  for (NodeId n = g.first(); n; n = g.next(n))
    if (g.node(n).op->schema().mutates()) return true;
  return false;
}

// Every other float a little larger, the ones between a little smaller.
void disturb(std::vector<runtime::Value>& arguments) {
  constexpr float kLittle = 1e-5f;
  for (runtime::Value& v : arguments) {
    auto* a = std::get_if<runtime::Array>(&v.held);
    if (!a || dtype_from_c10(static_cast<int64_t>(a->element)) != DType::F32) continue;
    for (size_t i = 0; i < a->count(); ++i) {
      float x = 0;
      std::memcpy(&x, &a->bytes[i * sizeof x], sizeof x);
      x *= 1 + (i % 2 == 0 ? kLittle : -kLittle);
      std::memcpy(&a->bytes[i * sizeof x], &x, sizeof x);
    }
  }
}

Result<Outputs> run(const Program& program, std::vector<std::byte> bytes, bool disturbed = false) {
  const Method& m = *program.methods[0];
  EDGEC_TRY(runtime::Runner runner, inprocess::load(std::move(bytes)));
  auto sizes = sizes_of_calls(*m.syms);
  if (writes(*m.graph)) sizes.push_back(sizes[0]);  // state of the first calls shows in a later one
  Outputs out;
  for (size_t k = 0; k < sizes.size(); ++k) {
    EDGEC_TRY(auto arguments, arguments_of(m, sizes[k], k));
    if (disturbed) disturb(arguments);
    auto result = runner.call(m.name, arguments);
    if (!result) return model_error(fmt::format("call {}: {}", k, result.failure().message));
    for (auto& v : result->outputs) out.push_back(std::move(v));
  }
  return out;
}

// Elements that the operator does not specify: random ones, empty tensors.
bool is_unspecified(const Program& program, size_t output, size_t outputs_per_call) {
  const Graph& g = *program.methods[0]->graph;
  const size_t written = outputs_per_call - g.outputs.size();  // new values of inputs come first
  const size_t i = output % outputs_per_call;
  if (i < written || !g.outputs[i - written].is_value()) return false;
  const NodeId def = g.value(g.outputs[i - written].value()).def;
  return def && (g.node(def).op->random || g.node(def).op->schema().name.find("empty") != std::string::npos);
}

struct Tolerance {
  double relative, absolute;
};

// How alike two programs' results are: bit for bit, but for the order of sums, or within the approximations of a delegate.
enum class Exact : uint8_t { Bits, Fused, Delegate };

Tolerance tolerance_of(DType d, Exact exact) {
  if (exact == Exact::Delegate && (d == DType::F32 || d == DType::F64)) return {1e-3, 1e-4};  // f64 of what was f32
  if (exact == Exact::Delegate && d == DType::F16) return {5e-2, 1e-2};
  switch (d) {
    case DType::F16:
      return {1e-2, 1e-3};
    case DType::BF16:
      return {8e-2, 1e-2};
    case DType::F32:
      return {1e-5, 1e-5};
    case DType::F64:
      return {1e-9, 1e-9};
    default:
      return {0, 0};
  }
}

std::string difference(const runtime::Array& a, const runtime::Array& b, Exact exact) {
  if (a.element != b.element || a.shape != b.shape)
    return fmt::format("{} and {}", runtime::describe(a.element, a.shape), runtime::describe(b.element, b.shape));
  const DType dtype = dtype_from_c10(static_cast<int64_t>(a.element)).value_or(DType::F32);
  const size_t size = size_of(dtype);
  double largest = 0;  // a delegate's errors are those of the operands, which may be as large as the largest result
  for (size_t i = 0; i < a.count() && exact == Exact::Delegate; ++i)
    if (std::isfinite(a.at(i))) largest = std::max(largest, std::abs(a.at(i)));
  for (size_t i = 0; i < a.count(); ++i) {
    if (std::memcmp(&a.bytes[i * size], &b.bytes[i * size], size) == 0) continue;
    const double x = a.at(i), y = b.at(i);
    if (is_float(dtype)) {
      const Tolerance t = tolerance_of(dtype, exact);
      if (std::isnan(x) && std::isnan(y)) continue;
      if (exact == Exact::Delegate && !std::isfinite(x)) continue;  // tests/ops compares these
      if (exact != Exact::Bits && (x == y || std::abs(x - y) <= t.absolute + t.relative * std::max(largest, std::abs(x)))) continue;
    }
    return fmt::format("element {} is {} and {}", i, x, y);
  }
  return {};
}

std::string difference(const runtime::Value& a, const runtime::Value& b, Exact exact) {
  if (a.held.index() != b.held.index()) return "another kind of value";
  if (const auto* x = std::get_if<runtime::Array>(&a.held)) return difference(*x, std::get<runtime::Array>(b.held), exact);
  if (const auto* x = std::get_if<int64_t>(&a.held)) return *x == std::get<int64_t>(b.held) ? "" : "another integer";
  return {};
}

Finding compare(const Program& program, const Outputs& plain, const Outputs& other, Exact exact, size_t calls) {
  if (plain.size() != other.size()) return {"mismatch", fmt::format("{} and {} outputs", plain.size(), other.size())};
  const size_t per_call = plain.size() / calls;
  for (size_t i = 0; i < plain.size(); ++i) {
    if (is_unspecified(program, i, per_call)) continue;
    if (auto d = difference(plain[i], other[i], exact); !d.empty())
      return {"mismatch", fmt::format("output {} of call {}{}: {}", i % per_call, i / per_call,
                                      exact == Exact::Bits    ? ""
                                      : exact == Exact::Fused ? " (fused)"
                                                              : " (delegated)",
                                      d)};
  }
  return {};
}

Finding check_text(const Program& program) {
  const std::string text = print(program);
  auto back = parse_program(text);
  if (!back) return {"text", back.failure().message};
  std::string why;
  if (!same_program(program, **back, &why)) return {"text", why};
  return {};
}

}  // namespace

Finding Finding::from(const std::string& text) {
  if (text.starts_with(inprocess::kProcessEnded)) return {"ended", text};
  const size_t colon = text.find(": ");
  if (colon == std::string::npos) return {text, ""};
  return {text.substr(0, colon), text.substr(colon + 2)};
}

std::string Finding::signature() const {
  if (kind == "mismatch")
    return kind + (message.find("(fused)") != std::string::npos       ? " (fused)"
                   : message.find("(delegated)") != std::string::npos ? " (delegated)"
                                                                      : "");
  std::string_view said = message;
  // The kernel's own words say more than ours, and the operator's name is in a later line.
  const size_t failed = said.find("in operator ");
  const std::string op(failed == std::string_view::npos ? "" : said.substr(failed + 12, said.substr(failed).find('\n') - 12));
  if (const size_t words = said.find("\n  runtime: "); words != std::string_view::npos) said.remove_prefix(words + 12);
  std::string out = kind + ": " + op + " ";
  for (size_t i = 0; i < said.size() && out.size() < (kind == "ended" ? 60 : 130) && said[i] != '\n'; ++i) {
    const char c = said[i];
    if (c == '%' || c == '#') {
      while (i + 1 < said.size() && (isalnum(static_cast<unsigned char>(said[i + 1])) || said[i + 1] == '_')) ++i;
      out += '%';
    } else if (c == '[') {
      while (i + 1 < said.size() && said[i] != ']') ++i;
      out += "[]";
    } else if (!isdigit(static_cast<unsigned char>(c)) && c != '-') {
      out += c;
    }
  }
  return out;
}

Finding examine(const Program& program) {
  Diagnostics diag;
  if (Status s = verify(program, diag); !s) return {"verifier", s.failure().message};
  if (auto f = check_text(program); !f.ok()) return f;

  std::set<std::string> fusing = {"fuse-linear", "split-slopes"};  // the second may change the sign of a zero
  auto plain = compiled(program, levers()), kept = compiled(program, fusing), all = compiled(program, {});
  for (const auto* r : {&plain, &kept, &all})
    if (!*r && r->failure().kind == ErrorKind::Internal) return of_failure(r->failure());
  if (static_cast<bool>(plain) != static_cast<bool>(kept) || static_cast<bool>(plain) != static_cast<bool>(all))
    return {"levers", (!plain ? plain : !kept ? kept : all).failure().message};
  if (!plain) return of_failure(plain.failure());

  auto expected = run(program, *plain);
  if (!expected) return {"runtime", expected.failure().message};
  const size_t calls = sizes_of_calls(*program.methods[0]->syms).size() + writes(*program.methods[0]->graph);
  const bool fuses = *kept != *all;
  auto results = run(program, *std::move(kept));
  if (!results) return {"runtime", "with optimizing passes: " + results.failure().message};
  if (auto f = compare(program, *expected, *results, Exact::Bits, calls); !f.ok()) return f;
  auto parts = compiled(program, fusing, random_parts(program));
  if (!parts) return {"delegates", parts.failure().message};
  auto delegated = run(program, *std::move(parts));
  if (!delegated) return {"runtime", "in random parts: " + delegated.failure().message};
  if (auto f = compare(program, *expected, *delegated, Exact::Bits, calls); !f.ok() || !fuses) return f;
  auto fused = run(program, *std::move(all));
  if (!fused) return {"runtime", "with all passes: " + fused.failure().message};
  return compare(program, *expected, *fused, Exact::Fused, calls);
}

static std::string line_of(const runtime::Array& a) {
  const DType dtype = dtype_from_c10(static_cast<int64_t>(a.element)).value_or(DType::F32);
  std::string out = fmt::format("{} {}:", name(dtype), fmt::join(a.shape, ","));
  for (size_t i = 0; i < a.count(); ++i)
    out += is_integral(dtype) ? fmt::format(" {}", read_integer(a.bytes, dtype, static_cast<int64_t>(i))) : fmt::format(" {}", a.at(i));
  return out + "\n";
}

std::string values_of_calls(const Program& program) {
  const Method& m = *program.methods[0];
  auto bytes = compiled(program, {});
  if (!bytes) return "# refused\n";
  auto runner = inprocess::load(*std::move(bytes));
  if (!runner) return "# refused\n";
  std::string out;
  for (size_t i = 0; i < m.inputs.size(); ++i) {
    if (!m.inputs[i].is_weight()) continue;
    const TensorData& data = m.constants[m.inputs[i].data.index].data;
    const auto element = runtime::element_of(c10_number(data.dtype));
    out += fmt::format("# weight {} {}", m.inputs[i].name, line_of({*element, data.sizes, gather(data)}));
  }
  const auto sizes = sizes_of_calls(*m.syms);
  for (size_t k = 0; k < sizes.size(); ++k) {
    out += "# call\n";
    auto arguments = arguments_of(m, sizes[k], k);
    if (!arguments) return out;
    size_t next = 0;
    for (const InputSpec& s : m.inputs)
      if (!s.is_weight()) {
        if (const auto* a = std::get_if<runtime::Array>(&(*arguments)[next].held)) out += fmt::format("# in {} {}", s.name, line_of(*a));
        ++next;
      }
    auto result = runner->call(m.name, *arguments);
    if (!result) return out + "# refused\n";
    for (const auto& v : result->outputs) {
      const auto* a = std::get_if<runtime::Array>(&v.held);
      out += "# out " + (a ? line_of(*a) : std::string("number\n"));
    }
  }
  return out;
}

// Whether some value on the way is NaN or infinite: what becomes of these in a delegate is checked operator by operator (tests/ops).
// After large values the last bits of an exponential are the first ones of its sine.
bool meets_odd_values(const Program& program) {
  constexpr double kLarge = 1000;
  auto all = clone(program);
  Method& m = *all->methods[0];
  m.graph->outputs.clear();
  m.outputs.clear();
  for (NodeId n = m.graph->first(); n; n = m.graph->next(n))
    for (ValueId v : m.graph->node(n).results) {
      if (!m.graph->type(v).is_tensor() || m.graph->node(n).op->schema().mutates()) continue;
      m.graph->outputs.emplace_back(v);
      m.outputs.push_back({});
    }
  auto bytes = compiled(*all, {});
  if (!bytes) return true;
  auto values = run(*all, *std::move(bytes));
  if (!values) return true;
  for (const runtime::Value& v : *values)
    if (const auto* a = std::get_if<runtime::Array>(&v.held);
        a && is_float(dtype_from_c10(static_cast<int64_t>(a->element)).value_or(DType::I64)))
      for (size_t i = 0; i < a->count(); ++i)
        if (!(std::abs(a->at(i)) < kLarge)) return true;
  return false;
}

Finding examine(const Program& program, const std::string& backend) {
  if (backend.empty()) return examine(program);
  backends::register_all();
  const auto found = Extensions::global().find_backend(backend);
  if (!found) return {"refused", "no backend " + backend};
  auto plain = compiled(program, {});
  if (!plain) return of_failure(plain.failure());
  auto expected = run(program, *std::move(plain));
  if (!expected) return {"runtime", expected.failure().message};
  auto partitioner = partitioner_for(found, {});
  if (!partitioner) return {"delegates", partitioner.failure().message};
  auto parts = compiled(program, {}, *std::move(partitioner));
  if (!parts) return {"delegates", parts.failure().message};
  auto delegated = run(program, *std::move(parts));
  if (!delegated) return {"runtime", "in delegates: " + delegated.failure().message};
  const size_t calls = sizes_of_calls(*program.methods[0]->syms).size() + writes(*program.methods[0]->graph);
  const Finding f = compare(program, *expected, *delegated, Exact::Delegate, calls);
  if (f.ok() || meets_odd_values(program)) return {};
  // What the kernels themselves give another result for when inputs change in their last bits says nothing (norms of equal values, floors).
  auto again = compiled(program, {});
  if (!again) return of_failure(again.failure());
  auto disturbed = run(program, *std::move(again), true);
  return disturbed && !compare(program, *expected, *disturbed, Exact::Delegate, calls).ok() ? Finding() : f;
}

Finding examine_apart(const Program& program, const std::string& backend) {
  return Finding::from(inprocess::run_isolated(1, 1, [&](size_t) { return examine(program, backend).str(); })[0]);
}

}  // namespace edgec::random_graphs
