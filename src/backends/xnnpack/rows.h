#pragma once
#include <edgec/op.h>
#include <edgec/program.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/xnnpack/options.h"

// The operators that the delegate has, or that are composed of what it has: one row each.
namespace edgec::xnnpack {

class Lowering;

// A call in a graph of a method (the whole method when asked whether it is taken, the region's when it is compiled).
struct Site {
  const Method& m;
  const Graph& g;
  NodeId n;
  const Options& options;
  const Node& node() const { return g.node(n); }
  Call call() const { return Call(g, *node().op, node().args); }
  const TensorType& result(size_t i = 0) const { return g.tensor(node().results[i]); }
  const TensorData* constant(ValueId v) const { return m.constant_of(g, v); }
  // The data of a parameter that is there; null when it is left out or made at run time.
  const TensorData* constant(std::string_view param) const { return call().has(param) ? constant(call().value(param)) : nullptr; }
};

// A sentence; nothing: taken.
using Refusal = std::optional<std::string>;

struct Row {
  std::string_view name;  // "aten.add.Tensor"
  Status (*lower)(Lowering&, const Site&);
  Refusal (*refuses)(const Site&) = nullptr;  // beyond what holds for all: dtypes, ranks, sizes
  bool own_types = false;                     // checks dtypes itself
  bool moves = false;                         // moves elements: numbers of quantized values too
};

std::span<const Row> elementwise_rows();
std::span<const Row> activation_rows();
std::span<const Row> matrix_rows();
std::span<const Row> attention_rows();
std::span<const Row> conv_rows();
std::span<const Row> pool_rows();
std::span<const Row> norm_rows();
std::span<const Row> shape_rows();
std::span<const Row> quant_rows();
std::span<const Row> dynamic_rows();
const Row* find_row(std::string_view name);
std::vector<std::string_view> row_names();

// Why the call is left to the runtime's kernels.
Refusal refuses(const Site&);
// Why nodes that are taken are not worth the call of a delegate.
Refusal region_refused(const Method&, const Graph&, std::span<const NodeId>);
// Each operator with the quantizing around it and the range behind it.
NodeMap<uint32_t> groups_per_operator(const Method&, const Graph&);

}  // namespace edgec::xnnpack
