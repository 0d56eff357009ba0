#include <edgec/rewriter.h>
#include "passes/registry.h"

#include <algorithm>
#include <array>

// Of equivalent operators the one whose kernel is fast. The runtime multiplies matrices with blocked kernels, and convolves element by
// element, so a convolution whose windows do not overlap is a product of its patches:
//   %y = aten.convolution(%x, %w, %b, [16, 16], [0, 0], ...)   with %w: [192, 3, 16, 16]
//     ->   %p = aten.view(aten.permute(aten.view(%x, [1, 3, 14, 16, 14, 16]), [0, 2, 4, 1, 3, 5]), [1, 196, 768])
//          %y = aten.view(aten.permute(aten.linear(%p, aten.view(%w, [192, 768]), %b), [0, 2, 1]), [1, 192, 14, 14])
// and over single pixels of a single image a product with the weights on the left, for which nothing moves:
//     ->   %y = aten.view(aten.mm(aten.view(%w, [64, 32]), aten.view(%x, [32, 196])) + %b, [1, 64, 14, 14])
// The maxima of such windows, of which nobody asks where they were, need no memory for indices:
//   %y, %i = aten.max_pool2d_with_indices(%x, [2, 2], ...)   with %x: [1, 8, 6, 6]
//     ->   %y = aten.amax(aten.view(%x, [1, 8, 3, 2, 3, 2]), [3, 5])
// Pools of one dim are pools of images one pixel high; as images of one channel each they need no views:
//   %v = aten.view(%x, [2, 3, 1, 8])  %p = aten.avg_pool2d(%v, [1, 2])  %y = aten.view(%p, [2, 3, 4])
//     ->   %y = aten.avg_pool2d(%x, [1, 2])
namespace edgec::passes {
namespace {

struct Convolution {
  ValueId input, weight;
  Arg bias;
  Dims in, out, kernel;  // sizes of input and output [n, c, ...]; of the window
};

// One group over whole windows that do not overlap; with stride one these are pixels.
std::optional<Convolution> over_patches(const Graph& g, const Node& n) {
  const Call c(g, *n.op, n.args);
  const TensorType &x = c.tensor("input"), &w = c.tensor("weight"), &y = g.tensor(n.results[0]);
  if (x.dtype != DType::F32 || w.dtype != DType::F32 || !x.dim_order.empty() || !w.dim_order.empty() || !y.dim_order.empty()) return {};
  if (x.rank() < 3 || x.rank() != w.rank() || !w.is_static() || c.flag("transposed") || c.integer("groups", 1) != 1) return {};
  const size_t spatial = w.rank() - 2;
  const auto stride = c.integers("stride", spatial), padding = c.integers("padding", spatial), dilation = c.integers("dilation", spatial);
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t k = *w.sizes[i + 2].constant();
    if (k < 1 || stride[i] != k || padding[i] != 0 || (dilation[i] != 1 && k != 1)) return {};
    const auto size = x.sizes[i + 2].constant();
    if (!size || *size % k != 0) return {};
  }
  return Convolution{c.value("input"), c.value("weight"), c.arg("bias"), x.sizes, y.sizes, Dims(w.sizes.begin() + 2, w.sizes.end())};
}

Dim product(const Dims& d, size_t from) {
  Dim out = 1;
  for (size_t i = from; i < d.size(); ++i) out = out * d[i];
  return out;
}

// For one image.
double multiply_adds(const Convolution& c) {
  const auto number = [](const Dim& d) { return static_cast<double>(*d.constant()); };
  return number(product(c.out, 1)) * number(c.in[1]) * number(product(c.kernel, 0));
}

ValueId matrix_of(Builder& b, const Convolution& c) { return b.view(c.weight, {c.out[1], c.in[1] * product(c.kernel, 0)}); }

std::optional<ValueId> patches(Builder& b, const Convolution& c) {
  const size_t spatial = c.kernel.size();
  Dims split = {c.in[0], c.in[1]};
  std::vector<int64_t> order = {0};
  for (size_t i = 0; i < spatial; ++i) {
    split.push_back(c.out[i + 2]);
    split.push_back(c.kernel[i]);
    order.push_back(static_cast<int64_t>(2 * i + 2));
  }
  order.push_back(1);
  for (size_t i = 0; i < spatial; ++i) order.push_back(static_cast<int64_t>(2 * i + 3));
  const ValueId rows = b.view(b.permute(b.view(c.input, split), order), {c.in[0], product(c.out, 2), c.in[1] * product(c.kernel, 0)});
  return b.view(b.permute(b.call("aten.linear", {rows, matrix_of(b, c), c.bias}), {0, 2, 1}), c.out);
}

std::optional<ValueId> pointwise(Builder& b, const Convolution& c) {
  if (c.in[0] != Dim(1) || product(c.kernel, 0) != Dim(1)) return std::nullopt;
  ValueId y = b.call("aten.mm", {matrix_of(b, c), b.view(c.input, {c.in[1], product(c.in, 2)})});
  if (c.bias.is_value()) y = b.add(y, Arg(b.view(c.bias.value(), {c.out[1], Dim(1)})));
  return b.view(y, c.out);
}

// The rules of convolutions, from so many multiply-adds on.
template <std::optional<ValueId> (*kRule)(Builder&, const Convolution&)>
std::optional<ValueId> product_of(Builder& b, const Graph& g, const Node& n, double least) {
  const auto convolution = over_patches(g, n);
  if (!convolution || multiply_adds(*convolution) < least) return std::nullopt;
  return kRule(b, *convolution);
}
constexpr auto product_of_patches = product_of<patches>;
constexpr auto product_of_pixels = product_of<pointwise>;

// From so many elements of an image on.
std::optional<ValueId> maxima(Builder& b, const Graph& g, const Node& n, double least) {
  const Call c(g, *n.op, n.args);
  const TensorType &x = c.tensor("self"), &y = g.tensor(n.results[0]);
  if (!x.dim_order.empty() || !y.dim_order.empty() || x.dtype == DType::Bool) return std::nullopt;
  const auto kernel = c.integers("kernel_size", 2), padding = c.integers("padding", 2), dilation = c.integers("dilation", 2);
  const auto stride = c.integers("stride").empty() ? kernel : c.integers("stride", 2);
  const size_t spatial = x.rank() - 2;
  Dims split(x.sizes.begin(), x.sizes.begin() + static_cast<std::ptrdiff_t>(spatial));
  std::vector<int64_t> within;
  double elements = 1;
  for (size_t i = 0; i < 2; ++i) {
    if (kernel[i] < 1 || stride[i] != kernel[i] || padding[i] != 0 || (dilation[i] != 1 && kernel[i] != 1)) return std::nullopt;
    const auto size = x.sizes[spatial + i].constant();
    if (!size || *size % kernel[i] != 0) return std::nullopt;
    elements *= static_cast<double>(*size);
    split.push_back(Dim(*size / kernel[i]));
    if (kernel[i] == 1) continue;
    within.push_back(static_cast<int64_t>(split.size()));
    split.push_back(Dim(kernel[i]));
  }
  if (within.empty() || elements < least) return std::nullopt;
  return b.call("aten.amax", {b.view(c.value("self"), split), Arg::ints(within), false});
}

struct Choice {
  std::optional<ValueId> (*rule)(Builder&, const Graph&, const Node&, double least);
  std::string_view op;
  double least;
};
constexpr Choice kChoices[] = {
#define CHOICE(rule, op, instead, least, times_faster) {rule, op, least},
#include "passes/kernel_choices.def"
#undef CHOICE
};

bool choose(Graph& g) {
  Rewriter rw(g);
  const std::vector<uint32_t> uses = g.use_counts();
  for (NodeId id : g.nodes_in_order()) {
    rw.refresh(id);
    const Node n = g.node(id);
    // Of what is taken instead there is the first result alone.
    if (std::any_of(n.results.begin() + (n.results.empty() ? 0 : 1), n.results.end(), [&](ValueId v) { return uses[v.index] > 0; }))
      continue;
    std::optional<ValueId> y;
    Builder b(g, n.loc, id);
    for (const Choice& c : kChoices)
      if (!y && c.op == n.op->name()) y = c.rule(b, g, n, c.least);
    if (y && !b.failed()) rw.replace_node(id, std::array{*y});
  }
  rw.finish();
  return rw.changed();
}

// The rows that a pool takes as images one pixel high, when nothing but its first result is wanted: [n, c, l] of the view [n, c, 1, l].
std::optional<ValueId> pooled_rows(const Graph& g, const Node& n, const std::vector<uint32_t>& uses) {
  const bool finds_most = n.op->name() == "aten.max_pool2d_with_indices";
  if (!finds_most && n.op->name() != "aten.avg_pool2d") return std::nullopt;
  const Call c(g, *n.op, n.args);
  const NodeId def = g.value(c.value("self")).def;
  if (!def || g.node(def).op->name() != "aten.view" || (finds_most && uses[n.results[1].index] > 0)) return std::nullopt;
  const ValueId rows = g.node(def).args[0].value();
  const TensorType &x = g.tensor(rows), &image = c.tensor("self");
  if (x.rank() != 3 || !x.is_static() || !x.dim_order.empty() || !image.dim_order.empty()) return std::nullopt;
  if (upper_bound_bytes(x).value_or(0) == 0) return std::nullopt;  // kernels take empty batches of images only
  if (image.sizes != Dims{x.sizes[0], x.sizes[1], Dim(1), x.sizes[2]}) return std::nullopt;
  const auto kernel = c.integers("kernel_size", 2), padding = c.integers("padding", 2), stride = c.integers("stride");
  const bool moves_by_row = stride.empty() || stride[0] == 1;
  return kernel[0] == 1 && padding[0] == 0 && moves_by_row ? std::optional(rows) : std::nullopt;
}

bool pool_rows(Graph& g) {
  Rewriter rw(g);
  const std::vector<uint32_t> uses = g.use_counts();
  std::unordered_map<ValueId, ValueId> pooled;  // by the view that stands for the result
  for (NodeId id : g.nodes_in_order()) {
    rw.refresh(id);
    const Node n = g.node(id);
    if (n.op->name() == "aten.view")
      if (const auto rows = pooled.find(n.args[0].value()); rows != pooled.end() && g.type(rows->second) == g.type(n.results[0]))
        rw.replace_node(id, std::array{rows->second});
    const auto rows = pooled_rows(g, n, uses);
    if (!rows) continue;
    Builder b(g, n.loc, id);
    std::vector<Arg> args = n.args;
    args[0] = *rows;
    std::vector<ValueId> made = b.call_all(n.op->name(), args);
    if (b.failed()) continue;
    const ValueId image = b.view(made[0], g.tensor(n.results[0]).sizes);
    pooled[image] = made[0];
    if (made.size() > 1) rw.replace(n.results[1], made[1]);
    rw.replace(n.results[0], image);
  }
  rw.finish();
  return rw.changed();
}

}  // namespace

Status choose_kernels(Program& p, PassContext& cx) {
  bool changed = false;
  EDGEC_TRY_VOID(for_each_graph(p, [&](Method&, Graph& g) -> Status {
    pool_rows(g);
    changed = choose(g) || changed;
    return {};
  }));
  return changed ? fold_constants(p, cx) : Status();  // the weights as matrices
}

}  // namespace edgec::passes
