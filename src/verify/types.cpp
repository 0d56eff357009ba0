// Arguments fit the schemas, and recorded types agree with what the operators' entries infer.
#include <fmt/format.h>

#include "verify/rules.h"

namespace edgec {
namespace {

void arguments(const CheckedGraph& c) {
  for_each_node(c, [&](NodeId id, const Node& n) {
    if (n.args.size() != n.op->schema().params.size())
      return c.fault(id, fmt::format("{} arguments for {} parameters", n.args.size(), n.op->schema().params.size()));
    if (!n.op->known) return;
    if (Status s = check_args(c.graph, *n.op, n.args); !s) c.fault(id, s.failure().message);
  });
}

bool returns_lists(const Schema& s) {
  for (const Return& r : s.returns)
    if (r.list) return true;
  return false;
}

bool kind_fits(const Return& r, const Type& t) {
  if (t.kind == Type::Kind::None || r.type == ArgType::Object) return true;
  return (r.type == ArgType::Tensor) == t.is_tensor();
}

void results(const CheckedGraph& c) {
  for_each_node(c, [&](NodeId id, const Node& n) {
    const Schema& s = n.op->schema();
    if (!n.op->known || returns_lists(s)) return;
    if (n.results.size() != s.returns.size())
      return c.fault(id, fmt::format("{} results, the schema has {}", n.results.size(), s.returns.size()));
    for (size_t i = 0; i < n.results.size(); ++i)
      if (!kind_fits(s.returns[i], c.graph.type(n.results[i])))
        c.fault(id, fmt::format("result {} is {}, not what the schema gives", i, str(c.graph.type(n.results[i]))));
  });
}

// A fault only where it is certain: open questions about symbols pass.
bool disagree(const Type& recorded, const Type& inferred) {
  if (inferred.kind == Type::Kind::None || recorded.kind == Type::Kind::None) return false;
  if (recorded.kind != inferred.kind) return true;
  if (recorded.is_sym()) return recorded.expr.sort() != inferred.expr.sort() || sym::equal(recorded.expr, inferred.expr) == sym::Proof::No;
  if (!recorded.is_tensor()) return false;
  const TensorType &a = recorded.tensor, &b = inferred.tensor;
  if (a.dtype != b.dtype || a.rank() != b.rank()) return true;
  for (size_t i = 0; i < a.rank(); ++i)
    if (sym::equal(a.sizes[i], b.sizes[i]) == sym::Proof::No) return true;
  return false;
}

// A constant's type is the one of its data (rule constants).
bool has_type_rule(const OpDef& op) { return op.known && op.name() != "prim.constant" && (op.infer || (op.shape && op.dtype)); }

void constants(const CheckedGraph& c) {
  for_each_node(c, [&](NodeId id, const Node& n) {
    if (n.op->name() != "prim.constant" || n.args.empty() || n.results.empty()) return;
    const auto* k = std::get_if<ConstId>(&n.args[0].state);
    if (!k) return c.fault(id, "names no constant");
    const TensorData& data = c.method.constants[k->index].data;
    const Type& t = c.graph.type(n.results[0]);
    const Dims sizes(data.sizes.begin(), data.sizes.end());
    if (!t.is_tensor() || t.tensor.dtype != data.dtype || t.tensor.sizes != sizes)
      c.fault(id, fmt::format("is {} in the graph and {}{} in its data", str(t), name(data.dtype), str(sizes)));
  });
}

void inferred_types(const CheckedGraph& c) {
  if (c.autocast) return;
  for_each_node(c, [&](NodeId id, const Node& n) {
    // Decomposition compares a user's declaration with the archive, and says so in the declaration's words.
    if (!has_type_rule(*n.op) || (n.op->user && c.stage < Stage::Core)) return;
    auto types = infer(c.graph, *n.op, n.args);
    if (!types) return c.fault(id, types.failure().message);
    if (types->size() != n.results.size())
      return c.fault(id, fmt::format("{} results, its entry infers {}", n.results.size(), types->size()));
    for (size_t i = 0; i < types->size(); ++i) {
      const Type& recorded = c.graph.type(n.results[i]);
      if (disagree(recorded, (*types)[i]))
        c.fault(id, fmt::format("result {} is recorded as {} but inferred as {}", i, str(recorded), str((*types)[i])));
    }
  });
}

constexpr Rule kRules[] = {
    {"arguments", Stage::ATen, Stage::Exec, "arguments fit the parameters of the schema in number and kind", arguments, true},
    {"results", Stage::ATen, Stage::Exec, "results fit the schema in number and kind", results},
    {"constants", Stage::ATen, Stage::Exec, "constants in a graph have the types of their data", constants},
    {"inferred-types", Stage::ATen, Stage::Exec, "recorded types do not contradict the operators' entries", inferred_types},
};

}  // namespace

std::span<const Rule> type_rules() { return kRules; }

}  // namespace edgec
