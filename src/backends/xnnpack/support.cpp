#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <unordered_map>

#include "backends/xnnpack/conv.h"

namespace edgec::xnnpack {
namespace {

constexpr size_t kMaxRank = 6;

// What the delegate demands of every tensor.
Refusal tensor_refused(const TensorType& t, bool dtype_too) {
  if (dtype_too && t.dtype != DType::F32 && t.dtype != DType::F16) return fmt::format("{} tensors", name(t.dtype));
  if (t.rank() > kMaxRank) return fmt::format("a tensor of rank {}; the delegate has up to {} dims", t.rank(), kMaxRank);
  for (const Dim& d : t.sizes) {
    if (sym::lower_bound(d).value_or(0) < 1) return fmt::format("a size ({}) that may be zero", d.str());
    if (!sym::upper_bound(d)) return fmt::format("a size ({}) without upper bound", d.str());
  }
  return {};
}

// One dtype for all floats of the call, ranks and sizes that the delegate has.
Refusal tensors_refused(const Site& s, const Row& row) {
  std::optional<DType> dtype;
  Refusal found;
  const bool own_types = row.own_types || (row.moves && !s.node().results.empty() && weight_of_quantized(s, s.node().results[0]));
  const auto look = [&](ValueId v) {
    if (found) return;
    const Type& t = s.g.type(v);
    if (!t.is_tensor()) {
      found = t.is_sym() ? "an operand that is a number made at run time" : "an operand that is no tensor";
      return;
    }
    const bool numbers = row.moves && t.tensor.dtype == DType::I8 && quantization_of(s, v);
    if ((found = tensor_refused(t.tensor, !own_types && !numbers)) || own_types) return;
    if (dtype && *dtype != t.tensor.dtype) found = fmt::format("operands of dtypes {} and {}", name(*dtype), name(t.tensor.dtype));
    dtype = t.tensor.dtype;
  };
  for (const Arg& a : s.node().args) for_each_value(a, look);
  if (s.node().results.empty()) return "no result";
  look(s.node().results[0]);
  const std::vector<ValueId>& results = s.node().results;
  if (results.size() > 1 && s.node().op->schema().returns.size() == 1)
    for (ValueId v : results) look(v);
  return found;
}

// Results beyond the first (indices, statistics) are not made.
Refusal results_refused(const Site& s) {
  const auto& results = s.node().results;
  if (results.size() < 2 || s.node().op->schema().returns.size() < 2) return {};
  const auto uses = s.g.use_counts();
  for (size_t i = 1; i < results.size(); ++i)
    if (uses[results[i].index] > 0) return fmt::format("its result {} is used, of which the delegate makes the first only", i);
  return {};
}

// The call is part of a quantized pattern: its operands are dequantized numbers or constants, or come from such a call (an activation).
bool on_numbers(const Site& s, bool through = true) {
  bool all = true, any = false;
  for (const Arg& a : s.node().args)
    for_each_value(a, [&](const ValueId& v) {
      if (s.constant(v)) return;
      const NodeId def = s.g.value(v).def;
      const bool numbers = def && (s.g.node(def).op->name().find("dequantize") != std::string::npos ||
                                   (through && on_numbers(Site{s.m, s.g, def, s.options}, false)));
      all = all && numbers;
      any = true;
    });
  return all && any;
}

// A size that no input has: read from data while the program runs.
bool has_sizes_from_data(const Graph& g, std::span<const NodeId> nodes) {
  std::set<sym::Expr, sym::ExprLess> known;
  const auto look = [](const Type& t, const auto& see) {
    if (!t.is_tensor()) return;
    for (const Dim& d : t.tensor.sizes)
      for (const sym::Expr& e : sym::free_symbols(d)) see(e);
  };
  for (ValueId v : g.inputs) look(g.type(v), [&](const sym::Expr& e) { known.insert(e); });
  bool found = false;
  for (NodeId n : nodes)
    for (ValueId v : g.node(n).results) look(g.type(v), [&](const sym::Expr& e) { found = found || !known.count(e); });
  return found;
}

// Multiplications and additions, roughly: one an element, and for a product as many as a weight or the operands have beside the result.
int64_t work(const Graph& g, NodeId n) {
  constexpr double kMuch = double{1 << 30};
  double most = 1, all = 1;
  const auto look = [&](ValueId v) {
    if (!g.type(v).is_tensor()) return;
    const auto elements = static_cast<double>(sym::upper_bound(numel(g.tensor(v).sizes)).value_or(1 << 30));
    most = std::max(most, elements);
    all = std::min(all * elements, kMuch * kMuch);
  };
  for (const Arg& a : g.node(n).args) for_each_value(a, look);
  for (ValueId v : g.node(n).results) look(v);
  const std::string& op = g.node(n).op->name();
  const auto is_one_of = [&](auto... names) { return ((op.find(names) != std::string::npos) || ...); };
  // Of [m, k], [k, n] and [m, n] the sizes' product is (mkn)^2.
  return static_cast<int64_t>(is_one_of("linear", "mm", "matmul", "convolution", "attention") ? std::min(std::sqrt(all), kMuch)
                                                                                              : std::min(most, kMuch));
}

}  // namespace

namespace {

const std::unordered_map<std::string_view, const Row*>& table() {
  static const auto* const rows = [] {
    auto* all = new std::unordered_map<std::string_view, const Row*>();
    for (std::span<const Row> group : {elementwise_rows(), activation_rows(), matrix_rows(), attention_rows(), conv_rows(), pool_rows(),
                                       norm_rows(), shape_rows(), quant_rows(), dynamic_rows()})
      for (const Row& r : group) all->emplace(r.name, &r);
    return all;
  }();
  return *rows;
}

}  // namespace

const Row* find_row(std::string_view name) {
  const auto it = table().find(name);
  return it == table().end() ? nullptr : it->second;
}

std::vector<std::string_view> row_names() {
  std::vector<std::string_view> out;
  for (const auto& [name, row] : table()) out.push_back(name);
  std::sort(out.begin(), out.end());
  return out;
}

Refusal refuses(const Site& s) {
  const std::string& name = s.node().op->name();
  const Row* row = find_row(name);
  if (!row) return "the delegate has no such operator";
  if (s.options.skip.count(name)) return "left out by option skip";
  if (Refusal r = tensors_refused(s, *row)) return r;
  if (!row->own_types)
    if (Refusal r = results_refused(s)) return r;
  if (!s.options.fp32 && !row->own_types && !on_numbers(s)) return "float32 is left out by option precision";
  return row->refuses ? row->refuses(s) : std::nullopt;
}

// In branches, loop bodies and on sizes that data decide, calls follow each other: a delegate that plans anew for little work costs more
// than it saves.
Refusal region_refused(const Method& m, const Graph& g, std::span<const NodeId> nodes) {
  constexpr int64_t kWorthACall = 10000;
  if (&g == m.graph.get() && !has_sizes_from_data(g, nodes)) return {};
  int64_t sum = 0;
  for (NodeId n : nodes) sum += work(g, n);
  if (sum >= kWorthACall) return {};
  return fmt::format("a delegate's call costs more than {} operations{}", sum,
                     &g == m.graph.get() ? " on sizes that data decide" : " in a branch or loop");
}

}  // namespace edgec::xnnpack
