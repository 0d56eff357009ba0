#include <algorithm>
#include <limits>

#include "backends/xnnpack/lowering.h"

// How a lowering adds to its payload. What would change nothing is left out.
namespace edgec::xnnpack {
namespace {

// Sizes of two operands side by side, aligned at the last dim.
Dims broadcast(const Dims& a, const Dims& b) {
  Dims out = a.size() >= b.size() ? a : b;
  const Dims& other = a.size() >= b.size() ? b : a;
  const size_t shift = out.size() - other.size();
  for (size_t i = 0; i < other.size(); ++i)
    if (out[i + shift] == Dim(1)) out[i + shift] = other[i];
  return out;
}

template <class T>
std::vector<T> pick(const std::vector<T>& from, const std::vector<uint32_t>& perm) {
  std::vector<T> out;
  for (uint32_t p : perm) out.push_back(from[p]);
  return out;
}

// Only dims of one change their places.
bool moves_nothing(const Dims& d, const std::vector<uint32_t>& perm) {
  int64_t last = -1;
  for (uint32_t p : perm) {
    if (d[p] == Dim(1)) continue;
    if (int64_t{p} < last) return false;
    last = p;
  }
  return true;
}

bool is_one(const NetValue& v) { return v.data && v.data->numel() == 1 && read_element(gather(*v.data), v.data->dtype, 0) == 1; }

}  // namespace

bool takes_range(Op op) {
  switch (op) {
    case Op::Add:
    case Op::Subtract:
    case Op::Multiply:
    case Op::Divide:
    case Op::Conv:
    case Op::DepthwiseConv:
    case Op::TransposedConv:
    case Op::FullyConnected:
    case Op::AveragePool:
    case Op::MaxPool:
    case Op::GlobalAveragePool:
    case Op::Clamp:
      return true;
    default:
      return false;
  }
}

Id Lowering::constant(TensorData data) {
  NetValue v;
  v.type = data_type(data.dtype);
  v.dims.assign(data.sizes.begin(), data.sizes.end());
  v.data = std::move(data);
  return net_.add(std::move(v));
}

Id Lowering::constant(TensorData data, DataType type, Dims sizes, Quant quant) {
  NetValue v;
  v.type = type;
  v.dims = std::move(sizes);
  v.quant = std::move(quant);
  v.data = std::move(data);
  return net_.add(std::move(v));
}

Id Lowering::quantized_rows(Id x, uint32_t nonbatch_dims) {
  const auto [it, fresh] = quantized_rows_.try_emplace({x, nonbatch_dims}, kNone);
  if (fresh) {
    const Dims sizes = dims(x);
    it->second = value(DataType::QDInt8, sizes, PerRow{nonbatch_dims});
    emit(Op::Convert, {x}, it->second);
  }
  return it->second;
}

Id Lowering::scalar(double number, DataType like) {
  const auto [it, fresh] = scalars_.try_emplace({number, like}, kNone);
  if (fresh) {
    it->second = constant(tensor_of(dtype_of(like), {}, {number}));
  }
  return it->second;
}

Id Lowering::value(DataType type, Dims sizes, Quant quant) {
  NetValue v;
  v.type = type;
  v.dims = std::move(sizes);
  v.quant = std::move(quant);
  return net_.add(std::move(v));
}

NetNode& Lowering::emit(Op op, std::vector<Id> in, Id out) {
  NetNode n;
  n.op = op;
  n.in = std::move(in);
  n.out = out;
  if (current_) n.sources.push_back(current_);
  return net_.add(std::move(n));
}

Id Lowering::unary(Op op, Id x) {
  const Id y = value(net_.value(x).type, dims(x));
  emit(op, {x}, y);
  return y;
}

Id Lowering::binary(Op op, Id a, Id b) {
  const Dims to = broadcast(dims(a), dims(b));
  if ((op == Op::Multiply || op == Op::Divide) && to == dims(a) && is_one(net_.value(b))) return a;
  if (op == Op::Multiply && to == dims(b) && is_one(net_.value(a))) return b;
  const Id y = value(net_.value(a).type, to);
  emit(op, {a, b}, y);
  return y;
}

Id Lowering::clamp(Id x, double min, double max) {
  if (NetNode* made = net_.producer(x); made && takes_range(made->op) && net_.value(x).consumers == 0 && bound_.count(x) == 0) {
    made->hold_between(min, max);
    return x;
  }
  const NetValue from = net_.value(x);
  const Id y = value(from.type, from.dims, from.quant);
  NetNode& n = emit(Op::Clamp, {x}, y);
  n.min = static_cast<float>(min);
  n.max = static_cast<float>(max);
  return y;
}

Id Lowering::reshape(Id x, const Dims& to) {
  const NetValue from = net_.value(x);
  if (from.dims == to) return x;
  if (const NetNode* made = net_.producer(x); made && made->op == Op::Reshape) return reshape(made->in[0], to);
  if (from.data) {
    if (const TensorData& d = *from.data; !d.dense_bytes().empty() || d.numel() == 0) {
      TensorData same = d;
      same.sizes.clear();
      for (const Dim& s : to) same.sizes.push_back(*s.constant());
      same.strides = contiguous_strides(same.sizes);
      return constant(std::move(same));
    }
  }
  const Id y = value(from.type, to, from.quant);
  ListAttrs shape;
  for (const Dim& d : to) shape.first.push_back(d.constant() ? static_cast<uint32_t>(*d.constant()) : 0);
  emit(Op::Reshape, {x}, y).attrs = std::move(shape);
  return y;
}

Id Lowering::transpose(Id x, const std::vector<uint32_t>& perm) {
  const auto [it, fresh] = transposed_.try_emplace({x, perm}, kNone);
  if (!fresh) return it->second;
  const NetValue from = net_.value(x);
  Id y = kNone;
  if (from.data) {
    TensorData data = *from.data;
    data.sizes = pick(data.sizes, perm);
    data.strides = pick(data.strides, perm);
    y = constant(std::move(data));
  } else if (moves_nothing(from.dims, perm) && at_most_one_dynamic(from.dims)) {
    y = reshape(x, pick(from.dims, perm));
  } else {
    y = value(from.type, pick(from.dims, perm), from.quant);
    emit(Op::Transpose, {x}, y).attrs = ListAttrs{perm, {}};
  }
  transposed_[{x, perm}] = y;
  return y;
}

Id Lowering::slice(Id x, size_t axis, int64_t start, const Dim& size) {
  const NetValue from = net_.value(x);
  Dims to = from.dims;
  to[axis] = size;
  if (to == from.dims) return x;
  ListAttrs cut{std::vector<uint32_t>(to.size(), 0), std::vector<uint32_t>(to.size(), 0)};
  cut.first[axis] = static_cast<uint32_t>(start);
  // Of a size that is not known the delegate takes what there is.
  cut.second[axis] = size.constant() ? static_cast<uint32_t>(*size.constant()) : 0x7fffffffu;
  const Id y = value(from.type, std::move(to), from.quant);
  emit(Op::Slice, {x}, y).attrs = std::move(cut);
  return y;
}

Id Lowering::fully_connected(Id x, Id weight, Id bias, uint32_t n) {
  Dims to = dims(x);
  to.back() = Dim(int64_t{n});
  const DataType t = net_.value(x).type;
  const Id y = value(t == DataType::QDInt8 ? DataType::F32 : t, std::move(to));
  emit(Op::FullyConnected, {x, weight, bias}, y);
  return y;
}

Id Lowering::matmul(Id a, Id b, bool transpose_b) {
  const Dims &x = dims(a), &w = dims(b);
  Dims batch = broadcast(Dims(x.begin(), x.end() - 2), Dims(w.begin(), w.end() - 2));
  batch.push_back(x[x.size() - 2]);
  batch.push_back(w[w.size() - (transpose_b ? 2 : 1)]);
  const Id y = value(net_.value(a).type, std::move(batch));
  emit(Op::BatchMatMul, {a, b}, y).flags = transpose_b ? kTransposeB : 0;
  return y;
}

Id Lowering::mean_of_last(Id x, double add) {
  const DataType t = net_.value(x).type;
  const auto k = *dims(x).back().constant();
  const auto [it, fresh] = averages_.try_emplace({static_cast<uint32_t>(k), t}, kNone);
  if (fresh) {
    it->second = constant(tensor_of(dtype_of(t), {1, k}, std::vector<double>(static_cast<size_t>(k), 1.0 / static_cast<double>(k))));
  }
  Id bias = kNone;
  if (add != 0) {
    bias = constant(tensor_of(dtype_of(t), {1}, {add}));
  }
  return fully_connected(x, it->second, bias, 1);
}

// As far as the operators before it tell.
double Lowering::at_least(Id x) const {
  constexpr double kNothing = -std::numeric_limits<double>::infinity();
  const NetValue& v = net_.value(x);
  if (v.data) return v.data->numel() == 1 ? read_element(gather(*v.data), v.data->dtype, 0) : kNothing;
  if (v.producer == kNone) return kNothing;
  const NetNode& n = net_.nodes()[v.producer];
  double low = kNothing;
  switch (n.op) {
    case Op::Square:
    case Op::Abs:
    case Op::Exp:
    case Op::Sigmoid:
    case Op::Softmax:
    case Op::SquareRoot:
      low = 0;
      break;
    case Op::Multiply:
      if (n.in[0] == n.in[1]) low = 0;
      break;
    case Op::Add:
      low = at_least(n.in[0]) + at_least(n.in[1]);
      break;
    case Op::FullyConnected:
      if (is_average(n.in[1]) && at_least(n.in[0]) >= 0) low = n.in[2] == kNone ? 0 : at_least(n.in[2]);
      break;
    case Op::GlobalAveragePool:
    case Op::Reshape:
    case Op::Transpose:
      low = at_least(n.in[0]);
      break;
    default:
      break;
  }
  return std::max(low, static_cast<double>(n.min));
}

bool Lowering::is_average(Id weight) const {
  return std::any_of(averages_.begin(), averages_.end(), [&](const auto& known) { return known.second == weight; });
}

Id Lowering::concatenate(std::vector<Id> parts, uint32_t axis) {
  while (parts.size() > 1) {
    std::vector<Id> joined;
    for (size_t i = 0; i < parts.size();) {
      // Never a group of one that could join the one before: at most 5 go at once.
      const size_t left = parts.size() - i, take = std::min<size_t>(left, 5);
      if (take == 1) {
        joined.push_back(parts[i]);
        break;
      }
      Dims to = dims(parts[i]);
      for (size_t k = 1; k < take; ++k) to[axis] = to[axis] + dims(parts[i + k])[axis];
      const NetValue first = net_.value(parts[i]);
      const Id y = value(first.type, std::move(to), first.quant);
      const Op op = take == 2 ? Op::Concatenate2 : take == 3 ? Op::Concatenate3 : take == 4 ? Op::Concatenate4 : Op::Concatenate5;
      emit(op, {parts.begin() + static_cast<std::ptrdiff_t>(i), parts.begin() + static_cast<std::ptrdiff_t>(i + take)}, y).attrs =
          ListAttrs{{axis}, {}};
      joined.push_back(y);
      i += take;
    }
    parts = std::move(joined);
  }
  return parts.front();
}

}  // namespace edgec::xnnpack
