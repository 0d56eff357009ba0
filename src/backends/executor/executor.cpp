#include <edgec/extensions.h>
#include <edgec/op.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <sstream>
#include <unordered_map>

#include "backends/registry.h"
#include "pipeline/pipeline.h"
#include "support/hash.h"

// A region as a program of its own, which the delegate (runtime/) runs on the runtime again: whatever a backend may do at the border can
// be tried with any graph.
namespace edgec::backends {
namespace {

class Executor final : public Backend {
 public:
  std::string id() const override { return "ExecutorBackend"; }
  std::string name() const override { return "executor"; }
  std::string summary() const override {
    return "a nested program that the runtime's own kernels run: everything; symints=int|inside|refuse|rank0, state=inside|outside, seed=N "
           "takes random nodes only, disable=PASS+PASS";
  }

  Result<CompileSpecs> parse_options(std::span<const std::pair<std::string, std::string>> options) const override {
    CompileSpecs specs;
    for (const auto& option : options) {
      const std::string &key = option.first, &value = option.second;
      const auto one_of = [&](std::initializer_list<std::string_view> allowed) {
        return std::find(allowed.begin(), allowed.end(), value) != allowed.end();
      };
      uint64_t number = 0;
      const bool is_number = std::from_chars(value.data(), value.data() + value.size(), number) ==
                             std::from_chars_result{value.data() + value.size(), std::errc()};
      if (key == "symints"   ? !one_of({"int", "inside", "refuse", "rank0"})
          : key == "state"   ? !one_of({"inside", "outside"})
          : key == "seed"    ? !is_number || value.empty()
          : key == "disable" ? !are_levers(value)
                             : true)
        return usage_error(
            fmt::format("error: the backend executor takes symints=int|inside|refuse|rank0, state=inside|outside, seed=N and "
                        "disable=PASS+PASS, not {}={}",
                        key, value));
      specs.push_back(compile_spec(key, value));
    }
    return specs;
  }

  BackendTraits traits(const CompileSpecs& specs) const override {
    const std::string symints = spec_text(specs, "symints").value_or("int");
    BackendTraits t;
    t.sym_inputs = symints == "int" ? SymInputs::AsInt : symints == "rank0" ? SymInputs::AsRank0Tensor : SymInputs::None;
    t.sym_inside = symints == "inside";
    t.mutable_buffers = spec_text(specs, "state").value_or("inside") == "inside";
    return t;
  }

  std::optional<std::string> refuses(const Method& m, const Graph& g, NodeId n, const CompileSpecs& specs) const override {
    if (g.node(n).op->schema().ns == "higher_order") return "branches and loops stay outside";
    const auto seed = spec_text(specs, "seed");
    if (!seed) return std::nullopt;
    const std::string text = fmt::format("{}:{}:{}:{}", *seed, m.name, g.inputs.size(), n.index);
    if (hash128(std::as_bytes(std::span(text))).low % 3 == 0) return "the seed says no";
    return std::nullopt;
  }

  Result<Payload> preprocess(const Method& region, const CompileSpecs& specs) const override {
    Program program;
    program.stage = Stage::Edge;
    program.methods.push_back(clone(region));
    Method& m = *program.methods[0];
    m.syms = std::make_shared<sym::Context>();  // lowering adds symbols, which are none of the region's
    m.graph = region.graph->clone(m.syms);
    pipeline::Options options;
    options.guards = false;  // the program around has them
    options.plan.alloc_graph_input = false;
    options.disabled_passes = names_in(spec_text(specs, "disable").value_or(""));
    EDGEC_TRY(pipeline::Outcome out, pipeline::compile(program, options));
    Payload payload;
    payload.debug_handles = handles(region, out.emitted.origins);
    BytesSink sink;
    EDGEC_TRY_VOID(pte::write(out.emitted.program, sink));
    payload.bytes = std::move(sink.bytes);
    return payload;
  }

 private:
  static std::set<std::string> names_in(const std::string& text) {
    std::set<std::string> out;
    std::istringstream in(text);
    for (std::string name; std::getline(in, name, '+');) out.insert(name);
    return out;
  }
  static bool are_levers(const std::string& text) {
    const auto names = names_in(text);
    return !names.empty() && std::all_of(names.begin(), names.end(), [](const std::string& n) { return pipeline::is_lever(n); });
  }

  using Handles = std::vector<std::pair<uint32_t, std::vector<NodeId>>>;

  // The nested program's instructions, by the line that they share with a node of the region.
  static Handles handles(const Method& region, const std::vector<std::vector<emit::InstructionOrigin>>& origins) {
    std::unordered_map<const SourceLocation*, NodeId> by_line;
    std::map<std::pair<const SourceLocation*, std::string>, NodeId> exact;
    const Graph& g = *region.graph;
    for (NodeId n = g.first(); n; n = g.next(n)) {
      by_line.try_emplace(g.node(n).loc.get(), n);
      exact.try_emplace({g.node(n).loc.get(), g.node(n).op->name()}, n);
    }
    Handles out;
    if (origins.empty()) return out;
    for (const emit::InstructionOrigin& o : origins[0]) {
      const auto same = exact.find({o.loc.get(), o.op});
      const auto near = by_line.find(o.loc.get());
      if (same != exact.end())
        out.push_back({o.instruction, {same->second}});
      else if (near != by_line.end())
        out.push_back({o.instruction, {near->second}});
    }
    return out;
  }
};

}  // namespace

std::shared_ptr<const Backend> executor() { return std::make_shared<Executor>(); }

}  // namespace edgec::backends
