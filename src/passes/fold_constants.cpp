#include <algorithm>
#include <cmath>
#include "passes/registry.h"
#include "passes/weights.h"

#include <edgec/rewriter.h>

// %t = aten.permute(%w, [1, 0])   ->   %t = prim.constant(#k)     %w a weight: the same bytes with other strides
// %c = aten._to_copy(%w, dtype=f32)   ->   %c = prim.constant(#k)     up to a limit: the program has both where both are used
// %p = aten.mul.Tensor(%w, %v)    ->   %p = prim.constant(#k)     arithmetic of float32 weights, as the kernel rounds it
// %z = aten.full([], 0.5)         ->   %z = prim.constant(#k)     small tensors of one number
namespace edgec::passes {
namespace {

constexpr int64_t kMaxFullElements = 64;         // larger ones are cheaper made at run time than stored
constexpr int64_t kMaxGatherBytes = 64ll << 20;  // a reshape that strides cannot say copies the weight
constexpr int64_t kMaxGrowth = 4 << 10;          // bytes that casts may add to a method's weights
constexpr int64_t kMaxExactInteger = 1ll << 53;  // as f64

std::optional<TensorData> permuted(const TensorData& x, const Call& c) {
  TensorData y = x;
  const auto order = c.integers("dims");
  for (size_t i = 0; i < order.size(); ++i) {
    const auto d = static_cast<size_t>(order[i] < 0 ? order[i] + static_cast<int64_t>(order.size()) : order[i]);
    y.sizes[i] = x.sizes[d];
    y.strides[i] = x.strides[d];
  }
  return y;
}

std::optional<TensorData> viewed(const TensorData& x, std::vector<int64_t> sizes) {
  if (x.nbytes() == 0 || !x.dense_bytes().empty()) {
    TensorData y = x;
    y.sizes = std::move(sizes);
    y.strides = contiguous_strides(y.sizes);
    return y;
  }
  if (x.nbytes() > kMaxGatherBytes) return std::nullopt;
  return make_tensor_data(x.dtype, std::move(sizes), gather(x));
}

// A select or slice: a window along one dim.
std::optional<TensorData> windowed(const TensorData& x, const Call& c, bool select) {
  auto axis = c.axis("dim", x.sizes.size());
  if (!axis || x.sizes.empty()) return std::nullopt;
  const int64_t size = x.sizes[*axis];
  TensorData y = x;
  const auto number = [&](std::string_view p) { return c.dim(p).constant(); };
  const auto wrapped = [&](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + size : i, 0, size); };
  if (select) {
    auto index = number("index");
    if (!index || *index < -size || *index >= size) return std::nullopt;
    y.offset += (*index < 0 ? *index + size : *index) * x.strides[*axis];
    y.sizes.erase(y.sizes.begin() + static_cast<ptrdiff_t>(*axis));
    y.strides.erase(y.strides.begin() + static_cast<ptrdiff_t>(*axis));
    return y;
  }
  const auto start = c.has("start") ? number("start") : std::optional<int64_t>(0);
  const auto end = c.has("end") ? number("end") : std::optional<int64_t>(size);
  const auto step = number("step");
  if (!start || !end || !step || *step < 1) return std::nullopt;
  const int64_t from = wrapped(*start), to = std::max(wrapped(*end), from);
  y.offset += (to > from ? from : 0) * x.strides[*axis];
  y.sizes[*axis] = (to - from + *step - 1) / *step;
  y.strides[*axis] *= *step;
  return y;
}

std::optional<TensorData> filled(const Graph& g, const Node& n) {
  const TensorType& t = g.tensor(n.results[0]);
  auto sizes = static_sizes(t);
  if (!sizes || is_complex(t.dtype)) return std::nullopt;
  int64_t count = 1;
  for (int64_t s : *sizes) count = s <= kMaxFullElements ? count * s : kMaxFullElements + 1;
  const Call c(g, *n.op, n.args);
  const Arg& fill = c.arg("fill_value");
  if (count > kMaxFullElements || !fill.is_number() || (fill.is_expr() && !fill.expr().constant_float())) return std::nullopt;
  std::vector<std::byte> bytes;
  for (int64_t i = 0; i < count; ++i) {
    if (fill.is_expr() && fill.expr().constant())
      append_integer(bytes, t.dtype, *fill.expr().constant());
    else
      append_element(bytes, t.dtype, c.number("fill_value"));
  }
  return make_tensor_data(t.dtype, *sizes, std::move(bytes));
}

// A weight in another dtype, when every element has a value there. `growth`: bytes that may still be added to the program.
std::optional<TensorData> cast(const TensorData& x, const Call& c, DType to, int64_t& growth) {
  const auto* format = std::get_if<MemoryFormat>(&c.arg("memory_format").state);
  const int64_t bytes = x.numel() * static_cast<int64_t>(size_of(to)), more = std::max<int64_t>(bytes - x.nbytes(), 0);
  const bool rounds_twice = is_half(to) && x.dtype != DType::F32 && !is_half(x.dtype);
  if ((format && *format != MemoryFormat::Preserve && *format != MemoryFormat::Contiguous) || is_complex(to) || is_complex(x.dtype) ||
      rounds_twice || more > growth || bytes > kMaxGatherBytes)
    return std::nullopt;
  const auto from = gather(x);
  std::vector<std::byte> made;
  made.reserve(static_cast<size_t>(bytes));
  for (int64_t i = 0; i < x.numel(); ++i) {
    if (is_float(x.dtype)) {
      const double v = read_element(from, x.dtype, i);
      if (is_float(to)) {
        append_element(made, to, v);
      } else {
        if (!(std::abs(v) < kMaxExactInteger)) return std::nullopt;  // torch leaves open what it gives
        append_integer(made, to, to == DType::Bool ? v != 0 : static_cast<int64_t>(v));
      }
    } else {
      const int64_t v = read_integer(from, x.dtype, i);
      if (!is_float(to)) {
        append_integer(made, to, to == DType::Bool ? v != 0 : v);
      } else {
        if (v > kMaxExactInteger || v < -kMaxExactInteger) return std::nullopt;  // would round twice
        append_element(made, to, static_cast<double>(v));
      }
    }
  }
  growth -= more;
  return make_tensor_data(to, x.sizes, std::move(made));
}

std::optional<TensorData> computed(const Arithmetic& a, int64_t& growth) {
  const int64_t more = a.nbytes() - a.larger_operand;
  if (more > growth || a.nbytes() > kMaxGatherBytes) return std::nullopt;
  growth -= more;
  return a.compute();
}

std::optional<TensorData> folded(const Method& m, const Graph& g, const Node& n, int64_t& growth) {
  if (n.results.size() != 1 || !g.type(n.results[0]).is_tensor()) return std::nullopt;
  const std::string& op = n.op->name();
  if (op == "aten.full") return filled(g, n);
  if (n.args.empty() || !n.args[0].is_value()) return std::nullopt;
  if (const auto a = arithmetic_of_weights(m, g, n)) return computed(*a, growth);
  const TensorData* x = m.constant_of(g, n.args[0].value());
  if (!x) return std::nullopt;
  const Call c(g, *n.op, n.args);
  if (op == "aten._to_copy") return cast(*x, c, g.tensor(n.results[0]).dtype, growth);
  if (op == "aten.permute") return permuted(*x, c);
  if (op == "aten.select.int") return windowed(*x, c, true);
  if (op == "aten.slice.Tensor") return windowed(*x, c, false);
  if (op == "aten.view")
    if (auto sizes = static_sizes(g.tensor(n.results[0]))) return viewed(*x, *sizes);
  return std::nullopt;
}

}  // namespace

Status fold_constants(Program& p, PassContext&) {
  std::unordered_map<const Method*, int64_t> growth;
  return for_each_graph(p, [&](Method& m, Graph& g) -> Status {
    int64_t& left = growth.try_emplace(&m, kMaxGrowth).first->second;
    Rewriter rw(g);
    for (NodeId id : g.nodes_in_order()) {
      rw.refresh(id);
      auto data = folded(m, g, g.node(id), left);
      if (data) replace_by_constant(m, g, rw, id, *std::move(data));
    }
    rw.finish();
    return {};
  });
}

}  // namespace edgec::passes
