#include <fmt/format.h>

#include "ops/numeric.h"
#include "ops/table.h"

// Sampling an image or volume at the points of a grid, and affine grids.
namespace edgec::ops {
namespace {

enum Padding : int64_t { kZeros = 0, kBorder = 1, kReflection = 2 };

// Grid coordinates in [-1, 1] as positions in a dim.
ValueId unnormalized(Builder& b, ValueId v, Dim size, bool align_corners) {
  return align_corners ? b.mul(b.add(v, 1.0), sym::truediv(sym::to_float(size - 1), sym::to_float(2)))
                       : b.div(b.sub(b.mul(b.add(v, 1.0), size), 1.0), 2.0);
}

// Positions mirrored at low and low + span as often as needed.
ValueId mirrored(Builder& b, ValueId v, double low, Dim span) {
  const ValueId from = b.unary("aten.abs", b.sub(v, low));
  const ValueId flips = b.unary("aten.floor", b.div(from, span)), rest = b.sub(from, b.mul(flips, span));
  const ValueId even = b.call("aten.eq.Scalar", {b.sub(flips, b.mul(b.unary("aten.floor", b.mul(flips, 0.5)), 2.0)), 0.0});
  return b.add(where(b, even, rest, b.call("aten.rsub.Scalar", {rest, span})), low);
}

ValueId position(Builder& b, ValueId v, Dim size, int64_t padding, bool align_corners) {
  ValueId at = unnormalized(b, v, size, align_corners);
  if (padding == kReflection)
    at = align_corners ? (size == Dim(1) ? b.mul(at, 0.0) : mirrored(b, at, 0, size - 1)) : mirrored(b, at, -0.5, size);
  if (b.failed()) return at;
  // Of NaN torch makes a place outside, which the border is nearest to at the end.
  const ValueId outside = b.cast(b.full({}, padding == kZeros ? Arg(-2) : Arg(size - 1), DType::I64), b.tensor(at).dtype);
  at = where(b, b.unary("aten.isnan", at), outside, at);
  if (padding != kZeros) at = b.call("aten.clamp", {at, 0, size - 1});
  return at;
}

// Where a grid's points are in [N, C, spatial...]: one position per spatial dim, of the grid's own dims.
struct Points {
  Dims in, out;  // all sizes of the input and of the result
  Values at;
  bool zeros = true;  // what is outside counts as 0
};

Points points_of(Builder& b, const Call& c, DType dtype) {
  Points p;
  p.in = c.tensor("input").sizes;
  const Dims grid = c.tensor("grid").sizes;
  const size_t spatial = p.in.size() - 2;
  p.out = {p.in[0], p.in[1]};
  p.out.insert(p.out.end(), grid.begin() + 1, grid.end() - 1);
  p.zeros = c.integer("padding_mode") == kZeros;
  const ValueId g = b.cast(c.value("grid"), dtype);
  for (size_t i = 0; i < spatial; ++i)  // the last coordinate belongs to the first spatial dim
    p.at.push_back(position(b, select(b, g, grid.size() - 1, static_cast<int64_t>(spatial - 1 - i)), p.in[2 + i], c.integer("padding_mode"),
                            c.flag("align_corners")));
  return p;
}

// The elements at whole positions: a gather from the flat planes.
ValueId elements_at(Builder& b, const Points& p, ValueId input, const Values& at) {
  ValueId flat, inside;
  Dim plane = 1;
  for (size_t i = 0; i < at.size(); ++i) {
    const Dim size = p.in[2 + i];
    plane = plane * size;
    const ValueId bounded = b.cast(b.call("aten.clamp", {at[i], 0, size - 1}), DType::I64);
    flat = flat ? b.add(b.mul(flat, size), bounded) : bounded;
    if (!p.zeros) continue;
    const ValueId within = both(b, b.call("aten.ge.Scalar", {at[i], 0}), b.call("aten.le.Scalar", {at[i], size - 1}));
    inside = inside ? both(b, inside, within) : within;
  }
  const Dim points = numel(Dims(p.out.begin() + 2, p.out.end()));
  const ValueId planes = b.view(input, {p.in[0], p.in[1], plane});
  const ValueId index = b.expand(b.view(flat, {p.in[0], 1, points}), {p.in[0], p.in[1], points});
  const ValueId found = b.view(b.call("aten.gather", {planes, 2, index}), p.out);
  return p.zeros ? where(b, unsqueeze(b, inside, 1), found, 0.0) : found;
}

ValueId sample_nearest(Builder& b, const Call& c) {
  Points p = points_of(b, c, c.tensor("grid").dtype == DType::F64 ? DType::F64 : DType::F32);
  for (ValueId& at : p.at) at = b.unary("aten.round", at);  // half to even, as torch
  return elements_at(b, p, c.value("input"), p.at);
}

// The corners around each point, each with the product of its nearness in every dim.
ValueId sample_linear(Builder& b, const Call& c) {
  return in_opmath(b, c.value("input"), [&](Builder&, ValueId input) {
    const Points p = points_of(b, c, b.tensor(input).dtype);
    ValueId sum;
    for (size_t corner = 0; corner < (size_t{1} << p.at.size()); ++corner) {
      Values at;
      ValueId weight;
      for (size_t i = 0; i < p.at.size(); ++i) {
        const ValueId low = b.unary("aten.floor", p.at[i]), part = b.sub(p.at[i], low);
        const bool high = (corner >> i) & 1;
        at.push_back(high ? b.add(low, 1.0) : low);
        const ValueId near = high ? part : b.call("aten.rsub.Scalar", {part, 1.0});
        weight = weight ? b.mul(weight, near) : near;
      }
      const ValueId value = b.mul(elements_at(b, p, input, at), unsqueeze(b, weight, 1));
      sum = sum ? b.add(sum, value) : value;
      if (b.failed()) return ValueId{};
    }
    return sum;
  });
}

Result<Dims> sampled_sizes(const Call& c) {
  const Dims &in = c.tensor("input").sizes, &grid = c.tensor("grid").sizes;
  if (in.size() != grid.size() || in.size() < 4 || in.size() > 5)
    return model_error(c.op().name() + ": the input and the grid need rank 4 or 5, both the same");
  Dims out{in[0], in[1]};
  out.insert(out.end(), grid.begin() + 1, grid.end() - 1);
  return out;
}

// size numbers from -1 to 1: the centres of the elements, or from end to end when corners are aligned.
ValueId centres(Builder& b, Dim size, bool align_corners, DType dtype) {
  const ValueId i = iota(b, size, dtype);
  if (align_corners) {
    if (size == Dim(1)) return b.full({1}, 0, dtype);
    return b.sub(b.mul(i, sym::truediv(sym::to_float(2), sym::to_float(size - 1))), 1.0);
  }
  return b.sub(b.div(b.add(b.mul(i, 2.0), 1.0), size), 1.0);
}

// base [H*W, 3] of (x, y, 1) times theta^T, per batch; three dims alike.
ValueId affine_grid(Builder& b, const Call& c) {
  const Dims size = c.dims("size");
  const size_t spatial = size.size() - 2;
  const DType dtype = c.tensor("theta").dtype;
  Dims space(size.begin() + 2, size.end()), full = space;
  full.push_back(1);
  Values columns;
  for (size_t i = spatial; i-- > 0;) {  // the last dim is x
    const ValueId line = centres(b, space[i], c.flag("align_corners"), dtype);
    columns.push_back(b.expand(b.view(line, replaced(Dims(spatial + 1, Dim(1)), i, space[i])), full));
  }
  columns.push_back(b.full(full, 1, dtype));
  const Dim points = numel(space);
  const ValueId base = b.view(cat(b, columns, spatial), {1, points, static_cast<int64_t>(spatial + 1)});
  const ValueId grid =
      b.call("aten.bmm", {b.expand(base, {size[0], points, static_cast<int64_t>(spatial + 1)}), b.permute(c.value("theta"), {0, 2, 1})});
  Dims out{size[0]};
  out.insert(out.end(), space.begin(), space.end());
  out.push_back(static_cast<int64_t>(spatial));
  return b.view(grid, out);
}

}  // namespace

void define_grid(Table& ops) {
  const std::string params = "(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor";
  // The kernel's nearest mode rounds wrongly.
  ops.define("aten::grid_sampler_2d" + params)
      .dtype(same_as("input"))
      .shape(sampled_sizes)
      .kernel("grid_sampler_2d.out")
      .expand([](Builder& b, const Call& c) -> Values {
        return c.integer("interpolation_mode") == 1 ? Values{sample_nearest(b, c)} : keep_whole();
      });
  ops.define("aten::grid_sampler_3d" + params).dtype(same_as("input")).shape(sampled_sizes).expand([](Builder& b, const Call& c) {
    return c.integer("interpolation_mode") == 1 ? sample_nearest(b, c) : sample_linear(b, c);
  });
  ops.define("aten::grid_sampler" + params).dtype(same_as("input")).shape(sampled_sizes).expand([](Builder& b, const Call& c) {
    const char* of = c.rank("input") == 5 ? "aten.grid_sampler_3d" : "aten.grid_sampler_2d";
    return b.call(of, std::vector<Arg>(c.args().begin(), c.args().end()));
  });
  ops.define("aten::affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners) -> Tensor")
      .dtype(same_as("theta"))
      .shape([](const Call& c) -> Result<Dims> {
        const Dims size = c.dims("size");
        if (size.size() != 4 && size.size() != 5) return model_error("affine_grid_generator: the size needs 4 or 5 dims");
        Dims out{size[0]};
        out.insert(out.end(), size.begin() + 2, size.end());
        out.push_back(static_cast<int64_t>(size.size() - 2));
        return out;
      })
      .expand(affine_grid);
}

}  // namespace edgec::ops
