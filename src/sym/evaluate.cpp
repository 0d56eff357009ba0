#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "sym/checked.h"
#include "sym/node.h"

namespace edgec::sym {
namespace {

// A number or truth, or nothing.
struct Value {
  enum class Tag : uint8_t { None, Int, Real, Bool } tag = Tag::None;
  int64_t whole = 0;  // also the truth
  double real = 0;

  Value() = default;
  explicit Value(int64_t v) : tag(Tag::Int), whole(v) {}
  explicit Value(bool v) : tag(Tag::Bool), whole(v) {}
  explicit Value(double v) : tag(std::isfinite(v) ? Tag::Real : Tag::None), real(v) {}
  bool is(Tag t) const { return tag == t; }
  bool is_number() const { return tag == Tag::Int || tag == Tag::Real; }
  bool truth() const { return whole != 0; }
  double as_double() const { return tag == Tag::Int ? static_cast<double>(whole) : real; }
};
using Tag = Value::Tag;

Value int_value(Wide v) {
  auto n = narrow(v);
  return n ? Value(*n) : Value();
}
Value rounded(double v) { return v >= -0x1p63 && v < 0x1p63 ? Value(static_cast<int64_t>(v)) : Value(); }

class Evaluator {
 public:
  explicit Evaluator(const Bindings& numbers) : numbers_(numbers) {}

  Value operator()(const Expr& e) const {
    switch (e.kind()) {
      case Kind::IntConst:
        return Value(*e.constant());
      case Kind::FloatConst:
        return Value(*e.constant_float());
      case Kind::BoolConst:
        return Value(*e.constant_bool());
      case Kind::Symbol:
        return symbol(e);
      case Kind::Invalid:
        return {};
      case Kind::Where: {
        Value c = (*this)(e.operands()[0]);
        if (!c.is(Tag::Bool)) return {};
        return (*this)(e.operands()[c.truth() ? 1 : 2]);
      }
      default:
        return e.sort() == Sort::Bool ? truth(e) : number(e);
    }
  }

 private:
  Value symbol(const Expr& e) const {
    auto it = numbers_.find(e);
    if (it == numbers_.end()) return {};
    const Expr& v = it->second;
    if (e.sort() == Sort::Int) return v.constant() ? Value(*v.constant()) : Value();
    if (e.sort() == Sort::Float) return v.constant_float() ? Value(*v.constant_float()) : Value();
    return v.constant_bool() ? Value(*v.constant_bool()) : Value();
  }

  Value number(const Expr& e) const {
    auto o = e.operands();
    if (e.kind() == Kind::Add && e.sort() == Sort::Int) return sum(o);
    Value a = (*this)(o[0]);
    if (!a.is_number()) return {};
    if (o.size() == 1) return unary(e.kind(), a);
    for (const Expr& x : o.subspan(1)) {
      Value b = (*this)(x);
      if (!b.is_number()) return {};
      a = e.kind() == Kind::TrueDiv          ? Value(a.as_double() / b.as_double())
          : a.is(Tag::Int) && b.is(Tag::Int) ? of_ints(e.kind(), a.whole, b.whole)
                                             : of_reals(e.kind(), a.as_double(), b.as_double());
      if (!a.is_number()) return {};
    }
    return a;
  }

  Value sum(std::span<const Expr> terms) const {
    Wide total = 0;
    for (const Expr& t : terms) {
      Value v = (*this)(t);
      if (!v.is(Tag::Int)) return {};
      total += v.whole;
    }
    return int_value(total);
  }

  static Value of_reals(Kind kind, double x, double y) {
    switch (kind) {
      case Kind::Add:
        return Value(x + y);
      case Kind::Mul:
        return Value(x * y);
      case Kind::Pow:
        return Value(std::pow(x, y));
      case Kind::Max:
        return Value(std::max(x, y));
      case Kind::Min:
        return Value(std::min(x, y));
      default:
        return {};
    }
  }

  static Value of_ints(Kind kind, int64_t x, int64_t y) {
    switch (kind) {
      case Kind::Mul:
        return int_value(Wide{x} * y);
      case Kind::Pow: {
        auto r = checked_pow(x, y);
        return r ? Value(*r) : Value();
      }
      case Kind::FloorDiv:
        return y == 0 ? Value() : int_value(floor_div(x, y));
      case Kind::Mod:
        return y == 0 ? Value() : int_value(floor_mod(x, y));
      case Kind::Max:
        return Value(std::max(x, y));
      case Kind::Min:
        return Value(std::min(x, y));
      default:
        return {};
    }
  }

  static Value unary(Kind kind, const Value& a) {
    if (kind == Kind::Abs && a.is(Tag::Int)) return int_value(a.whole < 0 ? -Wide{a.whole} : Wide{a.whole});
    double v = a.as_double();
    switch (kind) {
      case Kind::Abs:
        return Value(std::fabs(v));
      case Kind::ToFloat:
        return Value(v);
      case Kind::Sqrt:
        return Value(std::sqrt(v));
      case Kind::FloorToInt:
        return rounded(std::floor(v));
      case Kind::CeilToInt:
        return rounded(std::ceil(v));
      case Kind::TruncToInt:
        return rounded(std::trunc(v));
      case Kind::RoundToInt:
        return rounded(std::nearbyint(v));
      default:
        return {};
    }
  }

  Value truth(const Expr& e) const {
    auto o = e.operands();
    Value a = (*this)(o[0]);
    if (e.kind() == Kind::Not) return a.is(Tag::Bool) ? Value(!a.truth()) : Value();
    Value b = (*this)(o[1]);
    if (a.is(Tag::None) || b.is(Tag::None)) return {};
    bool exact = a.tag == b.tag && !a.is(Tag::Real);
    bool same = exact ? a.whole == b.whole : a.as_double() == b.as_double();
    bool before = exact ? a.whole < b.whole : a.as_double() < b.as_double();
    switch (e.kind()) {
      case Kind::And:
        return Value(a.truth() && b.truth());
      case Kind::Or:
        return Value(a.truth() || b.truth());
      case Kind::Eq:
        return Value(same);
      case Kind::Ne:
        return Value(!same);
      case Kind::Lt:
        return Value(before);
      case Kind::Le:
        return Value(before || same);
      default:
        return {};
    }
  }

  const Bindings& numbers_;
};

}  // namespace

std::optional<int64_t> evaluate_int(Expr e, const Bindings& numbers) {
  Value v = Evaluator(numbers)(e);
  return v.is(Tag::Int) ? std::optional(v.whole) : std::nullopt;
}

std::optional<double> evaluate_float(Expr e, const Bindings& numbers) {
  Value v = Evaluator(numbers)(e);
  return v.is_number() ? std::optional(v.as_double()) : std::nullopt;
}

std::optional<bool> evaluate_bool(Expr e, const Bindings& numbers) {
  Value v = Evaluator(numbers)(e);
  return v.is(Tag::Bool) ? std::optional(v.truth()) : std::nullopt;
}

Expr substitute(Expr e, const Bindings& with) {
  std::unordered_map<const ExprNode*, Expr> done;
  auto walk = [&](auto& self, const Expr& x) -> Expr {
    if (x.kind() == Kind::Symbol) {
      auto it = with.find(x);
      return it == with.end() ? x : it->second;
    }
    if (x.operands().empty()) return x;
    if (auto it = done.find(ExprNode::of(x)); it != done.end()) return it->second;
    std::vector<Expr> operands;
    bool changed = false;
    for (const Expr& o : x.operands()) {
      operands.push_back(self(self, o));
      changed = changed || !(operands.back() == o);
    }
    return done[ExprNode::of(x)] = changed ? rebuild(x, operands) : x;
  };
  return walk(walk, e);
}

}  // namespace edgec::sym
