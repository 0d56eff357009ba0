#include "passes/weights.h"

#include <array>
#include <string_view>

#include <edgec/op.h>

namespace edgec::passes {
namespace {

// x with the sizes of what it is broadcast to.
std::optional<TensorData> broadcast(TensorData x, const std::vector<int64_t>& to) {
  if (x.sizes.size() > to.size()) return std::nullopt;
  const size_t missing = to.size() - x.sizes.size();
  x.sizes.insert(x.sizes.begin(), missing, 1);
  x.strides.insert(x.strides.begin(), missing, 0);
  for (size_t i = 0; i < to.size(); ++i) {
    if (x.sizes[i] == to[i]) continue;
    if (x.sizes[i] != 1) return std::nullopt;
    x.sizes[i] = to[i];
    x.strides[i] = 0;
  }
  return x;
}

float (*function_of(std::string_view op))(float, float) {
  if (op == "aten.add.Tensor") return [](float a, float b) { return a + b; };
  if (op == "aten.sub.Tensor") return [](float a, float b) { return a - b; };
  if (op == "aten.mul.Tensor") return [](float a, float b) { return a * b; };
  if (op == "aten.div.Tensor") return [](float a, float b) { return a / b; };
  return nullptr;
}

}  // namespace

std::optional<std::vector<int64_t>> static_sizes(const TensorType& t) {
  std::vector<int64_t> out;
  for (const Dim& d : t.sizes) {
    const auto n = d.constant();
    if (!n) return std::nullopt;
    out.push_back(*n);
  }
  return out;
}

std::optional<Arithmetic> arithmetic_of_weights(const Method& m, const Graph& g, const Node& n) {
  Arithmetic out;
  out.function = function_of(n.op->name());
  if (!out.function || !n.args[0].is_value() || !n.args[1].is_value()) return std::nullopt;
  const TensorType& t = g.tensor(n.results[0]);
  const Call c(g, *n.op, n.args);
  if (c.op().schema().find("alpha") >= 0 && c.number("alpha", 1) != 1) return std::nullopt;
  const auto sizes = static_sizes(t);
  const TensorData *x = m.constant_of(g, n.args[0].value()), *y = m.constant_of(g, n.args[1].value());
  if (!sizes || !x || !y || t.dtype != DType::F32 || x->dtype != DType::F32 || y->dtype != DType::F32) return std::nullopt;
  auto left = broadcast(*x, *sizes), right = broadcast(*y, *sizes);
  if (!left || !right) return std::nullopt;
  out.left = *std::move(left);
  out.right = *std::move(right);
  out.larger_operand = std::max(x->nbytes(), y->nbytes());
  return out;
}

TensorData Arithmetic::compute() const {
  const auto a = gather(left), b = gather(right);
  std::vector<std::byte> made;
  made.reserve(static_cast<size_t>(nbytes()));
  const auto element = [](const std::vector<std::byte>& bytes, int64_t i) {
    return static_cast<float>(read_element(bytes, DType::F32, i));
  };
  for (int64_t i = 0; i < left.numel(); ++i) append_element(made, DType::F32, function(element(a, i), element(b, i)));
  return make_tensor_data(DType::F32, left.sizes, std::move(made));
}

ValueId replace_by_constant(Method& m, Graph& g, Rewriter& rw, NodeId n, TensorData data) {
  const Value& old = g.value(g.node(n).results[0]);
  const ConstId k = m.add_constant(old.name, std::move(data));
  const NodeId made = g.add_node(&Registry::global().get("prim.constant"), {k}, {old.type}, g.node(n).loc, n, std::array{old.name});
  rw.replace_node(n, g.node(made).results);
  return g.node(made).results[0];
}

}  // namespace edgec::passes
