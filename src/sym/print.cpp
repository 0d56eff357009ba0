#include <fmt/format.h>

#include "sym/checked.h"
#include "sym/node.h"

namespace edgec::sym {
namespace {

enum Level { kOr = 1, kAnd, kNot, kCompare, kSum, kProduct, kSign, kPower, kAtom };

// Whether the text starts with a minus, so that a sum can turn "+ -" into "-".
std::optional<int64_t> number_in_front(const Expr& e) {
  if (e.kind() == Kind::Mul) return e.operands()[0].constant();
  return e.constant();
}

Level level(const Expr& e) {
  switch (e.kind()) {
    case Kind::IntConst:
    case Kind::FloatConst:
      return *e.constant_float() < 0 ? kSign : kAtom;
    case Kind::Or:
      return kOr;
    case Kind::And:
      return kAnd;
    case Kind::Not:
      return kNot;
    case Kind::Eq:
    case Kind::Ne:
    case Kind::Lt:
    case Kind::Le:
      return kCompare;
    case Kind::Add:
      return kSum;
    case Kind::Mul:
    case Kind::FloorDiv:
    case Kind::Mod:
    case Kind::TrueDiv:
      return kProduct;
    case Kind::Pow:
      return kPower;
    default:
      return kAtom;
  }
}

const char* function_name(Kind kind) {
  switch (kind) {
    case Kind::Max:
      return "max";
    case Kind::Min:
      return "min";
    case Kind::Abs:
      return "abs";
    case Kind::ToFloat:
      return "float";
    case Kind::Sqrt:
      return "sqrt";
    case Kind::FloorToInt:
      return "floor";
    case Kind::CeilToInt:
      return "ceil";
    case Kind::TruncToInt:
      return "trunc";
    case Kind::RoundToInt:
      return "round";
    default:
      return "where";
  }
}

const char* infix(Kind kind) {
  switch (kind) {
    case Kind::FloorDiv:
      return " // ";
    case Kind::Mod:
      return " % ";
    case Kind::TrueDiv:
      return " / ";
    case Kind::Eq:
      return " == ";
    case Kind::Ne:
      return " != ";
    case Kind::Lt:
      return " < ";
    case Kind::Le:
      return " <= ";
    case Kind::And:
      return " and ";
    case Kind::Or:
      return " or ";
    default:
      return " ** ";
  }
}

class Printer {
 public:
  std::string text;

  void print(const Expr& e) {
    auto o = e.operands();
    switch (e.kind()) {
      case Kind::Invalid:
        return put("invalid");
      case Kind::IntConst:
        return put(fmt::format("{}", *e.constant()));
      case Kind::FloatConst:
        return real(*e.constant_float());
      case Kind::BoolConst:
        return put(*e.constant_bool() ? "true" : "false");
      case Kind::Symbol:
        return put(e.symbol_name());
      case Kind::Add:
        return sum(o);
      case Kind::Mul:
        return product(o);
      case Kind::Not:
        put("not ");
        return print(o[0], kNot);
      case Kind::FloorDiv:
      case Kind::Mod:
      case Kind::TrueDiv:
        return binary(e, kProduct, kSign);
      case Kind::Eq:
      case Kind::Ne:
      case Kind::Lt:
      case Kind::Le:
        return binary(e, kSum, kSum);
      case Kind::And:
        return binary(e, kNot, kAnd);
      case Kind::Or:
        return binary(e, kAnd, kOr);
      case Kind::Pow:
        return binary(e, kAtom, kAtom);
      default:
        return call(e);
    }
  }

 private:
  void put(std::string_view s) { text += s; }

  void print(const Expr& e, Level at_least) {
    bool enclose = level(e) < at_least;
    if (enclose) put("(");
    print(e);
    if (enclose) put(")");
  }

  void real(double v) {
    std::string s = fmt::format("{}", v);
    put(s);
    if (s.find_first_of(".e") == std::string::npos) put(".0");
  }

  void binary(const Expr& e, Level left, Level right) {
    print(e.operands()[0], left);
    put(infix(e.kind()));
    print(e.operands()[1], right);
  }

  void call(const Expr& e) {
    put(function_name(e.kind()));
    put("(");
    arguments(e);
    put(")");
  }

  // max(a, max(b, c)) prints as max(a, b, c).
  void arguments(const Expr& e) {
    for (const Expr& o : e.operands()) {
      if (&o != e.operands().data()) put(", ");
      if (o.kind() == e.kind() && (e.kind() == Kind::Max || e.kind() == Kind::Min))
        arguments(o);
      else
        print(o);
    }
  }

  void sum(std::span<const Expr> terms) {
    for (size_t i = 0; i < terms.size(); ++i) {
      auto front = number_in_front(terms[i]);
      bool minus = i > 0 && front && *front < 0 && *front != kIntMin;
      if (i > 0) put(minus ? " - " : " + ");
      if (!minus)
        print(terms[i], kProduct);
      else if (*front == -1 && terms[i].operands().size() == 2)
        print(terms[i].operands()[1], kProduct);
      else if (terms[i].is_static())
        put(fmt::format("{}", -*front));
      else
        factors(-*front, terms[i].operands().subspan(1));
    }
  }

  void product(std::span<const Expr> o) {
    if (auto front = o[0].constant()) return factors(*front, o.subspan(1));
    factors(1, o);
  }

  void factors(int64_t number, std::span<const Expr> o) {
    if (number == -1) put("-");
    if (number != 1 && number != -1) put(fmt::format("{}*", number));
    for (size_t i = 0; i < o.size(); ++i) {
      if (i > 0) put("*");
      print(o[i], kSign);
    }
  }
};

}  // namespace

std::string Expr::str() const {
  Printer printer;
  printer.print(*this);
  return std::move(printer.text);
}

}  // namespace edgec::sym
