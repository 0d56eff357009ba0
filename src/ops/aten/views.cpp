#include "ops/table.h"

// Views. After functionalization nothing is written, so a view and its copy are the same; the kernels are the *_copy ones.
namespace edgec::ops {
namespace {

using Sizes = Result<Dims>;

Def view_op(Table& ops, std::string_view schema, ShapeRule shape) {
  return ops.define(schema).dtype(same_as("self")).shape(std::move(shape));
}

// A view that keeps the elements in order is `aten.view` with the sizes that the shape rule gives.
ValueId as_view(Builder& b, const Call& c) {
  auto sizes = c.op().shape(c);
  if (!sizes) {
    b.fail(sizes.failure().message);
    return {};
  }
  return b.view(c.value("self"), *sizes);
}

// The order that swaps or moves dims.
ValueId permuted(Builder& b, ValueId x, std::vector<int64_t> order) { return b.permute(x, order); }

std::vector<int64_t> identity_order(size_t rank) {
  std::vector<int64_t> order(rank);
  for (size_t i = 0; i < rank; ++i) order[i] = static_cast<int64_t>(i);
  return order;
}

Sizes permuted_sizes(const Dims& sizes, const std::vector<int64_t>& order, const OpDef& op) {
  if (order.size() != sizes.size()) return model_error(op.name() + ": as many dims as the rank are needed");
  Dims out;
  std::vector<bool> seen(sizes.size(), false);
  for (int64_t o : order) {
    const int64_t d = o < 0 ? o + static_cast<int64_t>(sizes.size()) : o;
    if (d < 0 || d >= static_cast<int64_t>(sizes.size()) || seen[static_cast<size_t>(d)])
      return model_error(op.name() + ": not a permutation of the dims");
    seen[static_cast<size_t>(d)] = true;
    out.push_back(sizes[static_cast<size_t>(d)]);
  }
  return out;
}

Sizes transposed_sizes(const Call& c, std::string_view a, std::string_view b) {
  Dims sizes = c.tensor("self").sizes;
  EDGEC_TRY(size_t i, c.axis(a, sizes.size()));
  EDGEC_TRY(size_t j, c.axis(b, sizes.size()));
  if (!sizes.empty()) std::swap(sizes[i], sizes[j]);
  return sizes;
}

Sizes squeezed(const Call& c, const std::vector<size_t>& axes) {
  const Dims& sizes = c.tensor("self").sizes;
  Dims out;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const bool named = std::find(axes.begin(), axes.end(), i) != axes.end();
    if (!(named && sizes[i] == Dim(1))) out.push_back(sizes[i]);
  }
  return out;
}

// Sizes of the pieces of split(size), split_with_sizes, chunk.
Result<std::vector<Type>> pieces(const Call& c, size_t axis, const Dims& lengths) {
  std::vector<Type> out;
  for (const Dim& length : lengths) {
    TensorType t{c.tensor("self").dtype, c.tensor("self").sizes, {}, {}};
    t.sizes[axis] = length;
    out.push_back(Type::of(std::move(t)));
  }
  return out;
}

Result<Dims> split_lengths(const Call& c, Dim size, Dim piece) {
  auto total = size.constant(), each = piece.constant();
  if (!total || !each) return model_error(c.op().name() + ": the number of pieces depends on a dynamic size");
  if (*each <= 0)
    return *total == 0 ? Result<Dims>(Dims{Dim(0)}) : Result<Dims>(model_error(c.op().name() + ": piece size must be positive"));
  Dims out;
  for (int64_t at = 0; at < *total; at += *each) out.push_back(std::min(*each, *total - at));
  if (out.empty()) out.push_back(0);
  return out;
}

// Every piece is a slice.
std::vector<ValueId> as_slices(Builder& b, const Call& c, int64_t axis, const Dims& lengths) {
  std::vector<ValueId> out;
  Dim at = 0;
  for (const Dim& length : lengths) {
    out.push_back(b.call("aten.slice.Tensor", {c.arg("self"), axis, at, at + length}));
    at = at + length;
  }
  return out;
}

void define_split(Table& ops, std::string_view schema, Result<Dims> (*lengths)(const Call&, Dim), std::string_view = {}) {
  ops.define(schema)
      .infer([lengths](const Call& c) -> Result<std::vector<Type>> {
        EDGEC_TRY(size_t axis, c.axis("dim", c.rank("self")));
        if (c.rank("self") == 0) return model_error(c.op().name() + " of a rank-0 tensor");
        EDGEC_TRY(Dims l, lengths(c, c.tensor("self").sizes[axis]));
        return pieces(c, axis, l);
      })
      .expand([lengths](Builder& b, const Call& c) -> std::vector<ValueId> {
        auto axis = c.axis("dim", c.rank("self"));
        auto l = axis ? lengths(c, c.tensor("self").sizes[*axis]) : Result<Dims>(axis.failure());
        if (!l) {
          b.fail(l.failure().message);
          return {};
        }
        return as_slices(b, c, static_cast<int64_t>(*axis), *l);
      });
}

}  // namespace

void define_views(Table& ops) {
  view_op(ops, "aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)",
          [](const Call& c) -> Sizes { return infer_view_sizes(c.tensor("self").sizes, c.dims("size"), c.op()); })
      .kernel("view_copy.out")
      .memory_view();
  for (const char* schema : {"aten::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)"})
    view_op(ops, schema, [](const Call& c) -> Sizes {
      return infer_view_sizes(c.tensor("self").sizes, c.dims("shape"), c.op());
    }).expand(as_view);
  view_op(ops, "aten::_unsafe_view(Tensor self, SymInt[] size) -> Tensor", [](const Call& c) -> Sizes {
    return infer_view_sizes(c.tensor("self").sizes, c.dims("size"), c.op());
  }).expand(as_view);
  view_op(ops, "aten::view_as(Tensor(a) self, Tensor other) -> Tensor(a)", shape_of("other")).expand(as_view);
  view_op(ops, "aten::reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)", shape_of("other")).expand(as_view);

  view_op(ops, "aten::flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)", [](const Call& c) -> Sizes {
    const Dims& sizes = c.tensor("self").sizes;
    if (sizes.empty()) return Dims{Dim(1)};
    EDGEC_TRY(size_t from, c.axis("start_dim", sizes.size()));
    EDGEC_TRY(size_t to, c.axis("end_dim", sizes.size()));
    if (from > to) return model_error("flatten: start_dim is behind end_dim");
    Dims out(sizes.begin(), sizes.begin() + static_cast<ptrdiff_t>(from));
    Dim product = 1;
    for (size_t i = from; i <= to; ++i) product = product * sizes[i];
    out.push_back(product);
    out.insert(out.end(), sizes.begin() + static_cast<ptrdiff_t>(to) + 1, sizes.end());
    return out;
  }).expand(as_view);
  view_op(ops, "aten::unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)", [](const Call& c) -> Sizes {
    const Dims& sizes = c.tensor("self").sizes;
    EDGEC_TRY(size_t d, c.axis("dim", sizes.size()));
    if (sizes.empty()) return model_error("unflatten needs a dimension");
    EDGEC_TRY(Dims inner, infer_view_sizes({sizes[d]}, c.dims("sizes"), c.op()));
    Dims out(sizes.begin(), sizes.begin() + static_cast<ptrdiff_t>(d));
    out.insert(out.end(), inner.begin(), inner.end());
    out.insert(out.end(), sizes.begin() + static_cast<ptrdiff_t>(d) + 1, sizes.end());
    return out;
  }).expand(as_view);
  view_op(ops, "aten::unsqueeze(Tensor(a) self, int dim) -> Tensor(a)", [](const Call& c) -> Sizes {
    Dims sizes = c.tensor("self").sizes;
    EDGEC_TRY(size_t d, c.axis("dim", sizes.size() + 1));
    sizes.insert(sizes.begin() + static_cast<ptrdiff_t>(d), Dim(1));
    return sizes;
  }).expand(as_view);
  view_op(ops, "aten::squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)", [](const Call& c) -> Sizes {
    EDGEC_TRY(size_t d, c.axis("dim", c.rank("self")));
    return squeezed(c, {d});
  }).expand(as_view);
  view_op(ops, "aten::squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)", [](const Call& c) -> Sizes {
    if (c.dims("dim").empty()) return c.tensor("self").sizes;
    EDGEC_TRY(std::vector<size_t> axes, c.axes("dim", c.rank("self")));
    return squeezed(c, axes);
  }).expand(as_view);
  view_op(ops, "aten::squeeze(Tensor(a) self) -> Tensor(a)", [](const Call& c) -> Sizes {
    std::vector<size_t> all;
    for (size_t i = 0; i < c.rank("self"); ++i) all.push_back(i);
    return squeezed(c, all);
  }).expand(as_view);

  view_op(ops, "aten::permute(Tensor(a) self, int[] dims) -> Tensor(a)", [](const Call& c) -> Sizes {
    return permuted_sizes(c.tensor("self").sizes, c.integers("dims"), c.op());
  }).kernel("permute_copy.out");
  view_op(ops, "aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", [](const Call& c) -> Sizes {
    return transposed_sizes(c, "dim0", "dim1");
  }).expand([](Builder& b, const Call& c) {
    auto order = identity_order(c.rank("self"));
    auto i = c.axis("dim0", order.size()), j = c.axis("dim1", order.size());
    if (!order.empty() && i && j) std::swap(order[*i], order[*j]);
    return permuted(b, c.value("self"), order);
  });
  view_op(ops, "aten::t(Tensor(a) self) -> Tensor(a)", [](const Call& c) -> Sizes {
    Dims sizes = c.tensor("self").sizes;
    if (sizes.size() == 2) std::swap(sizes[0], sizes[1]);
    return sizes;
  }).expand([](Builder& b, const Call& c) {
    return c.rank("self") == 2 ? b.permute(c.value("self"), {1, 0}) : c.value("self");
  });

  view_op(ops, "aten::expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)", [](const Call& c) -> Sizes {
    const Dims& from = c.tensor("self").sizes;
    Dims to = c.dims("size");
    if (to.size() < from.size()) return model_error("expand: fewer sizes than the tensor's rank");
    for (size_t i = 0; i < from.size(); ++i) {
      Dim& d = to[to.size() - from.size() + i];
      if (d == Dim(-1)) d = from[i];
    }
    return to;
  }).kernel("expand_copy.out");
  view_op(ops, "aten::expand_as(Tensor(a) self, Tensor other) -> Tensor(a)", shape_of("other")).expand([](Builder& b, const Call& c) {
    return b.expand(c.value("self"), c.tensor("other").sizes);
  });

  view_op(ops, "aten::select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)", [](const Call& c) -> Sizes {
    const Dims& sizes = c.tensor("self").sizes;
    if (sizes.empty()) return model_error("select of a rank-0 tensor");
    EDGEC_TRY(size_t d, c.axis("dim", sizes.size()));
    return without_axes(sizes, {d}, false);
  }).kernel("select_copy.int_out");
  view_op(ops, "aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)",
          [](const Call& c) -> Sizes {
            Dims sizes = c.tensor("self").sizes;
            if (sizes.empty()) return model_error("slice of a rank-0 tensor");
            EDGEC_TRY(size_t d, c.axis("dim", sizes.size()));
            sizes[d] = slice_length(sizes[d], c.arg("start"), c.arg("end"), c.dim("step"), c.graph());
            return sizes;
          })
      .kernel("slice_copy.Tensor_out");
  view_op(ops, "aten::narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)", [](const Call& c) -> Sizes {
    Dims sizes = c.tensor("self").sizes;
    EDGEC_TRY(size_t d, c.axis("dim", sizes.size()));
    if (sizes.empty()) return model_error("narrow of a rank-0 tensor");
    sizes[d] = c.dim("length");
    return sizes;
  }).expand([](Builder& b, const Call& c) {
    // A start below zero counts from the end; start + length would then meet 0, the first element.
    Dim start = c.dim("start");
    const auto axis = c.axis("dim", c.rank("self"));
    if (axis && start.constant().value_or(0) < 0) start = c.tensor("self").sizes[*axis] + start;
    return b.call("aten.slice.Tensor", {c.arg("self"), c.arg("dim"), start, start + c.dim("length")});
  });

  define_split(ops, "aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]",
               [](const Call& c, Dim size) { return split_lengths(c, size, c.dim("split_size")); });
  define_split(ops, "aten::split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]",
               [](const Call& c, Dim) -> Result<Dims> { return c.dims("split_sizes"); });
  define_split(ops, "aten::chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]", [](const Call& c, Dim size) -> Result<Dims> {
    const int64_t n = c.integer("chunks");
    if (n <= 0) return model_error("chunk: the number of chunks must be positive");
    return split_lengths(c, size, sym::ceildiv(size, n));
  });

  // Views by writing their own name (passes/functionalize).
  for (const auto& [schema, functional] : {
           std::pair("aten::squeeze_(Tensor(a!) self) -> Tensor(a!)", ""),
           std::pair("aten::squeeze_.dim(Tensor(a!) self, int dim) -> Tensor(a!)", ""),
           std::pair("aten::squeeze_.dims(Tensor(a!) self, int[] dim) -> Tensor(a!)", ""),
           std::pair("aten::unsqueeze_(Tensor(a!) self, int dim) -> Tensor(a!)", ""),
           std::pair("aten::t_(Tensor(a!) self) -> Tensor(a!)", ""),
           std::pair("aten::transpose_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)", "aten.transpose.int"),
           std::pair("aten::swapaxes_(Tensor(a!) self, int axis0, int axis1) -> Tensor(a!)", "aten.transpose.int"),
           std::pair("aten::swapdims_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)", "aten.transpose.int"),
       })
    ops.in_place(schema, functional);
}

}  // namespace edgec::ops
