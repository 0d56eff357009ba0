// Reader of the text form that print.cpp writes. Recursive descent; the grammar:
//
//   program  = ["stage" word] { constant | lowered | method | "constant_method" "@" name "=" list }
//   constant = "constant" "#k" string dtype "[" sizes "]" ["=" list]        belongs to the method that follows
//   lowered  = "lowered" "&k" string "[" {"[" string "," string "]" ","} "]" "{" {constant | lowered} method "}"        the same
//   method   = "method" "@" name "(" {input ","} ")" ["where" {fact ","}] body
//   place    = ["in" "%y" "+" bytes] ["@" memory "+" bytes]
//   input    = "%x" ":" type [place] ["=" kind string ["#k"|arg] ["transient"] ["mutated"]]
//   kind     = "input" | "parameter" | "buffer" | "constant" | "literal"
//   fact     = symbol ["float"|"bool"] ["in" [lo] ".." [hi]]  |  "{" condition "}" [string]
//   body     = "{" {node} "return" {output ","} "}"
//   output   = arg ["order" "{" order "}"] ["->" ("buffer"|"input") string]
//   node     = [{"%r" ","} "="] op "(" {[name "="] arg ","} ")" [":" {type [place] ","}]
//   type     = dtype "[" sizes "]" ["{" order "}"] ["strides" "[" sizes "]"] | "none" | "object" string
//            | ("symint"|"symfloat"|"symbool") number
//   arg      = "%x" | "#k" | "&k" | number | word | string | "{" expression "}" | "[" {arg ","} "]" | "graph" "(" inputs ")"
//   body
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include <edgec/backend.h>
#include <edgec/op.h>
#include "ir/text.h"

namespace edgec {
namespace {

using text::Scanner;

constexpr int kMaxDepth = 64;               // of lists and subgraphs in each other
constexpr int64_t kMaxZeroBytes = 1 << 20;  // of storage made up for constants without values
constexpr size_t kMaxRank = 64;

template <class T>
std::optional<T> to_number(std::string_view s) {
  T v{};
  auto [end, ec] = std::from_chars(s.data(), s.data() + s.size(), v);
  if (ec != std::errc() || end != s.data() + s.size()) return std::nullopt;
  return v;
}

bool is_integer_text(std::string_view s) { return s.find_first_not_of("-0123456789") == std::string_view::npos; }

// The names of one graph; a subgraph sees only its own.
struct Scope {
  Graph& graph;
  std::unordered_map<std::string_view, ValueId> values;
  struct Alias {  // "in %b+16": the other value may come later
    ValueId value;
    std::string_view of;
    int64_t offset;
    size_t start;
  };
  std::vector<Alias> aliases = {};
};

struct TypedPlace {
  Type type;
  std::optional<MemoryPlace> place;
  std::optional<Scope::Alias> inside;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : s_(text) {}

  Result<std::unique_ptr<Program>> program() {
    auto p = std::make_unique<Program>();
    if (s_.eat_word("stage")) {
      auto stage = stage_from_name(s_.word());
      if (!stage) return s_.expected("a stage: aten, functional, core, edge, backend or exec");
      p->stage = *stage;
    }
    auto next = std::make_unique<Method>();
    while (!s_.at_end()) {
      const size_t start = s_.offset();
      if (s_.eat_word("constant")) {
        EDGEC_TRY_VOID(constant(*next));
      } else if (s_.eat_word("lowered")) {
        EDGEC_TRY_VOID(lowered(*next, 0));
      } else if (s_.eat_word("method")) {
        EDGEC_TRY_VOID(method(*next));
        for (const auto& other : p->methods)
          if (other->name == next->name) return s_.failure(start, fmt::format("a second method @{}", next->name));
        p->methods.push_back(std::move(next));
        next = std::make_unique<Method>();
      } else if (s_.eat_word("constant_method")) {
        EDGEC_TRY(ConstantMethod c, constant_method());
        p->constant_methods.push_back(std::move(c));
      } else {
        return s_.expected("`method`, `constant`, `lowered` or `constant_method`");
      }
    }
    if (!next->constants.empty() || !next->lowered.empty()) return s_.expected("the method that the constants belong to");
    return p;
  }

 private:
  // ---- small pieces ----

  Status want(char c) {
    if (s_.eat(c)) return {};
    return s_.expected(fmt::format("`{}`", c));
  }

  // After an item of a list: true when another one follows, false when `close` was read.
  Result<bool> more(char close) {
    if (s_.eat(close)) return false;
    if (s_.eat(',')) return true;
    return s_.expected(fmt::format("`,` or `{}`", close));
  }

  Result<std::string> string(std::string_view what) {
    if (auto s = s_.string()) return *std::move(s);
    return s_.expected(fmt::format("{} in quotes", what));
  }

  Result<std::string> at_name() {
    EDGEC_TRY_VOID(want('@'));
    if (s_.peek() == '"') return string("a name");
    const auto w = s_.word();
    if (w.empty()) return s_.expected("a name");
    return std::string(w);
  }

  template <class T = int64_t>
  Result<T> integer(std::string_view what) {
    const size_t start = s_.offset();
    if (auto v = to_number<T>(s_.number())) return *v;
    s_.seek(start);
    return s_.expected(what);
  }

  Result<std::string_view> value_name() {
    EDGEC_TRY_VOID(want('%'));
    const std::string_view name = s_.name_here();
    if (name.empty()) return s_.expected("a value's name");
    return name;
  }

  // `#k`, a constant declared above.
  Result<ConstId> constant_id() {
    const size_t start = s_.offset();
    EDGEC_TRY_VOID(want('#'));
    EDGEC_TRY(uint32_t k, integer<uint32_t>("a constant's number"));
    if (!method_ || k >= method_->constants.size()) return s_.failure(start, fmt::format("no constant #{} above", k));
    return ConstId(k);
  }

  // `&k`, a lowered module declared above.
  Result<LoweredId> lowered_id() {
    const size_t start = s_.offset();
    EDGEC_TRY_VOID(want('&'));
    EDGEC_TRY(uint32_t k, integer<uint32_t>("a lowered module's number"));
    if (!method_ || k >= method_->lowered.size()) return s_.failure(start, fmt::format("no lowered module &{} above", k));
    return LoweredId(k);
  }

  // ---- expressions ----

  Result<sym::Expr> expression(std::string_view source, size_t start) {
    auto e = sym::parse(source, *syms_);
    if (!e) return s_.failure(start, fmt::format("in the expression `{}`: {}", source, e.failure().message));
    return *e;
  }

  Result<sym::Expr> braced_expression() {
    EDGEC_TRY_VOID(want('{'));
    const size_t start = s_.offset();
    auto source = s_.until_close('}');
    if (!source) return s_.failure(start, "expected an expression and `}`");
    return expression(*source, start);
  }

  // "[s0, 2*s0 + 1]"
  Result<Dims> sizes(bool may_be_negative = false) {
    EDGEC_TRY_VOID(want('['));
    Dims out;
    if (s_.eat(']')) return out;
    for (;;) {
      const size_t start = s_.offset();
      auto source = s_.item(']');
      if (!source) return s_.failure(start, "expected sizes and `]`");
      Dim d;
      if (auto v = to_number<int64_t>(*source)) {
        d = *v;
      } else {
        EDGEC_TRY(d, expression(*source, start));
      }
      if (d.sort() != sym::Sort::Int) return s_.failure(start, "a size is an integer");
      if (!may_be_negative && d.constant().value_or(0) < 0) return s_.failure(start, "a size is not negative");
      out.push_back(d);
      if (out.size() > kMaxRank) return s_.failure(start, fmt::format("more than {} dims", kMaxRank));
      EDGEC_TRY(bool another, more(']'));
      if (!another) return out;
    }
  }

  // ---- types ----

  Result<DimOrder> dim_order(std::optional<size_t> rank) {
    const size_t start = s_.offset();
    EDGEC_TRY_VOID(want('{'));
    DimOrder out;
    for (bool another = !s_.eat('}'); another;) {
      EDGEC_TRY(uint8_t d, integer<uint8_t>("a dim"));
      out.push_back(d);
      EDGEC_TRY(another, more('}'));
    }
    DimOrder sorted = out;
    std::sort(sorted.begin(), sorted.end());
    const size_t dims = rank.value_or(sorted.size());
    if (sorted.size() != dims || !is_contiguous_order(sorted))
      return s_.failure(start, fmt::format("a dim order has each of the {} dims once", dims));
    return is_contiguous_order(out) ? DimOrder() : out;
  }

  Result<Type> sym_type(sym::Sort sort) {
    const size_t start = s_.offset();
    if (text::is_word(std::string(1, s_.peek()))) {
      const std::string_view w = s_.word();
      if (!sym::is_symbol_name(w)) return s_.failure(start, fmt::format("`{}` is no symbol", w));
      if (!syms_->find_symbol(w)) syms_->symbol(w, sort);
      s_.seek(start);
    }
    EDGEC_TRY(Arg a, arg(nullptr, 0));
    if (!a.is_expr() || a.expr().sort() != sort) return s_.failure(start, "expected a number of that sort");
    return Type::sym(a.expr());
  }

  Result<Type> type() {
    const size_t start = s_.offset();
    const std::string_view w = s_.word();
    if (w == "none") return Type::none();
    if (w == "symint") return sym_type(sym::Sort::Int);
    if (w == "symfloat") return sym_type(sym::Sort::Float);
    if (w == "symbool") return sym_type(sym::Sort::Bool);
    if (w == "object") {
      Type t;
      t.kind = Type::Kind::Object;
      EDGEC_TRY(t.object, string("a class name"));
      return t;
    }
    auto dtype = dtype_from_name(w);
    if (!dtype) {
      s_.seek(start);
      return s_.expected("a type: f32[2, 3], symint, symfloat, symbool, object or none");
    }
    TensorType t;
    t.dtype = *dtype;
    EDGEC_TRY(t.sizes, sizes());
    if (s_.peek_raw() == '{') {
      EDGEC_TRY(t.dim_order, dim_order(t.rank()));
    }
    if (const size_t before = s_.offset(); s_.eat_word("strides") && s_.peek() == '[') {
      EDGEC_TRY(t.strides, sizes(true));
      if (t.strides.size() != t.rank()) return s_.failure(before, fmt::format("expected {} strides", t.rank()));
    } else {
      s_.seek(before);
    }
    return Type::of(std::move(t));
  }

  Result<TypedPlace> typed_place() {
    TypedPlace out;
    EDGEC_TRY(out.type, type());
    if (const size_t start = s_.offset(); s_.eat_word("in")) {
      Scope::Alias alias{{}, {}, 0, start};
      EDGEC_TRY(alias.of, value_name());
      EDGEC_TRY_VOID(want('+'));
      EDGEC_TRY(alias.offset, integer("an offset in bytes"));
      if (alias.offset < 0) return s_.expected("an offset that is not negative");
      out.inside = alias;
    }
    if (s_.eat('@')) {
      MemoryPlace place;
      EDGEC_TRY(place.memory_id, integer<uint32_t>("a memory's number"));
      EDGEC_TRY_VOID(want('+'));
      EDGEC_TRY(place.offset, integer("an offset in bytes"));
      if (place.offset < 0) return s_.expected("an offset that is not negative");
      out.place = place;
    }
    return out;
  }

  // ---- arguments ----

  Result<Arg> number_arg() {
    const size_t start = s_.offset();
    const std::string_view n = s_.number();
    if (n.empty()) return s_.expected("a number");
    if (is_integer_text(n)) {
      if (auto v = to_number<int64_t>(n)) return Arg(*v);
    } else if (auto v = to_number<double>(n)) {
      return Arg(*v);
    }
    return s_.failure(start, fmt::format("the number {} does not fit", n));
  }

  Result<Arg> word_arg(Scope* scope, int depth) {
    const size_t start = s_.offset();
    const std::string_view w = s_.word();
    if (w == "true") return Arg(true);
    if (w == "false") return Arg(false);
    if (w == "none") return Arg();
    if (w == "nan") return Arg(std::numeric_limits<double>::quiet_NaN());
    if (w == "inf") return Arg(std::numeric_limits<double>::infinity());
    if (w == "graph" && scope) return subgraph(*scope, depth);
    if (auto d = dtype_from_name(w)) return Arg(*d);
    if (auto f = text::format_from_name(w)) return Arg(*f);
    if (auto symbol = syms_->find_symbol(w)) return Arg(*symbol);
    return s_.failure(start, fmt::format("`{}` is neither a symbol of the method nor a dtype, a memory format, true, "
                                         "false or none",
                                         w));
  }

  // Without a scope (literals, types) there are no values and graphs.
  Result<Arg> arg(Scope* scope, int depth) {
    if (depth > kMaxDepth) return s_.expected(fmt::format("at most {} lists and graphs in each other", kMaxDepth));
    const char c = s_.peek();
    if (c == '%' && scope) {
      const size_t start = s_.offset();
      EDGEC_TRY(std::string_view name, value_name());
      auto it = scope->values.find(name);
      if (it == scope->values.end()) return s_.failure(start, fmt::format("no value %{} above in this graph", name));
      return Arg(it->second);
    }
    if (c == '{') {
      EDGEC_TRY(sym::Expr e, braced_expression());
      return Arg(e);
    }
    if (c == '[') {
      s_.eat('[');
      ArgList items;
      for (bool another = !s_.eat(']'); another;) {
        EDGEC_TRY(Arg item, arg(scope, depth + 1));
        items.push_back(std::move(item));
        EDGEC_TRY(another, more(']'));
      }
      return Arg(std::move(items));
    }
    if (c == '"') {
      EDGEC_TRY(std::string s, string("a string"));
      return Arg(std::move(s));
    }
    if (c == '#') {
      EDGEC_TRY(ConstId k, constant_id());
      return Arg(k);
    }
    if (c == '&') {
      EDGEC_TRY(LoweredId l, lowered_id());
      return Arg(l);
    }
    if (c == '-' || (c >= '0' && c <= '9')) return number_arg();
    if (text::is_word(std::string(1, c))) return word_arg(scope, depth);
    return s_.expected("an argument");
  }

  Result<Arg> subgraph(Scope& outer, int depth) {
    auto g = std::make_unique<Graph>(outer.graph.syms_ptr());
    Scope scope{*g, {}};
    EDGEC_TRY_VOID(want('('));
    for (bool another = !s_.eat(')'); another;) {
      EDGEC_TRY_VOID(graph_input(scope));
      EDGEC_TRY(another, more(')'));
    }
    EDGEC_TRY_VOID(body(scope, nullptr, depth + 1));
    outer.graph.subgraphs.push_back(std::move(g));
    return Arg(GraphId(static_cast<uint32_t>(outer.graph.subgraphs.size() - 1)));
  }

  // ---- nodes ----

  Status declare(Scope& scope, std::string_view name, ValueId v, size_t start) {
    if (!scope.values.emplace(name, v).second) return s_.failure(start, fmt::format("a second value %{}", name));
    return {};
  }

  static void locate(Scope& scope, ValueId v, const TypedPlace& t) {
    scope.graph.value(v).place = t.place;
    if (!t.inside) return;
    scope.aliases.push_back(*t.inside);
    scope.aliases.back().value = v;
  }

  Status link_aliases(Scope& scope) {
    for (const Scope::Alias& a : scope.aliases) {
      const auto it = scope.values.find(a.of);
      if (it == scope.values.end()) return s_.failure(a.start, fmt::format("there is no value %{}", a.of));
      scope.graph.value(a.value).inside = MemoryAlias{it->second, a.offset};
    }
    return {};
  }

  Status graph_input(Scope& scope) {
    const size_t start = s_.offset();
    EDGEC_TRY(std::string_view name, value_name());
    EDGEC_TRY_VOID(want(':'));
    EDGEC_TRY(TypedPlace t, typed_place());
    const ValueId v = scope.graph.add_input(std::string(name), std::move(t.type));
    locate(scope, v, t);
    return declare(scope, name, v, start);
  }

  struct CallText {
    std::vector<Arg> positional;
    NamedArgs named;
  };

  Result<CallText> arguments(Scope& scope, int depth) {
    CallText out;
    EDGEC_TRY_VOID(want('('));
    for (bool another = !s_.eat(')'); another;) {
      const size_t start = s_.offset();
      const std::string_view name = s_.word();
      if (!name.empty() && s_.eat('=')) {
        for (const auto& [other, value] : out.named)
          if (other == name) return s_.failure(start, fmt::format("argument {} is given twice", name));
        EDGEC_TRY(Arg a, arg(&scope, depth));
        out.named.emplace_back(std::string(name), std::move(a));
      } else {
        s_.seek(start);
        if (!out.named.empty()) return s_.expected("a named argument: positional ones come first");
        EDGEC_TRY(Arg a, arg(&scope, depth));
        out.positional.push_back(std::move(a));
      }
      EDGEC_TRY(another, more(')'));
    }
    return out;
  }

  Result<const OpDef*> op_named(std::string_view name, const CallText& call, size_t results, size_t start) {
    while (name.starts_with("edge.")) name.remove_prefix(5);
    while (name.ends_with(".default")) name.remove_suffix(8);
    if (name.find('.') == std::string_view::npos || !text::is_word(name.substr(0, name.find('.'))))
      return s_.failure(start, fmt::format("expected an operator like aten.add.Tensor, found `{}`", name));
    std::vector<std::string> params;
    for (size_t i = 0; i < call.positional.size(); ++i) params.push_back(fmt::format("arg{}", i));
    for (const auto& [param, value] : call.named) params.push_back(param);
    if (const OpDef* op = Registry::global().unknown(name, params, results)) return op;
    return s_.failure(start, fmt::format("expected an operator like aten.add.Tensor, found `{}`", name));
  }

  Result<std::vector<Arg>> bind(const OpDef& op, CallText call, size_t start) {
    const auto& params = op.schema().params;
    for (size_t i = 0; i < std::min(call.positional.size(), params.size()); ++i)
      for (const auto& [name, value] : call.named)
        if (name == params[i].name) return s_.failure(start, fmt::format("argument {} is given twice", name));
    auto args = bind_args(op, std::move(call.positional), call.named);
    if (!args) return s_.failure(start, args.failure().message);
    return args;
  }

  Result<std::vector<Type>> inferred(const Graph& g, const OpDef& op, std::span<const Arg> args, size_t start) {
    if (!op.known) return s_.failure(start, fmt::format("{} is not in the table: expected `:` and types", op.name()));
    if (Status fit = check_args(g, op, args); !fit) return s_.failure(start, fit.failure().message);
    auto types = infer(g, op, args);
    if (!types) return s_.failure(start, types.failure().message);
    return types;
  }

  Location location(size_t start) const {
    SourceLocation loc;
    loc.file = "ir";
    loc.line = s_.position_of(start).line;
    loc.text = s_.line_text(start);
    return std::make_shared<const SourceLocation>(std::move(loc));
  }

  Status node(Scope& scope, int depth) {
    const size_t start = s_.offset();
    const Location loc = location(start);
    std::vector<std::string> names;
    std::vector<std::pair<std::string_view, size_t>> declared;
    if (s_.peek() == '%') {
      do {
        const size_t at = s_.offset();
        EDGEC_TRY(std::string_view name, value_name());
        names.emplace_back(name);
        declared.emplace_back(name, at);
      } while (s_.eat(','));
      EDGEC_TRY_VOID(want('='));
    }
    const size_t op_start = s_.offset();
    const std::string_view name = s_.dotted_name();
    if (name.empty()) return s_.expected("a node, `return` or `}`");
    EDGEC_TRY(CallText call, arguments(scope, depth));
    EDGEC_TRY(const OpDef* op, op_named(name, call, names.size(), op_start));
    EDGEC_TRY(std::vector<Arg> args, bind(*op, std::move(call), op_start));

    std::vector<Type> types;
    std::vector<TypedPlace> places;
    const size_t types_start = s_.offset();
    if (s_.eat(':')) {
      do {
        EDGEC_TRY(TypedPlace t, typed_place());
        types.push_back(t.type);
        places.push_back(std::move(t));
      } while (s_.eat(','));
    } else if (!names.empty()) {
      EDGEC_TRY(types, inferred(scope.graph, *op, args, op_start));
    }
    if (types.size() != names.size())
      return s_.failure(types_start, fmt::format("expected {} types, one per result, found {}", names.size(), types.size()));

    const NodeId n = scope.graph.add_node(op, std::move(args), std::move(types), loc, {}, names);
    const auto results = scope.graph.node(n).results;
    for (size_t i = 0; i < results.size(); ++i) {
      EDGEC_TRY_VOID(declare(scope, declared[i].first, results[i], declared[i].second));
      if (i < places.size()) locate(scope, results[i], places[i]);
    }
    return {};
  }

  Status body(Scope& scope, Method* m, int depth) {
    if (depth > kMaxDepth) return s_.expected(fmt::format("at most {} lists and graphs in each other", kMaxDepth));
    EDGEC_TRY_VOID(want('{'));
    while (!s_.eat_word("return")) EDGEC_TRY_VOID(node(scope, depth));
    for (bool another = !s_.eat('}'); another;) {
      EDGEC_TRY(Arg a, arg(&scope, depth));
      scope.graph.outputs.push_back(std::move(a));
      if (m) {
        EDGEC_TRY(OutputSpec spec, output_spec());
        m->outputs.push_back(std::move(spec));
      }
      EDGEC_TRY(another, more('}'));
    }
    return link_aliases(scope);
  }

  Result<OutputSpec> output_spec() {
    OutputSpec spec;
    if (s_.eat_word("order")) {
      EDGEC_TRY(spec.dim_order, dim_order({}));
    }
    if (!s_.eat("->")) return spec;
    if (s_.eat_word("buffer"))
      spec.kind = OutputSpec::Kind::BufferMutation;
    else if (s_.eat_word("input"))
      spec.kind = OutputSpec::Kind::InputMutation;
    else
      return s_.expected("`buffer` or `input`");
    EDGEC_TRY(spec.target, string("its name"));
    return spec;
  }

  // ---- methods ----

  Status method(Method& m) {
    method_ = &m;
    syms_ = m.syms.get();
    EDGEC_TRY(m.name, at_name());
    EDGEC_TRY_VOID(want('('));
    // What is known of the symbols stands after the inputs and is needed to read them.
    const size_t inputs = s_.offset();
    if (!s_.until_close(')')) return s_.failure(inputs, "expected inputs and `)`");
    EDGEC_TRY_VOID(facts(m));
    const size_t start_of_body = s_.offset();
    s_.seek(inputs);
    Scope scope{*m.graph, {}};
    for (bool another = !s_.eat(')'); another;) {
      EDGEC_TRY_VOID(method_input(scope, m));
      EDGEC_TRY(another, more(')'));
    }
    s_.seek(start_of_body);
    return body(scope, &m, 0);
  }

  Status facts(Method& m) {
    if (!s_.eat_word("where")) return {};
    do {
      if (s_.peek() == '{') {
        Method::Guard guard;
        const size_t start = s_.offset();
        EDGEC_TRY(guard.condition, braced_expression());
        if (guard.condition.sort() != sym::Sort::Bool) return s_.failure(start, "a guard is a condition");
        guard.loc = location(start);
        if (s_.peek() == '"') {
          EDGEC_TRY(guard.message, string("a message"));
        }
        m.guards.push_back(std::move(guard));
      } else {
        EDGEC_TRY_VOID(symbol_fact(m));
      }
    } while (s_.eat(','));
    return {};
  }

  Status symbol_fact(Method& m) {
    const size_t start = s_.offset();
    const std::string_view name = s_.word();
    if (!sym::is_symbol_name(name)) {
      s_.seek(start);
      return s_.expected("a symbol or a condition in braces");
    }
    if (m.syms->find_symbol(name)) return s_.failure(start, fmt::format("{} is described after its first use", name));
    sym::Sort sort = sym::Sort::Int;
    if (s_.eat_word("float"))
      sort = sym::Sort::Float;
    else if (s_.eat_word("bool"))
      sort = sym::Sort::Bool;
    const sym::Expr symbol = m.syms->symbol(name, sort);
    if (!s_.eat_word("in")) return {};
    sym::Range range;
    if (!s_.eat("..")) {
      EDGEC_TRY(int64_t lo, integer("a range: 1..4, 1.. or ..4"));
      range.lo = lo;
      if (!s_.eat("..")) return s_.expected("`..`");
    }
    if (const char c = s_.peek(); c == '-' || (c >= '0' && c <= '9')) {
      EDGEC_TRY(int64_t hi, integer("the end of a range"));
      range.hi = hi;
    }
    if (range.lo && range.hi && *range.lo > *range.hi) return s_.failure(start, "the range is empty");
    m.syms->set_range(symbol, range);
    return {};
  }

  Status method_input(Scope& scope, Method& m) {
    EDGEC_TRY_VOID(graph_input(scope));
    const Value& v = scope.graph.value(scope.graph.inputs.back());
    InputSpec spec;
    spec.name = v.name;
    if (s_.eat('=')) {
      EDGEC_TRY(spec, input_spec(m, v.type));
    }
    m.inputs.push_back(std::move(spec));
    return {};
  }

  Result<InputSpec> input_spec(Method& m, const Type& t) {
    using Kind = InputSpec::Kind;
    constexpr std::pair<std::string_view, Kind> kinds[] = {{"parameter", Kind::Parameter},
                                                           {"buffer", Kind::Buffer},
                                                           {"constant", Kind::Constant},
                                                           {"input", Kind::UserInput},
                                                           {"literal", Kind::Literal}};
    const size_t start = s_.offset();
    const std::string_view w = s_.word();
    const auto* found = std::find_if(std::begin(kinds), std::end(kinds), [&](auto& k) { return k.first == w; });
    if (found == std::end(kinds)) {
      s_.seek(start);
      return s_.expected("input, parameter, buffer, constant or literal");
    }
    InputSpec spec;
    spec.kind = found->second;
    EDGEC_TRY(spec.name, string("a name"));
    if (spec.kind == Kind::Literal) {
      EDGEC_TRY(spec.literal, arg(nullptr, 0));
    }
    if (spec.is_weight()) {
      EDGEC_TRY(spec.data, weight(m, spec.name, t, start));
    }
    spec.persistent = !s_.eat_word("transient");
    spec.mutated = s_.eat_word("mutated");
    return spec;
  }

  // ---- constants ----

  // `#k`; or the constant of that name, made up when there is none.
  Result<ConstId> weight(Method& m, const std::string& name, const Type& t, size_t start) {
    if (s_.peek() == '#') return constant_id();
    for (size_t i = 0; i < m.constants.size(); ++i)
      if (m.constants[i].name == name) return ConstId(static_cast<uint32_t>(i));
    if (!t.is_tensor() || !t.tensor.is_static()) return s_.failure(start, "a weight has a tensor type of known sizes");
    std::vector<int64_t> dims;
    for (const Dim& d : t.tensor.sizes) dims.push_back(*d.constant());
    EDGEC_TRY(TensorData data, zeros(t.tensor.dtype, std::move(dims), start));
    return m.add_constant(name, std::move(data));
  }

  // A constant without values. Large ones repeat one zero.
  Result<TensorData> zeros(DType dtype, std::vector<int64_t> dims, size_t start) {
    const size_t width = size_of(dtype);
    TensorData data = make_tensor_data(dtype, {}, std::vector<std::byte>(width));
    data.sizes = std::move(dims);
    data.strides.assign(data.sizes.size(), 0);
    if (!data.in_bounds()) return s_.failure(start, "the sizes of the constant overflow");
    if (data.nbytes() > kMaxZeroBytes - zero_bytes_) return data;
    zero_bytes_ += data.nbytes();
    return make_tensor_data(dtype, data.sizes, std::vector<std::byte>(static_cast<size_t>(data.nbytes())));
  }

  Status constant(Method& m) {
    const size_t start = s_.offset();
    EDGEC_TRY_VOID(want('#'));
    EDGEC_TRY(uint32_t k, integer<uint32_t>("a constant's number"));
    if (k != m.constants.size()) return s_.failure(start, fmt::format("expected constant #{}", m.constants.size()));
    EDGEC_TRY(std::string name, string("the constant's name"));
    sym::Context no_symbols;
    syms_ = &no_symbols;
    method_ = nullptr;
    EDGEC_TRY(Type t, type());
    if (!t.is_tensor() || !t.tensor.is_static() || !t.tensor.dim_order.empty() || !t.tensor.strides.empty())
      return s_.failure(start, "a constant has a contiguous tensor type of known sizes");
    std::vector<int64_t> dims;
    for (const Dim& d : t.tensor.sizes) dims.push_back(*d.constant());
    EDGEC_TRY(TensorData data, zeros(t.tensor.dtype, dims, start));
    if (s_.eat('=')) {
      EDGEC_TRY(data, values(t.tensor.dtype, std::move(dims), data.numel()));
    }
    m.add_constant(std::move(name), std::move(data));
    return {};
  }

  // ---- lowered modules ----

  Status lowered(Method& m, int depth) {
    const size_t start = s_.offset();
    if (depth > kMaxDepth) return s_.expected(fmt::format("at most {} lowered modules in each other", kMaxDepth));
    EDGEC_TRY_VOID(want('&'));
    EDGEC_TRY(uint32_t k, integer<uint32_t>("a lowered module's number"));
    if (k != m.lowered.size()) return s_.failure(start, fmt::format("expected lowered module &{}", m.lowered.size()));
    auto out = std::make_shared<LoweredModule>();
    EDGEC_TRY(out->backend_id, string("the backend's id"));
    EDGEC_TRY(out->compile_specs, compile_specs());
    EDGEC_TRY_VOID(want('{'));
    auto region = std::make_unique<Method>();
    while (!s_.eat_word("method")) {
      if (s_.eat_word("constant")) {
        EDGEC_TRY_VOID(constant(*region));
      } else if (s_.eat_word("lowered")) {
        EDGEC_TRY_VOID(lowered(*region, depth + 1));
      } else {
        return s_.expected("`method`, `constant` or `lowered`");
      }
    }
    EDGEC_TRY_VOID(method(*region));
    EDGEC_TRY_VOID(want('}'));
    out->region = std::move(region);
    m.lowered.push_back(std::move(out));
    return {};
  }

  Result<CompileSpecs> compile_specs() {
    CompileSpecs out;
    EDGEC_TRY_VOID(want('['));
    for (bool another = !s_.eat(']'); another;) {
      EDGEC_TRY_VOID(want('['));
      EDGEC_TRY(std::string key, string("a key"));
      EDGEC_TRY_VOID(want(','));
      EDGEC_TRY(std::string value, string("its value"));
      EDGEC_TRY_VOID(want(']'));
      out.push_back(compile_spec(std::move(key), value));
      EDGEC_TRY(another, more(']'));
    }
    return out;
  }

  // "[1.0, 2.0]": all elements in contiguous order.
  Result<TensorData> values(DType dtype, std::vector<int64_t> dims, int64_t count) {
    const size_t start = s_.offset();
    if (is_complex(dtype)) return s_.failure(start, "values of complex dtypes are not written out");
    EDGEC_TRY(Arg list, arg(nullptr, 0));
    if (!list.is_list() || static_cast<int64_t>(list.list().size()) != count)
      return s_.failure(start, fmt::format("expected a list of {} numbers", count));
    std::vector<std::byte> bytes;
    for (const Arg& item : list.list()) {
      if (item.is_expr() && item.expr().is_static())
        append_integer(bytes, dtype, *item.expr().constant());
      else if (item.is_bool())
        append_integer(bytes, dtype, std::get<bool>(item.state));
      else if (item.is_float())
        append_element(bytes, dtype, std::get<double>(item.state));
      else
        return s_.failure(start, "a constant holds plain numbers");
    }
    return make_tensor_data(dtype, std::move(dims), std::move(bytes));
  }

  Result<ConstantMethod> constant_method() {
    sym::Context no_symbols;
    syms_ = &no_symbols;
    method_ = nullptr;
    ConstantMethod out;
    EDGEC_TRY(out.name, at_name());
    EDGEC_TRY_VOID(want('='));
    const size_t start = s_.offset();
    EDGEC_TRY(Arg list, arg(nullptr, 0));
    if (!list.is_list()) return s_.failure(start, "expected a list");
    out.values = list.list();
    for (const Arg& a : out.values)
      if (!a.is_float() && !a.is_bool() && !std::holds_alternative<std::string>(a.state) && !(a.is_expr() && a.expr().is_static()))
        return s_.failure(start, "a constant method gives ints, floats, bools and strings");
    return out;
  }

  Scanner s_;
  Method* method_ = nullptr;
  sym::Context* syms_ = nullptr;
  int64_t zero_bytes_ = 0;
};

}  // namespace

Result<std::unique_ptr<Program>> parse_program(std::string_view text) { return Parser(text).program(); }

}  // namespace edgec
