#include "ops/build.h"

#include "ops/table.h"

namespace edgec::ops {
namespace {

std::vector<int64_t> identity_order(size_t rank) {
  std::vector<int64_t> order(rank);
  for (size_t i = 0; i < rank; ++i) order[i] = static_cast<int64_t>(i);
  return order;
}

ptrdiff_t at(size_t i) { return static_cast<ptrdiff_t>(i); }

}  // namespace

size_t axis_of(Builder& b, const Call& c, std::string_view param, size_t rank) {
  auto axis = c.axis(param, rank);
  if (!axis) b.fail(axis.failure().message);
  return axis ? *axis : 0;
}

Dims sizes_of(Builder& b, ValueId x, size_t at_least) {
  Dims sizes;
  if (!b.failed()) sizes = b.tensor(x).sizes;
  if (b.failed() && sizes.size() < at_least) sizes.resize(at_least, Dim(1));
  return sizes;
}

ValueId reshaped(Builder& b, ValueId x, const Result<Dims>& sizes) {
  if (!sizes) b.fail(sizes.failure().message);
  return sizes ? b.view(x, *sizes) : ValueId{};
}

ValueId slice(Builder& b, ValueId x, size_t axis, Dim start, Dim end, Dim step) {
  if (b.failed()) return {};
  if (start == Dim(0) && end == b.tensor(x).sizes[axis] && step == Dim(1)) return x;
  return b.call("aten.slice.Tensor", {x, static_cast<int64_t>(axis), start, end, step});
}

ValueId select(Builder& b, ValueId x, size_t axis, Dim index) { return b.call("aten.select.int", {x, static_cast<int64_t>(axis), index}); }

ValueId unsqueeze(Builder& b, ValueId x, size_t axis) { return b.view(x, inserted(sizes_of(b, x, axis), axis, 1)); }

ValueId squeeze(Builder& b, ValueId x, size_t axis) { return b.view(x, without(sizes_of(b, x, axis + 1), axis)); }

ValueId cat(Builder& b, const std::vector<ValueId>& parts, size_t axis) {
  return parts.size() == 1 ? parts[0] : b.call("aten.cat", {Arg::tensors(parts), static_cast<int64_t>(axis)});
}

ValueId stack(Builder& b, const std::vector<ValueId>& parts, size_t axis) {
  return parts.size() == 1 ? unsqueeze(b, parts[0], axis) : b.call("aten.stack", {Arg::tensors(parts), static_cast<int64_t>(axis)});
}

ValueId transposed(Builder& b, ValueId x, size_t i, size_t j) {
  if (b.failed()) return {};
  auto order = identity_order(b.tensor(x).rank());
  if (!order.empty()) std::swap(order[i], order[j]);
  return b.permute(x, order);
}

ValueId moved(Builder& b, ValueId x, size_t from, size_t to) {
  if (b.failed()) return {};
  auto order = identity_order(b.tensor(x).rank());
  order.erase(order.begin() + at(from));
  order.insert(order.begin() + at(to), static_cast<int64_t>(from));
  return b.permute(x, order);
}

ValueId iota(Builder& b, Dim length, DType dtype, size_t axis, size_t rank) {
  const ValueId line = b.call("aten.arange.start_step", {0, length, 1}, {{"dtype", dtype}});
  return rank == 1 ? line : b.view(line, replaced(Dims(rank, Dim(1)), axis, length));
}

ValueId pick(Builder& b, ValueId x, size_t axis, ValueId index) {
  return b.call("aten.index_select", {x, static_cast<int64_t>(axis), index});
}

void refuse_training(Builder& b, const Call& c) {
  const Location& at = b.loc();
  const std::string where =
      !at || at->module_class.empty() ? "" : at->module_class + (at->module_path.empty() ? "" : " (" + at->module_path + ")") + ": ";
  b.fail(where + c.op().name() + " in training mode; call model.eval() before torch.export.export");
}

ValueId where(Builder& b, ValueId condition, ValueId x, ValueId otherwise) { return b.call("aten.where.self", {condition, x, otherwise}); }

ValueId where(Builder& b, ValueId condition, ValueId x, double otherwise) {
  if (b.failed()) return {};
  const DType d = b.tensor(x).dtype;
  const Arg fill = is_float(d) ? Arg(otherwise) : Arg(static_cast<int64_t>(otherwise));
  return where(b, condition, x, b.full({}, fill, d));
}

void synonym(Table& ops, std::string_view schema, std::string of) {
  ops.define(schema)
      .infer([of](const Call& c) { return infer(c.graph(), Registry::global().get(of), c.args()); })
      .expand([of](Builder& b, const Call& c) { return b.call_all(of, std::vector<Arg>(c.args().begin(), c.args().end())); });
}

Dims without(Dims sizes, size_t axis) {
  if (axis < sizes.size()) sizes.erase(sizes.begin() + at(axis));  // rank 0: untrusted archives
  return sizes;
}

Dims inserted(Dims sizes, size_t axis, Dim size) {
  sizes.insert(sizes.begin() + at(axis), size);
  return sizes;
}

Dims replaced(Dims sizes, size_t axis, Dim size) {
  if (axis < sizes.size()) sizes[axis] = size;
  return sizes;
}

bool is_empty(const Dims& sizes) {
  for (const Dim& d : sizes)
    if (d == Dim(0)) return true;
  return false;
}

}  // namespace edgec::ops
