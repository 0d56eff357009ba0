#include <fmt/format.h>

#include <algorithm>

#include "ops/build.h"
#include "ops/table.h"

// Joining, repeating and rearranging tensors.
namespace edgec::ops {
namespace {

using Types = Result<std::vector<Type>>;
using Values = std::vector<ValueId>;

Def view_op(Table& ops, std::string_view schema, ShapeRule shape) {
  return ops.define(schema).dtype(same_as("self")).shape(std::move(shape));
}

DTypeRule joined_dtype() { return promoted({"tensors"}); }

// ---- cat and its kin ----------------------------------------------------------------------------------------------

// torch lets tensors of sizes [0] join any others.
bool is_wildcard(const Dims& sizes) { return sizes.size() == 1 && sizes[0] == Dim(0); }

Result<Dims> cat_sizes(const Call& c) {
  std::optional<Dims> out;
  size_t axis = 0;
  for (ValueId v : c.values("tensors")) {
    const Dims& sizes = c.graph().tensor(v).sizes;
    if (is_wildcard(sizes)) continue;
    if (!out) {
      if (sizes.empty()) return model_error("cat of rank-0 tensors");
      EDGEC_TRY(axis, c.axis("dim", sizes.size()));
      out = sizes;
    } else if (sizes.size() != out->size()) {
      return model_error(fmt::format("cat of tensors of ranks {} and {}", out->size(), sizes.size()));
    } else {
      (*out)[axis] = (*out)[axis] + sizes[axis];
      for (size_t i = 0; i < sizes.size(); ++i)
        if (i != axis && sizes[i].is_static()) (*out)[i] = sizes[i];  // a number says more than an equal symbol
    }
  }
  return out.value_or(Dims{Dim(0)});
}

// The kernel copies bytes between equally large dtypes, and miscounts sizes when all parts are empty.
Values cat_expanded(Builder& b, const Call& c) {
  const DType dtype = result_type(c.graph(), std::vector<Arg>{c.arg("tensors")});
  auto sizes = cat_sizes(c);
  if (sizes && is_empty(*sizes)) return {b.full(*sizes, 0, dtype)};
  const Values given = c.values("tensors");
  Values parts;
  for (ValueId v : given)
    if (!is_empty(c.graph().tensor(v).sizes)) parts.push_back(b.cast(v, dtype));
  if (parts == given && given.size() > 1) return keep_whole();
  return {cat(b, parts, axis_of(b, c, "dim", sizes_of(b, parts[0], 1).size()))};
}

Values all_cast(Builder& b, const Call& c, const Values& parts) {
  const DType dtype = result_type(c.graph(), std::vector<Arg>{c.arg("tensors")});
  Values out;
  for (ValueId v : parts) out.push_back(b.cast(v, dtype));
  return out;
}

Dims at_least(Dims sizes, size_t rank) {
  if (sizes.size() >= rank) return sizes;
  if (sizes.empty()) return Dims(rank, Dim(1));
  if (rank == 2) return {1, sizes[0]};
  return sizes.size() == 1 ? Dims{1, sizes[0], 1} : Dims{sizes[0], sizes[1], 1};
}

// hstack and the like: parts brought to a form, then joined along a dim.
struct Stacking {
  Dims (*form)(const Dims&);
  size_t (*axis)(size_t rank);
};

void define_stacking(Table& ops, const std::string& name, Stacking how) {
  ops.define("aten::" + name + "(Tensor[] tensors) -> Tensor")
      .dtype(joined_dtype())
      .shape([how](const Call& c) -> Result<Dims> {
        Dims out;
        for (ValueId v : c.values("tensors")) {
          const Dims sizes = how.form(c.graph().tensor(v).sizes);
          const size_t axis = how.axis(sizes.size());
          out = out.empty() ? sizes : replaced(out, axis, out[axis] + sizes[axis]);
        }
        return out;
      })
      .expand([how](Builder& b, const Call& c) {
        Values parts;
        for (ValueId v : c.values("tensors")) parts.push_back(b.view(v, how.form(c.graph().tensor(v).sizes)));
        return b.call("aten.cat", {Arg::tensors(parts), static_cast<int64_t>(how.axis(sizes_of(b, parts[0], 1).size()))});
      });
}

// [r0 x c0] and [r1 x c1] as one [r0 + r1 x c0 + c1], zero elsewhere.
Values block_diag(Builder& b, const Call& c) {
  Values parts;
  Dim total = 0, before = 0;
  for (ValueId v : c.values("tensors")) total = total + at_least(c.graph().tensor(v).sizes, 2)[1];
  for (ValueId v : all_cast(b, c, c.values("tensors"))) {
    const Dims sizes = at_least(sizes_of(b, v, 2), 2);
    parts.push_back(b.call("aten.constant_pad_nd", {b.view(v, sizes), Dims{before, total - before - sizes[1]}}));
    before = before + sizes[1];
  }
  return {cat(b, parts, 0)};
}

Result<Dims> block_diag_sizes(const Call& c) {
  Dims out{0, 0};
  for (ValueId v : c.values("tensors")) {
    const Dims s = at_least(c.graph().tensor(v).sizes, 2);
    out = {out[0] + s[0], out[1] + s[1]};
  }
  return out;
}

// ---- several results ----------------------------------------------------------------------------------------------

Type tensor_type(DType d, Dims sizes) { return Type::of({d, std::move(sizes), {}, {}}); }

// One result per tensor of the list, with sizes by `form`.
InferRule each(std::function<Result<Dims>(const Call&, size_t)> form) {
  return [form](const Call& c) -> Types {
    std::vector<Type> out;
    const Values parts = c.values("tensors");
    for (size_t i = 0; i < parts.size(); ++i) {
      EDGEC_TRY(Dims sizes, form(c, i));
      out.push_back(tensor_type(c.graph().tensor(parts[i]).dtype, sizes));
    }
    return out;
  };
}

Result<Dims> common_sizes(const Call& c, size_t) {
  Dims out;
  for (ValueId v : c.values("tensors")) {
    EDGEC_TRY(out, broadcast(out, c.graph().tensor(v).sizes));
  }
  return out;
}

bool xy_indexing(const Call& c) { return c.op().schema().find("indexing") >= 0 && c.string("indexing") == "xy"; }

// The dim of the grid along which tensor i runs.
size_t grid_axis(const Call& c, size_t i) { return xy_indexing(c) && i < 2 && c.values("tensors").size() > 1 ? 1 - i : i; }

Result<Dims> grid_sizes(const Call& c, size_t) {
  const Values parts = c.values("tensors");
  Dims out(parts.size(), Dim(1));
  for (size_t i = 0; i < parts.size(); ++i) out[grid_axis(c, i)] = numel(c.graph().tensor(parts[i]).sizes);
  return out;
}

Values meshgrid(Builder& b, const Call& c) {
  Values out;
  auto grid = grid_sizes(c, 0);
  const Values parts = c.values("tensors");
  for (size_t i = 0; i < parts.size(); ++i) {
    const size_t axis = grid_axis(c, i);
    out.push_back(b.expand(b.view(parts[i], replaced(Dims(grid->size(), Dim(1)), axis, (*grid)[axis])), *grid));
  }
  return out;
}

// Bounds of the pieces along `dim`: the starts, and the end of the last.
using Cuts = Result<Dims> (*)(const Call&, Dim size);

Result<Dims> even_cuts(const Call& c, Dim size) {
  const auto n = c.dim("sections").constant();
  if (!n || *n <= 0) return model_error("tensor_split: the number of sections must be a positive number");
  Dims cuts;
  for (int64_t i = 0; i <= *n; ++i) cuts.push_back(sym::floordiv(size, *n) * i + sym::min(sym::mod(size, *n), i));
  return cuts;
}

// Pieces of tensor_split.indices may overlap or be empty: start and end clamp by themselves.
Result<Dims> given_cuts(const Call& c, Dim size) {
  Dims cuts{0};
  for (const Dim& i : c.dims("indices")) cuts.push_back(clamp_slice_index(i, size));
  cuts.push_back(size);
  return cuts;
}

// The dim that is cut: an argument, or by the operator's letter (vertical: 0, depth: 2, horizontal: the first of rank 1, else the second).
Result<size_t> cut_axis(const Call& c) {
  const size_t rank = c.rank("self");
  const std::string& op = c.op().schema().name;
  const size_t letter = op == "hsplit" ? (rank == 1 ? 0 : 1) : op == "vsplit" ? 0 : 2;
  if (rank == 0 || (c.op().schema().find("dim") < 0 && letter >= rank)) return model_error(op + fmt::format(" of a rank-{} tensor", rank));
  return c.op().schema().find("dim") >= 0 ? c.axis("dim", rank) : Result<size_t>(letter);
}

void define_tensor_split(Table& ops, const std::string& schema, Cuts cuts) {
  ops.define(schema)
      .infer([cuts](const Call& c) -> Types {
        const TensorType& t = c.tensor("self");
        EDGEC_TRY(size_t axis, cut_axis(c));
        EDGEC_TRY(Dims at, cuts(c, t.sizes[axis]));
        std::vector<Type> out;
        for (size_t i = 0; i + 1 < at.size(); ++i)
          out.push_back(tensor_type(t.dtype, replaced(t.sizes, axis, slice_length(t.sizes[axis], at[i], at[i + 1], 1, c.graph()))));
        return out;
      })
      .expand([cuts](Builder& b, const Call& c) {
        const auto dim = cut_axis(c);
        const size_t axis = dim ? *dim : 0;
        auto at = cuts(c, c.tensor("self").sizes[axis]);
        Values out;
        for (size_t i = 0; at && i + 1 < at->size(); ++i) out.push_back(slice(b, c.value("self"), axis, (*at)[i], (*at)[i + 1]));
        if (!at) b.fail(at.failure().message);
        return out;
      });
}

Types unbound_types(const Call& c) {
  const TensorType& t = c.tensor("self");
  EDGEC_TRY(size_t axis, c.axis("dim", t.rank()));
  if (t.rank() == 0) return model_error("unbind of a rank-0 tensor");
  const auto n = t.sizes[axis].constant();
  if (!n) return model_error("unbind: the number of results depends on a dynamic size");
  return std::vector<Type>(static_cast<size_t>(*n), tensor_type(t.dtype, without(t.sizes, axis)));
}

Values unbind(Builder& b, const Call& c) {
  const size_t axis = axis_of(b, c, "dim", c.rank("self"));
  Values out;
  for (int64_t i = 0; i < c.tensor("self").sizes[axis].constant().value_or(0); ++i) out.push_back(select(b, c.value("self"), axis, i));
  return out;
}

// ---- repeats ------------------------------------------------------------------------------------------------------

Result<Dims> repeated_sizes(const Dims& sizes, Dims repeats) {
  if (repeats.size() < sizes.size()) return model_error("repeat: fewer repeats than dims");
  for (size_t i = 0; i < sizes.size(); ++i) {
    Dim& r = repeats[repeats.size() - sizes.size() + i];
    r = r * sizes[i];
  }
  return repeats;
}

Dims tile_repeats(const Call& c) {
  Dims repeats = c.dims("dims");
  if (repeats.size() < c.rank("self")) repeats.insert(repeats.begin(), c.rank("self") - repeats.size(), Dim(1));
  return repeats;
}

// repeat_interleave without a dim works on the flat tensor.
Dims interleaved_from(const Call& c) {
  return c.has("dim") && c.rank("self") > 0 ? c.tensor("self").sizes : Dims{numel(c.tensor("self").sizes)};
}

Result<Dims> interleaved_sizes(const Call& c) {
  const Dims from = interleaved_from(c);
  size_t axis = 0;
  if (c.has("dim")) {
    EDGEC_TRY(axis, c.axis("dim", from.size()));
  }
  return replaced(from, axis, from[axis] * c.dim("repeats"));
}

size_t interleave_axis(Builder& b, const Call& c) { return c.has("dim") ? axis_of(b, c, "dim", c.rank("self")) : 0; }

ValueId interleaved(Builder& b, const Call& c) {
  const Dims from = interleaved_from(c);
  const size_t axis = interleave_axis(b, c);
  const ValueId beside = b.view(c.value("self"), inserted(from, axis + 1, 1));
  return reshaped(b, b.expand(beside, inserted(from, axis + 1, c.dim("repeats"))), interleaved_sizes(c));
}

// The number of results: given, or what the data say.
Dim interleaved_count(const Call& c) {
  if (c.has("output_size")) return c.dim("output_size");
  int k = 0;
  while (c.graph().syms().find_symbol(fmt::format("u_rep{}", k))) ++k;
  const Dim n = c.graph().syms().symbol(fmt::format("u_rep{}", k));
  c.graph().syms().set_range(n, {0, std::nullopt});
  return n;
}

ValueId interleaved_by(Builder& b, const Call& c) {
  const Dims from = interleaved_from(c);
  const size_t axis = interleave_axis(b, c);
  const ValueId repeats = b.expand(b.view(c.value("repeats"), {numel(c.tensor("repeats").sizes)}), {from[axis]});
  const ValueId at = b.call("aten.repeat_interleave.Tensor", {repeats}, {{"output_size", c.arg("output_size")}});
  return pick(b, b.view(c.value("self"), from), axis, at);
}

// ---- rearranging --------------------------------------------------------------------------------------------------

Values flip(Builder& b, ValueId x, std::vector<int64_t> axes) { return {b.call("aten.flip", {x, Arg::ints(axes)})}; }

Result<std::vector<int64_t>> move_order(const Call& c) {
  const size_t rank = c.rank("self");
  EDGEC_TRY(std::vector<size_t> unused, c.axes("source", rank));  // checks the range
  std::vector<int64_t> order(rank, -1);
  std::vector<bool> taken(rank, false);
  const auto from = c.integers("source"), to = c.integers("destination");
  const auto wrapped = [&](int64_t d) { return static_cast<size_t>(d < 0 ? d + static_cast<int64_t>(rank) : d); };
  for (size_t i = 0; i < from.size() && i < to.size(); ++i) {
    if (wrapped(to[i]) >= rank) return model_error("movedim: a destination is out of range");
    order[wrapped(to[i])] = static_cast<int64_t>(wrapped(from[i]));
    taken[wrapped(from[i])] = true;
  }
  size_t next = 0;
  for (int64_t& o : order) {
    if (o >= 0) continue;
    while (taken[next]) ++next;
    o = static_cast<int64_t>(next++);
  }
  return order;
}

void define_permuting(Table& ops, const std::string& schema, std::function<Result<std::vector<int64_t>>(const Call&)> order) {
  view_op(ops, schema, [order](const Call& c) -> Result<Dims> {
    EDGEC_TRY(std::vector<int64_t> to, order(c));
    Dims out;
    for (int64_t d : to) out.push_back(c.tensor("self").sizes[static_cast<size_t>(d)]);
    return out;
  }).expand([order](Builder& b, const Call& c) {
    auto to = order(c);
    if (!to) b.fail(to.failure().message);
    return to ? b.permute(c.value("self"), *to) : ValueId{};
  });
}

Result<std::vector<int64_t>> reversed_order(const Call& c) {
  std::vector<int64_t> order;
  for (size_t i = c.rank("self"); i-- > 0;) order.push_back(static_cast<int64_t>(i));
  return order;
}

Result<std::vector<int64_t>> matrix_order(const Call& c) {
  std::vector<int64_t> order;
  for (size_t i = 0; i < c.rank("self"); ++i) order.push_back(static_cast<int64_t>(i));
  if (order.size() >= 2) std::swap(order[order.size() - 1], order[order.size() - 2]);
  return order;
}

Result<Dims> rotated_sizes(const Call& c) {
  Dims sizes = c.tensor("self").sizes;
  EDGEC_TRY(std::vector<size_t> axes, c.axes("dims", sizes.size()));
  if (axes.size() == 2 && c.integer("k") % 2 != 0) std::swap(sizes[axes[0]], sizes[axes[1]]);
  return sizes;
}

ValueId rot90(Builder& b, const Call& c) {
  const ValueId x = c.value("self");
  const auto dims = c.integers("dims");
  const auto rank = static_cast<int64_t>(c.rank("self"));
  const auto axis = [&](size_t i) { return static_cast<size_t>(dims[i] < 0 ? dims[i] + rank : dims[i]); };
  const int64_t k = ((c.integer("k") % 4) + 4) % 4;
  if (k == 0) return x;
  if (k == 2) return flip(b, x, dims)[0];
  return transposed(b, flip(b, x, {dims[k == 1 ? 1 : 0]})[0], axis(0), axis(1));
}

ValueId roll(Builder& b, const Call& c) {
  const Dims& sizes = c.tensor("self").sizes;
  const ValueId flat = b.view(c.value("self"), {numel(sizes)});
  return b.view(b.call("aten.roll", {flat, c.arg("shifts"), Arg::ints({0})}), sizes);
}

Dim diagonal_length(Dim rows, Dim columns, int64_t offset) {
  const Dim r = offset < 0 ? rows + offset : rows, k = offset > 0 ? columns - offset : columns;
  const Dim length = sym::min(r, k);
  return sym::less_equal(0, length) == sym::Proof::Yes ? length : sym::max(length, 0);
}

Result<Dims> diagonal_sizes(const Call& c) {
  const Dims& sizes = c.tensor("self").sizes;
  EDGEC_TRY(size_t i, c.axis("dim1", sizes.size()));
  EDGEC_TRY(size_t j, c.axis("dim2", sizes.size()));
  if (i == j || sizes.size() < 2) return model_error("diagonal needs two different dims");
  Dims out = without_axes(sizes, {i, j}, false);
  out.push_back(diagonal_length(sizes[i], sizes[j], c.integer("offset")));
  return out;
}

// Row i and column j of every matrix: i + offset == j on the diagonal.
struct Grid {
  ValueId rows, columns;
};
Grid grid(Builder& b, Dim rows, Dim columns) { return {iota(b, rows, DType::I64, 0, 2), iota(b, columns, DType::I64, 1, 2)}; }

ValueId diag_embed(Builder& b, ValueId x, int64_t offset, size_t dim1, size_t dim2) {
  const Dims sizes = sizes_of(b, x, 1);
  const size_t rank = sizes.size();
  const int64_t extra = offset < 0 ? -offset : offset;
  const Dim n = sizes.back() + extra;
  const ValueId wide = extra ? b.call("aten.constant_pad_nd", {x, Arg::ints({0, extra})}) : x;
  // Elements go with their row when the diagonal is above, with their column when below.
  const ValueId spread = unsqueeze(b, wide, offset < 0 ? rank - 1 : rank);
  const Grid g = grid(b, n, n);
  const ValueId on = b.call("aten.eq.Tensor", {b.add(g.rows, offset), g.columns});
  const ValueId full = where(b, on, spread, 0.0);
  if (dim1 > dim2) return moved(b, moved(b, full, rank, dim2), rank, dim1);  // columns first, then rows
  return moved(b, moved(b, full, rank - 1, dim1), rank, dim2);
}

Result<Dims> diag_embedded_sizes(const Dims& sizes, int64_t offset, size_t dim1, size_t dim2) {
  if (sizes.empty() || dim1 == dim2) return model_error("diag_embed needs a dimension and two different dims");
  const Dim n = sizes.back() + (offset < 0 ? -offset : offset);
  Dims out(sizes.begin(), sizes.end() - 1);
  for (size_t d : {std::min(dim1, dim2), std::max(dim1, dim2)}) out = inserted(out, d, n);
  return out;
}

// Indices [2, n] of a triangle. Row i has columns from first(i) to last(i): repeat each row that often and count.
ValueId triangle_indices(Builder& b, const Call& c, bool lower) {
  const int64_t rows = c.integer("row"), columns = c.integer("col"), offset = c.integer("offset");
  const DType dtype = c.dtype("dtype", DType::I64);
  int64_t total = 0;
  for (int64_t i = 0; i < rows; ++i)
    total += lower ? std::clamp<int64_t>(i + offset + 1, 0, columns) : columns - std::clamp<int64_t>(i + offset, 0, columns);
  if (total == 0) return b.full({2, 0}, 0, dtype);
  const ValueId edge = b.call("aten.clamp", {b.add(iota(b, rows), lower ? offset + 1 : offset), 0, columns});
  const ValueId lengths = lower ? edge : b.call("aten.rsub.Scalar", {edge, columns});
  const ValueId row = b.call("aten.repeat_interleave.Tensor", {lengths}, {{"output_size", total}});
  const ValueId starts = b.sub(b.call("aten.cumsum", {lengths, 0}), lengths);
  ValueId column = b.sub(iota(b, total), pick(b, starts, 0, row));
  if (!lower) column = b.add(column, pick(b, edge, 0, row));
  return b.cast(stack(b, {row, column}, 0), dtype);
}

Result<Dims> triangle_sizes(const Call& c, bool lower) {
  const int64_t rows = c.integer("row"), columns = c.integer("col"), offset = c.integer("offset");
  int64_t total = 0;
  for (int64_t i = 0; i < rows; ++i)
    total += lower ? std::clamp<int64_t>(i + offset + 1, 0, columns) : columns - std::clamp<int64_t>(i + offset, 0, columns);
  return Dims{2, total};
}

void define_cat(Table& ops) {
  ops.define("aten::cat(Tensor[] tensors, int dim=0) -> Tensor")
      .dtype(joined_dtype())
      .shape(cat_sizes)
      .kernel("cat.out")
      .expand(cat_expanded);
  for (const char* name : {"concat", "concatenate"})
    synonym(ops, fmt::format("aten::{}(Tensor[] tensors, int dim=0) -> Tensor", name), "aten.cat");
  ops.define("aten::stack(Tensor[] tensors, int dim=0) -> Tensor")
      .dtype(joined_dtype())
      .shape([](const Call& c) -> Result<Dims> {
        const Values parts = c.values("tensors");
        if (parts.empty()) return model_error("stack of no tensors");
        const Dims& sizes = c.graph().tensor(parts[0]).sizes;
        EDGEC_TRY(size_t axis, c.axis("dim", sizes.size() + 1));
        return inserted(sizes, axis, static_cast<int64_t>(parts.size()));
      })
      .kernel("stack.out")
      .expand([](Builder& b, const Call& c) -> Values {
        const Values parts = all_cast(b, c, c.values("tensors"));
        if (parts == c.values("tensors")) return keep_whole();
        return {b.call("aten.stack", {Arg::tensors(parts), c.arg("dim")})};
      });
  const auto last_but_first = [](size_t rank) -> size_t { return rank == 1 ? 0 : 1; };
  const auto first = [](size_t) -> size_t { return 0; };
  define_stacking(ops, "hstack", {[](const Dims& s) { return at_least(s, 1); }, last_but_first});
  for (const char* name : {"vstack", "row_stack"}) define_stacking(ops, name, {[](const Dims& s) { return at_least(s, 2); }, first});
  define_stacking(ops, "dstack", {[](const Dims& s) { return at_least(s, 3); }, [](size_t) -> size_t { return 2; }});
  define_stacking(ops, "column_stack",
                  {[](const Dims& s) {
                     return s.size() >= 2 ? s : Dims{numel(s), 1};
                   },
                   [](size_t) -> size_t { return 1; }});
  ops.define("aten::block_diag(Tensor[] tensors) -> Tensor").dtype(joined_dtype()).shape(block_diag_sizes).expand(block_diag);

  ops.define("aten::broadcast_tensors(Tensor[] tensors) -> Tensor[]").infer(each(common_sizes)).expand([](Builder& b, const Call& c) {
    Values out;
    auto sizes = common_sizes(c, 0);
    for (ValueId v : c.values("tensors")) out.push_back(sizes ? b.expand(v, *sizes) : v);
    return out;
  });
  for (const char* schema :
       {"aten::meshgrid(Tensor[] tensors) -> Tensor[]", "aten::meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]"})
    ops.define(schema).infer(each(grid_sizes)).expand(meshgrid);
  for (size_t n = 1; n <= 3; ++n) {
    view_op(ops, fmt::format("aten::atleast_{}d(Tensor self) -> Tensor", n), [n](const Call& c) -> Result<Dims> {
      return at_least(c.tensor("self").sizes, n);
    }).expand([n](Builder& b, const Call& c) { return b.view(c.value("self"), at_least(c.tensor("self").sizes, n)); });
    ops.define(fmt::format("aten::atleast_{}d.Sequence(Tensor[] tensors) -> Tensor[]", n))
        .infer(each([n](const Call& c, size_t i) -> Result<Dims> { return at_least(c.graph().tensor(c.values("tensors")[i]).sizes, n); }))
        .expand([n](Builder& b, const Call& c) {
          Values out;
          for (ValueId v : c.values("tensors")) out.push_back(b.view(v, at_least(c.graph().tensor(v).sizes, n)));
          return out;
        });
  }
}

void define_repeats(Table& ops) {
  view_op(ops, "aten::repeat(Tensor self, SymInt[] repeats) -> Tensor", [](const Call& c) {
    return repeated_sizes(c.tensor("self").sizes, c.dims("repeats"));
  }).kernel("repeat.out");
  view_op(ops, "aten::tile(Tensor self, SymInt[] dims) -> Tensor", [](const Call& c) {
    return repeated_sizes(c.tensor("self").sizes, tile_repeats(c));
  }).expand([](Builder& b, const Call& c) {
    return b.call("aten.repeat", {c.arg("self"), tile_repeats(c)});
  });
  view_op(ops, "aten::repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor",
          interleaved_sizes)
      .expand(interleaved);
  ops.define("aten::repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor")
      .dtype(same_as("repeats"))
      .shape([](const Call& c) -> Result<Dims> { return Dims{interleaved_count(c)}; })
      .kernel("repeat_interleave.Tensor_out");
  view_op(ops, "aten::repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor",
          [](const Call& c) -> Result<Dims> {
            const Dims from = interleaved_from(c);
            size_t axis = 0;
            if (c.has("dim")) {
              EDGEC_TRY(axis, c.axis("dim", from.size()));
            }
            return replaced(from, axis, interleaved_count(c));
          })
      .expand(interleaved_by);
}

void define_pieces(Table& ops) {
  for (const char* name : {"unbind", "unbind_copy"}) {
    const bool view = std::string_view(name) == "unbind";
    ops.define(fmt::format("aten::{}.int(Tensor{} self, int dim=0) -> Tensor{}[]", name, view ? "(a -> *)" : "", view ? "(a)" : ""))
        .infer(unbound_types)
        .expand(unbind);
  }
  define_tensor_split(ops, "aten::tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> Tensor(a)[]", even_cuts);
  define_tensor_split(ops, "aten::tensor_split.indices(Tensor(a -> *) self, SymInt[] indices, int dim=0) -> Tensor(a)[]", given_cuts);
  for (const std::string name : {"hsplit", "vsplit", "dsplit"}) {
    define_tensor_split(ops, "aten::" + name + ".int(Tensor(a -> *) self, int sections) -> Tensor(a)[]", even_cuts);
    define_tensor_split(ops, "aten::" + name + ".array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]", given_cuts);
  }
}

void define_rearranging(Table& ops) {
  view_op(ops, "aten::roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor", shape_of("self"))
      .kernel("roll.out")
      .expand([](Builder& b, const Call& c) -> Values {
        if (c.rank("self") == 0 || is_empty(c.tensor("self").sizes)) return {c.value("self")};
        if (c.dims("dims").empty()) return {roll(b, c)};
        return keep_whole();
      });
  view_op(ops, "aten::flip(Tensor self, int[] dims) -> Tensor", shape_of("self"))
      .kernel("flip.out")
      .expand([](Builder&, const Call& c) -> Values {
        return c.rank("self") == 0 || c.dims("dims").empty() ? Values{c.value("self")} : keep_whole();
      });
  view_op(ops, "aten::fliplr(Tensor self) -> Tensor", shape_of("self")).expand([](Builder& b, const Call& c) {
    return flip(b, c.value("self"), {1});
  });
  view_op(ops, "aten::flipud(Tensor self) -> Tensor", shape_of("self")).expand([](Builder& b, const Call& c) {
    return flip(b, c.value("self"), {0});
  });
  view_op(ops, "aten::rot90(Tensor self, int k=1, int[] dims=[0,1]) -> Tensor", rotated_sizes).expand(rot90);

  for (const char* name : {"movedim", "moveaxis"}) {
    define_permuting(ops, fmt::format("aten::{}.int(Tensor(a) self, int source, int destination) -> Tensor(a)", name), move_order);
    define_permuting(ops, fmt::format("aten::{}.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)", name), move_order);
  }
  define_permuting(ops, "aten::numpy_T(Tensor(a) self) -> Tensor(a)", reversed_order);
  for (const char* name : {"mT", "mH", "matrix_H", "adjoint"})  // real tensors only: nothing to conjugate
    define_permuting(ops, fmt::format("aten::{}(Tensor(a) self) -> Tensor(a)", name), matrix_order);
  synonym(ops, "aten::swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)", "aten.transpose.int");
  synonym(ops, "aten::swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", "aten.transpose.int");
  view_op(ops, "aten::broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)", [](const Call& c) -> Result<Dims> {
    EDGEC_TRY(auto types, infer(c.graph(), Registry::global().get("aten.expand"), std::vector<Arg>{c.arg("self"), c.arg("size"), false}));
    return types[0].tensor.sizes;
  }).expand([](Builder& b, const Call& c) {
    return b.call("aten.expand", {c.arg("self"), c.arg("size")});
  });
  view_op(ops, "aten::ravel(Tensor(a) self) -> Tensor(a)", [](const Call& c) -> Result<Dims> {
    return Dims{numel(c.tensor("self").sizes)};
  }).expand([](Builder& b, const Call& c) { return b.view(c.value("self"), {numel(c.tensor("self").sizes)}); });

  view_op(ops, "aten::diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)", diagonal_sizes)
      .kernel("diagonal_copy.out");
  // Strides count elements of self as it lies contiguous.
  view_op(ops, "aten::as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a)",
          sizes_from("size"))
      .kernel("as_strided_copy.out");
  view_op(ops, "aten::unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)",
          [](const Call& c) -> Result<Dims> {
            Dims sizes = c.tensor("self").sizes;
            if (sizes.empty()) return Dims{c.dim("size")};
            EDGEC_TRY(size_t axis, c.axis("dimension", sizes.size()));
            sizes[axis] = sym::floordiv(sizes[axis] - c.dim("size"), c.dim("step")) + 1;
            sizes.push_back(c.dim("size"));
            return sizes;
          })
      .kernel("unfold_copy.out")
      .expand([](Builder& b, const Call& c) -> Values {
        if (c.rank("self") > 0) return keep_whole();
        return {c.integer("size") == 0 ? b.full({0}, 0, c.tensor("self").dtype) : b.view(c.value("self"), {1})};
      });
}

void define_triangles(Table& ops) {
  view_op(ops, "aten::tril(Tensor self, SymInt diagonal=0) -> Tensor", shape_of("self")).kernel("tril.out");
  view_op(ops, "aten::triu(Tensor self, SymInt diagonal=0) -> Tensor", shape_of("self")).expand([](Builder& b, const Call& c) {
    const Dims& sizes = c.tensor("self").sizes;
    if (sizes.size() < 2) b.fail("triu needs a matrix");
    if (sizes.size() < 2) return ValueId{};
    const Grid g = grid(b, sizes[sizes.size() - 2], sizes.back());
    return where(b, b.call("aten.ge.Tensor", {g.columns, b.add(g.rows, c.dim("diagonal"))}), c.value("self"), 0.0);
  });
  ops.in_place("aten::tril_(Tensor(a!) self, SymInt diagonal=0) -> Tensor(a!)");
  ops.in_place("aten::triu_(Tensor(a!) self, SymInt diagonal=0) -> Tensor(a!)");
  for (const bool lower : {true, false})
    ops
        .define(fmt::format(
            "aten::{}_indices(int row, int col, int offset=0, *, ScalarType? dtype=long, Layout? layout=None, Device? device=None, bool? "
            "pin_memory=None) -> Tensor",
            lower ? "tril" : "triu"))
        .dtype(dtype_arg("dtype", DType::I64))
        .shape([lower](const Call& c) { return triangle_sizes(c, lower); })
        .expand([lower](Builder& b, const Call& c) { return triangle_indices(b, c, lower); });

  view_op(ops, "aten::diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor", [](const Call& c) -> Result<Dims> {
    const Dims& sizes = c.tensor("self").sizes;
    EDGEC_TRY(size_t i, c.axis("dim1", sizes.size() + 1));
    EDGEC_TRY(size_t j, c.axis("dim2", sizes.size() + 1));
    return diag_embedded_sizes(sizes, c.integer("offset"), i, j);
  }).expand([](Builder& b, const Call& c) {
    const size_t rank = c.rank("self") + 1;
    return diag_embed(b, c.value("self"), c.integer("offset"), axis_of(b, c, "dim1", rank), axis_of(b, c, "dim2", rank));
  });
  view_op(ops, "aten::diag(Tensor self, int diagonal=0) -> Tensor", [](const Call& c) -> Result<Dims> {
    const Dims& sizes = c.tensor("self").sizes;
    if (sizes.size() == 2) return Dims{diagonal_length(sizes[0], sizes[1], c.integer("diagonal"))};
    return diag_embedded_sizes(sizes, c.integer("diagonal"), 0, 1);
  }).expand([](Builder& b, const Call& c) {
    return c.rank("self") == 2 ? b.call("aten.diagonal", {c.arg("self"), c.arg("diagonal")})
                               : diag_embed(b, c.value("self"), c.integer("diagonal"), 0, 1);
  });
}

// Views spelled as copies.
void define_copy_forms(Table& ops) {
  const std::pair<const char*, const char*> forms[] = {
      {"aten::narrow_copy(Tensor self, int dim, SymInt start, SymInt length) -> Tensor", "aten.narrow"},
      {"aten::select_copy.int(Tensor self, int dim, SymInt index) -> Tensor", "aten.select.int"},
      {"aten::slice_copy.Tensor(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor",
       "aten.slice.Tensor"},
      {"aten::view_copy(Tensor self, SymInt[] size) -> Tensor", "aten.view"},
      {"aten::permute_copy(Tensor self, int[] dims) -> Tensor", "aten.permute"},
      {"aten::transpose_copy.int(Tensor self, int dim0, int dim1) -> Tensor", "aten.transpose.int"},
      {"aten::t_copy(Tensor self) -> Tensor", "aten.t"},
      {"aten::expand_copy(Tensor self, SymInt[] size, *, bool implicit=False) -> Tensor", "aten.expand"},
      {"aten::squeeze_copy(Tensor self) -> Tensor", "aten.squeeze"},
      {"aten::squeeze_copy.dim(Tensor self, int dim) -> Tensor", "aten.squeeze.dim"},
      {"aten::squeeze_copy.dims(Tensor self, int[] dim) -> Tensor", "aten.squeeze.dims"},
      {"aten::unsqueeze_copy(Tensor self, int dim) -> Tensor", "aten.unsqueeze"},
      {"aten::alias_copy(Tensor self) -> Tensor", "aten.alias"},
      {"aten::detach_copy(Tensor self) -> Tensor", "aten.detach"},
      {"aten::diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor", "aten.diagonal"},
      {"aten::unfold_copy(Tensor self, int dimension, int size, int step) -> Tensor", "aten.unfold"},
      {"aten::as_strided_copy(Tensor self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor", "aten.as_strided"},
      {"aten::split_copy.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]", "aten.split.Tensor"},
      {"aten::split_with_sizes_copy(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]", "aten.split_with_sizes"},
      {"aten::unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]", "aten.split.Tensor"},
      {"aten::unsafe_split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]", "aten.split_with_sizes"},
      {"aten::unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]", "aten.chunk"},
  };
  for (const auto& [schema, view] : forms) synonym(ops, schema, view);
}

}  // namespace

void define_joins(Table& ops) {
  define_cat(ops);
  define_repeats(ops);
  define_pieces(ops);
  define_rearranging(ops);
  define_triangles(ops);
  define_copy_forms(ops);
}

}  // namespace edgec::ops
