// Edge and later: dtypes that kernels compute, numbers as tensors, memory format as dim order.
#include <fmt/format.h>

#include <algorithm>

#include "verify/rules.h"

namespace edgec {
namespace {

void no_strides(const CheckedGraph& c) {
  auto check = [&](ValueId v) {
    if (c.graph.type(v).is_tensor() && !c.graph.tensor(v).strides.empty())
      c.fault(fmt::format("%{} has strides: {}", c.graph.value(v).name, str(c.graph.tensor(v))));
  };
  for (ValueId v : c.graph.inputs) check(v);
  for_each_node(c, [&](NodeId, const Node& n) {
    for (ValueId v : n.results) check(v);
  });
}

void numbers_are_tensors(const CheckedGraph& c) {
  for_each_node(c, [&](NodeId id, const Node& n) {
    const auto& params = n.op->schema().params;
    for (size_t i = 0; i < n.args.size(); ++i)
      if (n.op->known && params[i].type == ArgType::Tensor && n.args[i].is_number())
        c.fault(id, fmt::format("argument {} is a number where the kernel takes a tensor", params[i].name));
  });
}

// The tensors that take part in promotion (all of them when the entry does not say) in the order of the schema.
std::vector<DType> promoted_dtypes(const Graph& g, const Node& n) {
  std::vector<DType> out;
  const auto& params = n.op->schema().params;
  const auto& named = n.op->promotes;
  for (size_t i = 0; i < n.args.size(); ++i) {
    if (std::find(named.begin(), named.end(), params[i].name) == named.end()) continue;
    for_each_value(n.args[i], [&](const ValueId& v) {
      if (g.type(v).is_tensor()) out.push_back(g.tensor(v).dtype);
    });
  }
  return out;
}

void one_dtype(const CheckedGraph& c) {
  for_each_node(c, [&](NodeId id, const Node& n) {
    const auto dtypes = promoted_dtypes(c.graph, n);
    for (DType d : dtypes)
      if (d != dtypes[0]) return c.fault(id, fmt::format("{} and {} meet where one dtype is expected", name(dtypes[0]), name(d)));
  });
}

void kernel_dtypes(const CheckedGraph& c) {
  for_each_node(c, [&](NodeId id, const Node& n) {
    const auto& allowed = n.op->kernel_dtypes;
    if (allowed.empty()) return;
    auto dtypes = promoted_dtypes(c.graph, n);
    if (dtypes.empty())
      for_each_tensor(c.graph, n, [&](const TensorType& t) {
        if (dtypes.empty()) dtypes.push_back(t.dtype);
      });
    if (dtypes.empty() || std::find(allowed.begin(), allowed.end(), dtypes[0]) != allowed.end()) return;
    std::string wanted;
    for (DType d : allowed) (wanted += ' ') += name(d);
    c.fault(id, fmt::format("on {} has no kernel; one of:{}", torch_name(dtypes[0]), wanted));
  });
}

void dim_orders(const CheckedGraph& c) {
  for_each_node(c, [&](NodeId id, const Node& n) {
    if (!n.op->known || n.op->layout == LayoutRule::Any || n.op->schema().ns != "aten" || n.results.empty() ||
        !c.graph.type(n.results[0]).is_tensor())
      return;
    const TensorType& result = c.graph.tensor(n.results[0]);
    auto check = [&](const TensorType& t) {
      const bool preserve = n.op->layout == LayoutRule::Preserve;
      if (preserve && t.rank() != result.rank()) return;
      const DimOrder& want = preserve ? result.dim_order : DimOrder();
      if (t.dim_order != want) c.fault(id, fmt::format("{} has another dim order than {}", str(t), preserve ? str(result) : "contiguous"));
    };
    for_each_tensor(c.graph, n, check);
    for (ValueId v : n.results)
      if (c.graph.type(v).is_tensor()) check(c.graph.tensor(v));
  });
}

constexpr Rule kRules[] = {
    {"no-strides", Stage::Edge, Stage::Exec, "memory format is a dim order", no_strides},
    {"numbers-are-tensors", Stage::Edge, Stage::Exec, "numbers that stand for tensors are tensors", numbers_are_tensors},
    {"one-dtype", Stage::Edge, Stage::Exec, "tensors that take part in promotion have one dtype", one_dtype},
    {"kernel-dtypes", Stage::Edge, Stage::Exec, "kernels are called with dtypes that they compute rightly", kernel_dtypes},
    // Within the Edge stage a pass decides them.
    {"dim-orders", Stage::Backend, Stage::Exec, "dim orders of operands and results fit the operator", dim_orders},
};

}  // namespace

std::span<const Rule> edge_rules() { return kRules; }

}  // namespace edgec
