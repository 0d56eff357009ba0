#include "ir/check_args.h"

#include <fmt/format.h>

namespace edgec {
namespace {

std::string_view kind_text(ArgType t) {
  switch (t) {
    case ArgType::Tensor:
      return "a tensor";
    case ArgType::Int:
    case ArgType::SymInt:
      return "an integer";
    case ArgType::Float:
      return "a float";
    case ArgType::Bool:
      return "a bool";
    case ArgType::Scalar:
      return "a number";
    case ArgType::String:
    case ArgType::Dimname:
      return "a string";
    case ArgType::DType:
      return "a dtype";
    case ArgType::MemoryFormat:
      return "a memory format";
    case ArgType::Layout:
      return "a layout";
    case ArgType::Device:
      return "a device";
    case ArgType::Generator:
      return "a generator";
    case ArgType::Object:
      return "an object";
  }
  return "";
}

// The sort of a number or symbolic value; none for anything else.
std::optional<sym::Sort> number_sort(const Graph& g, const Arg& a) {
  if (a.is_float()) return sym::Sort::Float;
  if (a.is_bool()) return sym::Sort::Bool;
  if (a.is_expr()) return a.expr().sort();
  if (a.is_value() && g.type(a.value()).is_sym()) return g.type(a.value()).expr.sort();
  return std::nullopt;
}

bool item_fits(const Graph& g, ArgType type, const Arg& a) {
  const auto sort = number_sort(g, a);
  switch (type) {
    case ArgType::Tensor:
      return sort || (a.is_value() && g.type(a.value()).is_tensor());
    case ArgType::Int:
    case ArgType::SymInt:
    case ArgType::Bool:  // True is 1 in Python, and both reach the archive
      return sort && *sort != sym::Sort::Float;
    case ArgType::Float:
    case ArgType::Scalar:
      return sort.has_value();
    case ArgType::String:
    case ArgType::Dimname:
      return std::holds_alternative<std::string>(a.state);
    case ArgType::DType:
      return std::holds_alternative<DType>(a.state);
    case ArgType::MemoryFormat:
      return std::holds_alternative<MemoryFormat>(a.state);
    case ArgType::Layout:
    case ArgType::Device:
      return a.is_none() || a.is_expr() || std::holds_alternative<std::string>(a.state);
    case ArgType::Generator:
    case ArgType::Object:
      return true;
  }
  return false;
}

bool fits(const Graph& g, const Param& p, const Arg& a) {
  if (a.is_none()) return p.optional || p.type == ArgType::Generator || p.type == ArgType::Object;
  if (p.type == ArgType::Object) return true;
  if (!p.list) return item_fits(g, p.type, a);
  if (!a.is_list()) return p.list_size > 0 && item_fits(g, p.type, a);  // int[2]: one number for all
  for (const Arg& item : a.list()) {
    if (item.is_none() ? !p.list_of_optional : !item_fits(g, p.type, item)) return false;
    if (p.type == ArgType::Tensor && !item.is_none() && !item.is_value()) return false;
  }
  return true;
}

}  // namespace

Status check_args(const Graph& g, const OpDef& op, std::span<const Arg> args) {
  if (!op.known) return {};
  const auto& params = op.schema().params;
  if (args.size() != params.size())
    return model_error(fmt::format("{} takes {} arguments, {} given", op.name(), params.size(), args.size()));
  for (size_t i = 0; i < params.size(); ++i) {
    const Param& p = params[i];
    if (fits(g, p, args[i])) continue;
    const std::string_view kind = kind_text(p.type);
    if (args[i].is_none() && !p.default_value)
      return model_error(fmt::format("{} lacks its argument {}, {}", op.name(), p.name, kind));
    return model_error(
        fmt::format("{}: argument {} wants {}{}", op.name(), p.name, p.list ? "a list, each " : "", kind));
  }
  return {};
}

bool has_type_rule(const OpDef& op) { return op.known && (op.infer || (op.shape && op.dtype)); }

Result<std::vector<Type>> infer_checked(const Graph& g, const OpDef& op, std::span<const Arg> args) {
  EDGEC_TRY_VOID(check_args(g, op, args));
  try {
    return infer(g, op, args);
  } catch (const std::bad_variant_access&) {
    return model_error(fmt::format("{} is called with a number where it needs a tensor", op.name()));
  }
}

}  // namespace edgec
