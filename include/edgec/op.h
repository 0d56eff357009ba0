#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <edgec/graph.h>
#include <edgec/schema.h>

namespace edgec EDGEC_API {

class Call;
class Builder;

using ShapeRule = std::function<Result<Dims>(const Call&)>;
using DTypeRule = std::function<Result<DType>(const Call&)>;
// Types of all results, where one shape and one dtype do not say it.
using InferRule = std::function<Result<std::vector<Type>>(const Call&)>;
// The operator in terms of others, or nothing when this call is kept whole. One value per result.
using ExpandRule = std::function<Result<std::vector<ValueId>>(Builder&, const Call&)>;

// How an operator treats the memory format of its tensor operands.
enum class LayoutRule : uint8_t {
  Contiguous,  // operands and results are contiguous
  Preserve,    // all tensor operands of the result's rank share one dim order, which the results have too
  Any          // moves data between dim orders; decides by its arguments
};

// The runtime's kernel of an operator: "aten::add" + "out".
struct KernelName {
  std::string name, overload;
  std::vector<std::string> drop;  // schema parameters that the kernel lacks (dtype, layout, device, pin_memory of factories)
  bool exists() const { return !name.empty(); }
  std::string full_name() const { return overload.empty() ? name : name + "." + overload; }
};

// Everything about an operator: torch's schema, dtype rule, shape rule, expansion, kernel.
struct OpDef {
  std::string schema_text;
  ShapeRule shape;
  DTypeRule dtype;
  InferRule infer;
  ExpandRule expand;
  KernelName kernel;
  LayoutRule layout = LayoutRule::Contiguous;
  bool random = false;           // two calls differ: never merged, never dropped by CSE
  bool side_effect = false;      // asserts and the like: kept without users
  bool defines_symbols = false;  // results bring new symbols (item, nonzero): kept while the symbols may be used
  bool in_place_ok = false;      // the kernel may write its result over an operand of equal size (runtime-facts.md, "Memory")
  bool memory_view = false;      // the result is the operand's bytes with another shape: costs nothing when planned
  // Arguments that take part in type promotion; the Edge stage brings them to one dtype (floats only:
  // `promotes_to_float`).
  std::vector<std::string> promotes;
  bool promotes_to_float = false;
  // dtypes that the kernel computes rightly; other calls compute in `compute_through` and cast back. Empty: all.
  std::vector<DType> kernel_dtypes;
  DType compute_through = DType::F32;
  std::string functional;  // of an operator that writes in place: the one that gives the value, where the name without `_` does not say it
  // Parameters that the kernel writes to instead of giving results: it is called on copies of them, which are the results, in this order.
  std::vector<size_t> kernel_writes;
  bool known = true;  // false: made up for an operator that the table lacks
  bool user = true;   // false: of the built-in table

  const Schema& schema() const;
  const std::string& name() const;  // "aten.add.Tensor"

 private:
  mutable std::unique_ptr<Schema> schema_;
  mutable std::string name_;
};

// A node's arguments (or arguments about to become one) read by the schema's parameter names.
class Call {
 public:
  Call(const Graph& g, const OpDef& op, std::span<const Arg> args) : g_(&g), op_(&op), args_(args) {}
  const Graph& graph() const { return *g_; }
  const OpDef& op() const { return *op_; }
  std::span<const Arg> args() const { return args_; }

  const Arg& arg(std::string_view param) const;  // parameter must exist in the schema
  bool has(std::string_view param) const;        // exists and is not None
  bool is_tensor(std::string_view param) const;  // a value of tensor type
  ValueId value(std::string_view param) const;
  const TensorType& tensor(std::string_view param) const;
  size_t rank(std::string_view param) const { return tensor(param).rank(); }
  std::vector<ValueId> values(std::string_view param) const;  // a Tensor[] argument (None entries left out)

  // An int or symint argument. A SymInt value gives its expression.
  Dim dim(std::string_view param) const;
  int64_t integer(std::string_view param, int64_t otherwise = 0) const;  // a constant int; `otherwise` when None
  bool flag(std::string_view param) const;
  double number(std::string_view param, double otherwise = 0) const;  // int, float or bool
  std::string string(std::string_view param) const;
  DType dtype(std::string_view param, DType otherwise) const;  // `otherwise` when None
  // An int[]: a single number is repeated `expand_to` times.
  Dims dims(std::string_view param, size_t expand_to = 0) const;
  std::vector<int64_t> integers(std::string_view param, size_t expand_to = 0) const;
  // A dim argument counted from the front, checked against the rank.
  Result<size_t> axis(std::string_view param, size_t rank) const;
  Result<std::vector<size_t>> axes(std::string_view param, size_t rank) const;  // None or empty: all

  // The dtype category that an argument brings into promotion: tensor of rank > 0, rank-0 tensor, plain number.
  DType promoted(std::initializer_list<std::string_view> params) const;

 private:
  const Graph* g_;
  const OpDef* op_;
  std::span<const Arg> args_;
};
// torch.result_type over tensors and numbers (dimension results, zero-dim results, wrapped numbers).
DType result_type(const Graph& g, std::span<const Arg> args);
// The expression an argument stands for, if it is a number or a symbolic value.
sym::Expr expr_of(const Graph& g, const Arg& a);

// Types of a call's results by the operator's entry.
Result<std::vector<Type>> infer(const Graph& g, const OpDef& op, std::span<const Arg> args);

// Arguments for `op` from positional and named ones; missing ones get the schema's defaults.
using NamedArgs = std::vector<std::pair<std::string, Arg>>;
Result<std::vector<Arg>> bind_args(const OpDef& op, std::vector<Arg> positional, const NamedArgs& named = {});
Arg default_arg(const Param& p);
// Whether every argument is of the kind that its parameter takes. Rules and expansions may rely on it.
Status check_args(const Graph& g, const OpDef& op, std::span<const Arg> args);

// The operator table. Entries have stable addresses.
class Registry {
 public:
  static Registry& global();
  OpDef& define(std::string_view schema_text);
  const OpDef* find(std::string_view full_name) const;  // "aten.add.Tensor", also "aten.add" for the default overload
  const OpDef& get(std::string_view full_name) const;   // must exist
  // A placeholder for an operator that the table lacks, so that a graph can hold and print it.
  const OpDef* unknown(std::string_view full_name, std::span<const std::string> param_names, size_t results);
  std::vector<const OpDef*> all() const;   // in order of name
  std::vector<const OpDef*> user() const;  // from outside the built-in table, in order of definition

 private:
  std::vector<std::unique_ptr<OpDef>> defs_;
  std::unordered_map<std::string, OpDef*> by_name_;
};

// Appends calls to a graph, inferring types; used by expansions and passes.
class Builder {
 public:
  Builder(Graph& g, Location loc, NodeId before = {}) : g_(g), loc_(std::move(loc)), before_(before) {}
  Graph& graph() { return g_; }
  const Location& loc() const { return loc_; }
  void at(NodeId before, Location loc) {
    before_ = before;
    loc_ = std::move(loc);
  }

  // The results of a call. After a failure (see `status`) further calls give undefined values and do nothing.
  std::vector<ValueId> call_all(std::string_view op, std::vector<Arg> positional, const NamedArgs& named = {});
  ValueId call(std::string_view op, std::vector<Arg> positional, const NamedArgs& named = {});
  const TensorType& tensor(ValueId v) const { return g_.tensor(v); }
  Status status() const { return failed_ ? Status(*failed_) : Status(); }
  bool failed() const { return failed_.has_value(); }
  void fail(std::string message) {
    if (!failed_) failed_ = model_error(std::move(message));
  }

  // Frequent calls by name.
  ValueId view(ValueId x, const Dims& sizes);
  ValueId permute(ValueId x, const std::vector<int64_t>& order);
  ValueId expand(ValueId x, const Dims& sizes);
  ValueId cast(ValueId x, DType dtype);  // x itself when it has the dtype
  ValueId full(const Dims& sizes, const Arg& fill, DType dtype);
  ValueId add(ValueId a, const Arg& b) { return binary("aten.add", a, b); }
  ValueId sub(ValueId a, const Arg& b) { return binary("aten.sub", a, b); }
  ValueId mul(ValueId a, const Arg& b) { return binary("aten.mul", a, b); }
  ValueId div(ValueId a, const Arg& b) { return binary("aten.div", a, b); }
  ValueId unary(std::string_view op, ValueId a) { return call(op, {a}); }
  // `op` + ".Tensor" or ".Scalar" by what b is.
  ValueId binary(std::string_view op, ValueId a, const Arg& b);

 private:
  Graph& g_;
  Location loc_;
  NodeId before_;
  std::optional<Failure> failed_;
};

}  // namespace EDGEC_API
