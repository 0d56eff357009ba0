#include "ir/complex_number.h"
#include "ir/derived_ops.h"

#include <edgec/op.h>

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "support/assert.h"

namespace edgec {

const Schema& OpDef::schema() const {
  if (!schema_) {
    auto parsed = parse_schema(schema_text);
    if (!parsed) assertion_failed(parsed.failure().message.c_str(), __FILE__, __LINE__);
    schema_ = std::make_unique<Schema>(*std::move(parsed));
  }
  return *schema_;
}

// "aten::add.Tensor(..." -> "aten.add.Tensor", without parsing the whole schema: the table is read at every start.
static std::string name_of_schema(std::string_view text) {
  std::string out(text.substr(0, text.find('(')));
  if (size_t colons = out.find("::"); colons != std::string::npos) out.replace(colons, 2, ".");
  if (out.ends_with(".default")) out.resize(out.size() - 8);
  return out;
}

const std::string& OpDef::name() const {
  if (name_.empty()) name_ = name_of_schema(schema_text);
  return name_;
}

Registry& Registry::global() {
  static Registry& registry = *new Registry;  // lives as long as the process: taking it apart at the end would cost every run
  return registry;
}

OpDef& Registry::define(std::string_view schema_text) {
  auto def = std::make_unique<OpDef>();
  def->schema_text = schema_text;
  OpDef& ref = *def;
  const bool fresh = by_name_.try_emplace(ref.name(), def.get()).second;
  if (!fresh) assertion_failed(fmt::format("operator {} is defined twice", ref.name()).c_str(), __FILE__, __LINE__);
  defs_.push_back(std::move(def));
  return ref;
}

const OpDef* Registry::find(std::string_view full_name) const {
  if (full_name.ends_with(".default")) full_name.remove_suffix(8);
  auto it = by_name_.find(std::string(full_name));
  return it == by_name_.end() ? nullptr : it->second;
}

const OpDef& Registry::get(std::string_view full_name) const {
  const OpDef* op = find(full_name);
  if (!op) assertion_failed(fmt::format("no operator {} in the table", full_name).c_str(), __FILE__, __LINE__);
  return *op;
}

static DeriveOp derive_op = nullptr;
void set_derived_ops(DeriveOp derive) { derive_op = derive; }

const OpDef* Registry::unknown(std::string_view full_name, std::span<const std::string> param_names, size_t results) {
  if (const OpDef* known = find(full_name)) return known;
  if (const OpDef* derived = derive_op ? derive_op(full_name) : nullptr) return derived;
  std::string text(full_name);
  if (size_t dot = text.find('.'); dot != std::string::npos)
    text.replace(dot, 1, "::");
  else
    text = "unknown::" + text;
  std::string params;
  for (const auto& p : param_names) params += (params.empty() ? "Any " : ", Any ") + p;
  std::string returns;
  for (size_t i = 0; i < results; ++i) returns += i ? ", Tensor" : "Tensor";
  auto def = std::make_unique<OpDef>();
  def->schema_text = fmt::format("{}({}) -> ({})", text, params, returns);
  def->known = false;
  // One placeholder per signature: calls leave out defaults, so that their argument counts differ.
  if (auto it = by_name_.find(def->schema_text); it != by_name_.end()) return it->second;
  if (auto parsed = parse_schema(def->schema_text); !parsed) return nullptr;
  OpDef* raw = def.get();
  by_name_.emplace(raw->schema_text, raw);
  defs_.push_back(std::move(def));
  return raw;
}

std::vector<const OpDef*> Registry::user() const {
  std::vector<const OpDef*> out;
  for (const auto& d : defs_)
    if (d->known && d->user) out.push_back(d.get());
  return out;
}

std::vector<const OpDef*> Registry::all() const {
  std::vector<const OpDef*> out;
  for (const auto& d : defs_)
    if (d->known) out.push_back(d.get());
  std::sort(out.begin(), out.end(), [](auto* a, auto* b) { return a->name() < b->name(); });
  return out;
}

// ---- Call ---------------------------------------------------------------------------------------------------------

// Rules run on calls that check_args has passed; for a number in a Tensor position they see an empty byte tensor.
static const TensorType kNoTensor{DType::U8, Dims{}, {}, {}};

const TensorType& Call::tensor(std::string_view param) const {
  const Arg& a = arg(param);
  return a.is_value() && g_->type(a.value()).is_tensor() ? g_->tensor(a.value()) : kNoTensor;
}

ValueId Call::value(std::string_view param) const {
  const Arg& a = arg(param);
  return a.is_value() ? a.value() : ValueId{};
}

const Arg& Call::arg(std::string_view param) const {
  const int i = op_->schema().find(param);
  if (i < 0 || static_cast<size_t>(i) >= args_.size())
    assertion_failed(fmt::format("{} has no parameter {}", op_->name(), param).c_str(), __FILE__, __LINE__);
  return args_[static_cast<size_t>(i)];
}

bool Call::has(std::string_view param) const {
  const int i = op_->schema().find(param);
  return i >= 0 && static_cast<size_t>(i) < args_.size() && !args_[static_cast<size_t>(i)].is_none();
}

bool Call::is_tensor(std::string_view param) const {
  const Arg& a = arg(param);
  return a.is_value() && g_->type(a.value()).is_tensor();
}

std::vector<ValueId> Call::values(std::string_view param) const {
  std::vector<ValueId> out;
  for_each_value(arg(param), [&](const ValueId& v) { out.push_back(v); });
  return out;
}

sym::Expr expr_of(const Graph& g, const Arg& a) {
  if (a.is_expr()) return a.expr();
  if (auto* b = std::get_if<bool>(&a.state)) return *b ? 1 : 0;
  if (auto* d = std::get_if<double>(&a.state)) return sym::Expr::of(*d, g.syms());
  if (a.is_value() && g.type(a.value()).is_sym()) return g.type(a.value()).expr;
  return sym::Expr::invalid(g.syms());
}

Dim Call::dim(std::string_view param) const { return expr_of(*g_, arg(param)); }

int64_t Call::integer(std::string_view param, int64_t otherwise) const {
  const Arg& a = arg(param);
  if (a.is_none()) return otherwise;
  return dim(param).constant().value_or(otherwise);
}

bool Call::flag(std::string_view param) const {
  const Arg& a = arg(param);
  if (auto* b = std::get_if<bool>(&a.state)) return *b;
  if (a.is_expr()) return a.expr().constant().value_or(0) != 0;
  return false;
}

double Call::number(std::string_view param, double otherwise) const {
  const Arg& a = arg(param);
  if (auto* d = std::get_if<double>(&a.state)) return *d;
  if (auto* b = std::get_if<bool>(&a.state)) return *b ? 1 : 0;
  if (a.is_expr()) return a.expr().constant_float().value_or(otherwise);
  return otherwise;
}

std::string Call::string(std::string_view param) const {
  auto* s = std::get_if<std::string>(&arg(param).state);
  return s ? *s : std::string();
}

DType Call::dtype(std::string_view param, DType otherwise) const {
  auto* d = std::get_if<DType>(&arg(param).state);
  return d ? *d : otherwise;
}

static bool empty_by_default(const Param& p) {
  const auto* list = p.default_value ? std::get_if<std::vector<int64_t>>(&p.default_value->value) : nullptr;
  return list && list->empty();
}

Dims Call::dims(std::string_view param, size_t expand_to) const {
  const Arg& a = arg(param);
  Dims out;
  if (a.is_list())
    for (const Arg& item : a.list()) out.push_back(expr_of(*g_, item));
  else if (!a.is_none())
    out.push_back(expr_of(*g_, a));
  if (out.empty() && empty_by_default(op_->schema().params[static_cast<size_t>(op_->schema().find(param))])) return out;  // stride=[]
  // Untrusted archives: callers that name a count get it.
  if (expand_to > 0 && out.size() != expand_to) out.resize(expand_to, out.empty() ? Dim(1) : out.back());
  return out;
}

std::vector<int64_t> Call::integers(std::string_view param, size_t expand_to) const {
  std::vector<int64_t> out;
  for (const Dim& d : dims(param, expand_to)) out.push_back(d.constant().value_or(0));
  return out;
}

static Result<size_t> wrap_axis(int64_t d, size_t rank, const OpDef& op) {
  const int64_t r = std::max<int64_t>(static_cast<int64_t>(rank), 1);
  if (d < -r || d >= r) return model_error(fmt::format("{}: dim {} is out of range for rank {}", op.name(), d, rank));
  return static_cast<size_t>(d < 0 ? d + r : d);
}

Result<size_t> Call::axis(std::string_view param, size_t rank) const { return wrap_axis(integer(param), rank, *op_); }

Result<std::vector<size_t>> Call::axes(std::string_view param, size_t rank) const {
  std::vector<size_t> out;
  if (has(param))
    for (int64_t d : integers(param)) {
      EDGEC_TRY(size_t a, wrap_axis(d, rank, *op_));
      if (rank > 0) out.push_back(a);
    }
  if (out.empty())
    for (size_t i = 0; i < rank; ++i) out.push_back(i);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

static int category(DType d) { return d == DType::Bool ? 0 : is_integral(d) ? 1 : is_complex(d) ? 3 : 2; }

DType result_type(const Graph& g, std::span<const Arg> args) {
  std::optional<DType> dim, zero, wrapped;
  auto join = [](std::optional<DType>& to, DType d) { to = to ? promote_types(*to, d) : d; };
  auto visit = [&](auto& self, const Arg& a) -> void {
    if (a.is_list()) {
      for (const Arg& item : a.list()) self(self, item);
    } else if (a.is_value() && g.type(a.value()).is_tensor()) {
      const TensorType& t = g.tensor(a.value());
      join(t.rank() ? dim : zero, t.dtype);
    } else if (a.is_bool()) {
      join(wrapped, DType::Bool);
    } else if (a.is_float()) {
      join(wrapped, DType::F32);
    } else if (a.is_expr() || (a.is_value() && g.type(a.value()).is_sym())) {
      const sym::Sort sort = expr_of(g, a).sort();
      join(wrapped, sort == sym::Sort::Int ? DType::I64 : sort == sym::Sort::Bool ? DType::Bool : DType::F32);
    }
  };
  for (const Arg& a : args) visit(visit, a);
  // A lower priority takes part only when its category is higher.
  std::optional<DType> r = dim;
  if (zero && (!r || category(*zero) > category(*r))) {
    if (r == DType::F16 && is_complex(*zero))
      r = DType::C32;  // the complex dtype of the tensor's own width
    else
      r = r ? promote_types(*r, *zero) : *zero;
  }
  if (wrapped && (!r || category(*wrapped) > category(*r))) {
    if (r && category(*wrapped) == 2)
      r = DType::F32;  // integer tensor with a float number: the default dtype
    else
      r = r ? promote_types(*r, *wrapped) : *wrapped;
  }
  return r.value_or(DType::F32);
}

DType Call::promoted(std::initializer_list<std::string_view> params) const {
  std::vector<Arg> picked;
  for (auto p : params) picked.push_back(arg(p));
  return result_type(*g_, picked);
}

// ---- inference and binding ----------------------------------------------------------------------------------------

Result<std::vector<Type>> infer(const Graph& g, const OpDef& op, std::span<const Arg> args) {
  const Call call(g, op, args);
  if (op.infer) return op.infer(call);
  if (!op.shape || !op.dtype) return internal_error(fmt::format("{} has no type rule", op.name()));
  TensorType t;
  EDGEC_TRY(t.sizes, op.shape(call));
  EDGEC_TRY(t.dtype, op.dtype(call));
  return std::vector<Type>{Type::of(std::move(t))};
}

Arg default_arg(const Param& p) {
  if (!p.default_value) return {};
  return std::visit(
      [&](const auto& v) -> Arg {
        using V = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<V, std::monostate>)
          return {};
        else if constexpr (std::is_same_v<V, std::vector<int64_t>>)
          return Arg::ints(v);
        else if constexpr (std::is_same_v<V, int64_t>) {
          if (p.type == ArgType::MemoryFormat) return static_cast<MemoryFormat>(v);
          if (p.type == ArgType::Layout) return {};
          if (p.list) return Arg(ArgList{Arg(v)});
          if (p.type == ArgType::Bool) return v != 0;
          return v;
        } else if constexpr (std::is_same_v<V, std::string>) {
          if (p.type == ArgType::DType) return DType::I64;
          return v;
        } else
          return v;
      },
      p.default_value->value);
}

Result<std::vector<Arg>> bind_args(const OpDef& op, std::vector<Arg> positional, const NamedArgs& named) {
  const Schema& s = op.schema();
  if (positional.size() > s.params.size())
    return model_error(fmt::format("{} takes {} arguments, {} given", op.name(), s.params.size(), positional.size()));
  std::vector<Arg> args = std::move(positional);
  const size_t given = args.size();
  args.reserve(s.params.size());
  for (size_t i = given; i < s.params.size(); ++i) args.push_back(default_arg(s.params[i]));
  for (const auto& [param, value] : named) {
    const int i = s.find(param);
    if (i < 0) return model_error(fmt::format("{} has no argument named {}", op.name(), param));
    args[static_cast<size_t>(i)] = value;
  }
  return args;
}

// A parameter of type Tensor takes a number where torch's Python bindings do (x + 1 is add.Tensor with a number).
static bool takes_number(const OpDef& op, const Param& p) {
  if (p.list) return false;
  for (std::string_view name : {"other", "value", "exponent", "min", "max"})
    if (p.name == name) return true;
  if (p.name != "self") return false;
  for (std::string_view name : {"aten.where.self", "aten.add.Tensor", "aten.sub.Tensor", "aten.mul.Tensor", "aten.div.Tensor",
                                "aten.eq.Tensor", "aten.ne.Tensor", "aten.lt.Tensor", "aten.le.Tensor", "aten.gt.Tensor", "aten.ge.Tensor",
                                "aten.floor_divide", "aten.remainder.Tensor", "aten.fmod.Tensor", "aten.pow.Tensor_Tensor",
                                "aten.bitwise_and.Tensor", "aten.bitwise_or.Tensor", "aten.bitwise_xor.Tensor", "aten.div.Tensor_mode"})
    if (op.name() == name) return true;
  return false;
}

bool is_complex_number(const Param& p, const Arg& a) {
  return !p.list && (p.type == ArgType::Tensor || p.type == ArgType::Scalar) && a.is_list() && a.list().size() == 2 &&
         a.list()[0].is_float() && a.list()[1].is_float();
}

static bool arg_fits(const Graph& g, const OpDef& op, const Param& p, const Arg& a, bool item) {
  if (is_complex_number(p, a)) return true;  // until passes/complex_parts
  if (a.is_none())
    return p.optional || (item && p.list_of_optional) || p.type == ArgType::Layout || p.type == ArgType::Device ||
           p.type == ArgType::Generator || p.type == ArgType::Object || p.type == ArgType::MemoryFormat ||
           (p.default_value && std::holds_alternative<std::monostate>(p.default_value->value));
  if (p.list && !item) {
    if (!a.is_list()) return p.list_size > 0 && arg_fits(g, op, p, a, true);
    return std::all_of(a.list().begin(), a.list().end(), [&](const Arg& i) { return arg_fits(g, op, p, i, true); });
  }
  const bool symbol = a.is_value() && g.type(a.value()).is_sym();
  const auto sort = [&] { return expr_of(g, a).sort(); };
  switch (p.type) {
    case ArgType::Tensor:
      return (a.is_value() && g.type(a.value()).is_tensor()) || ((a.is_number() || symbol) && takes_number(op, p)) ||
             ((symbol || a.is_number()) && op.schema().ns == "higher_order");
    case ArgType::Int:
    case ArgType::SymInt:
      return a.is_bool() || ((a.is_expr() || symbol) && sort() != sym::Sort::Float);
    case ArgType::Float:
      return a.is_number() || symbol;
    case ArgType::Bool:
      return a.is_bool() || ((a.is_expr() || symbol) && sort() != sym::Sort::Float);
    case ArgType::Scalar:
      return a.is_number() || symbol;
    case ArgType::String:
      return std::holds_alternative<std::string>(a.state);
    case ArgType::DType:
      return std::holds_alternative<DType>(a.state);
    case ArgType::MemoryFormat:
      return std::holds_alternative<MemoryFormat>(a.state);
    default:
      return true;
  }
}

Status check_args(const Graph& g, const OpDef& op, std::span<const Arg> args) {
  const Schema& s = op.schema();
  if (args.size() != s.params.size())
    return model_error(fmt::format("{} takes {} arguments, {} given", op.name(), s.params.size(), args.size()));
  for (size_t i = 0; i < args.size(); ++i)
    if (!arg_fits(g, op, s.params[i], args[i], false))
      return model_error(
          fmt::format("{}: argument \"{}\" is missing or of another kind than the operator takes", op.name(), s.params[i].name));
  return {};
}

// ---- Builder ------------------------------------------------------------------------------------------------------

std::vector<ValueId> Builder::call_all(std::string_view name, std::vector<Arg> positional, const NamedArgs& named) {
  const OpDef& op = Registry::global().get(name);
  const ValueId undefined;
  if (failed_) return std::vector<ValueId>(std::max<size_t>(op.schema().returns.size(), 1), undefined);
  auto args = bind_args(op, std::move(positional), named);
  auto types = args ? infer(g_, op, *args) : Result<std::vector<Type>>(args.failure());
  if (!types) {
    failed_ = types.failure();
    return std::vector<ValueId>(std::max<size_t>(op.schema().returns.size(), 1), undefined);
  }
  const NodeId n = g_.add_node(&op, *std::move(args), *std::move(types), loc_, before_);
  return g_.node(n).results;
}

ValueId Builder::call(std::string_view name, std::vector<Arg> positional, const NamedArgs& named) {
  auto results = call_all(name, std::move(positional), named);
  return results.empty() ? ValueId{} : results[0];
}

ValueId Builder::binary(std::string_view op, ValueId a, const Arg& b) {
  const bool tensor = b.is_value() && !failed_ && g_.type(b.value()).is_tensor();
  return call(fmt::format("{}.{}", op, tensor ? "Tensor" : "Scalar"), {a, b});
}

ValueId Builder::view(ValueId x, const Dims& sizes) {
  if (!failed_ && tensor(x).sizes == sizes) return x;
  return call("aten.view", {x, sizes});
}

ValueId Builder::permute(ValueId x, const std::vector<int64_t>& order) {
  bool same = true;
  for (size_t i = 0; i < order.size(); ++i) same = same && order[i] == static_cast<int64_t>(i);
  return same ? x : call("aten.permute", {x, Arg::ints(order)});
}

ValueId Builder::expand(ValueId x, const Dims& sizes) {
  if (!failed_ && tensor(x).sizes == sizes) return x;
  return call("aten.expand", {x, sizes});
}

ValueId Builder::cast(ValueId x, DType dtype) {
  if (failed_ || tensor(x).dtype == dtype) return x;
  return call("aten._to_copy", {x}, {{"dtype", dtype}});
}

ValueId Builder::full(const Dims& sizes, const Arg& fill, DType dtype) { return call("aten.full", {sizes, fill}, {{"dtype", dtype}}); }

}  // namespace edgec
