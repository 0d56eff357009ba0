#include <charconv>

#include "sym/checked.h"
#include "sym/poly.h"
#include "sym/reader.h"

namespace edgec::sym {
namespace {

constexpr size_t kMaxText = 64 * 1024;
constexpr int kMaxNesting = 200;

// sympy keeps exact fractions where torch knows that they come out whole: Mul(Rational(1, 2), s0). A divisor other than
// 1 stands under an Int value.
struct Item {
  Expr value;
  Expr divisor = 1;
  bool is_fraction() const { return divisor.constant() != 1; }
};

// What is left of a fraction outside of products and sums: the exact quotient, or a true division.
Expr plain(const Item& item) {
  if (!item.is_fraction()) return item.value;
  if (!is_int(item.value) || !is_int(item.divisor)) return invalid();
  if (auto exact = divide(terms_of(item.value), terms_of(item.divisor))) return from_terms(*exact);
  return truediv(item.value, item.divisor);
}

// Where only integers may stand, a fraction is a whole number.
Expr as_int(const Item& item) {
  if (item.is_fraction()) return floordiv(item.value, item.divisor);
  return is_int(item.value) ? item.value : invalid();
}

Expr power_of_two(const Expr& exponent) { return exponent.constant() ? pow(2, *exponent.constant()) : invalid(); }

enum class Takes { Ints, Values };
using Arguments = std::span<const Expr>;
struct Function {
  std::string_view name;
  size_t least, most;
  Takes takes;
  Expr (*build)(Arguments);
};

template <Expr (*op)(Expr)>
Expr one(Arguments a) {
  return op(a[0]);
}
template <Expr (*op)(Expr, Expr)>
Expr two(Arguments a) {
  return op(a[0], a[1]);
}
template <Expr (*op)(Expr, Expr)>
Expr all(Arguments a) {
  Expr e = a[0];
  for (const Expr& x : a.subspan(1)) e = op(e, x);
  return e;
}

Expr float_pow(Arguments a) {
  auto exponent = a[1].constant_float();
  if (!exponent) return invalid();
  if (*exponent == 0.5) return sqrt(a[0]);
  auto n = whole(to_float(a[1]));
  return n ? pow(to_float(a[0]), *n->constant()) : invalid();
}

constexpr size_t kMany = SIZE_MAX;
constexpr Function kFunctions[] = {
    {"FloorDiv", 2, 2, Takes::Ints, two<floordiv>},
    {"CleanDiv", 2, 2, Takes::Ints, two<floordiv>},
    {"CeilDiv", 2, 2, Takes::Ints, two<ceildiv>},
    {"Mod", 2, 2, Takes::Ints, two<mod>},
    {"PythonMod", 2, 2, Takes::Ints, two<mod>},
    {"ModularIndexing", 3, 3, Takes::Ints, [](Arguments a) { return mod(floordiv(a[0], a[1]), a[2]); }},
    {"LShift", 2, 2, Takes::Ints, [](Arguments a) { return mul(a[0], power_of_two(a[1])); }},
    {"RShift", 2, 2, Takes::Ints, [](Arguments a) { return floordiv(a[0], power_of_two(a[1])); }},
    {"PowByNatural", 2, 2, Takes::Ints,
     [](Arguments a) { return a[1].constant() && *a[1].constant() >= 0 ? pow(a[0], *a[1].constant()) : invalid(); }},
    {"CeilToInt", 1, 1, Takes::Values, one<ceil_to_int>},
    {"FloorToInt", 1, 1, Takes::Values, one<floor_to_int>},
    {"TruncToInt", 1, 1, Takes::Values, one<trunc_to_int>},
    {"RoundToInt", 1, 1, Takes::Values, one<round_to_int>},
    {"ceiling", 1, 1, Takes::Values, one<ceil_to_int>},
    {"floor", 1, 1, Takes::Values, one<floor_to_int>},
    {"TruncToFloat", 1, 1, Takes::Values, [](Arguments a) { return to_float(trunc_to_int(a[0])); }},
    {"ToFloat", 1, 1, Takes::Values, one<to_float>},
    {"Identity", 1, 1, Takes::Values, [](Arguments a) { return a[0]; }},
    {"IntTrueDiv", 2, 2, Takes::Values, two<truediv>},
    {"FloatTrueDiv", 2, 2, Takes::Values, two<truediv>},
    {"FloatPow", 2, 2, Takes::Values, float_pow},
    {"OpaqueUnaryFn_sqrt", 1, 1, Takes::Values, one<sqrt>},
    {"Abs", 1, 1, Takes::Values, one<abs>},
    {"Max", 1, kMany, Takes::Values, all<max>},
    {"Min", 1, kMany, Takes::Values, all<min>},
    {"Where", 3, 3, Takes::Values, [](Arguments a) { return where(a[0], a[1], a[2]); }},
    {"StrictGreaterThan", 2, 2, Takes::Values, two<gt>},
    {"StrictLessThan", 2, 2, Takes::Values, two<lt>},
    {"GreaterThan", 2, 2, Takes::Values, two<ge>},
    {"LessThan", 2, 2, Takes::Values, two<le>},
    {"Equality", 2, 2, Takes::Values, two<eq>},
    {"Unequality", 2, 2, Takes::Values, two<ne>},
    {"And", 1, kMany, Takes::Values, all<logical_and>},
    {"Or", 1, kMany, Takes::Values, all<logical_or>},
    {"Not", 1, 1, Takes::Values, one<logical_not>},
};

Item product(std::span<const Item> items) {
  Item out{1};
  for (const Item& i : items) {
    if (i.value.sort() == Sort::Float) continue;
    out = {mul(out.value, i.value), mul(out.divisor, i.divisor)};
  }
  for (const Item& i : items)
    if (i.value.sort() == Sort::Float) out = {mul(plain(out), i.value)};
  return out;
}

Item sum(std::span<const Item> items) {
  bool all_int = true;
  for (const Item& i : items) all_int = all_int && is_int(i.value);
  Expr divisor = 1;
  for (const Item& i : items)
    if (i.is_fraction() && !(i.divisor == divisor)) divisor = mul(divisor, i.divisor);
  std::vector<Expr> terms;
  for (const Item& i : items)
    terms.push_back(!all_int ? plain(i) : i.divisor == divisor ? i.value : mul(i.value, floordiv(divisor, i.divisor)));
  if (all_int) return {sum_of(terms), divisor};
  Expr total = 0;
  for (const Expr& t : terms) total = add(total, t);
  return {total};
}

Item power(const Item& base, const Item& exponent) {
  if (is_int(exponent.value) && exponent.value.constant() == 1 && exponent.divisor.constant() == 2) return {sqrt(plain(base))};
  if (auto v = exponent.value.constant_float(); v && *v == 0.5 && !exponent.is_fraction()) return {sqrt(plain(base))};
  auto n = exponent.value.constant();
  if (!n || exponent.is_fraction() || *n == kIntMin) return {invalid()};
  Item root = *n < 0 && is_int(base.value) ? Item{base.divisor, base.value} : base;
  if (!is_int(base.value)) return {pow(root.value, *n)};
  int64_t times = *n < 0 ? -*n : *n;
  return {pow(root.value, times), pow(root.divisor, times)};
}

class Reader {
 public:
  Reader(std::string_view text, Context& cx) : text_(text), cx_(cx), work_(cx) {}

  Result<Expr> whole_text() {
    if (text_.size() > kMaxText) return fail("it is longer than 64 KB");
    EDGEC_TRY(Item item, expression());
    if (peek() != 0) return fail(fmt::format("nothing should follow column {}", at_ + 1));
    Expr e = plain(item);
    if (e.is_invalid()) return fail("a number overflows or a divisor is zero");
    return e;
  }

 private:
  Failure fail(std::string_view why) const {
    return input_error(fmt::format("cannot read the symbolic expression '{}': {}", excerpt(text_), why));
  }

  char peek() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }

  Status expect(char c) {
    if (!accept(c)) return fail(fmt::format("'{}' is missing at column {}", c, at_ + 1));
    return {};
  }

  std::string_view word() {
    peek();
    size_t start = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    return text_.substr(start, at_ - start);
  }

  Result<std::string_view> quoted() {
    char quote = peek();
    if (quote != '\'' && quote != '"') return fail(fmt::format("a quoted text is missing at column {}", at_ + 1));
    size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return fail(fmt::format("the quote at column {} does not end", at_ + 1));
    std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return inside;
  }

  Result<int64_t> integer() {
    peek();
    int64_t n = 0;
    auto [stop, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), n);
    if (error != std::errc()) return fail(fmt::format("column {} is no integer of 64 bits", at_ + 1));
    at_ = static_cast<size_t>(stop - text_.data());
    return n;
  }

  Result<Item> expression() {
    size_t column = at_ + 1;
    std::string_view name = word();
    if (name == "true" || name == "false") return Item{boolean(name == "true")};
    if (name.empty()) return fail(at_ >= text_.size() ? "it ends too early" : fmt::format("column {} is not understood", column));
    EDGEC_TRY_VOID(expect('('));
    if (name == "Symbol") return symbol();
    if (name == "Float") return real_number();
    if (name == "Integer" || name == "Rational") return rational(name == "Rational");
    if (name == "BooleanTrue" || name == "BooleanFalse") {
      EDGEC_TRY_VOID(expect(')'));
      return Item{boolean(name == "BooleanTrue")};
    }
    if (++depth_ > kMaxNesting) return fail(fmt::format("it is nested deeper than {} levels", kMaxNesting));
    EDGEC_TRY(Item item, name == "Piecewise" ? piecewise() : call(name));
    --depth_;
    if (work_.exceeded()) return fail("it expands into too many terms");
    if (item.value.is_invalid() || item.divisor.is_invalid())
      return fail(fmt::format("{} at column {} overflows, divides by zero or has operands that do not fit", excerpt(name), column));
    return item;
  }

  Result<Item> rational(bool fraction) {
    EDGEC_TRY(int64_t n, integer());
    int64_t divisor = 1;
    if (fraction) {
      EDGEC_TRY_VOID(expect(','));
      EDGEC_TRY(divisor, integer());
      if (divisor <= 0) return fail("a Rational has a divisor that is not positive");
    }
    EDGEC_TRY_VOID(expect(')'));
    return Item{n, divisor};
  }

  Result<Item> real_number() {
    EDGEC_TRY(std::string_view digits, quoted());
    double v = 0;
    auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), v);
    if (error != std::errc() || stop != digits.data() + digits.size() || real(v).is_invalid())
      return fail(fmt::format("'{}' is no finite number", excerpt(digits)));
    if (accept(',')) {
      if (word() != "precision" || !accept('=')) return fail(fmt::format("column {} is not understood", at_ + 1));
      EDGEC_TRY([[maybe_unused]] int64_t precision, integer());
    }
    EDGEC_TRY_VOID(expect(')'));
    return Item{real(v)};
  }

  // Symbol('s0', positive=True, integer=True); no assumption at all is torch's unbacked float.
  Result<Item> symbol() {
    EDGEC_TRY(std::string_view name, quoted());
    bool is_integer = false;
    std::optional<int64_t> least;
    while (accept(',')) {
      std::string_view assumption = word();
      if (!accept('=')) return fail(fmt::format("column {} is not understood", at_ + 1));
      std::string_view value = word();
      if (value != "True" && value != "False") return fail(fmt::format("column {} is not understood", at_ + 1));
      if (value == "False") continue;
      is_integer = is_integer || assumption == "integer";
      if (assumption == "positive") least = 1;
      if (assumption == "nonnegative" && !least) least = 0;
    }
    EDGEC_TRY_VOID(expect(')'));
    if (!is_symbol_name(name)) return fail(fmt::format("'{}' is no name of a symbol", excerpt(name)));
    Sort sort = is_integer ? Sort::Int : Sort::Float;
    if (auto known = cx_.find_symbol(name)) {
      if (known->sort() != sort) return fail(fmt::format("{} is both an integer and a float", name));
      return Item{*known};
    }
    Expr made = cx_.symbol(name, sort);
    if (least) cx_.set_range(made, {least, std::nullopt});
    return Item{made};
  }

  Result<std::vector<Item>> arguments() {
    std::vector<Item> items;
    if (accept(')')) return items;
    do {
      EDGEC_TRY(Item item, expression());
      items.push_back(item);
    } while (accept(','));
    EDGEC_TRY_VOID(expect(')'));
    return items;
  }

  Result<Item> call(std::string_view name) {
    EDGEC_TRY(std::vector<Item> items, arguments());
    if (name == "Mul" && !items.empty()) return product(items);
    if (name == "Add" && !items.empty()) return sum(items);
    if (name == "Pow" && items.size() == 2) return power(items[0], items[1]);
    for (const Function& f : kFunctions) {
      if (f.name != name) continue;
      if (items.size() < f.least || items.size() > f.most) return fail(fmt::format("{} does not take {} arguments", name, items.size()));
      std::vector<Expr> values;
      for (const Item& i : items) values.push_back(f.takes == Takes::Ints ? as_int(i) : plain(i));
      return Item{f.build(values)};
    }
    return fail(fmt::format("{} of {} arguments is not known", excerpt(name), items.size()));
  }

  // Piecewise(ExprCondPair(a, cond), ..., ExprCondPair(z, true)): the first condition that holds.
  Result<Item> piecewise() {
    std::vector<std::pair<Expr, Expr>> cases;
    do {
      std::string_view pair = word();
      if (pair != "ExprCondPair" && pair != "Tuple") return fail(fmt::format("a pair is missing at column {}", at_ + 1));
      EDGEC_TRY_VOID(expect('('));
      EDGEC_TRY(std::vector<Item> items, arguments());
      if (items.size() != 2) return fail("Piecewise wants pairs of a value and a condition");
      cases.emplace_back(plain(items[0]), plain(items[1]));
    } while (accept(','));
    EDGEC_TRY_VOID(expect(')'));
    if (cases.back().second.constant_bool() != true) return fail("Piecewise does not cover every case");
    Expr result = cases.back().first;
    for (size_t i = cases.size() - 1; i-- > 0;) result = where(cases[i].second, cases[i].first, result);
    return Item{result};
  }

  std::string_view text_;
  Context& cx_;
  WorkLimit work_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Result<Expr> read_sympy(std::string_view text, Context& cx) { return Reader(text, cx).whole_text(); }

}  // namespace edgec::sym
