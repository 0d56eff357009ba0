#include "ops/shapes.h"

#include <fmt/format.h>

#include <algorithm>

namespace edgec::ops {

ShapeRule shape_of(std::string param) {
  return [param](const Call& c) -> Result<Dims> { return c.tensor(param).sizes; };
}

ShapeRule broadcast_of(std::vector<std::string> params) {
  return [params](const Call& c) -> Result<Dims> {
    Dims out;
    for (const auto& p : params) {
      if (!c.is_tensor(p)) continue;
      auto joined = broadcast(out, c.tensor(p).sizes);
      if (!joined) return model_error(fmt::format("{}: {}", c.op().name(), joined.failure().message));
      out = *std::move(joined);
    }
    return out;
  };
}

ShapeRule sizes_from(std::string param) {
  return [param](const Call& c) -> Result<Dims> { return c.dims(param); };
}

ShapeRule scalar_shape() {
  return [](const Call&) -> Result<Dims> { return Dims{}; };
}

ShapeRule reduced(std::string param, std::string dim_param, std::string keepdim_param) {
  return [=](const Call& c) -> Result<Dims> {
    const Dims& sizes = c.tensor(param).sizes;
    EDGEC_TRY(std::vector<size_t> axes, c.axes(dim_param, sizes.size()));
    return without_axes(sizes, axes, !keepdim_param.empty() && c.flag(keepdim_param));
  };
}

Dims without_axes(const Dims& sizes, const std::vector<size_t>& axes, bool keepdim) {
  Dims out;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const bool gone = std::find(axes.begin(), axes.end(), i) != axes.end();
    if (!gone)
      out.push_back(sizes[i]);
    else if (keepdim)
      out.push_back(1);
  }
  return out;
}

Result<Dims> broadcast(const Dims& a, const Dims& b) {
  Dims out(std::max(a.size(), b.size()), Dim(1));
  for (size_t i = 0; i < out.size(); ++i) {  // from the innermost dim
    const Dim x = i < a.size() ? a[a.size() - 1 - i] : Dim(1), y = i < b.size() ? b[b.size() - 1 - i] : Dim(1);
    Dim& to = out[out.size() - 1 - i];
    if (x == Dim(1))
      to = y;
    else if (y == Dim(1) || x == y)
      to = x;
    else if (sym::equal(x, y) == sym::Proof::No && x.is_static() && y.is_static())
      return model_error(
          fmt::format("sizes {} and {} do not broadcast (dim {} from the end: {} against {})", str(a), str(b), i, x.str(), y.str()));
    else
      to = x.is_static() ? x : y.is_static() ? y : sym::structural_less(x, y) ? x : y;
  }
  return out;
}

Result<Dims> infer_view_sizes(const Dims& from, Dims sizes, const OpDef& op) {
  const Dim count = numel(from);
  Dim known = 1;
  int open = -1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] != Dim(-1))
      known = known * sizes[i];
    else if (open >= 0)
      return model_error(fmt::format("{}: only one size can be -1, in {}", op.name(), str(sizes)));
    else
      open = static_cast<int>(i);
  }
  if (open >= 0) {
    if (known == Dim(0)) return model_error(fmt::format("{}: -1 is ambiguous in {}", op.name(), str(sizes)));
    if (known.is_static() && count.is_static() && *count.constant() % *known.constant() != 0)
      return model_error(fmt::format("{} asks for {}, the input has {} elements", op.name(), str(sizes), count.str()));
    sizes[static_cast<size_t>(open)] = sym::floordiv(count, known);
  } else if (known.is_static() && count.is_static() && known != count) {
    return model_error(fmt::format("{} asks for {} elements, the input has {}", op.name(), known.str(), count.str()));
  }
  return sizes;
}

Dim clamp_slice_index(Dim index, Dim size) {
  const auto lo = sym::lower_bound(index), hi = sym::upper_bound(index);
  Dim i = index;
  if (hi && *hi < 0)
    i = index + size;  // counted from the end
  else if (!lo || *lo < 0)
    i = sym::where(sym::lt(index, 0), index + size, index);
  if (sym::less_equal(0, i) != sym::Proof::Yes) i = sym::max(i, 0);
  if (sym::less_equal(i, size) != sym::Proof::Yes) i = sym::min(i, size);
  return i;
}

Dim slice_length(Dim size, const Arg& start, const Arg& end, Dim step, const Graph& g) {
  const Dim from = start.is_none() ? Dim(0) : clamp_slice_index(expr_of(g, start), size);
  // INT64_MAX stands for "to the end".
  const Dim last = end.is_none() ? size : expr_of(g, end);
  const Dim to = last.is_static() && *last.constant() >= INT64_MAX / 2 ? size : clamp_slice_index(last, size);
  const Dim length = sym::less_equal(from, to) == sym::Proof::Yes ? to - from : sym::max(to - from, 0);
  return sym::ceildiv(length, step);
}

}  // namespace edgec::ops
