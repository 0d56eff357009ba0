#include "ops/user_ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "ops/define.h"

namespace edgec::ops {
namespace {

std::string_view trimmed(std::string_view s) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!s.empty() && blank(s.front())) s.remove_prefix(1);
  while (!s.empty() && blank(s.back())) s.remove_suffix(1);
  return s;
}

std::vector<std::string> words(std::string_view s) {
  std::vector<std::string> out;
  for (s = trimmed(s); !s.empty(); s = trimmed(s)) {
    const size_t end = std::min(s.find_first_of(" \t,"), s.size());
    if (end > 0) out.emplace_back(s.substr(0, end));
    s.remove_prefix(std::min(end + (end < s.size() && s[end] == ',' ? 1 : 0) + (end == 0 ? 1 : 0), s.size()));
  }
  return out;
}

// At the commas that no parenthesis encloses.
std::vector<std::string> pieces(std::string_view s) {
  std::vector<std::string> out;
  if (trimmed(s).empty()) return out;
  int depth = 0;
  size_t start = 0;
  for (size_t i = 0; i <= s.size(); ++i) {
    if (i == s.size() || (s[i] == ',' && depth == 0)) {
      out.emplace_back(trimmed(s.substr(start, i - start)));
      start = i + 1;
    } else if (s[i] == '(' || s[i] == '[') {
      ++depth;
    } else if (s[i] == ')' || s[i] == ']') {
      --depth;
    }
  }
  return out;
}

// "x.shape[1]" -> "x__size__1": a name, which size expressions can hold.
constexpr std::string_view kSize = "__size__";
std::string with_size_names(std::string_view s) {
  constexpr std::string_view kShape = ".shape[";
  std::string out;
  while (!s.empty()) {
    const size_t at = s.find(kShape), close = at == s.npos ? s.npos : s.find(']', at);
    if (close == s.npos) break;
    out +=
        std::string(s.substr(0, at)) + std::string(kSize) + std::string(trimmed(s.substr(at + kShape.size(), close - at - kShape.size())));
    s.remove_prefix(close + 1);
  }
  return out + std::string(s);
}

struct UserOp {
  std::string schema_text, kernel, layout;
  std::vector<std::string> shapes, dtypes;
  size_t line = 0;
};

class Reader {
 public:
  explicit Reader(const std::string& source) : source_(source) {}

  Status read(std::string_view text) {
    size_t line = 0;
    std::vector<UserOp> ops;
    while (!text.empty()) {
      ++line;
      const size_t end = std::min(text.find('\n'), text.size());
      std::string_view all = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      all = all.substr(0, std::min(all.find('#'), all.size()));
      const std::string_view content = trimmed(all);
      if (content.empty()) continue;
      if (content.data() == all.data()) {
        ops.push_back({std::string(content), "", "", {}, {}, line});
        continue;
      }
      if (ops.empty()) return fail(line, "an indented line belongs to the schema above it, and there is none");
      EDGEC_TRY_VOID(take(ops.back(), content, line));
    }
    if (ops.empty()) return fail(line, "it declares no operator");
    for (const UserOp& op : ops) EDGEC_TRY_VOID(define(op));
    return {};
  }

 private:
  Failure fail(size_t line, std::string_view why) const { return input_error(fmt::format("error: {}:{}: {}", source_, line, why)); }

  Status take(UserOp& op, std::string_view content, size_t line) const {
    const size_t colon = content.find(':');
    const std::string_view key = content.substr(0, std::min(colon, content.size()));
    if (colon == content.npos) return fail(line, "wanted is \"shape:\", \"dtype:\", \"kernel:\" or \"layout:\"");
    const std::string value(trimmed(content.substr(colon + 1)));
    if (key == "shape")
      op.shapes.push_back(value);
    else if (key == "dtype")
      op.dtypes.push_back(value);
    else if (key == "kernel" && op.kernel.empty() && !value.empty())
      op.kernel = value;
    else if (key == "layout" && (value == "preserve" || value == "contiguous"))
      op.layout = value;
    else
      return fail(line, fmt::format("\"{}\" is not understood", content));
    return {};
  }

  Status define(const UserOp& op) const {
    auto schema = parse_schema(op.schema_text);
    if (!schema) return fail(op.line, schema.failure().message);
    const std::string name = schema->full_name();
    if (Registry::global().find(name)) return fail(op.line, fmt::format("operator {} is in the table already", name));
    if (!schema->mutates() && schema->is_view())
      return fail(op.line, fmt::format("{} gives a view of an argument: declare the form that copies", name));
    if (!schema->mutates() && schema->returns.empty()) return fail(op.line, fmt::format("{} gives nothing and writes to nothing", name));
    EDGEC_TRY(const std::vector<ResultRule> results, result_rules(op, *schema));
    if (op.kernel.empty() || op.kernel.find("::") == std::string::npos)
      return fail(op.line, fmt::format("{} needs a kernel line with the out variant's name, such as \"kernel: {}::{}.out\"", name,
                                       schema->ns, schema->name));
    if (schema->mutates()) return define_writing(op, *schema, results);
    OpDef& def = Registry::global().define(op.schema_text);
    def.infer = [results](const Call& c) { return types(c, results); };
    def.kernel = kernel_named(op.kernel);
    if (op.layout == "preserve") def.layout = LayoutRule::Preserve;
    return {};
  }

  struct ResultRule {
    ShapeRule shape;
    DTypeRule dtype;
  };

  Result<std::vector<ResultRule>> result_rules(const UserOp& op, const Schema& schema) const {
    const std::string name = schema.full_name();
    for (const Return& r : schema.returns)
      if (r.type != ArgType::Tensor || r.list || r.optional || r.alias != 0)
        return fail(op.line, fmt::format("a result of {} is not a tensor of its own", name));
    const size_t results = schema.returns.size();
    if (op.shapes.size() != results || op.dtypes.size() != results)
      return fail(op.line,
                  fmt::format("{} has {} results, {} shape lines and {} dtype lines", name, results, op.shapes.size(), op.dtypes.size()));
    std::vector<ResultRule> out(results);
    for (size_t i = 0; i < results; ++i) {
      EDGEC_TRY(out[i].shape, shape_rule(op, schema, op.shapes[i]));
      EDGEC_TRY(out[i].dtype, dtype_rule(op, schema, op.dtypes[i]));
    }
    return out;
  }

  static Result<std::vector<Type>> types(const Call& c, const std::vector<ResultRule>& rules) {
    std::vector<Type> out;
    for (const ResultRule& rule : rules) {
      TensorType t;
      EDGEC_TRY(t.sizes, rule.shape(c));
      EDGEC_TRY(t.dtype, rule.dtype(c));
      out.push_back(Type::of(std::move(t)));
    }
    return out;
  }

  // `my::f(Tensor(a!) x, ...) -> Tensor`: the graph has it as `my::f.functional(Tensor x, ...) -> (Tensor, Tensor)`, its results and then
  // the new values of what is written to; the kernel is called on copies of those.
  Status define_writing(const UserOp& op, const Schema& schema, const std::vector<ResultRule>& results) const {
    const std::string name = schema.full_name();
    std::vector<size_t> written;
    size_t tensors = results.size();
    for (size_t i = 0; i < schema.params.size(); ++i) {
      if (!schema.params[i].written) continue;
      if (schema.params[i].type != ArgType::Tensor || schema.params[i].list || schema.params[i].optional)
        return fail(op.line, fmt::format("{}: only tensors can be written to", name));
      written.push_back(i);
      ++tensors;
    }
    std::string returns;
    for (size_t i = 0; i < tensors; ++i) returns += i == 0 ? "Tensor" : ", Tensor";
    std::string text = op.schema_text;
    for (size_t at = text.find("Tensor("); at != text.npos; at = text.find("Tensor(")) text.erase(at + 6, text.find(')', at) - at - 5);
    const size_t open = text.find('('), dot = text.find('.');
    const std::string overload = dot < open ? "_functional" : ".functional";
    text.insert(open, overload);
    text.replace(text.rfind("->"), text.npos, "-> (" + returns + ")");
    if (auto functional = parse_schema(text);
        !functional || functional->params.size() != schema.params.size() || Registry::global().find(functional->full_name()))
      return fail(op.line, fmt::format("{} cannot be declared: \"{}\" is no new operator", name, text));
    OpDef& functional = Registry::global().define(text);
    functional.kernel_writes = written;
    functional.kernel = kernel_named(op.kernel);
    functional.infer = [written, results](const Call& c) -> Result<std::vector<Type>> {
      EDGEC_TRY(std::vector<Type> out, types(c, results));
      for (size_t i : written) out.push_back(Type::of(c.tensor(c.op().schema().params[i].name)));
      return out;
    };
    Registry::global().define(op.schema_text).functional = functional.name();
    return {};
  }

  static KernelName kernel_named(const std::string& text) {
    const size_t dot = text.find('.', text.find("::"));
    return {text.substr(0, dot), dot == text.npos ? "" : text.substr(dot + 1), {}};
  }

  // The parameter that must be a tensor.
  Status check_tensor(const UserOp& op, const Schema& s, const std::string& param) const {
    const int i = s.find(param);
    if (i >= 0 && s.params[i].type == ArgType::Tensor && !s.params[i].list) return {};
    return fail(op.line, fmt::format("{} has no tensor parameter \"{}\"", s.full_name(), param));
  }

  Result<ShapeRule> shape_rule(const UserOp& op, const Schema& s, const std::string& text) const {
    std::vector<std::string> names = words(text);
    const std::string kind = names.empty() ? "" : names[0];
    if (kind == "like" || kind == "broadcast") {
      names.erase(names.begin());
      if (names.empty() || (kind == "like" && names.size() != 1)) return fail(op.line, fmt::format("\"shape: {}\" names no tensor", text));
      for (const std::string& n : names) EDGEC_TRY_VOID(check_tensor(op, s, n));
      return kind == "like" ? shape_of(names[0]) : broadcast_of(names);
    }
    std::vector<std::string> dims = pieces(text);
    sym::Context scratch;
    for (std::string& d : dims) {
      d = with_size_names(d);
      std::optional<Failure> wrong;
      const auto parsed = sym::parse(d, scratch, [&](std::string_view n) -> std::optional<sym::Expr> {
        const size_t at = n.find(kSize);
        const int i = s.find(n.substr(0, at));
        const bool tensor = i >= 0 && s.params[i].type == ArgType::Tensor && !s.params[i].list;
        const bool number = i >= 0 && (s.params[i].type == ArgType::Int || s.params[i].type == ArgType::SymInt) && !s.params[i].list;
        if (at == n.npos ? number : tensor && n.size() > at + kSize.size()) return scratch.symbol(n);
        return std::nullopt;
      });
      if (!parsed) return fail(op.line, fmt::format("{}: in \"shape: {}\": {}", s.full_name(), text, parsed.failure().message));
      if (parsed->sort() != sym::Sort::Int)
        return fail(op.line, fmt::format("{}: a size of \"shape: {}\" is not a whole number", s.full_name(), text));
    }
    return ShapeRule([dims](const Call& c) -> Result<Dims> {
      Dims out;
      for (const std::string& d : dims) {
        EDGEC_TRY(Dim size, sym::parse(d, c.graph().syms(), [&](std::string_view n) { return size_named(c, n); }));
        out.push_back(size);
      }
      return out;
    });
  }

  // "x__size__1" of a call, or one of its numbers.
  static std::optional<sym::Expr> size_named(const Call& c, std::string_view n) {
    const size_t at = n.find(kSize);
    const std::string_view param = n.substr(0, at);
    if (at == n.npos) return c.has(param) ? std::optional(c.dim(param)) : std::nullopt;
    size_t axis = 0;
    for (char d : n.substr(at + kSize.size())) {
      if (d < '0' || d > '9' || axis > 1000) return std::nullopt;
      axis = axis * 10 + static_cast<size_t>(d - '0');
    }
    const Dims& sizes = c.tensor(param).sizes;
    return axis < sizes.size() ? std::optional(sizes[axis]) : std::nullopt;
  }

  Result<DTypeRule> dtype_rule(const UserOp& op, const Schema& s, const std::string& text) const {
    std::vector<std::string> names = words(text);
    if (names.size() > 1 && names[0] == "promote") {
      names.erase(names.begin());
      for (const std::string& n : names) EDGEC_TRY_VOID(check_tensor(op, s, n));
      return promoted(names);
    }
    if (names.size() == 1) {
      for (const auto& d : {dtype_from_torch_name(names[0]), dtype_from_name(names[0])})
        if (d) return fixed(*d);
      EDGEC_TRY_VOID(check_tensor(op, s, names[0]));
      return same_as(names[0]);
    }
    return fail(op.line, fmt::format("{}: \"dtype: {}\" is neither a dtype, nor a tensor parameter, nor \"promote\" with some",
                                     s.full_name(), text));
  }

  const std::string& source_;
};

}  // namespace

Status read_user_operators(std::string_view text, const std::string& source) { return Reader(source).read(text); }

std::vector<std::string> user_kernels() {
  std::vector<std::string> out;
  for (const OpDef* op : Registry::global().user())
    if (op->kernel.exists()) out.push_back(op->kernel.full_name());
  return out;
}

}  // namespace edgec::ops
