#include <edgec/type.h>

#include <fmt/format.h>

#include <algorithm>

#include "ir/text.h"

namespace edgec {

DimOrder channels_last_order(size_t rank) {
  if (rank == 4) return {0, 2, 3, 1};
  if (rank == 5) return {0, 2, 3, 4, 1};
  return {};
}

bool is_contiguous_order(const DimOrder& order) {
  for (size_t i = 0; i < order.size(); ++i)
    if (order[i] != i) return false;
  return true;
}

bool TensorType::is_static() const {
  return std::all_of(sizes.begin(), sizes.end(), [](const Dim& d) { return d.is_static(); });
}

std::string str(const Dims& dims) {
  std::string out = "[";
  for (size_t i = 0; i < dims.size(); ++i) out += (i ? ", " : "") + dims[i].str();
  return out + "]";
}

std::string str(const TensorType& t) {
  std::string out = fmt::format("{}{}", name(t.dtype), str(t.sizes));
  if (!t.dim_order.empty()) out += fmt::format("{{{}}}", fmt::join(t.dim_order, ","));
  if (!t.strides.empty()) out += " strides " + str(t.strides);
  return out;
}

static std::string_view sort_name(sym::Sort s) { return s == sym::Sort::Int ? "symint" : s == sym::Sort::Float ? "symfloat" : "symbool"; }

std::string str(const Type& t) {
  switch (t.kind) {
    case Type::Kind::None:
      return "none";
    case Type::Kind::Tensor:
      return str(t.tensor);
    case Type::Kind::Object:
      return "object " + text::quoted(t.object);
    case Type::Kind::Sym:
      return fmt::format("{} {}", sort_name(t.expr.sort()), text::expr_text(t.expr));
  }
  return {};
}

Dim numel(const Dims& dims) {
  Dim n = 1;
  for (const Dim& d : dims) n = n * d;
  return n;
}

std::optional<int64_t> upper_bound_bytes(const TensorType& t) {
  int64_t bytes = static_cast<int64_t>(size_of(t.dtype));
  for (const Dim& d : t.sizes) {
    auto bound = sym::upper_bound(d);
    if (!bound || *bound < 0 || __builtin_mul_overflow(bytes, *bound, &bytes)) return std::nullopt;
  }
  return bytes;
}

Dims strides_of(const Dims& sizes, const DimOrder& order) {
  Dims strides(sizes.size(), Dim(1));
  Dim step = 1;
  for (size_t k = sizes.size(); k-- > 0;) {
    const size_t d = order.empty() ? k : order[k];
    strides[d] = step;
    step = step * sym::max(sizes[d], 1);
  }
  return strides;
}

}  // namespace edgec
