#include "backends/xnnpack/lowering.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "backends/xnnpack/attention.h"
#include "backends/xnnpack/conv.h"
#include "backends/xnnpack/factors.h"
#include "support/assert.h"

namespace edgec::xnnpack {
namespace {

// Which place of `from` each place of `to` takes; dims of one in turn.
std::vector<uint32_t> permutation(const Order& from, const Order& to) {
  std::vector<uint32_t> perm;
  auto one = from.begin();
  for (uint8_t d : to) {
    const auto at = std::find(d == kOne ? one : from.begin(), from.end(), d);
    perm.push_back(static_cast<uint32_t>(at - from.begin()));
    if (d == kOne) one = at + 1;
  }
  return perm;
}

size_t ones(const Order& o) { return static_cast<size_t>(std::count(o.begin(), o.end(), kOne)); }
Order without_ones(Order o) {
  o.erase(std::remove(o.begin(), o.end(), kOne), o.end());
  return o;
}
Order with_leading_ones(size_t count, const Order& o) {
  Order out(count, kOne);
  out.insert(out.end(), o.begin(), o.end());
  return out;
}

}  // namespace

DataType data_type(DType d) { return d == DType::F16 ? DataType::F16 : d == DType::I8 ? DataType::QInt8 : DataType::F32; }
DType dtype_of(DataType t) { return t == DataType::F16 ? DType::F16 : DType::F32; }

bool at_most_one_dynamic(const Dims& dims) {
  return std::count_if(dims.begin(), dims.end(), [](const Dim& d) { return !d.is_static(); }) <= 1;
}

Order plain_order(size_t rank) {
  Order o(rank);
  std::iota(o.begin(), o.end(), uint8_t{0});
  return o;
}

Lowering::Lowering(const Method& region, const Options& options)
    : m_(region), g_(*region.graph), options_(options), uses_(g_.use_counts()) {
  user_.resize(uses_.size());
  for (NodeId n = g_.first(); n; n = g_.next(n))
    for (const Arg& a : g_.node(n).args) for_each_value(a, [&](const ValueId& v) { user_[v.index] = n; });
}

Status Lowering::run() {
  EDGEC_TRY_VOID(inputs());
  for (NodeId n = g_.first(); n; n = g_.next(n)) {
    current_ = n;
    const Node& node = g_.node(n);
    const Row* row = find_row(node.op->name());
    if (!row) return internal_error(fmt::format("the XNNPACK backend was given {}, which it does not know", node.op->name()));
    EDGEC_TRY_VOID(row->lower(*this, Site{m_, g_, n, options_}));
    for (const Arg& a : node.args) for_each_value(a, [&](const ValueId& v) { --uses_[v.index]; });
  }
  current_ = {};
  EDGEC_TRY_VOID(outputs());
  net_.remove_dead();
  fold_factors(net_);
  net_.remove_dead();
  return {};
}

Status Lowering::inputs() {
  uint32_t position = 0;
  for (size_t i = 0; i < g_.inputs.size(); ++i) {
    const ValueId v = g_.inputs[i];
    if (m_.constant_of(g_, v)) continue;  // made where it is used
    if (!g_.type(v).is_tensor()) return internal_error("the XNNPACK backend was given an input that is no tensor");
    const TensorType& t = type(v);
    const Order order = t.dim_order.empty() ? plain_order(t.rank()) : t.dim_order;
    NetValue value;
    value.type = data_type(t.dtype);
    for (uint8_t d : order) value.dims.push_back(t.sizes[d]);
    value.external = position++;
    value.input = true;
    if (t.dtype == DType::I8)
      value.quant = quantization_of(Site{m_, g_, {}, options_}, v).value_or(PerTensor{});  // numbers that only move have any scale
    bind(v, net_.add(std::move(value)), order);
  }
  return {};
}

Status Lowering::outputs() {
  auto position =
      static_cast<uint32_t>(std::count_if(g_.inputs.begin(), g_.inputs.end(), [&](ValueId v) { return m_.constant_of(g_, v) == nullptr; }));
  for (const Arg& a : g_.outputs) {
    if (!a.is_value() || !g_.type(a.value()).is_tensor())
      return internal_error("the XNNPACK backend was given an output that is no tensor");
    external_output(a.value(), position++);
  }
  return {};
}

Id Lowering::external_output(ValueId v, uint32_t position) {
  const TensorType& t = type(v);
  Id id = in_order(v, t.dim_order.empty() ? plain_order(t.rank()) : t.dim_order);
  const NetValue& made = net_.value(id);
  if (made.input || made.output || made.producer == kNone) {  // an input, a constant, or an output already: its bytes are copied
    const Id copy = value(made.type, made.dims, made.quant);
    emit(Op::Copy, {id}, copy);
    id = copy;
  }
  net_.value(id).output = true;
  net_.value(id).external = position;
  return id;
}

// ---- operands --------------------------------------------------------------------------------------------------------------------------

Form Lowering::form(ValueId v) {
  const Form f = lying(v);
  const Order order = without_ones(f.order);
  return {transposed(f.id, f.order, order), order};
}

std::optional<Id> Lowering::heads(ValueId v) const {
  const auto it = heads_.find(v);
  return it == heads_.end() ? std::nullopt : std::optional(it->second);
}

Form Lowering::lying(ValueId v) {
  if (auto it = forms_.find(v); it != forms_.end()) return it->second;
  if (const auto by_heads = heads(v)) {
    bind(v, join_heads(*this, *by_heads), {0, kOne, 1, 2});
    return forms_.at(v);
  }
  if (const TensorData* data = m_.constant_of(g_, v)) {
    bind(v, constant(*data), plain_order(data->sizes.size()));
    return forms_.at(v);
  }
  if (quantized_.count(v) == 0) {
    const auto weight = weight_of_quantized(Site{m_, g_, current_, options_}, v);
    EDGEC_ASSERT(weight);  // else a value of the region is used before it is made
    const TensorData data = dequantized(*weight);
    bind(v, constant(data), plain_order(data.sizes.size()));
    return forms_.at(v);
  }
  const Form q = quantized_.at(v);
  const Dims sizes = dims(q.id);
  const Id real = value(data_type(type(v).dtype), sizes);
  emit(Op::Convert, {q.id}, real);
  bind(v, real, q.order);
  return forms_.at(v);
}

Form Lowering::raw(ValueId v) {
  if (forms_.count(v) == 0)
    if (const auto q = quantized(v)) return *q;
  return form(v);
}

// Before any move: the numbers of a quantized value, or the value as it lies.
Id Lowering::as_bound(ValueId v) {
  if (forms_.count(v) == 0)
    if (const auto q = quantized(v)) return q->id;
  return lying(v).id;
}

Id Lowering::in_order(ValueId v, const Order& order) {
  const Form f = lying(v);
  return transposed(f.id, f.order, order);
}

Id Lowering::transposed(Id id, const Order& from, const Order& to) {
  if (from == to) return id;
  if (ones(from) == ones(to)) return transpose(id, permutation(from, to));
  if (const auto known = with_ones_.find({id, from, to}); known != with_ones_.end()) return known->second;
  return with_ones_[{id, from, to}] = with_other_ones(id, from, to);
}

// A view where it can be. Beside several dynamic dims a product with one makes leading dims, and a mean over two dims of one drops them.
Id Lowering::with_other_ones(Id id, const Order& from, const Order& to) {
  if (at_most_one_dynamic(dims(id))) {
    Dims bare, full;
    for (size_t i = 0; i < from.size(); ++i)
      if (from[i] != kOne) bare.push_back(dims(id)[i]);
    const Id moved = transposed(reshape(id, bare), without_ones(from), without_ones(to));
    for (size_t i = 0, k = 0; i < to.size(); ++i) full.push_back(to[i] == kOne ? Dim(1) : dims(moved)[k++]);
    return reshape(moved, full);
  }
  const auto with_leading = [&](Id x, size_t count) {
    const std::vector<int64_t> sizes(dims(x).size() + count, 1);
    return count == 0 ? x : binary(Op::Multiply, x, constant(tensor_of(dtype_of(net_.value(x).type), sizes, {1})));
  };
  if (ones(to) > ones(from)) {
    const size_t count = ones(to) - ones(from);
    return transposed(with_leading(id, count), with_leading_ones(count, from), to);
  }
  EDGEC_ASSERT(ones(to) == 0 && ones(from) <= 2);
  const size_t count = 2 - ones(from);
  Order last = without_ones(to);
  last.insert(last.end() - 1, 2, kOne);
  const Id x = transposed(with_leading(id, count), with_leading_ones(count, from), last);
  Dims bare = dims(x);
  bare.erase(bare.end() - 3, bare.end() - 1);
  const Id y = value(net_.value(x).type, std::move(bare));
  emit(Op::GlobalAveragePool, {x}, y);
  return y;
}

bool Lowering::lies_in(ValueId v, const Order& order) {
  const Form f = lying(v);
  if (f.order == order || with_ones_.count({f.id, f.order, order}) != 0) return true;
  return ones(f.order) == ones(order) && transposed_.count({f.id, permutation(f.order, order)}) != 0;
}

bool Lowering::only_used_here(ValueId v) {
  const Id id = as_bound(v);
  if (net_.value(id).consumers != 0 || net_.value(id).producer == kNone) return false;
  uint32_t left = 0;
  for (ValueId u : bound_[id]) left += uses_[u.index];
  return left == 1;
}

NetNode* Lowering::maker(ValueId v) {
  if (!only_used_here(v)) return nullptr;
  NetNode* n = net_.producer(as_bound(v));
  while (n->op == Op::Reshape && net_.value(n->in[0]).consumers == 1 && bound_[n->in[0]].empty() && net_.producer(n->in[0]))
    n = net_.producer(n->in[0]);
  return n;
}

std::optional<Form> Lowering::quantized(ValueId v) const {
  const auto it = quantized_.find(v);
  return it == quantized_.end() ? std::nullopt : std::optional(it->second);
}

// ---- results ---------------------------------------------------------------------------------------------------------------------------

NodeId Lowering::only_user(ValueId v) const { return uses_[v.index] == 1 ? user_[v.index] : NodeId(); }

void Lowering::bind(ValueId v, Id id, Order order) {
  const bool stands_for = net_.value(id).type == DataType::QInt8 && type(v).dtype != DType::I8;
  (stands_for ? quantized_ : forms_)[v] = {id, std::move(order)};
  bound_[id].push_back(v);
}

void Lowering::clamp_result(ValueId x, ValueId y, double min, double max) {
  if (is_bound(y)) return;  // done by what made x
  NetNode* made = quantized(x) ? nullptr : maker(x);
  const Form f = lying(x);
  if (!made || !takes_range(made->op)) return bind(y, clamp(f.id, min, max), f.order);
  made->hold_between(min, max);
  made->sources.push_back(current_);
  bind(y, f.id, f.order);
}

}  // namespace edgec::xnnpack
