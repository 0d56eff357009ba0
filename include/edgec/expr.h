#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <edgec/result.h>

// Symbolic sizes. An Expr is a small value: an inline int64 constant, or a pointer to an interned node owned by a
// Context. Expressions are kept canonical (polynomial normal form over atoms), so structural equality is pointer
// equality.
namespace edgec {
namespace sym EDGEC_API {

class Context;
struct ExprNode;

enum class Sort : uint8_t { Int, Float, Bool };
// clang-format off
enum class Kind : uint8_t {
  IntConst, FloatConst, BoolConst, Symbol,
  Add, Mul, Pow,                 // n-ary sum; n-ary product; integer power. Int or Float by their operands
  FloorDiv, Mod,                 // Python semantics (floor; sign of the divisor)
  Max, Min, Abs,                 // of two operands; longer ones nest to the right
  TrueDiv, ToFloat, Sqrt,        // results are Float; TrueDiv is of two Int (as in Python) or two Float operands
  FloorToInt, CeilToInt, TruncToInt, RoundToInt,  // Float -> Int; round is half to even
  Where,                         // where(Bool, a, b)
  Eq, Ne, Lt, Le, And, Or, Not,  // Bool; a > b is kept as b < a; And, Or of two operands, longer ones nest to the right
  Invalid                        // overflow of int64, division by constant zero: has no value and no bounds
};
// clang-format on

class Expr {
 public:
  constexpr Expr() : Expr(int64_t{0}) {}
  constexpr Expr(int64_t value) : value_(value) {}  // NOLINT: implicit, a number is an expression
  constexpr Expr(int value) : value_(value) {}      // NOLINT
  static Expr of(double value, Context&);
  static Expr of(bool value, Context&);
  static Expr invalid(Context&);

  Kind kind() const;
  Sort sort() const;
  bool is_static() const { return node_ == nullptr; }  // an int64 constant
  bool is_invalid() const { return kind() == Kind::Invalid; }
  std::optional<int64_t> constant() const {  // IntConst only
    return node_ == nullptr ? std::optional<int64_t>(value_) : std::nullopt;
  }
  std::optional<double> constant_float() const;  // FloatConst or IntConst
  std::optional<bool> constant_bool() const;
  std::span<const Expr> operands() const;  // empty for constants and symbols
  std::string_view symbol_name() const;    // Kind::Symbol only
  Context* context() const;                // null for constants and Invalid

  // Infix text that `parse` reads back: "2*s0 + 1", "s0 // 2", "s0 % 4", "max(s0, 4)", "s0 / 2" (true division),
  // "float(s0)", "sqrt(float(s0))", "ceil(s0 / 2)", "floor(..)", "trunc(..)", "round(..)", "s0 <= 4", "s0 == s1", "a
  // and b", "not a", "where(s0 < 4, 1, 2)", "abs(s0)", "s0 ** 2", "true", "1.5".
  std::string str() const;

  friend bool operator==(const Expr& a, const Expr& b) { return a.node_ == b.node_ && a.value_ == b.value_; }

 private:
  friend class Context;
  friend struct ExprNode;
  const ExprNode* node_ = nullptr;
  int64_t value_ = 0;
};

// Whether a symbol may have this name: an identifier of at most 200 characters that is no word of the infix notation.
bool is_symbol_name(std::string_view name);

// Structural order, the same on every run (never by address).
bool structural_less(const Expr& a, const Expr& b);

// Arithmetic folds constants (checked; overflow gives Invalid) and keeps the canonical form. Operands that are not
// constants must belong to one Context.
Expr add(Expr a, Expr b);
Expr sub(Expr a, Expr b);
Expr mul(Expr a, Expr b);
Expr neg(Expr a);
Expr pow(Expr a, int64_t exponent);
Expr floordiv(Expr a, Expr b);  // exact quotients cancel: (4*s0) // 4 is s0; (4*s0 + 4) // 4 is s0 + 1
Expr ceildiv(Expr a, Expr b);   // -((-a) // b)
Expr mod(Expr a, Expr b);
Expr max(Expr a, Expr b);  // decided by the ranges where they allow
Expr min(Expr a, Expr b);
Expr abs(Expr a);
Expr truediv(Expr a, Expr b);
Expr to_float(Expr a);
Expr sqrt(Expr a);
Expr floor_to_int(Expr a);
Expr ceil_to_int(Expr a);
Expr trunc_to_int(Expr a);
Expr round_to_int(Expr a);
Expr where(Expr cond, Expr a, Expr b);
Expr eq(Expr a, Expr b);  // relations and logic give Bool; constant ones are folded, ranges are NOT used to fold them
Expr ne(Expr a, Expr b);
Expr lt(Expr a, Expr b);
Expr le(Expr a, Expr b);
Expr gt(Expr a, Expr b);
Expr ge(Expr a, Expr b);
Expr logical_and(Expr a, Expr b);
Expr logical_or(Expr a, Expr b);
Expr logical_not(Expr a);
inline Expr operator+(Expr a, Expr b) { return add(a, b); }
inline Expr operator-(Expr a, Expr b) { return sub(a, b); }
inline Expr operator*(Expr a, Expr b) { return mul(a, b); }

// Closed interval of an Int or Float expression; missing end = unbounded.
struct Range {
  std::optional<int64_t> lo, hi;
  friend bool operator==(const Range&, const Range&) = default;
};

// An answer that may be open: the sizes' ranges do not always decide.
enum class Proof { Yes, No, Unknown };
Proof equal(Expr a, Expr b);
Proof less_equal(Expr a, Expr b);
Proof less(Expr a, Expr b);
Proof holds(Expr bool_expr);

// Interval arithmetic over the symbols' ranges. Sound; also tries monotone end points so that e.g. s0 - s0 // 2 is
// tight where cheap.
Range range(Expr e);
std::optional<int64_t> upper_bound(Expr e);
std::optional<int64_t> lower_bound(Expr e);

// The symbols of an expression, each once, in structural order.
std::vector<Expr> free_symbols(Expr e);

struct ExprLess {
  bool operator()(const Expr& a, const Expr& b) const { return structural_less(a, b); }
};
using Bindings = std::map<Expr, Expr, ExprLess>;  // symbol -> replacement
Expr substitute(Expr e, const Bindings& with);
// The value with every symbol given a number; none when a symbol is missing or the value is not a finite number of
// int64/double.
std::optional<int64_t> evaluate_int(Expr e, const Bindings& numbers);
std::optional<double> evaluate_float(Expr e, const Bindings& numbers);
std::optional<bool> evaluate_bool(Expr e, const Bindings& numbers);

// Owns expressions and the ranges of its symbols. One per method; not thread safe.
class Context {
 public:
  Context();
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // The symbol of that name, made on first use. Names are identifiers; a name that exists with another sort is a
  // caller's bug.
  Expr symbol(std::string_view name, Sort sort = Sort::Int);
  std::optional<Expr> find_symbol(std::string_view name) const;
  std::vector<Expr> symbols() const;  // in order of name
  // Set ranges before building on them: what was decided by a range stays decided. An empty one (lo > hi) counts as
  // unbounded.
  void set_range(Expr symbol, Range range);
  Range range_of(Expr symbol) const;
  // A copy of an expression of another context, symbols by name (made with their ranges when missing).
  Expr import(Expr e);

 private:
  friend class Expr;
  friend struct ExprNode;
  struct Impl;
  std::unique_ptr<Impl> impl_;

 public:
  Impl& impl() { return *impl_; }
};

// Reads the infix text of Expr::str. Input is untrusted: depth, length and number sizes are limited (Failure kind
// Model).
Result<Expr> parse(std::string_view text, Context&);
// The same with the caller's names in place of symbols; a name for which `names` gives nothing is a Failure.
using NameLookup = std::function<std::optional<Expr>(std::string_view name)>;
Result<Expr> parse(std::string_view text, Context&, const NameLookup& names);

// Reads sympy's srepr as torch.export writes it: Symbol('s0', positive=True, integer=True), Integer(-1), Rational(1,
// 2), Float('0.5', precision=53), Add, Mul, Pow, and torch's FloorDiv, CleanDiv, CeilToInt, FloorToInt, Mod, PythonMod,
// ModularIndexing, Max, Min, TruncToInt, RoundToInt, ToFloat, IntTrueDiv, FloatTrueDiv, FloatPow, PowByNatural,
// OpaqueUnaryFn_sqrt, Where, Piecewise/ExprCondPair, relations (StrictGreaterThan, StrictLessThan, GreaterThan,
// LessThan, Equality, Unequality), And/Or/Not, true/false (BooleanTrue/BooleanFalse), Abs. A symbol met for the first
// time gets the range its assumptions say (positive: 1 or more); a known one keeps its own. Exact fractions
// (Mul(Rational(1, 2), x)) are carried through Add and Mul; where an integer is needed they are exact quotients, at the
// top a true division unless it cancels. Untrusted: nesting limited to 200 levels, 64 KB, integers within int64;
// anything else is a Failure (kind Input) naming it.
Result<Expr> read_sympy(std::string_view text, Context&);

}  // namespace EDGEC_API
}  // namespace edgec
