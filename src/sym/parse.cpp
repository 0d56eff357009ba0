#include <charconv>

#include "sym/checked.h"
#include "sym/poly.h"
#include "sym/reader.h"

namespace edgec::sym {
namespace {

constexpr size_t kMaxText = 1 << 20;
constexpr int kMaxNesting = 320;  // of parentheses, calls and signs; kMaxDepth nodes print with less

constexpr std::string_view kMinimum = "9223372036854775808";  // only after a minus

using Unary = Expr (*)(Expr);
using Binary = Expr (*)(Expr, Expr);

struct Function {
  std::string_view name;
  int arity;  // 0: two or more, folded
  Unary unary = nullptr;
  Binary binary = nullptr;
};

// Also the names sympy prints, since derived ranges are keyed by such text.
constexpr Function kFunctions[] = {
    {"max", 0, nullptr, max},
    {"min", 0, nullptr, min},
    {"Max", 0, nullptr, max},
    {"Min", 0, nullptr, min},
    {"abs", 1, abs},
    {"Abs", 1, abs},
    {"float", 1, to_float},
    {"ToFloat", 1, to_float},
    {"sqrt", 1, sqrt},
    {"floor", 1, floor_to_int},
    {"ceil", 1, ceil_to_int},
    {"trunc", 1, trunc_to_int},
    {"round", 1, round_to_int},
    {"Mod", 2, nullptr, mod},
    {"PythonMod", 2, nullptr, mod},
    {"FloorDiv", 2, nullptr, floordiv},
    {"CleanDiv", 2, nullptr, floordiv},
    {"TruncToInt", 1, trunc_to_int},
    {"CeilToInt", 1, ceil_to_int},
    {"FloorToInt", 1, floor_to_int},
};

class Parser {
 public:
  Parser(std::string_view text, Context& cx, const NameLookup* names = nullptr) : text_(text), cx_(cx), names_(names), work_(cx) {}

  Result<Expr> whole_text() {
    if (text_.size() > kMaxText) return fail("it is longer than 1 MB");
    EDGEC_TRY(Expr e, disjunction());
    if (peek() != 0) return fail(fmt::format("nothing should follow column {}", at_ + 1));
    if (e.is_invalid() && !said_invalid_) return fail("a number overflows, a divisor is zero, or kinds do not fit");
    return e;
  }

 private:
  Failure fail(std::string_view why) const {
    return model_error(fmt::format("cannot read the size expression '{}': {}", excerpt(text_), why));
  }

  char peek() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  bool accept(std::string_view sign) {
    peek();
    if (text_.substr(at_, sign.size()) != sign) return false;
    if (is_word(sign[0]) && at_ + sign.size() < text_.size() && is_word(text_[at_ + sign.size()])) return false;
    at_ += sign.size();
    return true;
  }

  // "*" but not the first half of "**".
  bool accept_single(char sign) {
    if (peek() != sign || text_.substr(at_ + 1, 1) == std::string_view(&sign, 1)) return false;
    ++at_;
    return true;
  }

  Result<Expr> checked(Expr e) const {
    if (work_.exceeded()) return fail("it expands into too many terms");
    return e;
  }

  Result<Expr> disjunction() {
    EDGEC_TRY(Expr e, conjunction());
    while (accept("or")) {
      EDGEC_TRY(Expr b, conjunction());
      e = logical_or(e, b);
    }
    return e;
  }

  Result<Expr> conjunction() {
    EDGEC_TRY(Expr e, negation());
    while (accept("and")) {
      EDGEC_TRY(Expr b, negation());
      e = logical_and(e, b);
    }
    return e;
  }

  Result<Expr> negation() {
    if (!accept("not")) return comparison();
    Nesting deeper(*this);
    if (deeper.too_deep()) return fail("it is nested too deep");
    EDGEC_TRY(Expr e, negation());
    return logical_not(e);
  }

  Result<Expr> comparison() {
    static constexpr std::pair<std::string_view, Binary> kSigns[] = {{"==", eq}, {"!=", ne}, {"<=", le}, {">=", ge}, {"<", lt}, {">", gt}};
    EDGEC_TRY(Expr a, sum());
    for (auto [sign, make_relation] : kSigns) {
      if (!accept(sign)) continue;
      EDGEC_TRY(Expr b, sum());
      return checked(make_relation(a, b));
    }
    return a;
  }

  // Integers gather first: adding a thousand terms one by one would copy a thousand sums.
  Result<Expr> sum() {
    EDGEC_TRY(Expr first, product());
    std::vector<Expr> terms{first};
    auto total = [&] { return terms.size() == 1 ? terms[0] : sum_of(terms); };
    for (;;) {
      bool plus = peek() == '+';
      if (!plus && peek() != '-') break;
      size_t at_sign = at_++;
      if (!plus && accept(kMinimum)) {  // its minus belongs to it
        at_ = at_sign;
        plus = true;
      }
      EDGEC_TRY(Expr term, product());
      if (!plus) term = neg(term);
      if (is_int(term) && is_int(terms.back()))
        terms.push_back(term);
      else
        terms = {add(total(), term)};
    }
    return checked(total());
  }

  Result<Expr> product() {
    EDGEC_TRY(Expr e, sign());
    for (;;) {
      Binary op = accept("//") ? floordiv : accept_single('*') ? mul : accept("%") ? mod : accept("/") ? truediv : nullptr;
      if (op == nullptr) return e;
      EDGEC_TRY(Expr b, sign());
      EDGEC_TRY(e, checked(op(e, b)));
    }
  }

  Result<Expr> sign() {
    Nesting deeper(*this);
    if (deeper.too_deep()) return fail("it is nested too deep");
    if (accept("+")) return sign();
    if (!accept("-")) return power();
    if (accept(kMinimum)) return Expr(kIntMin);
    EDGEC_TRY(Expr e, sign());
    return neg(e);
  }

  Result<Expr> power() {
    EDGEC_TRY(Expr base, atom());
    if (!accept("**")) return base;
    EDGEC_TRY(Expr exponent, sign());
    if (!exponent.constant()) return fail("an exponent must be a whole number");
    return checked(pow(base, *exponent.constant()));
  }

  Result<Expr> atom() {
    char c = peek();
    if (c == '(') {
      ++at_;
      EDGEC_TRY(Expr e, disjunction());
      if (!accept(")")) return fail(fmt::format("')' is missing at column {}", at_ + 1));
      return e;
    }
    if (is_digit(c) || c == '.') return number();
    if (is_word(c)) return name();
    return fail(c == 0 ? "it ends too early" : fmt::format("column {} is not understood", at_ + 1));
  }

  Result<Expr> number() {
    size_t end = at_;
    bool real_number = false;
    for (; end < text_.size(); ++end) {
      char c = text_[end];
      bool exponent_sign = (c == '+' || c == '-') && (text_[end - 1] == 'e' || text_[end - 1] == 'E');
      if (!is_word(c) && c != '.' && !exponent_sign) break;
      real_number = real_number || c == '.' || c == 'e' || c == 'E';
      if (exponent_sign && !real_number) break;
    }
    const char *first = text_.data() + at_, *last = text_.data() + end;
    int64_t n = 0;
    double v = 0;
    auto [stop, error] = real_number ? std::from_chars(first, last, v) : std::from_chars(first, last, n);
    if (error != std::errc() || stop != last) return fail(fmt::format("column {} is no number of 64 bits", at_ + 1));
    at_ = end;
    return real_number ? real(v) : Expr(n);
  }

  Result<Expr> name() {
    size_t end = at_;
    while (end < text_.size() && is_word(text_[end])) ++end;
    std::string_view word = text_.substr(at_, end - at_);
    at_ = end;
    if (word == "true" || word == "false") return boolean(word == "true");
    if (word == "invalid") {
      said_invalid_ = true;
      return invalid();
    }
    if (peek() == '(') return call(word);
    if (names_) {
      if (auto known = (*names_)(word)) return *known;
      return fail(fmt::format("there is no '{}'", excerpt(word)));
    }
    if (auto symbol = cx_.find_symbol(word)) return *symbol;
    if (!is_symbol_name(word)) return fail(fmt::format("'{}' cannot be a symbol", excerpt(word)));
    return cx_.symbol(word);
  }

  Result<Expr> call(std::string_view word) {
    ++at_;
    std::vector<Expr> arguments;
    do {
      EDGEC_TRY(Expr e, disjunction());
      arguments.push_back(e);
    } while (accept(","));
    if (!accept(")")) return fail(fmt::format("')' is missing at column {}", at_ + 1));
    if (word == "where" && arguments.size() == 3) return checked(where(arguments[0], arguments[1], arguments[2]));
    for (const Function& f : kFunctions) {
      if (f.name != word || (f.arity == 0 ? arguments.size() < 2 : arguments.size() != static_cast<size_t>(f.arity))) continue;
      if (f.unary != nullptr) return checked(f.unary(arguments[0]));
      Expr e = arguments[0];
      for (size_t i = 1; i < arguments.size(); ++i) e = f.binary(e, arguments[i]);
      return checked(e);
    }
    return fail(fmt::format("there is no function {} of {} arguments", excerpt(word), arguments.size()));
  }

  class Nesting {
   public:
    explicit Nesting(Parser& p) : parser_(p) { ++parser_.depth_; }
    ~Nesting() { --parser_.depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;
    bool too_deep() const { return parser_.depth_ > kMaxNesting; }

   private:
    Parser& parser_;
  };

  std::string_view text_;
  Context& cx_;
  const NameLookup* names_;  // null: names are symbols
  WorkLimit work_;
  size_t at_ = 0;
  int depth_ = 0;
  bool said_invalid_ = false;
};

}  // namespace

Result<Expr> parse(std::string_view text, Context& cx) { return Parser(text, cx).whole_text(); }

Result<Expr> parse(std::string_view text, Context& cx, const NameLookup& names) { return Parser(text, cx, &names).whole_text(); }

}  // namespace edgec::sym
