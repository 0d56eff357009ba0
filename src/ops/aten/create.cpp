#include <fmt/format.h>

#include <cmath>

#include "ops/build.h"
#include "ops/table.h"

// Tensors from numbers and random ones. All constant fills become aten.full; passes may fold what does not depend on
// sizes.
namespace edgec::ops {
namespace {

const char* const kFactory = ", *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None";

// The dtype of a factory without one: torch's default dtypes of the number.
DTypeRule number_dtype(std::string param) { return dtype_arg_or("dtype", promoted({param})); }
DTypeRule float_default() { return dtype_arg("dtype", DType::F32); }
DTypeRule like_self() { return dtype_arg_or("dtype", same_as("self")); }

// The result by the entry's own rules.
TensorType result_of(Builder& b, const Call& c) {
  auto types = infer(c.graph(), c.op(), c.args());
  if (types) return (*types)[0].tensor;
  b.fail(types.failure().message);
  return {};
}

ValueId filled(Builder& b, const Call& c, const Arg& value) {
  const TensorType t = result_of(b, c);
  return b.full(t.sizes, value, t.dtype);
}

Def filler(Table& ops, const std::string& schema, DTypeRule dtype, ShapeRule shape, int value) {
  return ops.define(schema).dtype(std::move(dtype)).shape(std::move(shape)).expand([value](Builder& b, const Call& c) {
    return filled(b, c, value);
  });
}

// ---- ranges -------------------------------------------------------------------------------------------------------

struct Range {
  Arg start, end, step;
};

Range range_of(const Call& c) {
  const bool has_start = c.op().schema().find("start") >= 0, has_step = c.op().schema().find("step") >= 0;
  return {has_start ? c.arg("start") : Arg(0), c.arg("end"), has_step ? c.arg("step") : Arg(1)};
}

Result<DType> range_dtype(const Call& c) {
  if (c.has("dtype")) return c.dtype("dtype", DType::I64);
  const Range r = range_of(c);
  const Arg numbers[] = {r.start, r.end, r.step};
  return result_type(c.graph(), numbers);
}

Result<Dims> range_sizes(const Call& c) {
  const Range r = range_of(c);
  const sym::Expr start = expr_of(c.graph(), r.start), end = expr_of(c.graph(), r.end), step = expr_of(c.graph(), r.step);
  const bool ints = start.sort() == sym::Sort::Int && end.sort() == sym::Sort::Int && step.sort() == sym::Sort::Int;
  if (const auto zero = step.constant_float(); zero && *zero == 0) return model_error("arange: the step is zero");
  const Dim length = ints ? sym::ceildiv(end - start, step)
                          : sym::ceil_to_int(sym::truediv(sym::sub(sym::to_float(end), sym::to_float(start)), sym::to_float(step)));
  if (length.is_static() && *length.constant() < 0) return model_error("arange: the step does not lead from start to end");
  return Dims{sym::less_equal(0, length) == sym::Proof::Yes ? length : sym::max(length, 0)};
}

// start + i * step for the first half and end - (steps - 1 - i) * step for the second, as torch computes it.
ValueId spaced(Builder& b, const Call& c, DType compute) {
  const int64_t steps = c.integer("steps");
  const double start = c.number("start"), end = c.number("end");
  if (steps <= 1) return b.full({steps}, start, compute);
  const double step = compute == DType::F32
                          ? static_cast<double>((static_cast<float>(end) - static_cast<float>(start)) / static_cast<float>(steps - 1))
                          : (end - start) / static_cast<double>(steps - 1);
  const ValueId i = iota(b, steps, compute);
  const ValueId up = b.add(b.mul(i, step), start);
  const ValueId down = b.add(b.mul(b.call("aten.rsub.Scalar", {i, static_cast<double>(steps - 1)}), -step), end);
  return where(b, b.call("aten.lt.Scalar", {i, steps / 2}), up, down);
}

DType spacing_dtype(DType result) { return result == DType::F32 || is_half(result) ? DType::F32 : DType::F64; }

Result<Dims> steps_size(const Call& c) { return Dims{c.dim("steps")}; }

// ---- random -------------------------------------------------------------------------------------------------------

ValueId random_call(Builder& b, const char* op, const Dims& sizes, DType dtype) { return b.call(op, {sizes}, {{"dtype", dtype}}); }

ValueId uniform(Builder& b, const Dims& sizes, DType dtype) { return random_call(b, "aten.rand", sizes, dtype); }
ValueId gaussian(Builder& b, const Dims& sizes, DType dtype) { return random_call(b, "aten.randn", sizes, dtype); }

// Integers of [low, high).
ValueId random_integers(Builder& b, const Call& c) {
  const TensorType t = result_of(b, c);
  const Dim low = c.op().schema().find("low") >= 0 ? c.dim("low") : Dim(0);
  const ValueId scaled = b.mul(uniform(b, t.sizes, DType::F64), c.dim("high") - low);
  return b.cast(b.add(b.unary("aten.floor", scaled), low), t.dtype);
}

ValueId chosen(Builder& b, const TensorType& t, const Arg& probability) {
  const ValueId r = uniform(b, t.sizes, DType::F32);
  const ValueId hit = b.call(probability.is_value() ? "aten.lt.Tensor" : "aten.lt.Scalar", {r, probability});
  return b.cast(hit, t.dtype);
}

ValueId normal(Builder& b, const Call& c) {
  const TensorType t = result_of(b, c);
  const auto scaled = [&](ValueId r) { return c.is_tensor("std") ? b.mul(r, c.value("std")) : b.mul(r, c.arg("std")); };
  return b.add(scaled(gaussian(b, t.sizes, t.dtype)), c.arg("mean"));
}

// Continuous laws, each made of one uniform or normal number. Uniform numbers are below 1, so that 1 - u is above 0.
struct Law {
  const char *name, *parameters;
  ValueId (*draw)(Builder&, const Call&, const Dims&);
};

ValueId log_of_uniform(Builder& b, const Dims& sizes) {
  return b.unary("aten.log", b.call("aten.rsub.Scalar", {uniform(b, sizes, DType::F64), 1}));
}

const Law kLaws[] = {
    {"normal_functional", "float mean=0., float std=1.",
     [](Builder& b, const Call& c, const Dims& sizes) {
       return b.add(b.mul(gaussian(b, sizes, DType::F64), c.arg("std")), c.arg("mean"));
     }},
    {"log_normal", "float mean=1., float std=2.",
     [](Builder& b, const Call& c, const Dims& sizes) {
       return b.unary("aten.exp", b.add(b.mul(gaussian(b, sizes, DType::F64), c.arg("std")), c.arg("mean")));
     }},
    {"exponential", "float lambd=1.",
     [](Builder& b, const Call& c, const Dims& sizes) { return b.div(log_of_uniform(b, sizes), -c.number("lambd")); }},
    {"geometric", "float p",
     [](Builder& b, const Call& c, const Dims& sizes) {
       const ValueId tries = b.unary("aten.ceil", b.div(log_of_uniform(b, sizes), std::log1p(-c.number("p"))));
       return b.call("aten.clamp", {tries, 1.0});
     }},
    {"cauchy", "float median=0., float sigma=1.",
     [](Builder& b, const Call& c, const Dims& sizes) {
       const ValueId angle = b.mul(b.sub(uniform(b, sizes, DType::F64), 0.5), 3.141592653589793);
       return b.add(b.mul(b.unary("aten.tan", angle), c.arg("sigma")), c.arg("median"));
     }},
};

void define_law(Table& ops, const Law& law) {
  ops.define(fmt::format("aten::{}(Tensor self, {}, *, Generator? generator=None) -> Tensor", law.name, law.parameters))
      .dtype(same_as("self"))
      .shape(shape_of("self"))
      .random()
      .expand([draw = law.draw](Builder& b, const Call& c) {
        const TensorType t = c.tensor("self");
        return b.cast(draw(b, c, t.sizes), t.dtype);
      });
  const std::string name = law.name, in_place = name == "normal_functional" ? "normal" : name;
  ops.in_place(fmt::format("aten::{}_(Tensor(a!) self, {}, *, Generator? generator=None) -> Tensor(a!)", in_place, law.parameters),
               "aten." + name);
}

// Integers that a dtype holds exactly, from 0: 2^digits for floats, up to the largest for integers (of i64: 2^53).
double random_limit(DType d) {
  switch (d) {
    case DType::Bool:
      return 2;
    case DType::U8:
      return 256;
    case DType::BF16:
      return 257;
    case DType::F16:
      return 2049;
    case DType::F32:
      return 16777217;
    case DType::I8:
      return 128;
    case DType::I16:
      return 32768;
    case DType::I32:
      return 2147483648.0;
    default:
      return 9007199254740992.0;
  }
}

ValueId random_integer(Builder& b, const TensorType& t, double low, double high) {
  const ValueId scaled = b.mul(uniform(b, t.sizes, DType::F64), high - low);
  return b.cast(b.add(b.unary("aten.floor", scaled), low), t.dtype);
}

ValueId random_bits(Builder& b, const Call& c) { return random_integer(b, c.tensor("self"), 0, random_limit(c.tensor("self").dtype)); }

ValueId random_below(Builder& b, const Call& c) {
  const bool has_from = c.op().schema().find("from") >= 0;
  const TensorType t = c.tensor("self");
  return random_integer(b, t, has_from ? c.number("from") : 0, c.number("to", random_limit(t.dtype)));
}

void define_random(Table& ops) {
  for (const std::string name : {"rand", "randn"}) {
    const std::string kernel = "aten." + name;
    ops.define("aten::" + name + "(SymInt[] size" + kFactory + ") -> Tensor")
        .dtype(float_default())
        .shape(sizes_from("size"))
        .random()
        .kernel(name + ".out");
    ops.define("aten::" + name + "_like(Tensor self" + kFactory + ", MemoryFormat? memory_format=None) -> Tensor")
        .dtype(like_self())
        .shape(shape_of("self"))
        .random()
        .expand([kernel](Builder& b, const Call& c) {
          const TensorType t = result_of(b, c);
          return random_call(b, kernel.c_str(), t.sizes, t.dtype);
        });
  }
  const std::string integer_factory = ", *, ScalarType? dtype=long, Layout? layout=None, Device? device=None, bool? pin_memory=None";
  for (const char* low : {"", ".low"})
    ops.define(fmt::format("aten::randint{}({}SymInt high, SymInt[] size{}) -> Tensor", low, *low ? "SymInt low, " : "", integer_factory))
        .dtype(dtype_arg("dtype", DType::I64))
        .shape(sizes_from("size"))
        .random()
        .expand(random_integers);
  for (const char* low : {"", ".low_dtype"})
    ops.define(fmt::format("aten::randint_like{}(Tensor self, {}SymInt high{}, MemoryFormat? memory_format=None) -> Tensor", low,
                           *low ? "SymInt low, " : "", kFactory))
        .dtype(like_self())
        .shape(shape_of("self"))
        .random()
        .expand(random_integers);
  ops.define("aten::randperm(SymInt n" + integer_factory + ") -> Tensor")
      .dtype(dtype_arg("dtype", DType::I64))
      .shape([](const Call& c) -> Result<Dims> { return Dims{c.dim("n")}; })
      .random()
      .expand([](Builder& b, const Call& c) {
        const auto r = b.call_all("aten.topk", {uniform(b, {c.dim("n")}, DType::F64), c.dim("n")});
        return b.cast(r.back(), c.dtype("dtype", DType::I64));
      });

  ops.define("aten::bernoulli(Tensor self, *, Generator? generator=None) -> Tensor")
      .dtype(same_as("self"))
      .shape(shape_of("self"))
      .random()
      .expand([](Builder& b, const Call& c) { return chosen(b, c.tensor("self"), c.arg("self")); });
  ops.define("aten::bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor")
      .dtype(same_as("self"))
      .shape(shape_of("self"))
      .random()
      .expand([](Builder& b, const Call& c) { return chosen(b, c.tensor("self"), c.arg("p")); });
  ops.define("aten::bernoulli.Tensor(Tensor self, Tensor p, *, Generator? generator=None) -> Tensor")
      .dtype(same_as("self"))
      .shape(shape_of("self"))
      .random()
      .expand([](Builder& b, const Call& c) { return chosen(b, c.tensor("self"), c.arg("p")); });
  ops.define("aten::normal.Tensor_Tensor(Tensor mean, Tensor std, *, Generator? generator=None) -> Tensor")
      .dtype(same_as("mean"))
      .shape(broadcast_of({"mean", "std"}))
      .random()
      .expand(normal);
  ops.define("aten::normal.Tensor_float(Tensor mean, float std=1., *, Generator? generator=None) -> Tensor")
      .dtype(same_as("mean"))
      .shape(shape_of("mean"))
      .random()
      .expand(normal);
  ops.define("aten::normal.float_Tensor(float mean, Tensor std, *, Generator? generator=None) -> Tensor")
      .dtype(same_as("std"))
      .shape(shape_of("std"))
      .random()
      .expand(normal);
  ops.define(
         "aten::normal.float_float(float mean, float std, SymInt[] size, *, Generator? generator=None, ScalarType? dtype=None, Layout? "
         "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor")
      .dtype(float_default())
      .shape(sizes_from("size"))
      .random()
      .expand(normal);
  ops.define("aten::uniform(Tensor self, float from=0., float to=1., *, Generator? generator=None) -> Tensor")
      .dtype(same_as("self"))
      .shape(shape_of("self"))
      .random()
      .expand([](Builder& b, const Call& c) {
        const double from = c.number("from"), to = c.number("to", 1);
        const TensorType& t = c.tensor("self");
        return b.add(b.mul(uniform(b, t.sizes, t.dtype), to - from), from);
      });
  ops.in_place("aten::uniform_(Tensor(a!) self, float from=0., float to=1., *, Generator? generator=None) -> Tensor(a!)");

  ops.in_place("aten::bernoulli_.float(Tensor(a!) self, float p=0.5, *, Generator? generator=None) -> Tensor(a!)", "aten.bernoulli.p");
  ops.in_place("aten::bernoulli_.Tensor(Tensor(a!) self, Tensor p, *, Generator? generator=None) -> Tensor(a!)", "aten.bernoulli.Tensor");
  for (const Law& law : kLaws) define_law(ops, law);
  ops.define("aten::random(Tensor self, *, Generator? generator=None) -> Tensor")
      .dtype(same_as("self"))
      .shape(shape_of("self"))
      .random()
      .expand(random_bits);
  ops.in_place("aten::random_(Tensor(a!) self, *, Generator? generator=None) -> Tensor(a!)");
  for (const auto& [overload, limits] : {std::pair("from", "int from, int? to"), std::pair("to", "int to")}) {
    ops.define(fmt::format("aten::random.{}(Tensor self, {}, *, Generator? generator=None) -> Tensor", overload, limits))
        .dtype(same_as("self"))
        .shape(shape_of("self"))
        .random()
        .expand(random_below);
    ops.in_place(fmt::format("aten::random_.{}(Tensor(a!) self, {}, *, Generator? generator=None) -> Tensor(a!)", overload, limits));
  }

  // The runtime's kernel does not scale by 1 / (1 - p).
  ops.define("aten::native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)")
      .random()
      .infer([](const Call& c) -> Result<std::vector<Type>> {
        const Dims& sizes = c.tensor("input").sizes;
        return std::vector<Type>{Type::of({c.tensor("input").dtype, sizes, {}, {}}), Type::of({DType::Bool, sizes, {}, {}})};
      })
      .expand([](Builder& b, const Call& c) -> std::vector<ValueId> {
        const TensorType t = c.tensor("input");
        const double p = c.number("p");
        const bool train = !c.has("train") || c.flag("train");
        if (!train || p == 0) return {c.value("input"), b.full(t.sizes, true, DType::Bool)};
        const ValueId mask = b.call("aten.ge.Scalar", {uniform(b, t.sizes, DType::F32), p});
        return {b.mul(where(b, mask, c.value("input"), 0.0), p == 1 ? 0.0 : 1 / (1 - p)), mask};
      });
}

}  // namespace

void define_create(Table& ops) {
  const std::string factory = kFactory, like = factory + ", MemoryFormat? memory_format=None";
  ops.define("aten::full(SymInt[] size, Scalar fill_value" + factory + ") -> Tensor")
      .dtype(number_dtype("fill_value"))
      .shape(sizes_from("size"))
      .kernel("full.out");
  ops.define("aten::full_like(Tensor self, Scalar fill_value" + like + ") -> Tensor")
      .dtype(like_self())
      .shape(shape_of("self"))
      .expand([](Builder& b, const Call& c) { return filled(b, c, c.arg("fill_value")); });
  ops.define("aten::new_full(Tensor self, SymInt[] size, Scalar fill_value" + factory + ") -> Tensor")
      .dtype(like_self())
      .shape(sizes_from("size"))
      .expand([](Builder& b, const Call& c) { return filled(b, c, c.arg("fill_value")); });
  ops.define("aten::scalar_tensor(Scalar s" + factory + ") -> Tensor")
      .dtype(float_default())
      .shape(scalar_shape())
      .expand([](Builder& b, const Call& c) { return filled(b, c, c.arg("s")); });

  filler(ops, "aten::zeros(SymInt[] size" + factory + ") -> Tensor", float_default(), sizes_from("size"), 0);
  filler(ops, "aten::ones(SymInt[] size" + factory + ") -> Tensor", float_default(), sizes_from("size"), 1);
  filler(ops, "aten::empty.memory_format(SymInt[] size" + like + ") -> Tensor", float_default(), sizes_from("size"), 0);
  filler(ops, "aten::empty_permuted(SymInt[] size, int[] physical_layout" + factory + ") -> Tensor", float_default(), sizes_from("size"),
         0);
  filler(ops, "aten::empty_strided(SymInt[] size, SymInt[] stride" + factory + ") -> Tensor", float_default(), sizes_from("size"), 0);
  filler(ops, "aten::zeros_like(Tensor self" + like + ") -> Tensor", like_self(), shape_of("self"), 0);
  filler(ops, "aten::ones_like(Tensor self" + like + ") -> Tensor", like_self(), shape_of("self"), 1);
  filler(ops, "aten::empty_like(Tensor self" + like + ") -> Tensor", like_self(), shape_of("self"), 0);
  filler(ops, "aten::new_zeros(Tensor self, SymInt[] size" + factory + ") -> Tensor", like_self(), sizes_from("size"), 0);
  filler(ops, "aten::new_ones(Tensor self, SymInt[] size" + factory + ") -> Tensor", like_self(), sizes_from("size"), 1);
  filler(ops, "aten::new_empty(Tensor self, SymInt[] size" + factory + ") -> Tensor", like_self(), sizes_from("size"), 0);
  filler(ops, "aten::new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride" + factory + ") -> Tensor", like_self(),
         sizes_from("size"), 0);
  filler(ops, "aten::zero(Tensor self) -> Tensor", same_as("self"), shape_of("self"), 0);
  ops.in_place("aten::zero_(Tensor(a!) self) -> Tensor(a!)");
  ops.define("aten::fill.Scalar(Tensor self, Scalar value) -> Tensor")
      .dtype(same_as("self"))
      .shape(shape_of("self"))
      .expand([](Builder& b, const Call& c) { return filled(b, c, c.arg("value")); });
  ops.define("aten::fill.Tensor(Tensor self, Tensor value) -> Tensor")
      .dtype(same_as("self"))
      .shape(shape_of("self"))
      .expand([](Builder& b, const Call& c) {
        const TensorType& t = c.tensor("self");
        return c.is_tensor("value") ? b.expand(b.cast(c.value("value"), t.dtype), t.sizes) : filled(b, c, c.arg("value"));
      });
  ops.in_place("aten::fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)");
  ops.in_place("aten::fill_.Tensor(Tensor(a!) self, Tensor value) -> Tensor(a!)");

  ops.define("aten::arange.start_step(Scalar start, Scalar end, Scalar step=1" + factory + ") -> Tensor")
      .dtype(range_dtype)
      .shape(range_sizes)
      .kernel("arange.start_out");
  for (const char* schema : {"aten::arange(Scalar end", "aten::arange.start(Scalar start, Scalar end"})
    ops.define(schema + factory + ") -> Tensor").dtype(range_dtype).shape(range_sizes).expand([](Builder& b, const Call& c) {
      const Range r = range_of(c);
      return b.call("aten.arange.start_step", {r.start, r.end, r.step}, {{"dtype", result_of(b, c).dtype}});
    });
  ops.define("aten::linspace(Scalar start, Scalar end, int steps" + factory + ") -> Tensor")
      .dtype(float_default())
      .shape(steps_size)
      .expand([](Builder& b, const Call& c) {
        const DType d = c.dtype("dtype", DType::F32);
        return b.cast(spaced(b, c, spacing_dtype(d)), d);
      });
  ops.define("aten::logspace(Scalar start, Scalar end, int steps, float base=10." + factory + ") -> Tensor")
      .dtype(float_default())
      .shape(steps_size)
      .expand([](Builder& b, const Call& c) {
        const DType d = c.dtype("dtype", DType::F32);
        return b.cast(b.call("aten.pow.Scalar", {c.arg("base"), spaced(b, c, spacing_dtype(d))}), d);
      });
  for (const bool square : {true, false})
    ops.define((square ? "aten::eye(SymInt n" : "aten::eye.m(SymInt n, SymInt m") + factory + ") -> Tensor")
        .dtype(float_default())
        .shape([square](const Call& c) -> Result<Dims> {
          return Dims{c.dim("n"), c.dim(square ? "n" : "m")};
        })
        .expand([square](Builder& b, const Call& c) {
          const ValueId rows = iota(b, c.dim("n"), DType::I64, 0, 2), columns = iota(b, c.dim(square ? "n" : "m"), DType::I64, 1, 2);
          return b.cast(b.call("aten.eq.Tensor", {rows, columns}), c.dtype("dtype", DType::F32));
        });
  define_random(ops);
}

}  // namespace edgec::ops
