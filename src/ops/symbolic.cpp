#include "ops/table.h"

// Operators on symbolic numbers, as the archive spells them. Their results are expressions, so passes/resolve_symbols
// replaces every use by the expression; the Exec stage makes the runtime's prim operators from expressions again
// (passes/materialize_symbols).
namespace edgec::ops {
namespace {

using Unary = sym::Expr (*)(sym::Expr);
using Binary = sym::Expr (*)(sym::Expr, sym::Expr);

InferRule unary(Unary fn) {
  return [fn](const Call& c) -> Result<std::vector<Type>> { return std::vector<Type>{Type::sym(fn(c.dim("a")))}; };
}
InferRule binary(Binary fn) {
  return [fn](const Call& c) -> Result<std::vector<Type>> { return std::vector<Type>{Type::sym(fn(c.dim("a"), c.dim("b")))}; };
}
sym::Expr power(sym::Expr a, sym::Expr b) {
  auto n = b.constant();
  return n ? sym::pow(a, *n) : sym::mul(a, sym::Expr(INT64_MAX));  // a symbolic exponent has no bound
}
sym::Expr identity(sym::Expr a) { return a; }
sym::Expr sqrt_of_number(sym::Expr a) { return sym::sqrt(sym::to_float(a)); }

}  // namespace

void define_symbolic(Table& ops) {
  ops.define("aten::sym_size.int(Tensor self, int dim) -> SymInt")
      .infer([](const Call& c) -> Result<std::vector<Type>> {
        EDGEC_TRY(size_t d, c.axis("dim", c.rank("self")));
        if (c.rank("self") == 0) return model_error("sym_size of a rank-0 tensor");
        return std::vector<Type>{Type::sym(c.tensor("self").sizes[d])};
      })
      .kernel("sym_size.int");
  // The number in a tensor of one element. In an archive its result is a new symbol.
  for (const char* schema : {"aten::_local_scalar_dense(Tensor self) -> Scalar", "aten::item(Tensor self) -> Scalar"})
    ops.define(schema).defines_symbols().kernel("_local_scalar_dense");
  ops.define("aten::sym_numel(Tensor self) -> SymInt").infer([](const Call& c) -> Result<std::vector<Type>> {
    return std::vector<Type>{Type::sym(numel(c.tensor("self").sizes))};
  });
  ops.define("aten::sym_stride.int(Tensor self, int dim) -> SymInt").infer([](const Call& c) -> Result<std::vector<Type>> {
    EDGEC_TRY(size_t d, c.axis("dim", c.rank("self")));
    const TensorType& t = c.tensor("self");
    const Dims strides = t.strides.empty() ? strides_of(t.sizes, t.dim_order) : t.strides;
    if (strides.empty()) return model_error("sym_stride of a rank-0 tensor");
    return std::vector<Type>{Type::sym(strides[d])};
  });

  const std::pair<const char*, Binary> binaries[] = {
      {"_operator::add", sym::add},        {"_operator::sub", sym::sub},
      {"_operator::mul", sym::mul},        {"_operator::floordiv", sym::floordiv},
      {"_operator::mod", sym::mod},        {"_operator::truediv", sym::truediv},
      {"_operator::pow", power},           {"_operator::eq", sym::eq},
      {"_operator::ne", sym::ne},          {"_operator::lt", sym::lt},
      {"_operator::le", sym::le},          {"_operator::gt", sym::gt},
      {"_operator::ge", sym::ge},          {"_operator::and_", sym::logical_and},
      {"_operator::or_", sym::logical_or}, {"torch::sym_max", sym::max},
      {"torch::sym_min", sym::min},        {"math::pow", power},
  };
  for (auto [name, fn] : binaries) ops.define(std::string(name) + "(Scalar a, Scalar b) -> Scalar").infer(binary(fn));
  const std::pair<const char*, Unary> unaries[] = {
      {"_operator::neg", sym::neg},          {"_operator::pos", identity},         {"torch::sym_float", sym::to_float},
      {"torch::sym_int", sym::trunc_to_int}, {"torch::sym_not", sym::logical_not}, {"math::ceil", sym::ceil_to_int},
      {"math::floor", sym::floor_to_int},    {"math::trunc", sym::trunc_to_int},   {"builtins::round", sym::round_to_int},
      {"math::sqrt", sqrt_of_number},        {"torch::_sym_sqrt", sqrt_of_number}, {"builtins::abs", sym::abs},
      {"_operator::abs", sym::abs},
  };
  for (auto [name, fn] : unaries) ops.define(std::string(name) + "(Scalar a) -> Scalar").infer(unary(fn));
  ops.define("torch::sym_ite(Scalar a, Scalar b, Scalar c) -> Scalar").infer([](const Call& c) -> Result<std::vector<Type>> {
    return std::vector<Type>{Type::sym(sym::where(c.dim("a"), c.dim("b"), c.dim("c")))};
  });

  // Prim operators of the runtime, Exec stage only (pipeline.md 3.3). Results carry the expression they compute.
  const auto prim = [&](const char* name, int operands) {
    std::string params = operands == 1 ? "Scalar a" : operands == 2 ? "Scalar a, Scalar b" : "Scalar a, Scalar b, Scalar c";
    ops.define(std::string("executorch_prim::") + name + "(" + params + ") -> Scalar").kernel(std::string("executorch_prim::") + name);
  };
  for (const char* two : {"add.Scalar", "sub.Scalar", "mul.Scalar", "floordiv.Scalar", "truediv.Scalar", "mod.Scalar", "eq.Scalar",
                          "lt.Scalar", "le.Scalar", "gt.Scalar", "ge.Scalar", "sym_max.Scalar", "sym_min.Scalar"})
    prim(two, 2);
  for (const char* one :
       {"neg.Scalar", "sym_float.Scalar", "sym_int.Scalar", "sym_not.Scalar", "ceil.Scalar", "round.Scalar", "trunc.Scalar"})
    prim(one, 1);
  prim("sym_ite.Scalar", 3);
  ops.define("executorch_prim::et_view(Tensor self, SymInt[] size) -> Tensor")
      .dtype(same_as("self"))
      .shape(sizes_from("size"))
      .kernel("executorch_prim::et_view.default");
}

}  // namespace edgec::ops
