#include <fmt/format.h>

#include <algorithm>

#include "ops/build.h"
#include "ops/table.h"

// Reading and writing by index tensors and masks.
namespace edgec::ops {
namespace {

using Types = Result<std::vector<Type>>;

bool is_mask(const TensorType& t) { return t.dtype == DType::Bool || t.dtype == DType::U8; }

// A size that the data decide: a new symbol from 0 to `most`.
Dim counted(const Graph& g, Dim most) {
  int k = 0;
  while (g.syms().find_symbol(fmt::format("u_nz{}", k))) ++k;
  const Dim n = g.syms().symbol(fmt::format("u_nz{}", k));
  g.syms().set_range(n, {0, sym::upper_bound(most)});
  return n;
}

Types one(DType dtype, Dims sizes) { return std::vector<Type>{Type::of({dtype, std::move(sizes), {}, {}})}; }

ValueId at_least_1d(Builder& b, ValueId x) { return b.failed() || b.tensor(x).rank() ? x : b.view(x, {1}); }

// ---- index, index_put ---------------------------------------------------------------------------------------------

// Sizes of self[at...], where each entry is the sizes of an integer index or nothing for a whole dim. The indices'
// common dims stand where they are when adjacent, else in front.
Result<Dims> indexed_sizes(const Dims& self, const std::vector<std::optional<Dims>>& at) {
  if (at.size() > self.size()) return model_error("too many indices");
  Dims common;
  std::optional<size_t> first;
  size_t last = 0, count = 0;
  for (size_t i = 0; i < at.size(); ++i) {
    if (!at[i]) continue;
    EDGEC_TRY(common, broadcast(common, *at[i]));
    if (!first) first = i;
    last = i;
    ++count;
  }
  Dims out;
  const bool adjacent = first && last - *first + 1 == count;
  if (!adjacent) out = common;
  for (size_t i = 0; i < self.size(); ++i) {
    if (adjacent && i == *first) out.insert(out.end(), common.begin(), common.end());
    if (i >= at.size() || !at[i]) out.push_back(self[i]);
  }
  return out;
}

Types index_types(const Call& c) {
  Dims self = c.tensor("self").sizes;
  std::vector<std::optional<Dims>> at;
  for (const Arg& item : c.arg("indices").list()) {
    if (item.is_none()) {
      at.emplace_back();
      continue;
    }
    const TensorType& t = c.graph().tensor(item.value());
    if (!is_mask(t)) {
      at.emplace_back(t.sizes);
      continue;
    }
    if (t.rank() == 0 && at.size() <= self.size()) self = inserted(self, at.size(), 1);
    const Dim n = counted(c.graph(), numel(t.sizes));
    for (size_t i = 0; i < std::max<size_t>(t.rank(), 1); ++i) at.emplace_back(Dims{n});
  }
  EDGEC_TRY(Dims sizes, indexed_sizes(self, at));
  return one(c.tensor("self").dtype, sizes);
}

// Integer indices and whole dims only: a mask of n dims becomes the n coordinates of its true elements.
struct Indices {
  ValueId self;
  ArgList at;
  bool had_mask = false;
};

Indices integer_indices(Builder& b, const Call& c) {
  Indices out{c.value("self"), {}, false};
  for (const Arg& item : c.arg("indices").list()) {
    if (item.is_none() || !is_mask(c.graph().tensor(item.value()))) {
      out.at.push_back(item);
      continue;
    }
    out.had_mask = true;
    const ValueId mask = item.value();
    const size_t rank = std::max<size_t>(c.graph().tensor(mask).rank(), 1);
    if (c.graph().tensor(mask).rank() == 0) out.self = unsqueeze(b, out.self, out.at.size());
    const ValueId found = b.call("aten.nonzero", {at_least_1d(b, mask)});
    for (size_t i = 0; i < rank; ++i) out.at.emplace_back(select(b, found, 1, static_cast<int64_t>(i)));
  }
  return out;
}

// The only entry that is not None, and the number of dims before it.
struct Single {
  ValueId index;
  size_t before = 0;
};
std::optional<Single> single_index(const ArgList& indices) {
  std::optional<Single> found;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (indices[i].is_none()) continue;
    if (found) return std::nullopt;
    found = Single{indices[i].value(), i};
  }
  return found;
}

std::vector<ValueId> index(Builder& b, const Call& c) {
  const ArgList& list = c.arg("indices").list();
  const TensorType& self = c.tensor("self");
  if (std::all_of(list.begin(), list.end(), [](const Arg& a) { return a.is_none(); })) return {c.value("self")};
  if (auto only = single_index(list)) {
    const TensorType t = c.graph().tensor(only->index);
    if (is_mask(t) && t.rank() == self.rank() && t.rank() > 0)
      return {b.call("aten.masked_select", {c.arg("self"), b.cast(only->index, DType::Bool)})};
    if (!is_mask(t) && t.rank() != 1) {  // the kernel is fast for one index of rank 1
      Dims sizes = without(self.sizes, only->before);
      sizes.insert(sizes.begin() + static_cast<ptrdiff_t>(only->before), t.sizes.begin(), t.sizes.end());
      ArgList flat = list;
      flat[only->before] = b.view(only->index, {numel(t.sizes)});
      return {b.view(b.call("aten.index.Tensor", {c.arg("self"), flat}), sizes)};
    }
  }
  const bool masks =
      std::any_of(list.begin(), list.end(), [&](const Arg& a) { return a.is_value() && is_mask(c.graph().tensor(a.value())); });
  if (!masks) return keep_whole();
  const Indices ix = integer_indices(b, c);
  return {b.call("aten.index.Tensor", {ix.self, ix.at})};
}

// self[..., mask, ...] = values, where the values do not vary along the mask's dims: a choice by the mask.
std::optional<ValueId> put_by_mask(Builder& b, const Call& c, const Single& only, ValueId values) {
  const TensorType &self = c.tensor("self"), &mask = c.graph().tensor(only.index);
  const size_t trailing = self.rank() - only.before - mask.rank();
  Dims sizes = sizes_of(b, values);
  if (sizes.size() > trailing) {
    const size_t along = sizes.size() - trailing - 1;  // the dim that counts the true elements
    if (sizes[along] != Dim(1)) return std::nullopt;
    sizes = without(sizes, along);
    sizes.insert(sizes.begin() + static_cast<ptrdiff_t>(along), mask.rank(), Dim(1));
    values = b.view(values, sizes);
  }
  Dims shape(only.before, Dim(1));
  shape.insert(shape.end(), mask.sizes.begin(), mask.sizes.end());
  shape.resize(self.rank(), Dim(1));
  if (c.flag("accumulate")) values = b.add(c.value("self"), values);
  return where(b, b.view(b.cast(only.index, DType::Bool), shape), values, c.value("self"));
}

std::vector<ValueId> index_put(Builder& b, const Call& c) {
  const ArgList& list = c.arg("indices").list();
  const TensorType self = c.tensor("self");
  const ValueId values = b.cast(c.value("values"), self.dtype);
  const bool accumulate = c.flag("accumulate");
  if (std::all_of(list.begin(), list.end(), [](const Arg& a) { return a.is_none(); }))
    return {b.expand(accumulate ? b.add(c.value("self"), values) : values, self.sizes)};
  if (auto only = single_index(list); only && is_mask(c.graph().tensor(only->index))) {
    if (auto chosen = put_by_mask(b, c, *only, values)) return {*chosen};
    const Dims mask = c.graph().tensor(only->index).sizes;
    const Dims given = sizes_of(b, values, 1);
    if (only->before == 0 && !accumulate && !mask.empty() && given.size() == self.rank() - mask.size() + 1) {
      Dims shape = mask, full{given[0]};
      shape.resize(self.rank(), Dim(1));
      full.insert(full.end(), self.sizes.begin() + static_cast<ptrdiff_t>(mask.size()), self.sizes.end());
      return {b.call("aten.masked_scatter", {c.arg("self"), b.view(b.cast(only->index, DType::Bool), shape), b.expand(values, full)})};
    }
  }
  const Indices ix = integer_indices(b, c);
  if (!ix.had_mask && values == c.value("values")) return keep_whole();
  return {b.view(b.call("aten.index_put", {ix.self, ix.at, values, accumulate}), self.sizes)};
}

// ---- along one dim ------------------------------------------------------------------------------------------------

// index_put of `source` at `index` (rank 1) along `dim`.
ValueId put_along(Builder& b, const Call& c, ValueId source, bool accumulate) {
  const size_t axis = axis_of(b, c, "dim", c.rank("self"));
  const DType dtype = c.tensor("self").dtype;
  ArgList at(axis + 1);
  at[axis] = at_least_1d(b, c.value("index"));
  const ValueId self = at_least_1d(b, c.value("self"));
  const ValueId put = b.call("aten.index_put", {self, at, b.cast(source, dtype), accumulate});
  return b.view(put, c.tensor("self").sizes);
}

// The source of index_add and index_copy has self's rank; a rank-0 one stands for a single element.
ValueId source_along(Builder& b, const Call& c) { return at_least_1d(b, c.value("source")); }

// Calls a gather or scatter with what its kernel takes: rank 1 for rank 0, an int64 index, src of self's dtype.
// Nothing when the call is so already.
std::vector<ValueId> for_kernel(Builder& b, const Call& c, const Dims& result) {
  std::vector<Arg> args(c.args().begin(), c.args().end());
  const Schema& schema = c.op().schema();
  const auto set = [&](std::string_view param, ValueId v) { args[static_cast<size_t>(schema.find(param))] = v; };
  const ValueId index = b.cast(at_least_1d(b, c.value("index")), DType::I64), self = at_least_1d(b, c.value("self"));
  bool changed = index != c.value("index") || self != c.value("self");
  set("index", index);
  set("self", self);
  if (schema.find("src") >= 0) {
    const ValueId src = b.cast(at_least_1d(b, c.value("src")), c.tensor("self").dtype);
    changed = changed || src != c.value("src");
    set("src", src);
  }
  if (!changed) return keep_whole();
  return {b.view(b.call(c.op().name(), args), result)};
}

std::vector<ValueId> scattered(Builder& b, const Call& c) {
  if (is_empty(c.tensor("index").sizes)) return {c.value("self")};
  return for_kernel(b, c, c.tensor("self").sizes);
}

// ---- scatter_reduce -----------------------------------------------------------------------------------------------

struct Scatter {
  ValueId self, index, src;
  size_t axis = 0;
  bool include_self = true;
  DType dtype = DType::F32;
};

// x restricted to the index's sizes.
ValueId fitted(Builder& b, ValueId x, const Dims& sizes) {
  for (size_t i = 0; i < sizes.size(); ++i) x = slice(b, x, i, 0, sizes[i]);
  return x;
}

ValueId scatter_sum(Builder& b, const Scatter& s, ValueId start, ValueId src) {
  return b.call("aten.scatter_add", {start, static_cast<int64_t>(s.axis), s.index, src});
}

// Touched elements set to `value` unless self takes part.
ValueId start_of(Builder& b, const Scatter& s, const Arg& value) {
  return s.include_self ? s.self : b.call("aten.scatter.value", {s.self, static_cast<int64_t>(s.axis), s.index, value});
}

ValueId scatter_mean(Builder& b, const Scatter& s) {
  const Dims sizes = sizes_of(b, s.self), at = sizes_of(b, s.index);
  const ValueId sum = scatter_sum(b, s, start_of(b, s, 0), s.src);
  const ValueId counted_from = b.full(sizes, s.include_self ? 1 : 0, s.dtype);
  const ValueId count = b.call("aten.clamp", {scatter_sum(b, s, counted_from, b.full(at, 1, s.dtype)), 1});
  if (is_float(s.dtype)) return b.div(sum, count);
  return b.cast(b.unary("aten.floor", b.div(b.cast(sum, DType::F64), b.cast(count, DType::F64))), s.dtype);
}

// The scatter kernel writes in order, so with ascending sources the largest stays; NaN sorts last.
ValueId scatter_max(Builder& b, const Scatter& s) {
  const auto axis = static_cast<int64_t>(s.axis);
  const ValueId src = fitted(b, s.src, sizes_of(b, s.index));
  const auto sorted = b.call_all("aten.sort.stable", {src, true, axis, false});
  const ValueId index = b.call("aten.gather", {s.index, axis, sorted.back()});
  const ValueId put = b.call("aten.scatter.src", {s.self, axis, index, sorted[0]});
  return s.include_self ? b.call("aten.maximum", {put, s.self}) : put;
}

// min(x) = -max(-x); ~x reverses the order of integers without overflow.
ValueId reversed(Builder& b, ValueId x, DType dtype) { return b.unary(is_float(dtype) ? "aten.neg" : "aten.bitwise_not", x); }

// Every element of self against every position of the index: no kernel multiplies in place.
ValueId scatter_product(Builder& b, const Scatter& s) {
  Dims self = sizes_of(b, s.self), at = sizes_of(b, s.index);
  const size_t rank = self.size(), axis = s.axis;
  const ValueId src = fitted(b, s.src, at);
  const ValueId rows = iota(b, self[axis], DType::I64, axis, rank + 1);
  const auto beside = [&](ValueId x) {  // [..., L at axis, ...] with L last and 1 at the axis
    return moved(b, unsqueeze(b, x, axis), axis + 1, rank);
  };
  const ValueId factors = where(b, b.call("aten.eq.Tensor", {beside(s.index), rows}), beside(src), 1.0);
  ValueId product = b.call("aten.prod.dim_int", {factors, static_cast<int64_t>(rank)}, {{"dtype", s.dtype}});
  Dims missing;
  for (size_t i = rank; i-- > 0;) {
    missing.push_back(0);
    missing.push_back(i == axis ? Dim(0) : self[i] - at[i]);
  }
  product = b.call("aten.constant_pad_nd", {product, missing, 1});
  return b.mul(start_of(b, s, 1), product);
}

ValueId scatter_reduce(Builder& b, const Call& c) {
  if (is_empty(c.tensor("index").sizes)) return c.value("self");
  Scatter s;
  s.dtype = c.tensor("self").dtype;
  s.self = at_least_1d(b, c.value("self"));
  s.index = b.cast(at_least_1d(b, c.value("index")), DType::I64);
  s.src = at_least_1d(b, c.value("src"));
  s.axis = axis_of(b, c, "dim", c.rank("self"));
  s.include_self = c.flag("include_self");
  const std::string reduce = c.string("reduce");
  ValueId r;
  if (reduce == "sum")
    r = scatter_sum(b, s, start_of(b, s, 0), s.src);
  else if (reduce == "mean")
    r = scatter_mean(b, s);
  else if (reduce == "prod")
    r = scatter_product(b, s);
  else if (reduce == "amax")
    r = scatter_max(b, s);
  else if (reduce == "amin") {
    s.self = reversed(b, s.self, s.dtype);
    s.src = reversed(b, s.src, s.dtype);
    r = reversed(b, scatter_max(b, s), s.dtype);
  } else
    b.fail("scatter_reduce: unknown reduction " + reduce);
  return b.view(r, c.tensor("self").sizes);
}

// scatter.reduce and scatter.value_reduce: "add" or "multiply".
ValueId scatter_with(Builder& b, const Call& c, ValueId src) {
  const std::string reduce = c.string("reduce") == "add" ? "sum" : "prod";
  return b.call("aten.scatter_reduce.two", {c.arg("self"), c.arg("dim"), c.arg("index"), src, reduce});
}

// index_reduce: the index (rank 1) counts for whole slices of the source.
ValueId index_reduce(Builder& b, const Call& c) {
  const ValueId source = at_least_1d(b, c.value("source"));
  const Dims sizes = sizes_of(b, source, 1);
  const size_t axis = axis_of(b, c, "dim", sizes.size());
  const ValueId index =
      b.view(b.cast(c.value("index"), DType::I64), replaced(Dims(sizes.size(), Dim(1)), axis, numel(c.tensor("index").sizes)));
  const ValueId self = at_least_1d(b, c.value("self"));
  const ValueId r = b.call("aten.scatter_reduce.two", {self, static_cast<int64_t>(axis), b.expand(index, sizes), source, c.arg("reduce")},
                           {{"include_self", c.arg("include_self")}});
  return b.view(r, c.tensor("self").sizes);
}

// ---- search -------------------------------------------------------------------------------------------------------

// Position of every value in its sorted row: the number of boundaries before it. `not >=` counts all before NaN.
ValueId search(Builder& b, const Call& c, ValueId boundaries, ValueId values, bool right) {
  const ValueId behind = b.call(right ? "aten.gt.Tensor" : "aten.ge.Tensor", {boundaries, values});
  const ValueId count = b.call("aten.sum.dim_IntList", {b.unary("aten.logical_not", behind), Arg::ints({-1})});
  return b.cast(count, c.flag("out_int32") ? DType::I32 : DType::I64);
}

DTypeRule position_dtype() {
  return [](const Call& c) -> Result<DType> { return c.flag("out_int32") ? DType::I32 : DType::I64; };
}

ValueId number_or_tensor(Builder& b, const Call& c, std::string_view param, DType dtype) {
  return c.is_tensor(param) ? c.value(param) : b.full({}, c.arg(param), dtype);
}

ValueId bucketize(Builder& b, const Call& c) {
  const ValueId self = number_or_tensor(b, c, "self", c.tensor("boundaries").dtype);
  return search(b, c, c.value("boundaries"), unsqueeze(b, self, sizes_of(b, self).size()), c.flag("right"));
}

ValueId searchsorted(Builder& b, const Call& c) {
  ValueId sorted = c.value("sorted_sequence");
  if (c.has("sorter")) sorted = b.call("aten.gather", {sorted, -1, c.arg("sorter")});
  const size_t rank = c.rank("sorted_sequence");
  const ValueId self = number_or_tensor(b, c, "self", c.tensor("sorted_sequence").dtype);
  const bool right = c.has("side") ? c.string("side") == "right" : c.flag("right");
  if (rank > 1) sorted = unsqueeze(b, sorted, rank - 1);
  return search(b, c, sorted, unsqueeze(b, self, sizes_of(b, self).size()), right);
}

// Whether each element is among the others: all are compared with all.
ValueId is_in(Builder& b, const Call& c) {
  const bool scalar_elements = c.op().schema().find("element") >= 0, scalar_tests = c.op().schema().find("test_element") >= 0;
  const Arg elements = c.arg(scalar_elements ? "element" : "elements"), tests = c.arg(scalar_tests ? "test_element" : "test_elements");
  ValueId found;
  if (scalar_tests) {
    found = b.call("aten.eq.Scalar", {elements, tests});
  } else {
    const Dim count = numel(c.tensor("test_elements").sizes);
    const ValueId flat = b.view(c.value("test_elements"), {count});
    const size_t rank = scalar_elements ? 0 : c.rank("elements");
    const ValueId equal = scalar_elements ? b.call("aten.eq.Scalar", {flat, elements})
                                          : b.call("aten.eq.Tensor", {unsqueeze(b, c.value("elements"), rank), flat});
    found = b.call("aten.any.dim", {equal, static_cast<int64_t>(rank)});
  }
  return c.flag("invert") ? b.unary("aten.logical_not", found) : found;
}

// The indices are integers, also where the mask does not hold.
Types masked_index_types(const Call& c) {
  for (const Arg& item : c.arg("indices").list())
    if (item.is_value() && (!is_integral(c.graph().tensor(item.value()).dtype)))
      return model_error(c.op().name() + " takes integer indices");
  if (c.tensor("mask").dtype != DType::Bool) return model_error(c.op().name() + ": the mask is not boolean");
  return index_types(c);
}

// self[indices] where the mask holds, `fill` elsewhere: indices outside of the mask may be out of bounds.
ArgList kept_in_bounds(Builder& b, const Call& c) {
  ArgList at = c.arg("indices").list();
  for (size_t i = 0; i < at.size(); ++i)
    if (at[i].is_value() && i < c.rank("self")) at[i] = b.call("aten.clamp", {at[i], 0, c.tensor("self").sizes[i] - 1});
  return at;
}

ValueId masked_index(Builder& b, const Call& c) {
  const TensorType self = c.tensor("self");
  const ValueId mask = c.value("mask");
  if (is_empty(self.sizes)) {
    const auto type = infer(c.graph(), c.op(), c.args());
    return type ? b.full((*type)[0].tensor.sizes, c.arg("fill"), self.dtype) : ValueId{};
  }
  const ValueId picked = b.call("aten.index.Tensor", {c.arg("self"), kept_in_bounds(b, c)});
  return b.call("aten.masked_fill.Scalar", {picked, b.unary("aten.logical_not", mask), c.arg("fill")});
}

ValueId masked_index_add(Builder& b, const Call& c) {
  if (is_empty(c.tensor("self").sizes)) return c.value("self");
  const ValueId values = b.call("aten.masked_fill.Scalar", {c.arg("values"), b.unary("aten.logical_not", c.value("mask")), 0});
  return b.call("aten.index_put", {c.arg("self"), kept_in_bounds(b, c), values, true});
}

void define_membership(Table& ops) {
  const std::string tail = ", *, bool assume_unique=False, bool invert=False) -> Tensor";
  for (const char* operands : {"Tensor_Tensor(Tensor elements, Tensor test_elements", "Tensor_Scalar(Tensor elements, Scalar test_element",
                               "Scalar_Tensor(Scalar element, Tensor test_elements"})
    ops.define(std::string("aten::isin.") + operands + tail)
        .dtype(fixed(DType::Bool))
        .shape(broadcast_of(std::string(operands)[0] == 'T' ? std::vector<std::string>{"elements"} : std::vector<std::string>{}))
        .expand(is_in);
  ops.define("aten::_unsafe_masked_index(Tensor self, Tensor mask, Tensor?[] indices, Scalar fill) -> Tensor")
      .infer(masked_index_types)
      .expand(masked_index);
  ops.define("aten::_unsafe_masked_index_put_accumulate(Tensor self, Tensor mask, Tensor?[] indices, Tensor values) -> Tensor")
      .infer([](const Call& c) -> Types {
        EDGEC_TRY(const std::vector<Type> picked, masked_index_types(c));
        const auto fits = broadcast(picked[0].tensor.sizes, c.tensor("values").sizes);
        if (!fits || *fits != picked[0].tensor.sizes) return model_error(c.op().name() + ": the values do not fit what is indexed");
        if (c.tensor("values").dtype != c.tensor("self").dtype) return model_error(c.op().name() + ": the values have another dtype");
        return one(c.tensor("self").dtype, c.tensor("self").sizes);
      })
      .expand(masked_index_add);
}

// ---- scatter of a view --------------------------------------------------------------------------------------------

// self with dims dim1, dim2 first, and the coordinates of the diagonal in them.
ValueId diagonal_scatter(Builder& b, const Call& c) {
  const Dims self = c.tensor("self").sizes;
  const size_t rank = self.size(), i = axis_of(b, c, "dim1", rank), j = axis_of(b, c, "dim2", rank);
  std::vector<int64_t> order{static_cast<int64_t>(i), static_cast<int64_t>(j)}, back(rank);
  for (size_t d = 0; d < rank; ++d)
    if (d != i && d != j) order.push_back(static_cast<int64_t>(d));
  for (size_t d = 0; d < rank; ++d) back[static_cast<size_t>(order[d])] = static_cast<int64_t>(d);
  const int64_t offset = c.integer("offset");
  const ValueId src = b.cast(moved(b, c.value("src"), rank - 2, 0), c.tensor("self").dtype);
  const ValueId line = iota(b, sizes_of(b, src, 1)[0]);
  const ValueId rows = offset < 0 ? b.add(line, -offset) : line, columns = offset > 0 ? b.add(line, offset) : line;
  const ValueId put = b.call("aten.index_put", {b.permute(c.value("self"), order), Arg::tensors({rows, columns}), src});
  return b.permute(put, back);
}

ValueId as_strided_scatter(Builder& b, const Call& c) {
  const Dims sizes = c.dims("size"), strides = c.dims("stride");
  ValueId at = b.full(Dims(sizes.size(), Dim(1)), c.has("storage_offset") ? c.arg("storage_offset") : Arg(0), DType::I64);
  for (size_t i = 0; i < sizes.size(); ++i) at = b.add(at, b.mul(iota(b, sizes[i], DType::I64, i, sizes.size()), strides[i]));
  const ValueId flat = b.view(c.value("self"), {numel(c.tensor("self").sizes)});
  const ValueId src = b.view(b.cast(c.value("src"), c.tensor("self").dtype), {numel(sizes)});
  return b.view(b.call("aten.index_put", {flat, Arg::tensors({b.view(at, {numel(sizes)})}), src}), c.tensor("self").sizes);
}

Types nonzero_type(const Call& c) {
  const Dims& sizes = c.tensor("self").sizes;
  return one(DType::I64, {counted(c.graph(), numel(sizes)), Dim(static_cast<int64_t>(sizes.size()))});
}

// One tensor of coordinates per dim.
Types coordinate_types(const Call& c) {
  const Dims& sizes = c.tensor("condition").sizes;
  return std::vector<Type>(std::max<size_t>(sizes.size(), 1), Type::of({DType::I64, {counted(c.graph(), numel(sizes))}, {}, {}}));
}

ShapeRule selected_along_dim(std::string index) {
  return [index](const Call& c) -> Result<Dims> {
    const Dims& self = c.tensor("self").sizes;
    EDGEC_TRY(size_t axis, c.axis("dim", self.size()));
    return self.empty() ? self : replaced(self, axis, numel(c.tensor(index).sizes));
  };
}

// Where `indices` of take_along_dim and self meet: all dims but the chosen one broadcast.
Result<Dims> along_dim_sizes(const Call& c) {
  if (!c.has("dim")) return Dims{numel(c.tensor("indices").sizes)};
  const Dims &self = c.tensor("self").sizes, &at = c.tensor("indices").sizes;
  EDGEC_TRY(size_t axis, c.axis("dim", at.size()));
  if (self.size() != at.size()) return model_error("take_along_dim: ranks differ");
  if (at.empty()) return at;
  EDGEC_TRY(Dims out, broadcast(replaced(self, axis, 1), replaced(at, axis, 1)));
  return replaced(out, axis, at[axis]);
}

ValueId take_along_dim(Builder& b, const Call& c) {
  const ValueId self = c.value("self"), at = c.value("indices");
  if (!c.has("dim"))
    return b.call("aten.gather", {b.view(self, {numel(c.tensor("self").sizes)}), 0, b.view(at, {numel(c.tensor("indices").sizes)})});
  auto sizes = along_dim_sizes(c);
  if (!sizes) {
    b.fail(sizes.failure().message);
    return {};
  }
  if (sizes->empty()) return b.call("aten.gather", {self, 0, at});
  const size_t axis = axis_of(b, c, "dim", sizes->size());
  return b.call("aten.gather", {b.expand(self, replaced(*sizes, axis, c.tensor("self").sizes[axis])), c.arg("dim"), b.expand(at, *sizes)});
}

}  // namespace

void define_index(Table& ops) {
  ops.define("aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor").infer(index_types).kernel("index.Tensor_out").expand(index);
  synonym(ops, "aten::_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", "aten.index.Tensor");
  ops.define("aten::index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor")
      .dtype(same_as("self"))
      .shape(shape_of("self"))
      .in_place_ok()
      .kernel("index_put.out")
      .expand(index_put);
  ops.in_place("aten::index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor(a!)");
  synonym(ops, "aten::_unsafe_index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor", "aten.index_put");

  ops.define("aten::index_select(Tensor self, int dim, Tensor index) -> Tensor")
      .dtype(same_as("self"))
      .shape(selected_along_dim("index"))
      .kernel("index_select.out")
      .expand([](Builder& b, const Call& c) -> std::vector<ValueId> {
        if (!is_empty(c.tensor("self").sizes)) return keep_whole();
        return {b.full(replaced(c.tensor("self").sizes, axis_of(b, c, "dim", c.rank("self")), numel(c.tensor("index").sizes)), 0,
                       c.tensor("self").dtype)};
      });
  ops.define("aten::index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor")
      .dtype(same_as("self"))
      .shape(shape_of("self"))
      .expand([](Builder& b, const Call& c) { return put_along(b, c, source_along(b, c), false); });
  ops.in_place("aten::index_copy_(Tensor(a!) self, int dim, Tensor index, Tensor source) -> Tensor(a!)");
  ops.define("aten::index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor")
      .dtype(same_as("self"))
      .shape(shape_of("self"))
      .expand([](Builder& b, const Call& c) {
        const ValueId source = source_along(b, c);
        return put_along(b, c, c.number("alpha", 0) == 1 ? source : b.mul(source, c.arg("alpha")), true);
      });
  ops.in_place("aten::index_add_(Tensor(a!) self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor(a!)");
  ops.define("aten::index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor")
      .dtype(same_as("self"))
      .shape(shape_of("self"))
      .expand(index_reduce);
  ops.in_place(
      "aten::index_reduce_(Tensor(a!) self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor(a!)");
  define_membership(ops);
  for (const char* kind : {"Scalar", "Tensor"}) {
    ops.define(fmt::format("aten::index_fill.int_{0}(Tensor self, int dim, Tensor index, {0} value) -> Tensor", kind))
        .dtype(same_as("self"))
        .shape(shape_of("self"))
        .expand([](Builder& b, const Call& c) { return put_along(b, c, number_or_tensor(b, c, "value", c.tensor("self").dtype), false); });
    ops.in_place(fmt::format("aten::index_fill_.int_{0}(Tensor(a!) self, int dim, Tensor index, {0} value) -> Tensor(a!)", kind));
  }

  ops.define("aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor")
      .dtype(same_as("self"))
      .shape(shape_of("index"))
      .kernel("gather.out")
      .expand([](Builder& b, const Call& c) -> std::vector<ValueId> {
        if (is_empty(c.tensor("index").sizes)) return {b.full(c.tensor("index").sizes, 0, c.tensor("self").dtype)};
        return for_kernel(b, c, c.tensor("index").sizes);
      });
  for (const char* schema : {
           "aten::scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
           "aten::scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
           "aten::scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
       }) {
    const std::string_view text(schema);
    const std::string kernel = text.find(".src") != text.npos     ? "scatter.src_out"
                               : text.find(".value") != text.npos ? "scatter.value_out"
                                                                  : "scatter_add.out";
    ops.define(schema).dtype(same_as("self")).shape(shape_of("self")).in_place_ok().kernel(kernel).expand(scattered);
  }
  ops.in_place("aten::scatter_.src(Tensor(a!) self, int dim, Tensor index, Tensor src) -> Tensor(a!)");
  ops.in_place("aten::scatter_.value(Tensor(a!) self, int dim, Tensor index, Scalar value) -> Tensor(a!)");
  ops.in_place("aten::scatter_add_(Tensor(a!) self, int dim, Tensor index, Tensor src) -> Tensor(a!)");
  ops.define("aten::scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor")
      .dtype(same_as("self"))
      .shape(shape_of("self"))
      .expand(scatter_reduce);
  ops.in_place(
      "aten::scatter_reduce_.two(Tensor(a!) self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor(a!)");
  ops.define("aten::scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor")
      .dtype(same_as("self"))
      .shape(shape_of("self"))
      .expand([](Builder& b, const Call& c) { return scatter_with(b, c, c.value("src")); });
  ops.in_place("aten::scatter_.reduce(Tensor(a!) self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor(a!)");
  ops.define("aten::scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor")
      .dtype(same_as("self"))
      .shape(shape_of("self"))
      .expand([](Builder& b, const Call& c) {
        return scatter_with(b, c, b.full(c.tensor("index").sizes, c.arg("value"), c.tensor("self").dtype));
      });
  ops.in_place("aten::scatter_.value_reduce(Tensor(a!) self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor(a!)");

  ops.define("aten::take(Tensor self, Tensor index) -> Tensor")
      .dtype(same_as("self"))
      .shape(shape_of("index"))
      .expand([](Builder& b, const Call& c) {
        const Dims& at = c.tensor("index").sizes;  // index.Tensor: negative positions count from the end
        const ValueId flat = b.view(c.value("self"), {numel(c.tensor("self").sizes)});
        return b.view(b.call("aten.index.Tensor", {flat, Arg::tensors({b.view(c.value("index"), {numel(at)})})}), at);
      });
  ops.define("aten::put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor")
      .dtype(same_as("self"))
      .shape(shape_of("self"))
      .expand([](Builder& b, const Call& c) {
        const Dims count{numel(c.tensor("index").sizes)};
        const ValueId flat = b.view(c.value("self"), {numel(c.tensor("self").sizes)}), at = b.view(c.value("index"), count);
        const ValueId put = b.call("aten.index_put", {flat, Arg::tensors({at}), b.view(c.value("source"), count), c.arg("accumulate")});
        return b.view(put, c.tensor("self").sizes);
      });
  ops.in_place("aten::put_(Tensor(a!) self, Tensor index, Tensor source, bool accumulate=False) -> Tensor(a!)");
  ops.define("aten::take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor")
      .dtype(same_as("self"))
      .shape(along_dim_sizes)
      .expand(take_along_dim);

  ops.define("aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor")
      .dtype(same_as("self"))
      .shape(broadcast_of({"self", "mask"}))
      .in_place_ok()
      .kernel("masked_fill.Scalar_out");
  ops.define("aten::masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor")
      .dtype(same_as("self"))
      .shape(broadcast_of({"self", "mask"}))
      .expand([](Builder& b, const Call& c) {
        return where(b, c.value("mask"), b.cast(number_or_tensor(b, c, "value", c.tensor("self").dtype), c.tensor("self").dtype),
                     c.value("self"));
      });
  for (const char* kind : {"Scalar", "Tensor"})
    ops.in_place(fmt::format("aten::masked_fill_.{0}(Tensor(a!) self, Tensor mask, {0} value) -> Tensor(a!)", kind));
  ops.define("aten::masked_select(Tensor self, Tensor mask) -> Tensor")
      .infer([](const Call& c) -> Types {
        EDGEC_TRY(Dims sizes, broadcast(c.tensor("self").sizes, c.tensor("mask").sizes));
        return one(c.tensor("self").dtype, {counted(c.graph(), numel(sizes))});
      })
      .kernel("masked_select.out");
  ops.define("aten::masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor")
      .dtype(same_as("self"))
      .shape(broadcast_of({"self", "mask"}))
      .kernel("masked_scatter.out");
  ops.in_place("aten::masked_scatter_(Tensor(a!) self, Tensor mask, Tensor source) -> Tensor(a!)");

  ops.define("aten::select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor")
      .dtype(same_as("self"))
      .shape(shape_of("self"))
      .in_place_ok()
      .kernel("select_scatter.out");
  ops.define("aten::slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor")
      .dtype(same_as("self"))
      .shape(shape_of("self"))
      .in_place_ok()
      .kernel("slice_scatter.out");
  ops.define("aten::diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor")
      .dtype(same_as("self"))
      .shape(shape_of("self"))
      .expand(diagonal_scatter);
  ops.define("aten::as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor")
      .dtype(same_as("self"))
      .shape(shape_of("self"))
      .expand(as_strided_scatter);

  ops.define("aten::nonzero(Tensor self) -> Tensor").infer(nonzero_type).defines_symbols().kernel("nonzero.out");
  ops.define("aten::argwhere(Tensor self) -> Tensor").infer(nonzero_type).expand([](Builder& b, const Call& c) {
    return b.call("aten.nonzero", {c.arg("self")});
  });
  ops.define("aten::nonzero_numpy(Tensor self) -> Tensor[]")
      .infer([](const Call& c) -> Types {
        const Arg args[] = {c.arg("self")};
        return infer(c.graph(), Registry::global().get("aten.where"), args);
      })
      .expand([](Builder& b, const Call& c) { return b.call_all("aten.where", {c.arg("self")}); });
  ops.define("aten::where(Tensor condition) -> Tensor[]").infer(coordinate_types).expand([](Builder& b, const Call& c) {
    const ValueId found = b.call("aten.nonzero", {at_least_1d(b, c.value("condition"))});
    std::vector<ValueId> out;
    for (size_t i = 0; i < std::max<size_t>(c.rank("condition"), 1); ++i) out.push_back(select(b, found, 1, static_cast<int64_t>(i)));
    return out;
  });
  for (const char* schema : {
           "aten::where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor",
           "aten::where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor",
           "aten::where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor",
       })
    ops.define(schema)
        .dtype(promoted({"self", "other"}))
        .shape(broadcast_of({"condition", "self", "other"}))
        .expand([](Builder& b, const Call& c) {
          return b.call("aten.where.self", {c.arg("condition"), c.arg("self"), c.arg("other")});
        });

  for (const char* kind : {"Tensor", "Scalar"}) {
    ops.define(fmt::format("aten::bucketize.{0}({0} self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor", kind))
        .dtype(position_dtype())
        .shape(broadcast_of({"self"}))
        .expand(bucketize);
    ops
        .define(fmt::format(
            "aten::searchsorted.{0}(Tensor sorted_sequence, {0} self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? "
            "sorter=None) -> Tensor",
            kind))
        .dtype(position_dtype())
        .shape(broadcast_of({"self"}))
        .expand(searchsorted);
  }
}

}  // namespace edgec::ops
