#include <algorithm>

#include "ops/numeric.h"
#include "ops/table.h"

// Products of matrices and vectors. linear, mm and bmm have fast kernels; the others become these.
namespace edgec::ops {
namespace {

Dim dim_from_end(const Dims& sizes, size_t i) { return sizes[sizes.size() - i]; }

Result<Dims> need_rank(const Call& c, std::string_view param, size_t rank) {
  const Dims& sizes = c.tensor(param).sizes;
  if (sizes.size() != rank)
    return model_error(c.op().name() + ": " + std::string(param) + " needs rank " + std::to_string(rank) + ", it is " + str(sizes));
  return sizes;
}

ShapeRule rows_and_columns(std::string a, std::string b, size_t rank) {  // [.., n, k] x [.., k, m]
  return [=](const Call& c) -> Result<Dims> {
    EDGEC_TRY(Dims x, need_rank(c, a, rank));
    EDGEC_TRY(Dims y, need_rank(c, b, rank));
    const Dim kx = x[rank - 1], ky = y[rank - 2];
    if (sym::equal(kx, ky) == sym::Proof::No)
      return model_error(c.op().name() + ": the inner sizes of " + str(x) + " and " + str(y) + " differ");
    x[rank - 1] = y[rank - 1];
    return x;
  };
}

Result<Dims> matmul_sizes(Dims x, Dims y, const OpDef& op) {
  if (x.empty() || y.empty()) return model_error(op.name() + " needs at least one dim in both operands");
  const bool vector_x = x.size() == 1, vector_y = y.size() == 1;
  if (vector_x) x.insert(x.begin(), Dim(1));
  if (vector_y) y.push_back(1);
  if (sym::equal(dim_from_end(x, 1), dim_from_end(y, 2)) == sym::Proof::No)
    return model_error(op.name() + ": the inner sizes of " + str(x) + " and " + str(y) + " differ");
  const Dim rows = dim_from_end(x, 2), columns = dim_from_end(y, 1);
  EDGEC_TRY(Dims out, broadcast(Dims(x.begin(), x.end() - 2), Dims(y.begin(), y.end() - 2)));
  if (!vector_x) out.push_back(rows);
  if (!vector_y) out.push_back(columns);
  return out;
}

// [..batch, n, k] x [..batch, k, m]: one mm when only x has a batch, else bmm over the broadcast batch.
ValueId batched_product(Builder& b, ValueId x, ValueId y, const Dims& out) {
  const Dims xs = b.tensor(x).sizes, ys = b.tensor(y).sizes;
  const Dim n = dim_from_end(xs, 2), k = dim_from_end(xs, 1), m = dim_from_end(ys, 1);
  const Dims y_batch(ys.begin(), ys.end() - 2);
  if (numel(y_batch) == Dim(1)) {
    const Dim rows = sym::mul(numel(Dims(xs.begin(), xs.end() - 2)), n);
    return b.view(b.call("aten.mm", {b.view(x, {rows, k}), b.view(y, {k, m})}), out);
  }
  const auto joined = broadcast(Dims(xs.begin(), xs.end() - 2), y_batch);
  if (!joined) b.fail(joined.failure().message);
  const auto in_batch = [&](ValueId v, Dim rows, Dim columns) {
    Dims sizes = joined ? *joined : Dims{};
    const Dim batch = numel(sizes);
    sizes.push_back(rows);
    sizes.push_back(columns);
    return b.view(b.expand(v, sizes), {batch, rows, columns});
  };
  return b.view(b.call("aten.bmm", {in_batch(x, n, k), in_batch(y, k, m)}), out);
}

ValueId matmul_expanded(Builder& b, const Call& c) {
  ValueId x = c.value("self"), y = c.value("other");
  Dims xs = c.tensor("self").sizes, ys = c.tensor("other").sizes;
  const auto out = matmul_sizes(xs, ys, c.op());
  if (!out) return {};
  if (xs.size() == 1) x = b.view(x, {1, xs[0]});
  if (ys.size() == 1) y = b.view(y, {ys[0], 1});
  return batched_product(b, x, y, *out);
}

// A product over nothing is zero; the kernels leave such a result unwritten.
template <class Fn>
auto unless_inner_empty(std::string operand, Fn otherwise) {
  return [=](Builder& b, const Call& c) -> Values {
    const Dims& sizes = c.tensor(operand).sizes;
    if (!sizes.empty() && sizes.back() == Dim(0)) {
      const DType d = c.tensor(operand).dtype;
      const Dims out = result_sizes(c);
      return {b.full(out, 0, d)};
    }
    return otherwise(b, c);
  };
}

Values kept(Builder&, const Call&) { return keep_whole(); }

// beta * self + alpha * product; with beta = 0 self does not count, not even its NaNs.
ValueId scaled_sum(Builder& b, const Call& c, ValueId product) {
  const double alpha = c.number("alpha", 1), beta = c.number("beta", 1);
  const Dims out = result_sizes(c);
  const DType d = c.tensor("self").dtype;
  ValueId sum = alpha == 1 ? product : b.mul(product, c.arg("alpha"));
  if (beta != 0) sum = b.add(beta == 1 ? c.value("self") : b.mul(c.value("self"), c.arg("beta")), sum);
  return b.expand(b.cast(sum, d), out);
}

// ---- contraction over labels --------------------------------------------------------------------------------------

// A tensor whose dims carry labels.
struct Labelled {
  ValueId value;
  std::vector<int> labels;
};

bool contains(const std::vector<int>& labels, int label) { return std::find(labels.begin(), labels.end(), label) != labels.end(); }
ptrdiff_t place_of(const std::vector<int>& labels, int label) { return std::find(labels.begin(), labels.end(), label) - labels.begin(); }

Labelled arranged(Builder& b, const Labelled& t, const std::vector<int>& order) {
  std::vector<int64_t> dims;
  for (int l : order) dims.push_back(place_of(t.labels, l));
  return {b.permute(t.value, dims), order};
}

Dims sizes_by(const Dims& sizes, const std::vector<int>& labels, const std::vector<int>& picked) {
  Dims out;
  for (int l : picked) out.push_back(sizes[static_cast<size_t>(place_of(labels, l))]);
  return out;
}

// Sums the dims whose label is not in `kept`; drops those of size 1 that `other` has larger.
void reduce_to(Builder& b, Labelled& t, const std::vector<int>& kept, const std::vector<int>& other, const Dims& other_sizes) {
  if (b.failed()) return;
  const Dims sizes = b.tensor(t.value).sizes;
  Axes summed, dropped;
  std::vector<int> left;
  for (size_t i = 0; i < t.labels.size(); ++i) {
    const bool shared = contains(other, t.labels[i]);
    if (shared && sizes[i] == Dim(1) && other_sizes[static_cast<size_t>(place_of(other, t.labels[i]))] != Dim(1))
      dropped.push_back(i);
    else if (!shared && !contains(kept, t.labels[i]))
      summed.push_back(i);
    else
      left.push_back(t.labels[i]);
  }
  Dims to;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (std::find(summed.begin(), summed.end(), i) == summed.end() && std::find(dropped.begin(), dropped.end(), i) == dropped.end())
      to.push_back(sizes[i]);
  const DType d = b.tensor(t.value).dtype;
  if (!summed.empty()) t.value = b.call("aten.sum.dim_IntList", {t.value, list(summed), false}, {{"dtype", d}});
  t.value = b.view(t.value, to);
  t.labels = left;
}

// One pair: labels of both that are kept make the batch, those that are not are summed over.
Labelled contract_pair(Builder& b, Labelled x, Labelled y, const std::vector<int>& kept) {
  if (b.failed()) return x;
  const std::vector<int> x_labels = x.labels;
  const Dims x_sizes = b.tensor(x.value).sizes;
  reduce_to(b, x, kept, y.labels, b.tensor(y.value).sizes);
  reduce_to(b, y, kept, x_labels, x_sizes);
  if (b.failed()) return x;
  // A label that only one of them still has is summed now unless kept.
  const std::vector<int> still_x = x.labels;
  reduce_to(b, x, kept, y.labels, b.tensor(y.value).sizes);
  reduce_to(b, y, kept, still_x, Dims(still_x.size(), Dim(1)));
  if (b.failed()) return x;
  const Dims xs = b.tensor(x.value).sizes, ys = b.tensor(y.value).sizes;
  std::vector<int> batch, inner, rows, columns;
  for (int l : x.labels) (!contains(y.labels, l) ? rows : contains(kept, l) ? batch : inner).push_back(l);
  for (int l : y.labels)
    if (!contains(x.labels, l)) columns.push_back(l);
  const Dims batch_sizes = sizes_by(xs, x.labels, batch), row_sizes = sizes_by(xs, x.labels, rows),
             column_sizes = sizes_by(ys, y.labels, columns);
  const Dim k = numel(sizes_by(xs, x.labels, inner));

  const auto joined = [](std::vector<int> a, const std::vector<int>& z) {
    a.insert(a.end(), z.begin(), z.end());
    return a;
  };
  const auto joined_sizes = [](Dims a, const Dims& z) {
    a.insert(a.end(), z.begin(), z.end());
    return a;
  };
  Labelled out;
  out.labels = joined(joined(batch, rows), columns);
  const Dims out_sizes = joined_sizes(joined_sizes(batch_sizes, row_sizes), column_sizes);
  if (inner.empty()) {  // elementwise or outer product
    const ValueId a =
        b.view(arranged(b, x, joined(batch, rows)).value, joined_sizes(joined_sizes(batch_sizes, row_sizes), Dims(columns.size(), Dim(1))));
    const ValueId z = b.view(arranged(b, y, joined(batch, columns)).value,
                             joined_sizes(joined_sizes(batch_sizes, Dims(rows.size(), Dim(1))), column_sizes));
    out.value = b.mul(a, z);
    return out;
  }
  const ValueId a = arranged(b, x, joined(joined(batch, rows), inner)).value,
                z = arranged(b, y, joined(joined(batch, inner), columns)).value;
  const Dim n = numel(row_sizes), m = numel(column_sizes), count = numel(batch_sizes);
  const ValueId product = batch.empty() ? b.call("aten.mm", {b.view(a, {n, k}), b.view(z, {k, m})})
                                        : b.call("aten.bmm", {b.view(a, {count, n, k}), b.view(z, {count, k, m})});
  out.value = b.view(product, out_sizes);
  return out;
}

// The operands contracted from left to right, dims in the order of `out`.
ValueId contract(Builder& b, std::vector<Labelled> operands, const std::vector<int>& out) {
  if (operands.empty() || b.failed()) return {};
  Labelled all = operands[0];
  for (size_t i = 1; i < operands.size(); ++i) {
    std::vector<int> kept = out;
    for (size_t j = i + 1; j < operands.size(); ++j) kept.insert(kept.end(), operands[j].labels.begin(), operands[j].labels.end());
    all = contract_pair(b, all, operands[i], kept);
  }
  reduce_to(b, all, out, {}, {});
  return b.failed() ? ValueId{} : arranged(b, all, out).value;
}

// ---- einsum -------------------------------------------------------------------------------------------------------

constexpr int kEllipsis = 1000;  // labels of the dims that "..." stands for, counted from the last

struct Equation {
  std::vector<std::vector<int>> operands;
  std::vector<int> out;
};

Result<std::vector<int>> read_labels(std::string_view text, size_t ellipsis_rank) {
  std::vector<int> labels;
  bool seen = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char ch = text[i];
    if (ch == ' ') continue;
    if ((ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z')) {
      labels.push_back(ch);
    } else if (text.substr(i, 3) == "..." && !seen) {
      seen = true;
      for (size_t r = ellipsis_rank; r > 0; --r) labels.push_back(kEllipsis + static_cast<int>(r));
      i += 2;
    } else {
      return model_error("einsum: cannot read '" + std::string(text) + "'");
    }
  }
  return labels;
}

Result<Equation> read_equation(const std::string& text, const std::vector<size_t>& ranks) {
  const size_t arrow = text.find("->");
  std::string_view left = std::string_view(text).substr(0, arrow);
  Equation e;
  size_t widest = 0;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const size_t comma = left.find(',');
    if ((comma == std::string_view::npos) != (i + 1 == ranks.size()))
      return model_error("einsum: '" + text + "' does not fit the number of operands");
    const std::string_view part = left.substr(0, comma);
    left.remove_prefix(comma == std::string_view::npos ? left.size() : comma + 1);
    const auto letters = static_cast<size_t>(std::count_if(part.begin(), part.end(), [](char ch) { return ch != ' ' && ch != '.'; }));
    const bool dots = part.find('.') != std::string_view::npos;
    if (letters > ranks[i] || (!dots && letters != ranks[i])) return model_error("einsum: '" + text + "' does not fit the operands' ranks");
    EDGEC_TRY(std::vector<int> labels, read_labels(part, ranks[i] - letters));
    if (dots) widest = std::max(widest, ranks[i] - letters);
    e.operands.push_back(std::move(labels));
  }
  if (arrow != std::string::npos) {
    EDGEC_TRY(e.out, read_labels(std::string_view(text).substr(arrow + 2), widest));
    for (int l : e.out)
      if (std::none_of(e.operands.begin(), e.operands.end(), [l](const auto& o) { return contains(o, l); }))
        return model_error("einsum: '" + text + "' has an output letter that no operand has");
    return e;
  }
  // Without "->" the letters that occur once, in the order of the alphabet, behind the dims of "...".
  for (size_t r = widest; r > 0; --r) e.out.push_back(kEllipsis + static_cast<int>(r));
  for (int l = 'A'; l <= 'z'; ++l) {
    ptrdiff_t times = 0;
    for (const auto& o : e.operands) times += std::count(o.begin(), o.end(), l);
    if (times == 1) e.out.push_back(l);
  }
  return e;
}

Result<Equation> equation_of(const Call& c) {
  std::vector<size_t> ranks;
  for (ValueId v : c.values("tensors")) ranks.push_back(c.graph().tensor(v).rank());
  return read_equation(c.string("equation"), ranks);
}

Result<Dims> einsum_sizes(const Call& c) {
  EDGEC_TRY(Equation e, equation_of(c));
  const Values operands = c.values("tensors");
  Dims out(e.out.size(), Dim(1));
  for (size_t i = 0; i < operands.size(); ++i) {
    const Dims& sizes = c.graph().tensor(operands[i]).sizes;
    for (size_t d = 0; d < sizes.size(); ++d)
      for (size_t o = 0; o < out.size(); ++o)
        if (e.out[o] == e.operands[i][d] && sizes[d] != Dim(1)) out[o] = sizes[d];
  }
  return out;
}

ValueId einsum(Builder& b, const Call& c) {
  const auto e = equation_of(c);
  if (!e) return {};
  std::vector<Labelled> operands;
  const Values values = c.values("tensors");
  for (size_t i = 0; i < values.size(); ++i) {
    Labelled t{values[i], e->operands[i]};
    for (size_t first = 0; first < t.labels.size(); ++first)  // a repeated letter takes the diagonal
      for (size_t again = first + 1; again < t.labels.size();) {
        if (t.labels[again] != t.labels[first]) {
          ++again;
          continue;
        }
        t.value = b.call("aten.diagonal", {t.value, 0, static_cast<int64_t>(first), static_cast<int64_t>(again)});
        const int label = t.labels[first];
        t.labels.erase(t.labels.begin() + static_cast<ptrdiff_t>(again));
        t.labels.erase(t.labels.begin() + static_cast<ptrdiff_t>(first));
        t.labels.push_back(label);  // the diagonal becomes the last dim
        again = first + 1;
      }
    operands.push_back(std::move(t));
  }
  return contract(b, operands, e->out);
}

// ---- tensordot and relatives --------------------------------------------------------------------------------------

// Labels of self 0, 1, ..., of other behind them, the contracted dims of both alike.
struct Pairing {
  std::vector<int> self, other, out;
};
Pairing pair_dims(size_t self_rank, size_t other_rank, const std::vector<int64_t>& self_dims, const std::vector<int64_t>& other_dims) {
  Pairing p;
  for (size_t i = 0; i < self_rank; ++i) p.self.push_back(static_cast<int>(i));
  for (size_t i = 0; i < other_rank; ++i) p.other.push_back(static_cast<int>(self_rank + i));
  const auto at = [](int64_t d, size_t rank) {
    return static_cast<size_t>(d < 0 ? d + static_cast<int64_t>(rank) : d) % std::max<size_t>(rank, 1);
  };
  for (size_t i = 0; i < std::min(self_dims.size(), other_dims.size()); ++i)
    p.other[at(other_dims[i], other_rank)] = p.self[at(self_dims[i], self_rank)];
  for (int l : p.self)
    if (!contains(p.other, l)) p.out.push_back(l);
  for (int l : p.other)
    if (!contains(p.self, l)) p.out.push_back(l);
  return p;
}

Dims paired_sizes(const Call& c, const Pairing& p) {
  Dims out;
  const Dims &x = c.tensor("self").sizes, &y = c.tensor("other").sizes;
  for (int l : p.out)
    out.push_back(contains(p.self, l) ? x[static_cast<size_t>(place_of(p.self, l))] : y[static_cast<size_t>(place_of(p.other, l))]);
  return out;
}

Pairing tensordot_pairing(const Call& c) {
  return pair_dims(c.rank("self"), c.rank("other"), c.integers("dims_self"), c.integers("dims_other"));
}
Pairing inner_pairing(const Call& c) {
  if (c.rank("self") == 0 || c.rank("other") == 0) return pair_dims(c.rank("self"), c.rank("other"), {}, {});
  return pair_dims(c.rank("self"), c.rank("other"), {-1}, {-1});
}

ValueId contract_as(Builder& b, const Call& c, const Pairing& p) {
  return contract(b, {{c.value("self"), p.self}, {c.value("other"), p.other}}, p.out);
}

void define_contractions(Table& ops) {
  const DTypeRule of_tensors = [](const Call& c) -> Result<DType> { return c.graph().tensor(c.values("tensors").at(0)).dtype; };
  ops.define("aten::einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor")
      .dtype([of_tensors](const Call& c) -> Result<DType> {
        return c.values("tensors").empty() ? model_error("einsum without operands") : of_tensors(c);
      })
      .shape(einsum_sizes)
      .expand(einsum);
  ops.define("aten::tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor")
      .dtype(same_as("self"))
      .shape([](const Call& c) -> Result<Dims> { return paired_sizes(c, tensordot_pairing(c)); })
      .expand([](Builder& b, const Call& c) { return contract_as(b, c, tensordot_pairing(c)); });
  ops.define("aten::inner(Tensor self, Tensor other) -> Tensor")
      .dtype(promoted({"self", "other"}))
      .shape([](const Call& c) -> Result<Dims> { return paired_sizes(c, inner_pairing(c)); })
      .expand([](Builder& b, const Call& c) { return contract_as(b, c, inner_pairing(c)); });

  // out[.., o] = sum_ij input1[.., i] weight[o, i, j] input2[.., j] + bias[o]
  ops.define("aten::bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor")
      .dtype(same_as("input1"))
      .shape([](const Call& c) -> Result<Dims> {
        Dims sizes = c.tensor("input1").sizes;
        EDGEC_TRY(Dims weight, need_rank(c, "weight", 3));
        if (sizes.empty()) return model_error("bilinear needs at least one dim");
        sizes.back() = weight[0];
        return sizes;
      })
      .expand([](Builder& b, const Call& c) {
        std::vector<int> lead(c.rank("input1") - 1), out, x, y;
        for (size_t i = 0; i < lead.size(); ++i) lead[i] = static_cast<int>(i);
        out = x = y = lead;
        x.push_back('i');
        y.push_back('j');
        out.push_back('o');
        const ValueId sum = contract(b, {{c.value("input1"), x}, {c.value("weight"), {'o', 'i', 'j'}}, {c.value("input2"), y}}, out);
        return c.has("bias") ? b.add(sum, c.value("bias")) : sum;
      });
}

// The tensors multiplied from left to right.
ValueId chain(Builder& b, const Values& factors) {
  ValueId product = factors.at(0);
  for (size_t i = 1; i < factors.size(); ++i) product = matmul(b, product, factors[i]);
  return product;
}

void define_chains(Table& ops) {
  const auto rule = [](std::string param) {
    return [param](const Call& c) -> Result<std::vector<Type>> {
      const Values factors = c.values(param);
      if (factors.empty()) return model_error(c.op().name() + " needs at least one matrix");
      TensorType t{c.graph().tensor(factors[0]).dtype, c.graph().tensor(factors[0]).sizes, {}, {}};
      for (size_t i = 1; i < factors.size(); ++i) {
        EDGEC_TRY(t.sizes, matmul_sizes(t.sizes, c.graph().tensor(factors[i]).sizes, c.op()));
      }
      return std::vector<Type>{Type::of(std::move(t))};
    };
  };
  ops.define("aten::chain_matmul(Tensor[] matrices) -> Tensor").infer(rule("matrices")).expand([](Builder& b, const Call& c) {
    return chain(b, c.values("matrices"));
  });
  ops.define("aten::linalg_multi_dot(Tensor[] tensors) -> Tensor").infer(rule("tensors")).expand([](Builder& b, const Call& c) {
    return chain(b, c.values("tensors"));
  });
}

// beta * self + alpha * (product of two operands)
void define_added(Table& ops) {
  const std::string scales = ", *, Scalar beta=1, Scalar alpha=1)";
  const auto in_place = [&](const char* name, const char* operands) {
    ops.in_place(std::string("aten::") + name + "_(Tensor(a!) self, " + operands + scales + " -> Tensor(a!)");
  };
  ops.define("aten::addmm(Tensor self, Tensor mat1, Tensor mat2" + scales + " -> Tensor")
      .dtype(same_as("self"))
      .shape(rows_and_columns("mat1", "mat2", 2))
      .kernel("addmm.out")
      .expand([](Builder& b, const Call& c) -> Values {
        // The kernel adds up half types in half precision and lets NaN through beta = 0.
        const Dim inner = c.tensor("mat2").sizes[0];
        if (c.number("beta", 1) != 0 && !is_half(c.tensor("self").dtype) && inner != Dim(0)) return keep_whole();
        return {scaled_sum(b, c, b.call("aten.mm", {c.arg("mat1"), c.arg("mat2")}))};
      });
  in_place("addmm", "Tensor mat1, Tensor mat2");
  ops.define("aten::baddbmm(Tensor self, Tensor batch1, Tensor batch2" + scales + " -> Tensor")
      .dtype(same_as("self"))
      .shape(rows_and_columns("batch1", "batch2", 3))
      .expand([](Builder& b, const Call& c) {
        return scaled_sum(b, c, b.call("aten.bmm", {c.arg("batch1"), c.arg("batch2")}));
      });
  in_place("baddbmm", "Tensor batch1, Tensor batch2");
  // Summed over the batch: one product of [n, batch * k] and [batch * k, m].
  ops.define("aten::addbmm(Tensor self, Tensor batch1, Tensor batch2" + scales + " -> Tensor")
      .dtype(same_as("self"))
      .shape([](const Call& c) -> Result<Dims> {
        EDGEC_TRY(Dims sizes, rows_and_columns("batch1", "batch2", 3)(c));
        return Dims{sizes[1], sizes[2]};
      })
      .expand([](Builder& b, const Call& c) {
        const Dims x = c.tensor("batch1").sizes, y = c.tensor("batch2").sizes;
        const ValueId wide = b.view(b.permute(c.value("batch1"), {1, 0, 2}), {x[1], x[0] * x[2]});
        return scaled_sum(b, c, b.call("aten.mm", {wide, b.view(c.value("batch2"), {y[0] * y[1], y[2]})}));
      });
  in_place("addbmm", "Tensor batch1, Tensor batch2");
  ops.define("aten::addmv(Tensor self, Tensor mat, Tensor vec" + scales + " -> Tensor")
      .dtype(same_as("self"))
      .shape([](const Call& c) -> Result<Dims> {
        EDGEC_TRY(Dims sizes, need_rank(c, "mat", 2));
        return Dims{sizes[0]};
      })
      .expand([](Builder& b, const Call& c) {
        return scaled_sum(b, c, b.call("aten.mv", {c.arg("mat"), c.arg("vec")}));
      });
  in_place("addmv", "Tensor mat, Tensor vec");
  ops.define("aten::addr(Tensor self, Tensor vec1, Tensor vec2" + scales + " -> Tensor")
      .dtype(promoted({"self", "vec1", "vec2"}))
      .shape([](const Call& c) -> Result<Dims> {
        EDGEC_TRY(Dims rows, need_rank(c, "vec1", 1));
        EDGEC_TRY(Dims columns, need_rank(c, "vec2", 1));
        return Dims{rows[0], columns[0]};
      })
      .expand([](Builder& b, const Call& c) {
        return scaled_sum(b, c, b.call("aten.outer", {c.arg("vec1"), c.arg("vec2")}));
      });
  in_place("addr", "Tensor vec1, Tensor vec2");
}

void define_vectors(Table& ops) {
  const auto dot = [](std::string x, std::string y) {
    return [=](Builder& b, const Call& c) {
      const Dim n = c.tensor(x).sizes.empty() ? Dim(1) : c.tensor(x).sizes[0];
      return b.view(b.call("aten.mm", {b.view(c.value(x), {1, n}), b.view(c.value(y), {n, 1})}), {});
    };
  };
  ops.define("aten::dot(Tensor self, Tensor tensor) -> Tensor").dtype(same_as("self")).shape(scalar_shape()).expand(dot("self", "tensor"));
  ops.define("aten::vdot(Tensor self, Tensor other) -> Tensor").dtype(same_as("self")).shape(scalar_shape()).expand(dot("self", "other"));
  ops.define("aten::mv(Tensor self, Tensor vec) -> Tensor")
      .dtype(same_as("self"))
      .shape([](const Call& c) -> Result<Dims> {
        EDGEC_TRY(Dims sizes, need_rank(c, "self", 2));
        return Dims{sizes[0]};
      })
      .expand([](Builder& b, const Call& c) {
        const Dims sizes = c.tensor("self").sizes;
        return b.view(b.call("aten.mm", {c.arg("self"), b.view(c.value("vec"), {sizes[1], 1})}), {sizes[0]});
      });
  for (const char* name : {"outer", "ger"})
    ops.define(std::string("aten::") + name + "(Tensor self, Tensor vec2) -> Tensor")
        .dtype(promoted({"self", "vec2"}))
        .shape([](const Call& c) -> Result<Dims> {
          EDGEC_TRY(Dims rows, need_rank(c, "self", 1));
          EDGEC_TRY(Dims columns, need_rank(c, "vec2", 1));
          return Dims{rows[0], columns[0]};
        })
        .expand([](Builder& b, const Call& c) {
          return b.mul(b.view(c.value("self"), {c.tensor("self").sizes[0], 1}), c.value("vec2"));
        });
  ops.define("aten::linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor")
      .dtype(promoted({"x", "y"}))
      .shape([](const Call& c) -> Result<Dims> {
        EDGEC_TRY(Dims sizes, broadcast(c.tensor("x").sizes, c.tensor("y").sizes));
        EDGEC_TRY(size_t d, c.axis("dim", sizes.size()));
        return without_axes(sizes, {d}, false);
      })
      .expand([](Builder& b, const Call& c) -> Values {
        const DType d = c.promoted({"x", "y"}), wide = is_half(d) ? DType::F32 : d;
        const ValueId products = b.mul(b.cast(c.value("x"), wide), b.cast(c.value("y"), wide));
        if (b.failed()) return {};
        const Axes axis = {axis_of(b, c, "dim", b.tensor(products).rank())};
        return {b.cast(b.call("aten.sum.dim_IntList", {products, list(axis), false}, {{"dtype", wide}}), d)};
      });
  // Every element of self times all of other, block by block.
  ops.define("aten::kron(Tensor self, Tensor other) -> Tensor")
      .dtype(promoted({"self", "other"}))
      .shape([](const Call& c) -> Result<Dims> {
        Dims x = c.tensor("self").sizes, y = c.tensor("other").sizes;
        x.insert(x.begin(), y.size() > x.size() ? y.size() - x.size() : 0, Dim(1));
        y.insert(y.begin(), x.size() - y.size(), Dim(1));
        for (size_t i = 0; i < x.size(); ++i) x[i] = x[i] * y[i];
        return x;
      })
      .expand([](Builder& b, const Call& c) {
        const Dims out = result_sizes(c), x = c.tensor("self").sizes, y = c.tensor("other").sizes;
        Dims outer, inner;
        for (size_t i = 0; i < out.size(); ++i) {
          outer.push_back(i + x.size() >= out.size() ? x[i + x.size() - out.size()] : Dim(1));
          outer.push_back(1);
          inner.push_back(1);
          inner.push_back(i + y.size() >= out.size() ? y[i + y.size() - out.size()] : Dim(1));
        }
        return b.view(b.mul(b.view(c.value("self"), outer), b.view(c.value("other"), inner)), out);
      });
}

}  // namespace

void define_linear(Table& ops) {
  ops.define("aten::mm(Tensor self, Tensor mat2) -> Tensor")
      .dtype(same_as("self"))
      .shape(rows_and_columns("self", "mat2", 2))
      .kernel("mm.out")
      .expand(unless_inner_empty("self", kept));
  ops.define("aten::bmm(Tensor self, Tensor mat2) -> Tensor")
      .dtype(same_as("self"))
      .shape(rows_and_columns("self", "mat2", 3))
      .kernel("bmm.out")
      .expand(unless_inner_empty("self", kept));
  for (const char* name : {"matmul", "linalg_matmul"})
    ops.define(std::string("aten::") + name + "(Tensor self, Tensor other) -> Tensor")
        .dtype(same_as("self"))
        .shape([](const Call& c) -> Result<Dims> { return matmul_sizes(c.tensor("self").sizes, c.tensor("other").sizes, c.op()); })
        .expand(matmul_expanded);

  ops.define("aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor")
      .dtype(same_as("input"))
      .shape([](const Call& c) -> Result<Dims> {
        Dims sizes = c.tensor("input").sizes;
        const Dims& weight = c.tensor("weight").sizes;
        if (sizes.empty() || weight.empty() || weight.size() > 2)
          return model_error("linear: input " + str(sizes) + " and weight " + str(weight) + " do not fit");
        if (sym::equal(sizes.back(), weight.back()) == sym::Proof::No)
          return model_error("linear: the input's last size " + sizes.back().str() + " is not the weight's, " + weight.back().str());
        sizes.pop_back();
        if (weight.size() == 2) sizes.push_back(weight[0]);
        return sizes;
      })
      .kernel("linear.out")
      .expand([](Builder& b, const Call& c) -> Values {
        const Dims input = c.tensor("input").sizes, out = result_sizes(c);
        const ValueId x = c.value("input"), weight = c.value("weight");
        // The kernel takes matrices, a bias vector and at least one input feature.
        if (c.rank("weight") == 1) return {matmul(b, x, weight)};
        if ((c.has("bias") && c.rank("bias") != 1) || input.back() == Dim(0)) {
          const ValueId product = input.back() == Dim(0) ? b.full(out, 0, c.tensor("input").dtype) : b.call("aten.linear", {x, weight});
          return {c.has("bias") ? b.add(product, c.value("bias")) : product};
        }
        if (input.size() > 1) return keep_whole();
        return {b.view(b.call("aten.linear", {b.view(x, {1, input[0]}), weight, c.arg("bias")}), out)};
      });

  define_added(ops);
  define_vectors(ops);
  define_contractions(ops);
  define_chains(ops);
}

}  // namespace edgec::ops
