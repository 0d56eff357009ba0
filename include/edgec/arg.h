#pragma once
#include <string>
#include <variant>
#include <vector>

#include <edgec/ids.h>
#include <edgec/type.h>

namespace edgec EDGEC_API {

using NodeId = Id<struct NodeTag>;
using ValueId = Id<struct ValueTag>;
using ConstId = Id<struct ConstTag>;      // of Method::constants
using GraphId = Id<struct GraphTag>;      // of Graph::subgraphs
using LoweredId = Id<struct LoweredTag>;  // of Method::lowered

struct Arg;
using ArgList = std::vector<Arg>;

// One argument of a node or one output of a graph. Integers and symbolic numbers are sym::Expr: a size is an
// expression, not a value.
struct Arg {
  using State = std::variant<std::monostate, ValueId, sym::Expr, double, bool, std::string, DType, MemoryFormat, ConstId, GraphId,
                             LoweredId, ArgList>;
  State state;

  Arg() = default;
  Arg(ValueId v) : state(v) {}                                         // NOLINT: implicit, arguments are written as plain values
  Arg(sym::Expr e) : state(e) {}                                       // NOLINT
  Arg(int v) : state(sym::Expr(int64_t{v})) {}                         // NOLINT
  Arg(int64_t v) : state(sym::Expr(v)) {}                              // NOLINT
  Arg(double v) : state(v) {}                                          // NOLINT
  Arg(bool v) : state(v) {}                                            // NOLINT
  Arg(std::string v) : state(std::move(v)) {}                          // NOLINT
  Arg(const char* v) : state(std::string(v)) {}                        // NOLINT
  Arg(DType v) : state(v) {}                                           // NOLINT
  Arg(MemoryFormat v) : state(v) {}                                    // NOLINT
  Arg(ConstId v) : state(v) {}                                         // NOLINT
  Arg(GraphId v) : state(v) {}                                         // NOLINT
  Arg(LoweredId v) : state(v) {}                                       // NOLINT
  Arg(ArgList v) : state(std::move(v)) {}                              // NOLINT
  Arg(const Dims& dims) : state(ArgList(dims.begin(), dims.end())) {}  // NOLINT
  static Arg ints(const std::vector<int64_t>& v) { return Arg(ArgList(v.begin(), v.end())); }
  static Arg tensors(const std::vector<ValueId>& v) { return Arg(ArgList(v.begin(), v.end())); }

  bool is_none() const { return std::holds_alternative<std::monostate>(state); }
  bool is_value() const { return std::holds_alternative<ValueId>(state); }
  bool is_expr() const { return std::holds_alternative<sym::Expr>(state); }
  bool is_float() const { return std::holds_alternative<double>(state); }
  bool is_bool() const { return std::holds_alternative<bool>(state); }
  bool is_list() const { return std::holds_alternative<ArgList>(state); }
  bool is_graph() const { return std::holds_alternative<GraphId>(state); }
  bool is_number() const { return is_expr() || is_float() || is_bool(); }
  ValueId value() const { return std::get<ValueId>(state); }
  const sym::Expr& expr() const { return std::get<sym::Expr>(state); }
  const ArgList& list() const { return std::get<ArgList>(state); }
  friend bool operator==(const Arg&, const Arg&) = default;
};

// Calls fn(ValueId&) for each value in an argument, lists included.
template <class A, class Fn>
void for_each_value(A& arg, const Fn& fn) {
  if (auto* v = std::get_if<ValueId>(&arg.state))
    fn(*v);
  else if (auto* list = std::get_if<ArgList>(&arg.state))
    for (auto& item : *list) for_each_value(item, fn);
}

// Calls fn(sym::Expr&) for each expression in an argument, lists included.
template <class A, class Fn>
void for_each_expr(A& arg, const Fn& fn) {
  if (auto* e = std::get_if<sym::Expr>(&arg.state))
    fn(*e);
  else if (auto* list = std::get_if<ArgList>(&arg.state))
    for (auto& item : *list) for_each_expr(item, fn);
}

}  // namespace EDGEC_API
