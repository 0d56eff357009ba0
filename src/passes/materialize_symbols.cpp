#include <fmt/format.h>
#include "passes/registry.h"

#include <algorithm>
#include <map>
#include <set>

#include <edgec/rewriter.h>

// method @forward(%x: f32[s0, 8] = input "x") where s0 in 1..4 {
//   %y = aten.view(%x, [{2*s0}, 4])
// ->
//   %n = aten.sym_size.int(%x, 0) : symint s0
//   %g = executorch_prim.le.Scalar(%n, 4) : symbool s0 <= 4
//   prim.guard(%g, "...")
//   %m = executorch_prim.mul.Scalar(2, %n) : symint 2*s0
//   %y = aten.view(%x, [%m, 4])
//
// The runtime checks an input's element count only, so a program with dynamic inputs starts with guards: each symbol's
// range, each other dim against its expression. Expressions of symbols that inputs bring are computed once, at the
// start; those of symbols that are found on the way (item, nonzero, the numbers that a loop carries) just before their
// first use; those of a branch or a loop are forgotten at its end.
namespace edgec::passes {
namespace {

class Materializer {
 public:
  Materializer(Method& m, PassContext& cx) : m_(m), g_(*m.graph), cx_(cx) {}

  void run() {
    body_ = at_ = g_.first();
    read_symbolic_inputs();
    for (int round = 0; round < 2; ++round)  // plain symbols first, then those that only occur in a*s + b
      for (size_t i = 0; i < m_.inputs.size(); ++i)
        if (is_user_tensor(i)) define_from_sizes(i, round == 1);
    if (cx_.guards) {
      for (size_t i = 0; i < m_.inputs.size(); ++i)
        if (is_user_tensor(i)) guard_sizes(i);
      for (const auto& guard : m_.guards)
        if (computable(guard.condition)) add_guard(guard.condition, guard.message, guard.loc);
    }
    for (const auto& [e, v] : values_)
      if (e.kind() == sym::Kind::Symbol) early_.insert(e);
    changes_.clear();
    for (NodeId id = body_; id;) id = visit(id);
    at_ = NodeId{};
    for (Arg& a : g_.outputs) a = lowered(a);
  }

 private:
  bool is_user_tensor(size_t i) const { return m_.inputs[i].kind == InputSpec::Kind::UserInput && g_.type(g_.inputs[i]).is_tensor(); }

  // A number that the user passes arrives as a rank-0 tensor: the runtime takes numbers only when they equal the one in
  // the program.
  void read_symbolic_inputs() {
    for (size_t i = 0; i < m_.inputs.size(); ++i) {
      const ValueId in = g_.inputs[i];
      if (m_.inputs[i].kind != InputSpec::Kind::UserInput || !g_.type(in).is_sym()) continue;
      const sym::Expr e = g_.type(in).expr;
      const DType d = e.sort() == sym::Sort::Int ? DType::I64 : e.sort() == sym::Sort::Float ? DType::F64 : DType::Bool;
      g_.value(in).type = Type::of(TensorType{d, {}, {}, {}});
      const ValueId n = node("aten._local_scalar_dense", {in}, e);
      if (e.kind() == sym::Kind::Symbol) {
        values_[e] = n;
        if (cx_.guards && e.sort() == sym::Sort::Int) guard_range(e, m_.inputs[i].name, "value");
      }
    }
  }

  void define_from_sizes(size_t input, bool solve) {
    const Dims sizes = g_.tensor(g_.inputs[input]).sizes;
    for (size_t d = 0; d < sizes.size(); ++d) {
      const sym::Expr& e = sizes[d];
      if (e.kind() == sym::Kind::Symbol) {
        if (!values_.count(e)) values_[e] = size_of_input(input, d, e);
        continue;
      }
      const auto symbols = sym::free_symbols(e);
      if (!solve || symbols.size() != 1 || values_.count(symbols[0])) continue;
      // e = a*s + b: s = (size - b) // a, and the guard on e checks that nothing was lost.
      const sym::Expr s = symbols[0], b = sym::substitute(e, {{s, 0}}), a = sym::substitute(e, {{s, 1}}) - b;
      if (!a.constant() || !b.constant() || *a.constant() == 0 || s * a + b != e) continue;
      ValueId n = size_of_input(input, d, e);
      if (b != Dim(0)) n = node("executorch_prim.sub.Scalar", {n, b}, s * a);
      if (a != Dim(1)) n = node("executorch_prim.floordiv.Scalar", {n, a}, s);
      values_[s] = n;
    }
  }

  ValueId size_of_input(size_t input, size_t d, const sym::Expr& e) {
    auto [it, fresh] = sizes_.try_emplace({input, d});
    if (fresh) it->second = node("aten.sym_size.int", {g_.inputs[input], static_cast<int64_t>(d)}, e);
    return it->second;
  }

  // ---- guards -----------------------------------------------------------------------------------------------------

  void guard_sizes(size_t input) {
    const TensorType t = g_.tensor(g_.inputs[input]);
    if (t.is_static()) return;  // the runtime compares static sizes itself
    for (size_t d = 0; d < t.sizes.size(); ++d) {
      const sym::Expr& e = t.sizes[d];
      const std::string what = fmt::format("input \"{}\" dim {}", m_.inputs[input].name, d);
      if (e.kind() == sym::Kind::Symbol && values_.count(e) && sizes_.count({input, d}) && values_[e] == sizes_[{input, d}]) {
        guard_range(e, m_.inputs[input].name, fmt::format("dim {}", d));
        continue;
      }
      if (!computable(e)) continue;
      const ValueId size = size_of_input(input, d, e);
      const Arg want = e.constant() ? Arg(e) : Arg(value_of(e));
      const ValueId ok = node("executorch_prim.eq.Scalar", {size, want}, sym::Expr::of(true, g_.syms()));
      guard(ok, fmt::format("{} must be {}", what, e.str()), nullptr);
      for (const sym::Expr& s : sym::free_symbols(e)) guard_range(s, m_.inputs[input].name, fmt::format("dim {}", d));
    }
  }

  void guard_range(const sym::Expr& symbol, const std::string& input, const std::string& what) {
    if (!guarded_.insert(symbol).second) return;
    const sym::Range r = g_.syms().range_of(symbol);
    if (r.lo && *r.lo > 0)
      add_guard(sym::ge(symbol, *r.lo), fmt::format("input \"{}\" {} must be at least {}", input, what, *r.lo), nullptr);
    else if (r.lo && what == "value")
      add_guard(sym::ge(symbol, *r.lo), fmt::format("input \"{}\" must be at least {}", input, *r.lo), nullptr);
    if (r.hi) add_guard(sym::le(symbol, *r.hi), fmt::format("input \"{}\" {} must be at most {}", input, what, *r.hi), nullptr);
  }

  void add_guard(const sym::Expr& condition, const std::string& message, const Location& loc) {
    if (condition.constant_bool() == std::optional(true)) return;
    if (const ValueId v = value_of(condition)) guard(v, message, loc);
  }

  void guard(ValueId condition, const std::string& message, const Location& loc) {
    g_.add_node(&Registry::global().get("prim.guard"), {condition, message}, {}, loc, at_);
  }

  // ---- uses -------------------------------------------------------------------------------------------------------

  // Gives the node to visit next.
  NodeId visit(NodeId id) {
    at_ = id;
    for (size_t i = 0; i < g_.node(id).args.size(); ++i) {
      Arg a = lowered(g_.node(id).args[i]);
      g_.node(id).args[i] = std::move(a);
    }
    const NodeId next = g_.next(id);
    const std::string& op = g_.node(id).op->name();
    if (!cx_.guards && op == "prim.guard") {
      if (id == body_) body_ = next;
      g_.erase(id);
    } else if (op.starts_with("prim.") && visit_marker(id, op)) {
    } else if (g_.node(id).op->defines_symbols) {
      at_ = next;
      define_from_results(id);
    }
    return next;
  }

  // Symbols that a node's results bring: the number itself, or a size of a tensor.
  void define_from_results(NodeId id) {
    const auto results = g_.node(id).results;
    for (ValueId r : results) {
      const Type t = g_.type(r);
      if (t.is_sym() && t.expr.kind() == sym::Kind::Symbol) define(t.expr, r);
      if (t.is_tensor()) define_from_sizes_of(r);
    }
  }

  void define_from_sizes_of(ValueId tensor) {
    const Dims sizes = g_.tensor(tensor).sizes;
    for (size_t d = 0; d < sizes.size(); ++d)
      if (sizes[d].kind() == sym::Kind::Symbol && !values_.count(sizes[d]))
        set(sizes[d], node("aten.sym_size.int", {tensor, static_cast<int64_t>(d)}, sizes[d]));
  }

  // A symbol that is defined again (the counter of a loop is assigned) has a new value, and so has what it is part of.
  void define(const sym::Expr& symbol, ValueId v) {
    if (early_.count(symbol)) return;
    if (values_.count(symbol)) {
      std::vector<sym::Expr> stale;
      for (const auto& [e, value] : values_) {
        const auto parts = sym::free_symbols(e);
        if (std::find(parts.begin(), parts.end(), symbol) != parts.end()) stale.push_back(e);
      }
      for (const sym::Expr& e : stale) set(e, {});
    }
    set(symbol, v);
  }

  // ---- branches and loops -----------------------------------------------------------------------------------------

  // True for nodes that need no more than this.
  bool visit_marker(NodeId id, const std::string& op) {
    if (op == "prim.branch") {
      enter();
    } else if (op == "prim.otherwise") {
      leave();
      enter();
    } else if (op == "prim.loop" || op == "prim.join" || op.starts_with("prim.repeat")) {
      if (op == "prim.loop")
        enter();
      else
        leave();
      at_ = g_.next(id);
      const std::vector<Arg> args = g_.node(id).args;
      for_each_value(args.back(), [&](const ValueId& v) { define_from_sizes_of(v); });
    } else if (op == "prim.assign") {
      const ValueId target = g_.node(id).args[0].value();
      if (g_.type(target).is_sym()) define(g_.type(target).expr, target);
    } else if (op == "prim.alloc" && g_.type(g_.node(id).results[0]).is_tensor()) {
      // Its sizes are those of what is assigned: known behind the marker.
    } else {
      return false;
    }
    return true;
  }

  void enter() { scopes_.push_back(changes_.size()); }
  void leave() {
    if (scopes_.empty()) return;
    for (; changes_.size() > scopes_.back(); changes_.pop_back()) {
      const auto& [e, before] = changes_.back();
      if (before)
        values_[e] = before;
      else
        values_.erase(e);
    }
    scopes_.pop_back();
  }

  // What is computed at the start stays known; other values are known to the end of the branch or loop. None:
  // forgotten.
  void set(const sym::Expr& e, ValueId v) {
    const auto it = values_.find(e);
    if (!is_early(e)) changes_.emplace_back(e, it == values_.end() ? ValueId{} : it->second);
    if (v)
      values_[e] = v;
    else
      values_.erase(e);
  }

  Arg lowered(const Arg& a) {
    if (a.is_list()) {
      ArgList out;
      for (const Arg& item : a.list()) out.push_back(lowered(item));
      return out;
    }
    if (!a.is_expr()) return a;
    const sym::Expr& e = a.expr();
    if (e.constant()) return a;
    if (auto f = e.constant_float()) return *f;
    if (auto b = e.constant_bool()) return *b;
    return value_of(e);
  }

  bool computable(const sym::Expr& e) const {
    const auto symbols = sym::free_symbols(e);
    return std::all_of(symbols.begin(), symbols.end(), [&](const sym::Expr& s) { return values_.count(s) > 0; });
  }

  // The value that holds an expression; none after an error.
  ValueId value_of(const sym::Expr& e) {
    if (auto it = values_.find(e); it != values_.end()) return it->second;
    const ValueId v = compute(e);
    if (v) set(e, v);
    return v;
  }

  Arg operand(const sym::Expr& e) {
    if (e.constant()) return e;
    if (auto f = e.constant_float()) return *f;
    if (auto b = e.constant_bool()) return *b;
    return value_of(e);
  }

  ValueId compute(const sym::Expr& e) {
    using sym::Kind;
    const auto ops = e.operands();
    const auto prim = [&](const char* name, std::vector<Arg> args) {
      return node(fmt::format("executorch_prim.{}.Scalar", name), std::move(args), e);
    };
    const auto chain = [&](const char* name) {
      Arg acc = operand(ops[0]);
      for (size_t i = 1; i < ops.size(); ++i) {
        const Arg next = operand(ops[i]);
        acc = prim(name, {acc, next});
      }
      return acc.is_value() ? acc.value() : ValueId{};
    };
    const auto two = [&](const char* name) {
      const Arg a = operand(ops[0]), b = operand(ops[1]);
      return prim(name, {a, b});
    };
    switch (e.kind()) {
      case Kind::Symbol:
        cx_.diag.error(at_ ? g_.node(at_).loc : nullptr,
                       fmt::format("the value of size {} is not known at run time: no input or result has it", e.str()));
        return {};
      case Kind::Add:
        return chain("add");
      case Kind::Mul:
        return chain("mul");
      case Kind::Pow: {
        const int64_t n = ops[1].constant().value_or(0);
        const Arg base = operand(ops[0]);
        Arg acc = base;
        for (int64_t i = 1; i < n && n <= 64; ++i) acc = prim("mul", {acc, base});
        return acc.is_value() ? acc.value() : ValueId{};
      }
      case Kind::FloorDiv:
        return two("floordiv");
      case Kind::Mod: {  // the kernel follows C; a - (a // b) * b is Python's
        const Arg a = operand(ops[0]), b = operand(ops[1]);
        return prim("sub", {a, prim("mul", {prim("floordiv", {a, b}), b})});
      }
      case Kind::Max:
        return chain("sym_max");
      case Kind::Min:
        return chain("sym_min");
      case Kind::Abs: {
        const Arg a = operand(ops[0]);
        return prim("sym_max", {a, prim("neg", {a})});
      }
      case Kind::TrueDiv:
        return two("truediv");
      case Kind::ToFloat:
        return prim("sym_float", {operand(ops[0])});
      case Kind::CeilToInt:
        return prim("ceil", {operand(ops[0])});
      case Kind::FloorToInt:
        return prim("neg", {prim("ceil", {prim("neg", {operand(ops[0])})})});
      case Kind::TruncToInt:
        return prim("trunc", {operand(ops[0])});
      case Kind::RoundToInt:
        return prim("round", {operand(ops[0])});
      case Kind::Sqrt:
        return square_root(e, operand(ops[0]));
      case Kind::Where: {
        const Arg c = operand(ops[0]), a = operand(ops[1]), b = operand(ops[2]);
        return prim("sym_ite", {c, a, b});
      }
      case Kind::Eq:
        return two("eq");
      case Kind::Ne: {
        const Arg a = operand(ops[0]), b = operand(ops[1]);
        return prim("sym_not", {prim("eq", {a, b})});
      }
      case Kind::Lt:
        return two("lt");
      case Kind::Le:
        return two("le");
      case Kind::And: {
        Arg acc = operand(ops[0]);
        for (size_t i = 1; i < ops.size(); ++i) {
          const Arg next = operand(ops[i]);
          acc = prim("sym_ite", {acc, next, false});
        }
        return acc.value();
      }
      case Kind::Or: {
        Arg acc = operand(ops[0]);
        for (size_t i = 1; i < ops.size(); ++i) {
          const Arg next = operand(ops[i]);
          acc = prim("sym_ite", {acc, true, next});
        }
        return acc.value();
      }
      case Kind::Not:
        return prim("sym_not", {operand(ops[0])});
      case Kind::IntConst:
      case Kind::FloatConst:
      case Kind::BoolConst:
      case Kind::Invalid:
        break;
    }
    cx_.diag.error(at_ ? g_.node(at_).loc : nullptr, fmt::format("size {} has no value (overflow or division by zero)", e.str()));
    return {};
  }

  // The runtime has no square root of a number; a rank-0 tensor has one.
  ValueId square_root(const sym::Expr& e, const Arg& x) {
    Builder b(g_, nullptr, position(e));
    const ValueId t = b.call("aten.full", {Dims{}, x}, {{"dtype", DType::F64}});
    const ValueId r = b.call("aten.sqrt", {t});
    return b.failed() ? ValueId{} : node("aten._local_scalar_dense", {r}, e);
  }

  // Whether the inputs decide the value: computed before the body, else just before its use.
  bool is_early(const sym::Expr& e) const {
    const auto symbols = sym::free_symbols(e);
    return std::all_of(symbols.begin(), symbols.end(), [&](const sym::Expr& s) { return early_.count(s) > 0; });
  }
  NodeId position(const sym::Expr& e) const { return is_early(e) ? body_ : at_; }

  ValueId node(std::string_view op, std::vector<Arg> args, const sym::Expr& e) {
    for (const Arg& a : args)
      if (a.is_value() && !a.value()) return {};
    const NodeId n = g_.add_node(&Registry::global().get(op), std::move(args), {Type::sym(e)}, nullptr, position(e));
    return g_.node(n).results[0];
  }

  Method& m_;
  Graph& g_;
  PassContext& cx_;
  NodeId body_;  // the first node of the program proper: what comes before it is made here
  NodeId at_;    // where new nodes go: the node being visited, `body_` while the start is made
  std::map<sym::Expr, ValueId, sym::ExprLess> values_;
  std::map<std::pair<size_t, size_t>, ValueId> sizes_;  // (input, dim) -> its size
  std::set<sym::Expr, sym::ExprLess> guarded_, early_;
  std::vector<std::pair<sym::Expr, ValueId>> changes_;  // of values_, with the value before (none: new), to be undone
  std::vector<size_t> scopes_;                          // where the changes of each branch or loop begin
};

}  // namespace

Status materialize_symbols(Program& p, PassContext& cx) {
  for (auto& m : p.methods) Materializer(*m, cx).run();
  return outcome(cx);
}

}  // namespace edgec::passes
