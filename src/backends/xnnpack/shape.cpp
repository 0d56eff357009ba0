#include <fmt/format.h>

#include <algorithm>

#include "backends/xnnpack/conv.h"
#include "backends/xnnpack/lowering.h"

// Movement of data. A permute changes how a value is read, a view its dims; bytes move where an operator cannot read them so.
namespace edgec::xnnpack {
namespace {

Refusal view_refuses(const Site& s) {
  const TensorType &from = s.g.tensor(s.node().args[0].value()), &to = s.result();
  if (from.sizes == to.sizes) return {};
  if (!at_most_one_dynamic(to.sizes)) return fmt::format("a view to {}: the delegate infers one dim at most", str(to.sizes));
  return {};
}

// Dims other than ones, in the order in which they lie, are in their logical order: the bytes are those of the plain value.
bool lies_plain(const Lowering& l, const Form& f) {
  int last = -1;
  const Dims& d = l.dims(f.id);
  for (size_t i = 0; i < f.order.size(); ++i) {
    if (d[i] == Dim(1)) continue;
    if (f.order[i] < last) return false;
    last = f.order[i];
  }
  return true;
}

Status view(Lowering& l, const Site& s) {
  const ValueId x = s.node().args[0].value(), y = s.node().results[0];
  const Dims& to = l.type(y).sizes;
  const Form f = l.raw(x);
  if (l.type(x).sizes == to) {
    l.bind(y, f.id, f.order);
    return {};
  }
  const Id bytes = lies_plain(l, f) ? f.id : l.transposed(f.id, f.order, plain_order(f.order.size()));
  l.bind(y, l.reshape(bytes, to), plain_order(to.size()));
  return {};
}

// Which dim of the operand each dim of the result is.
std::vector<size_t> permutation(const Call& c) {
  const size_t rank = c.rank("self");
  std::vector<size_t> p(rank);
  const auto dims = c.integers("dims");
  for (size_t i = 0; i < rank; ++i) p[i] = static_cast<size_t>(dims[i] < 0 ? dims[i] + static_cast<int64_t>(rank) : dims[i]);
  return p;
}

Order reordered(const Order& order, const std::vector<size_t>& p) {
  Order out;
  for (uint8_t d : order) out.push_back(static_cast<uint8_t>(std::find(p.begin(), p.end(), d) - p.begin()));
  return out;
}

Status permute(Lowering& l, const Site& s) {
  const Call c = s.call();
  const Form f = l.raw(c.value("self"));
  l.bind(s.node().results[0], f.id, reordered(f.order, permutation(c)));
  return {};
}

Status same(Lowering& l, const Site& s) {
  const Form f = l.raw(s.node().args[0].value());
  l.bind(s.node().results[0], f.id, f.order);
  return {};
}

// A weight of whole numbers is made floats by the product that takes it, or where floats are wanted.
Refusal cast_refuses(const Site& s) { return weight_of_quantized(s, s.node().results[0]) ? weight_refused(s) : Refusal(); }
Status cast(Lowering& l, const Site& s) { return weight_of_quantized(s, s.node().results[0]) ? Status() : same(l, s); }

constexpr int64_t kMostOnes = 4096;  // that an expansion multiplies by

Refusal expand_refuses(const Site& s) {
  const Dims &from = s.g.tensor(s.node().args[0].value()).sizes, &to = s.result().sizes;
  if (from.size() != to.size() && !at_most_one_dynamic(from)) return "new dims beside several dynamic ones";
  const size_t shift = to.size() - from.size();
  int64_t elements = 1;
  for (size_t i = 0; i < to.size(); ++i)
    if (i < shift || from[i - shift] != to[i])
      elements = std::min<int64_t>(elements * std::min<int64_t>(to[i].constant().value_or(1), kMostOnes + 1), kMostOnes + 1);
  if (elements > kMostOnes) return "an expansion that would need a large constant";
  for (size_t i = 0; i < to.size(); ++i)
    if ((i < shift || from[i - shift] != to[i]) && !to[i].is_static()) return "an expansion to a size that is not constant";
  return {};
}

// Whether the only user broadcasts the operand itself.
bool broadcast_where_used(const Lowering& l, const Site& s) {
  const NodeId user = l.only_user(s.node().results[0]);
  if (!user) return false;
  const std::string& op = s.g.node(user).op->name();
  for (const char* name : {"aten.add.Tensor", "aten.sub.Tensor", "aten.mul.Tensor", "aten.div.Tensor", "aten.maximum", "aten.minimum"})
    if (op == name) {
      const ValueId a = s.g.node(user).args[0].value(), b = s.g.node(user).args[1].value();
      const ValueId other = a == s.node().results[0] ? b : a;
      return a != b && s.g.tensor(other).sizes == s.result().sizes && l.type(s.node().args[0].value()).rank() == s.result().rank();
    }
  return false;
}

// A product with ones, unless nothing is to be done.
Status expand(Lowering& l, const Site& s) {
  const ValueId x = s.node().args[0].value(), y = s.node().results[0];
  const TensorType &from = l.type(x), &to = s.result();
  if (from.sizes == to.sizes || broadcast_where_used(l, s)) return same(l, s);
  const size_t shift = to.rank() - from.rank();
  Dims whole(shift, Dim(1));
  whole.insert(whole.end(), from.sizes.begin(), from.sizes.end());
  std::vector<int64_t> ones;
  size_t count = 1;
  for (size_t i = 0; i < to.rank(); ++i) {
    ones.push_back(whole[i] == to.sizes[i] ? 1 : *to.sizes[i].constant());
    count *= static_cast<size_t>(ones.back());
  }
  const Id factor = l.constant(tensor_of(to.dtype, ones, std::vector<double>(count, 1)));
  l.bind(y, l.binary(Op::Multiply, l.reshape(l.plain(x), whole), factor), plain_order(to.rank()));
  return {};
}

// ---- parts -----------------------------------------------------------------------------------------------------------------------------

size_t place(const Order& order, size_t dim) { return static_cast<size_t>(std::find(order.begin(), order.end(), dim) - order.begin()); }

struct Cut {
  size_t axis = 0;
  Dim start;
};
std::optional<Cut> cut(const Call& c) {
  const TensorType& x = c.tensor("self");
  const auto axis = c.axis("dim", x.rank());
  if (!axis) return std::nullopt;
  Cut k{*axis, c.has("start") ? c.dim("start") : Dim(0)};
  const Dim& size = x.sizes[*axis];
  if (const auto n = k.start.constant(); n && *n < 0) k.start = size + k.start;
  return k;
}

Refusal slice_refuses(const Site& s) {
  const Call c = s.call();
  if (c.dim("step") != Dim(1)) return fmt::format("a step of {}", c.dim("step").str());
  const auto k = cut(c);
  if (!k->start.constant() || *k->start.constant() < 0) return "a start that is not constant";
  const Dim &size = s.result().sizes[k->axis], &from = c.tensor("self").sizes[k->axis];
  if (!size.is_static() && size + k->start != from) return "an end that is not constant";
  return {};
}
Status slice(Lowering& l, const Site& s) {
  const Call c = s.call();
  const Cut k = *cut(c);
  const Form f = l.raw(c.value("self"));
  l.bind(s.node().results[0], l.slice(f.id, place(f.order, k.axis), *k.start.constant(), s.result().sizes[k.axis]), f.order);
  return {};
}

Refusal select_refuses(const Site& s) {
  const Call c = s.call();
  const Dim index = c.dim("index");
  const auto axis = c.axis("dim", c.rank("self"));
  if (!axis || !index.constant()) return "an index that is not constant";
  if (*index.constant() < 0 && !c.tensor("self").sizes[*axis].is_static()) return "an index from the end of a dim that is not constant";
  if (!at_most_one_dynamic(s.result().sizes)) return "dropping a dim beside several dynamic ones";
  return {};
}
// A slice of one, whose dim goes. The other dims lie as they did.
Status select(Lowering& l, const Site& s) {
  const Call c = s.call();
  const ValueId x = c.value("self");
  EDGEC_TRY(const size_t axis, c.axis("dim", c.rank("self")));
  int64_t index = *c.dim("index").constant();
  if (index < 0) index += *l.type(x).sizes[axis].constant();
  const Form f = l.raw(x);
  const size_t at = place(f.order, axis);
  const Id one = l.slice(f.id, at, index, Dim(1));
  Dims to = l.dims(one);
  to.erase(to.begin() + static_cast<std::ptrdiff_t>(at));
  Order order;
  for (uint8_t d : f.order)
    if (d != axis) order.push_back(static_cast<uint8_t>(d - (d > axis ? 1 : 0)));
  l.bind(s.node().results[0], l.reshape(one, to), order);
  return {};
}

// ---- joins -----------------------------------------------------------------------------------------------------------------------------

Refusal cat_refuses(const Site& s) {
  const auto parts = s.call().values("tensors");
  if (parts.size() < 2) return "a single part";
  return {};
}
Status cat(Lowering& l, const Site& s) {
  const Call c = s.call();
  const auto parts = c.values("tensors");
  EDGEC_TRY(const size_t axis, c.axis("dim", s.result().rank()));
  Order order = l.raw(parts[0]).order;
  for (ValueId v : parts)  // the order that most of the network has; constants follow
    if (!l.method().constant_of(l.graph(), v)) order = l.raw(v).order;
  std::vector<Form> raws;
  for (ValueId v : parts) raws.push_back(l.raw(v));
  const auto* first = std::get_if<PerTensor>(&l.net().value(raws[0].id).quant);
  const bool numbers = first && std::all_of(raws.begin(), raws.end(), [&](const Form& f) {
                         const auto* q = std::get_if<PerTensor>(&l.net().value(f.id).quant);
                         return q && *q == *first;
                       });
  std::vector<Id> ids;
  for (size_t i = 0; i < parts.size(); ++i)
    ids.push_back(numbers ? l.transposed(raws[i].id, raws[i].order, order) : l.in_order(parts[i], order));
  l.bind(s.node().results[0], l.concatenate(ids, static_cast<uint32_t>(place(order, axis))), order);
  return {};
}

Refusal stack_refuses(const Site& s) {
  if (s.call().values("tensors").size() < 2) return "a single part";
  if (!at_most_one_dynamic(s.result().sizes)) return "a new dim beside several dynamic ones";
  return {};
}
Status stack(Lowering& l, const Site& s) {
  const Call c = s.call();
  EDGEC_TRY(const size_t axis, c.axis("dim", s.result().rank()));
  std::vector<Id> ids;
  for (ValueId v : c.values("tensors")) {
    const Id x = l.plain(v);
    Dims to = l.dims(x);
    to.insert(to.begin() + static_cast<std::ptrdiff_t>(axis), Dim(1));
    ids.push_back(l.reshape(x, to));
  }
  l.bind(s.node().results[0], l.concatenate(ids, static_cast<uint32_t>(axis)), plain_order(s.result().rank()));
  return {};
}

// ---- parts that are written -----------------------------------------------------------------------------------------------------------

// The operand with a slice of it replaced: what lies before, the new part, what lies behind.
Refusal slice_scatter_refuses(const Site& s) {
  const Call c = s.call();
  if (c.dim("step") != Dim(1)) return fmt::format("a step of {}", c.dim("step").str());
  const auto k = cut(c);
  if (!k->start.constant() || *k->start.constant() < 0) return "a start that is not constant";
  const Dim end = k->start + c.tensor("src").sizes[k->axis], &whole = c.tensor("self").sizes[k->axis];
  if (end != whole && !end.is_static()) return "an end that is not constant";
  return {};
}
Refusal select_scatter_refuses(const Site& s) {
  const Call c = s.call();
  const auto axis = c.axis("dim", c.rank("self"));
  if (!axis || !c.dim("index").constant()) return "an index that is not constant";
  if (*c.dim("index").constant() < 0 && !c.tensor("self").sizes[*axis].is_static())
    return "an index from the end of a dim that is not constant";
  if (!at_most_one_dynamic(c.tensor("self").sizes)) return "a new dim beside several dynamic ones";
  return {};
}

void replaced_part(Lowering& l, const Site& s, size_t axis, int64_t start, Id part, const Order& order) {
  const ValueId x = s.call().value("self");
  const Form f = l.form(x);
  const size_t at = place(f.order, axis);
  part = l.transposed(part, order, f.order);
  const Dim end = Dim(start) + l.dims(part)[at], whole = l.type(x).sizes[axis];
  std::vector<Id> parts;
  if (start > 0) parts.push_back(l.slice(f.id, at, 0, Dim(start)));
  parts.push_back(part);
  if (end != whole) parts.push_back(l.slice(f.id, at, *end.constant(), whole - end));
  l.bind(s.node().results[0], l.concatenate(std::move(parts), static_cast<uint32_t>(at)), f.order);
}
Status slice_scatter(Lowering& l, const Site& s) {
  const Cut k = *cut(s.call());
  const Form part = l.form(s.call().value("src"));
  replaced_part(l, s, k.axis, *k.start.constant(), part.id, part.order);
  return {};
}
Status select_scatter(Lowering& l, const Site& s) {
  const Call c = s.call();
  const Dims& sizes = l.type(c.value("self")).sizes;
  EDGEC_TRY(const size_t axis, c.axis("dim", sizes.size()));
  int64_t index = *c.dim("index").constant();
  if (index < 0) index += *sizes[axis].constant();
  Dims one = sizes;
  one[axis] = Dim(1);
  replaced_part(l, s, axis, index, l.reshape(l.plain(c.value("src")), one), plain_order(sizes.size()));
  return {};
}

// ---- pads ------------------------------------------------------------------------------------------------------------------------------

Refusal pad_refuses(const Site& s) {
  for (const Dim& d : s.call().dims("pad"))
    if (!d.constant() || *d.constant() < 0) return "a pad that is negative or not constant";
  if (s.call().arg("value").is_expr() && !s.call().arg("value").expr().is_static()) return "a value that is not constant";
  return {};
}
Status pad(Lowering& l, const Site& s) {
  const Call c = s.call();
  const std::vector<int64_t> pads = c.integers("pad");
  const Form f = c.number("value", 0) == 0 ? l.raw(c.value("self")) : l.form(c.value("self"));  // zero is one of the numbers
  const size_t rank = f.order.size();
  ListAttrs a{std::vector<uint32_t>(rank, 0), std::vector<uint32_t>(rank, 0)};
  Dims to = l.dims(f.id);
  for (size_t i = 0; i + 1 < pads.size(); i += 2) {  // from the last dim on
    const size_t at = place(f.order, rank - 1 - i / 2);
    a.first[at] = static_cast<uint32_t>(pads[i]);
    a.second[at] = static_cast<uint32_t>(pads[i + 1]);
    to[at] = to[at] + Dim(pads[i] + pads[i + 1]);
  }
  const NetValue from = l.net().value(f.id);
  const Id y = l.value(from.type, to, from.quant);
  NetNode& n = l.emit(Op::ConstantPad, {f.id}, y);
  n.attrs = a;
  n.number = static_cast<float>(c.number("value", 0));
  l.bind(s.node().results[0], y, f.order);
  return {};
}

constexpr Row kRows[] = {
    {"aten.view", view, view_refuses, false, true},
    {"aten.permute", permute, nullptr, false, true},
    {"aten.expand", expand, expand_refuses},
    {"dim_order_ops._to_dim_order_copy", cast, cast_refuses, false, true},
    {"aten.slice.Tensor", slice, slice_refuses, false, true},
    {"aten.select.int", select, select_refuses, false, true},
    {"aten.cat", cat, cat_refuses},
    {"aten.stack", stack, stack_refuses},
    {"aten.slice_scatter", slice_scatter, slice_scatter_refuses},
    {"aten.select_scatter", select_scatter, select_scatter_refuses},
    {"aten.constant_pad_nd", pad, pad_refuses},
};

}  // namespace

std::span<const Row> shape_rows() { return kRows; }

}  // namespace edgec::xnnpack
