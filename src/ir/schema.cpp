#include <edgec/schema.h>

#include <fmt/format.h>

#include <charconv>

namespace edgec {

bool Schema::mutates() const {
  for (const auto& p : params)
    if (p.written) return true;
  return false;
}

bool Schema::is_view() const {
  for (const auto& r : returns)
    if (r.alias && !r.written) return true;
  return false;
}

int Schema::find(std::string_view param) const {
  for (size_t i = 0; i < params.size(); ++i)
    if (params[i].name == param) return static_cast<int>(i);
  return -1;
}

std::string Schema::full_name() const {
  return overload.empty() || overload == "default" ? fmt::format("{}.{}", ns, name) : fmt::format("{}.{}.{}", ns, name, overload);
}

namespace {

// Recursive descent over the schema text; a failure leaves `ok` false.
class SchemaParser {
 public:
  explicit SchemaParser(std::string_view text) : s_(text) {}

  Result<Schema> parse() {
    Schema out;
    out.ns = identifier();
    expect("::");
    out.name = identifier();
    if (eat(".")) out.overload = identifier();
    expect("(");
    bool kwarg_only = false;
    while (ok_ && !eat(")")) {
      if (eat("*")) {
        kwarg_only = true;
      } else if (!eat("...")) {  // any further arguments: of no operator that a graph can hold
        Param p = param();
        p.kwarg_only = kwarg_only;
        out.params.push_back(std::move(p));
      }
      if (!eat(",")) {
        expect(")");
        break;
      }
    }
    expect("->");
    if (eat("(")) {
      while (ok_ && !eat(")")) {
        out.returns.push_back(ret());
        if (!eat(",")) {
          expect(")");
          break;
        }
      }
    } else {
      out.returns.push_back(ret());
    }
    skip();
    if (!ok_ || !s_.empty()) return model_error(fmt::format("not an operator schema: \"{}\" (at \"{}\")", all_, s_));
    return out;
  }

 private:
  struct TypeText {
    ArgType type = ArgType::Tensor;
    bool optional = false, list = false, list_of_optional = false, written = false;
    int list_size = 0;
    char alias = 0;
  };

  void skip() {
    while (!s_.empty() && s_.front() == ' ') s_.remove_prefix(1);
  }
  bool eat(std::string_view token) {
    skip();
    if (!s_.starts_with(token)) return false;
    s_.remove_prefix(token.size());
    return true;
  }
  void expect(std::string_view token) {
    if (!eat(token)) ok_ = false;
  }
  std::string identifier() {
    skip();
    size_t n = 0;
    while (n < s_.size() && (isalnum(static_cast<unsigned char>(s_[n])) || s_[n] == '_')) ++n;
    if (n == 0) ok_ = false;
    std::string out(s_.substr(0, n));
    s_.remove_prefix(n);
    return out;
  }
  int64_t integer() {
    skip();
    int64_t v = 0;
    auto [end, ec] = std::from_chars(s_.data(), s_.data() + s_.size(), v);
    if (ec != std::errc())
      ok_ = false;
    else
      s_.remove_prefix(static_cast<size_t>(end - s_.data()));
    return v;
  }

  static std::optional<ArgType> type_named(std::string_view n) {
    if (n == "Tensor") return ArgType::Tensor;
    if (n == "int") return ArgType::Int;
    if (n == "SymInt") return ArgType::SymInt;
    if (n == "float" || n == "SymFloat") return ArgType::Float;
    if (n == "bool" || n == "SymBool") return ArgType::Bool;
    if (n == "Scalar" || n == "number") return ArgType::Scalar;
    if (n == "str") return ArgType::String;
    if (n == "ScalarType") return ArgType::DType;
    if (n == "Layout") return ArgType::Layout;
    if (n == "Device") return ArgType::Device;
    if (n == "MemoryFormat") return ArgType::MemoryFormat;
    if (n == "Dimname") return ArgType::Dimname;
    if (n == "Generator") return ArgType::Generator;
    return std::nullopt;
  }

  static bool takes_types(std::string_view n) {
    return n == "Dict" || n == "Future" || n == "RRef" || n == "Await" || n == "Union" || n == "Tuple" || n == "NamedTuple";
  }

  // "int[2]?", "Tensor(a!)[]", "Dict(str, t)(a!)", "(int, t)", "__torch__.some.Class"
  TypeText type(int depth = 0) {
    TypeText t;
    t.type = ArgType::Object;
    if (depth > 20) {
      ok_ = false;
    } else if (eat("(")) {
      types_up_to_parenthesis(depth);
    } else {
      const std::string n = identifier();
      if (auto known = type_named(n)) t.type = *known;
      while (n == "__torch__" && eat(".")) identifier();  // a TorchScript class
      if (takes_types(n) && eat("(")) types_up_to_parenthesis(depth);
    }
    while (ok_) {
      if (eat("?")) {
        t.optional = true;
      } else if (eat("[")) {
        t.list_of_optional = t.optional;
        t.optional = false;
        t.list = true;
        if (!eat("]")) {
          const int64_t size = integer();
          ok_ = ok_ && size > 0 && size < 1000;
          t.list_size = static_cast<int>(size);
          expect("]");
        }
      } else if (eat("(")) {
        alias(t);
      } else {
        break;
      }
    }
    return t;
  }
  void types_up_to_parenthesis(int depth) {
    do type(depth + 1);
    while (ok_ && eat(","));
    expect(")");
  }
  // "a)", "a!)", "a|b)", "a! -> a|b)", "a -> *)", "*)"
  void alias(TypeText& t) {
    if (!eat("*")) {
      const std::string a = identifier();
      t.alias = a.empty() ? 0 : a[0];
      while (eat("|")) identifier();
    }
    if (eat("!")) t.written = true;
    if (eat("->")) do {
        if (!eat("*")) identifier();
      } while (ok_ && eat("|"));
    expect(")");
  }

  SchemaDefault default_value() {
    skip();
    if (eat("None")) return {};
    if (eat("True")) return {true};
    if (eat("False")) return {false};
    if (eat("contiguous_format")) return {int64_t{1}};
    if (eat("strided")) return {int64_t{7}};
    if (eat("Mean")) return {int64_t{1}};
    if (eat("long")) return {std::string("long")};
    if (eat("\"")) return quoted('"');
    if (eat("'")) return quoted('\'');
    if (eat("[")) {
      std::vector<int64_t> items;
      while (ok_ && !eat("]")) {
        items.push_back(integer());
        if (!eat(",")) {
          expect("]");
          break;
        }
      }
      return {items};
    }
    // A number: float when it has a point or exponent.
    size_t n = 0;
    while (n < s_.size() && s_[n] != ',' && s_[n] != ')') ++n;
    std::string_view number = s_.substr(0, n);
    if (number.find_first_of(".einf") != std::string_view::npos) {
      double v = 0;
      auto [end, ec] = std::from_chars(number.data(), number.data() + number.size(), v);
      if (ec != std::errc() || end != number.data() + number.size()) ok_ = false;
      s_.remove_prefix(n);
      return {v};
    }
    return {integer()};
  }
  SchemaDefault quoted(char end) {
    // Pairs: the letter of an escape and what it stands for.
    constexpr std::string_view escapes = "n\nt\tf\fv\v";
    std::string out;
    for (size_t i = 0; i < s_.size(); ++i) {
      if (s_[i] == end) {
        s_.remove_prefix(i + 1);
        return {std::move(out)};
      }
      if (s_[i] == '\\' && i + 1 < s_.size()) {
        const size_t known = escapes.find(s_[++i]);  // odd when it is no letter of the list
        out += known % 2 == 0 ? escapes[known + 1] : s_[i];
      } else {
        out += s_[i];
      }
    }
    ok_ = false;
    return {};
  }

  Param param() {
    Param p;
    TypeText t = type();
    p.type = t.type;
    p.optional = t.optional;
    p.list = t.list;
    p.list_of_optional = t.list_of_optional;
    p.list_size = t.list_size;
    p.alias = t.alias;
    p.written = t.written;
    p.name = identifier();
    if (eat("=")) p.default_value = default_value();
    return p;
  }

  Return ret() {
    Return r;
    TypeText t = type();
    r.type = t.type;
    r.list = t.list;
    r.optional = t.optional;
    r.alias = t.alias;
    r.written = t.written;
    skip();
    if (!s_.empty() && (isalpha(static_cast<unsigned char>(s_.front())) || s_.front() == '_')) r.name = identifier();
    return r;
  }

  std::string_view s_, all_ = s_;
  bool ok_ = true;
};

}  // namespace

Result<Schema> parse_schema(std::string_view text) { return SchemaParser(text).parse(); }

}  // namespace edgec
