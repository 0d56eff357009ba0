#include "passes/complex_rules.h"

#include <algorithm>
#include <cmath>

// Arithmetic on the parts of complex tensors.
namespace edgec::passes {
namespace {

using Results = std::vector<Parts>;

ValueId neg(Builder& b, ValueId x) { return b.unary("aten.neg", x); }
ValueId last_select(Builder& b, ValueId x, int64_t at) { return b.call("aten.select.int", {x, -1, at}); }
ValueId sum_or(Builder& b, ValueId x, ValueId y) { return !x ? y : !y ? x : b.add(x, y); }
ValueId times_or(Builder& b, ValueId x, ValueId y) { return x && y ? b.mul(x, y) : ValueId{}; }
ValueId difference_or(Builder& b, ValueId x, ValueId y) { return !y ? x : !x ? neg(b, y) : b.sub(x, y); }

Parts scaled(Builder& b, Parts x, const Arg& by) { return {b.mul(x.re, by), x.im ? b.mul(x.im, by) : ValueId{}}; }

template <class Product>
Parts product(Builder& b, Parts x, Parts y, Product times) {
  // One after the other: in which order a compiler evaluates arguments is its own choice, and programs are the same from all.
  const ValueId rr = times(x.re, y.re), ii = times(x.im, y.im), ri = times(x.re, y.im), ir = times(x.im, y.re);
  const ValueId re = difference_or(b, rr, ii);
  return {re, sum_or(b, ri, ir)};
}
Parts product(Builder& b, Parts x, Parts y) {
  return product(b, x, y, [&](ValueId p, ValueId q) { return times_or(b, p, q); });
}

ValueId square_size(Builder& b, Parts x) { return sum_or(b, b.mul(x.re, x.re), times_or(b, x.im, x.im)); }
ValueId size(Builder& b, Parts x) { return x.im ? b.call("aten.hypot", {x.re, x.im}) : b.unary("aten.abs", x.re); }
Parts conjugate(Builder& b, Parts x) { return {x.re, x.im ? neg(b, x.im) : ValueId{}}; }

Parts quotient(Builder& b, Parts x, Parts y) {
  if (!y.im) return {b.div(x.re, y.re), x.im ? b.div(x.im, y.re) : ValueId{}};
  const ValueId under = square_size(b, y);
  const Parts over = product(b, x, conjugate(b, y));
  return {b.div(over.re, under), b.div(over.im, under)};
}

Parts from_polar(Builder& b, ValueId radius, ValueId angle) {
  return {b.mul(radius, b.unary("aten.cos", angle)), b.mul(radius, b.unary("aten.sin", angle))};
}

ValueId angle(Builder& b, Parts x) { return x.im ? b.call("aten.atan2", {x.im, x.re}) : b.unary("aten.angle", x.re); }

Results added(const ComplexCall& c, bool minus) {
  const Parts x = c.parts("self");
  Parts y = c.parts("other");
  if (c.c.has("alpha") && c.c.number("alpha", 1) != 1) y = scaled(c.b, y, c.c.arg("alpha"));
  if (minus) return {{difference_or(c.b, x.re, y.re), difference_or(c.b, x.im, y.im)}};
  return {{sum_or(c.b, x.re, y.re), sum_or(c.b, x.im, y.im)}};
}

template <const char* op>
Results matrix_product(const ComplexCall& c) {
  const auto& params = c.c.op().schema().params;
  return {product(c.b, c.parts(params[0].name), c.parts(params[1].name), [&](ValueId p, ValueId q) {
    return p && q ? c.b.call(op, {p, q}) : ValueId{};
  })};
}
constexpr char kMatmul[] = "aten.matmul", kMm[] = "aten.mm", kBmm[] = "aten.bmm";

Results powered(const ComplexCall& c) {
  const auto n = c.c.dim("exponent").constant();
  const Parts x = c.parts("self");
  if (!n || *n < 1 || *n > 16) {
    const double e = c.c.number("exponent", NAN);
    if (std::isnan(e)) c.b.fail("a complex power with an exponent that is no number");
    return {from_polar(c.b, c.b.call("aten.pow.Tensor_Scalar", {size(c.b, x), e}), c.b.mul(angle(c.b, x), e))};
  }
  Parts y = x;
  for (int64_t i = 1; i < *n; ++i) y = product(c.b, y, x);
  return {y};
}

Results exponential(const ComplexCall& c) {
  const Parts x = c.parts("self");
  const ValueId radius = c.b.unary("aten.exp", x.re);
  return {x.im ? from_polar(c.b, radius, x.im) : Parts{radius, {}}};
}

Results cast(const ComplexCall& c) {  // to a real dtype: the real part
  const DType to = c.node.results.empty() ? DType::F32 : c.b.tensor(c.node.results[0]).dtype;
  const Parts x = c.parts("self");
  const DType d = is_complex(to) ? part_of(to) : to;
  return {{c.b.cast(x.re, d), is_complex(to) && x.im ? c.b.cast(x.im, d) : ValueId{}}};
}

const ComplexRules& rules() {
  static const ComplexRules all = [] {
    ComplexRules r;
    r["aten.view_as_complex"] = [](const ComplexCall& c) -> Results {
      return {{last_select(c.b, c.c.value("self"), 0), last_select(c.b, c.c.value("self"), 1)}};
    };
    r["aten.view_as_real"] = [](const ComplexCall& c) -> Results {
      const Parts x = c.both_parts("self");
      return {{c.b.call("aten.stack", {Arg::tensors({x.re, x.im}), -1}), {}}};
    };
    r["aten.real"] = [](const ComplexCall& c) -> Results { return {{c.parts("self").re, {}}}; };
    r["aten.imag"] = [](const ComplexCall& c) -> Results { return {{c.both_parts("self").im, {}}}; };
    r["aten.complex"] = [](const ComplexCall& c) -> Results { return {{c.c.value("real"), c.c.value("imag")}}; };
    r["aten.polar"] = [](const ComplexCall& c) -> Results { return {from_polar(c.b, c.c.value("abs"), c.c.value("angle"))}; };
    for (const char* name : {"aten.conj", "aten._conj", "aten._conj_physical", "aten.conj_physical"})
      r[name] = [](const ComplexCall& c) -> Results { return {conjugate(c.b, c.parts("self"))}; };
    r["aten.abs"] = [](const ComplexCall& c) -> Results { return {{size(c.b, c.parts("self")), {}}}; };
    r["aten.angle"] = [](const ComplexCall& c) -> Results { return {{angle(c.b, c.parts("self")), {}}}; };
    r["aten.exp"] = exponential;
    r["aten.log"] = [](const ComplexCall& c) -> Results {
      const Parts x = c.parts("self");
      return {{c.b.unary("aten.log", size(c.b, x)), angle(c.b, x)}};
    };
    r["aten.reciprocal"] = [](const ComplexCall& c) -> Results {
      const Parts x = c.parts("self");
      const ValueId under = square_size(c.b, x);
      return {{c.b.div(x.re, under), x.im ? neg(c.b, c.b.div(x.im, under)) : ValueId{}}};
    };
    r["aten.square"] = [](const ComplexCall& c) -> Results { return {product(c.b, c.parts("self"), c.parts("self"))}; };
    r["aten.pow.Tensor_Scalar"] = powered;
    for (const char* name : {"aten.add.Tensor", "aten.add.Scalar"}) r[name] = [](const ComplexCall& c) { return added(c, false); };
    for (const char* name : {"aten.sub.Tensor", "aten.sub.Scalar"}) r[name] = [](const ComplexCall& c) { return added(c, true); };
    for (const char* name : {"aten.mul.Tensor", "aten.mul.Scalar"})
      r[name] = [](const ComplexCall& c) -> Results { return {product(c.b, c.parts("self"), c.parts("other"))}; };
    for (const char* name : {"aten.div.Tensor", "aten.div.Scalar"})
      r[name] = [](const ComplexCall& c) -> Results { return {quotient(c.b, c.parts("self"), c.parts("other"))}; };
    r["aten.matmul"] = matrix_product<kMatmul>;
    r["aten.mm"] = matrix_product<kMm>;
    r["aten.bmm"] = matrix_product<kBmm>;
    for (const char* name : {"aten.to.dtype", "aten.to.dtype_layout", "aten.to.device", "aten.to.other", "aten._to_copy", "aten.type_as"})
      r[name] = cast;
    add_fourier_rules(r);
    return r;
  }();
  return all;
}

}  // namespace

DType part_of(DType complex) { return complex == DType::C128 ? DType::F64 : complex == DType::C32 ? DType::F16 : DType::F32; }

Parts ComplexCall::parts(std::string_view param) const {
  const Arg& a = c.arg(param);
  const DType d = part_dtype();
  if (a.is_value() && b.graph().type(a.value()).is_tensor()) {
    const Parts p = parts_of(a.value());
    return p.im || is_float(b.tensor(p.re).dtype) ? p : Parts{b.cast(p.re, d), {}};
  }
  if (a.is_list() && a.list().size() == 2) return {b.full({}, a.list()[0], d), b.full({}, a.list()[1], d)};
  return {b.full({}, a, d), {}};
}

Parts ComplexCall::both_parts(std::string_view param) const {
  Parts p = parts(param);
  if (!p.im) p.im = b.call("aten.zeros_like", {p.re});
  return p;
}

DType ComplexCall::part_dtype() const {
  if (node.results.empty()) return DType::F32;
  const DType d = b.tensor(node.results[0]).dtype;
  return is_complex(d) ? part_of(d) : is_float(d) ? d : DType::F32;
}

ValueId ComplexCall::constant(std::string_view name, std::vector<int64_t> sizes, const std::vector<double>& values, DType dtype) const {
  std::vector<std::byte> bytes;
  for (double v : values) append_element(bytes, dtype, v);
  TensorType type{dtype, Dims(sizes.begin(), sizes.end()), {}, {}};
  const ConstId made = method.add_constant(std::string(name), make_tensor_data(dtype, std::move(sizes), std::move(bytes)));
  const NodeId n = b.graph().add_node(&Registry::global().get("prim.constant"), {made}, {Type::of(type)}, b.loc(), b.graph().first());
  return b.graph().node(n).results[0];
}

bool is_componentwise(std::string_view op) {
  static constexpr std::string_view kNames[] = {
      "aten.view",
      "aten.reshape",
      "aten._unsafe_view",
      "aten.flatten.using_ints",
      "aten.unflatten.int",
      "aten.permute",
      "aten.transpose.int",
      "aten.t",
      "aten.unsqueeze",
      "aten.squeeze",
      "aten.squeeze.dim",
      "aten.squeeze.dims",
      "aten.expand",
      "aten.expand_as",
      "aten.view_as",
      "aten.select.int",
      "aten.slice.Tensor",
      "aten.narrow",
      "aten.index.Tensor",
      "aten.index_select",
      "aten.gather",
      "aten.cat",
      "aten.concat",
      "aten.stack",
      "aten.clone",
      "aten.contiguous",
      "aten.detach",
      "aten.alias",
      "aten.repeat",
      "aten.roll",
      "aten.flip",
      "aten.unbind.int",
      "aten.split.Tensor",
      "aten.split_with_sizes",
      "aten.chunk",
      "aten.movedim.int",
      "aten.sum",
      "aten.sum.dim_IntList",
      "aten.mean",
      "aten.mean.dim",
      "aten.cumsum",
      "aten.neg",
      "aten.where.self",
      "aten.constant_pad_nd",
      "aten.masked_fill.Scalar",
      "aten.lift_fresh_copy",
      "aten.resolve_conj",
      "aten.resolve_neg",
      "aten.zeros_like",
      "aten.select_scatter",
      "aten.slice_scatter",
      "aten.index_put",
      "aten.copy",
      "aten.full_like",
      "aten.full",
      "aten.zeros",
      "aten.new_zeros",
      "aten.diagonal",
      "aten.swapaxes",
      "aten.swapdims",
      "aten.fft_fftshift",
      "aten.fft_ifftshift",
      "aten.triu",
      "aten.tril",
      "aten.repeat_interleave.self_int",
      "aten.reshape_as",
      "aten.empty_like",
      "aten.empty.memory_format",
      "aten.embedding",
      "aten.mT",
  };
  return std::find(std::begin(kNames), std::end(kNames), op) != std::end(kNames);
}

const ComplexRule* find_complex_rule(std::string_view op) {
  auto it = rules().find(op);
  return it == rules().end() ? nullptr : &it->second;
}

}  // namespace edgec::passes
