#include "pt2/read.h"

#include <fmt/format.h>

#include <cmath>

#include <edgec/op.h>
#include "pt2/archive.h"
#include "pt2/location.h"
#include "pt2/subclasses.h"
#include "pt2/weights.h"
#include "support/json.h"

namespace edgec::pt2 {
namespace {

constexpr int kMaxGraphDepth = 32;
constexpr int kSupportedMajor = 8;

// Reads one model's JSON records into a Method.
class Reader {
 public:
  Reader(const Archive& archive, Method& method) : archive_(archive), m_(method) {}

  Status read() {
    EDGEC_TRY(Weights weights, Weights::read(archive_, m_));
    weights_ = &weights;
    const std::string& record = archive_.parts().program;
    EDGEC_TRY(auto json, archive_.checked(record));
    EDGEC_TRY(JsonDocument doc, JsonDocument::parse(json->bytes, archive_.path() + ": " + record));
    const JsonValue root = doc.root();
    EDGEC_TRY_VOID(check_version(root));
    EDGEC_TRY_VOID(read_ranges(root));
    EDGEC_TRY(JsonValue module, root.at("graph_module"));
    EDGEC_TRY(JsonValue graph, module.at("graph"));
    EDGEC_TRY(JsonValue signature, module.at("signature"));
    EDGEC_TRY(Subclasses subclasses, Subclasses::resolve(graph, signature, weights, m_));
    subclasses_ = &subclasses;
    EDGEC_TRY_VOID(read_graph(graph, *m_.graph, 0));
    EDGEC_TRY_VOID(read_input_specs(signature));
    EDGEC_TRY_VOID(read_output_specs(signature));
    return read_call_specs(module);
  }

 private:
  using Names = std::unordered_map<std::string_view, ValueId>;

  // ---- header -----------------------------------------------------------------------------------------------------

  Status check_version(JsonValue root) {
    EDGEC_TRY(JsonValue version, root.at("schema_version"));
    EDGEC_TRY(int64_t major, version.integer("major"));
    if (major != kSupportedMajor) {
      auto torch = root.find("torch_version");
      return model_error(fmt::format("{}: export schema {} (torch {}) is not supported; schema {} is (torch 2.7 to 2.14)", archive_.path(),
                                     major, torch && torch->is_string() ? std::string(*torch->as_string()) : "?", kSupportedMajor));
    }
    return {};
  }

  // Keys are plain text: a symbol, or an expression of a derived dim whose range follows from its symbol's.
  Status read_ranges(JsonValue root) {
    EDGEC_TRY(JsonObject ranges, root.object("range_constraints"));
    for (auto [key, value] : ranges) {
      auto e = sym::parse(key, *m_.syms);
      if (!e) return value.error(fmt::format("range of \"{}\": {}", key, e.failure().message));
      if (e->kind() != sym::Kind::Symbol) continue;
      sym::Range r;
      EDGEC_TRY(r.lo, read_bound(value, "min_val"));
      EDGEC_TRY(r.hi, read_bound(value, "max_val"));
      if (r.lo && r.hi && *r.lo > *r.hi) return value.error(fmt::format("range of {} is empty ({} to {})", key, *r.lo, *r.hi));
      m_.syms->set_range(*e, r);
    }
    return {};
  }

  static Result<std::optional<int64_t>> read_bound(JsonValue range, std::string_view key) {
    auto v = range.find(key);
    if (!v || v->is_null() || v->is_string()) return std::optional<int64_t>();  // null, or "int_oo"
    EDGEC_TRY(int64_t n, v->as_int());
    return std::optional<int64_t>(n);
  }

  // ---- types ------------------------------------------------------------------------------------------------------

  Result<sym::Expr> read_expr(JsonValue v) {
    if (auto n = v.find("as_int")) return to_expr(n->as_int());
    EDGEC_TRY(JsonValue expr, v.at("as_expr"));
    EDGEC_TRY(std::string_view text, expr.string("expr_str"));
    auto e = exprs_.find(text);
    if (e != exprs_.end()) return e->second;
    auto read = sym::read_sympy(text, *m_.syms);
    if (!read) return v.error(read.failure().message);
    exprs_.emplace(std::string(text), *read);
    return *read;
  }
  static Result<sym::Expr> to_expr(Result<int64_t> n) {
    if (!n) return std::move(n).failure();
    return sym::Expr(*n);
  }

  Result<Dims> read_dims(JsonValue meta, std::string_view key) {
    EDGEC_TRY(JsonArray items, meta.array(key));
    Dims out;
    for (JsonValue item : items) {
      EDGEC_TRY(sym::Expr e, read_expr(item));
      if (e.sort() != sym::Sort::Int) return item.error("a size must be an integer expression");
      if (auto n = e.constant(); n && *n < 0) return item.error(fmt::format("a size or stride of {} is not possible", *n));
      out.push_back(e);
    }
    return out;
  }

  Result<TensorType> read_tensor_type(JsonValue meta) {
    TensorType t;
    EDGEC_TRY(t.dtype, read_dtype(meta));
    EDGEC_TRY(t.sizes, read_dims(meta, "sizes"));
    if (t.sizes.size() > 16) return meta.error(fmt::format("rank {} is too large; the runtime takes up to 16", t.sizes.size()));
    EDGEC_TRY(int64_t layout, meta.integer("layout"));
    if (layout != 7) return meta.error("only strided tensors are supported (this one is sparse or of another layout)");
    EDGEC_TRY(Dims strides, read_dims(meta, "strides"));
    if (strides.size() != t.sizes.size()) return meta.error("as many strides as sizes are needed");
    if (!agree(t.sizes, strides, strides_of(t.sizes, {}))) {
      const DimOrder last = channels_last_order(t.rank());
      if (!last.empty() && agree(t.sizes, strides, strides_of(t.sizes, last)))
        t.dim_order = last;
      else
        t.strides = std::move(strides);
    }
    return t;
  }

  // Strides of dims of size 1 say nothing.
  static bool agree(const Dims& sizes, const Dims& a, const Dims& b) {
    for (size_t i = 0; i < sizes.size(); ++i)
      if (sizes[i] != Dim(1) && a[i] != b[i]) return false;
    return true;
  }

  // ---- graphs -----------------------------------------------------------------------------------------------------

  // The graph's own tables of value types, and the names seen so far.
  struct Scope {
    Graph& g;
    Names names;
    std::unordered_map<std::string_view, JsonValue> tensors, ints, floats, bools;
    int depth;
  };

  static Status index(JsonValue graph, std::string_view key, std::unordered_map<std::string_view, JsonValue>& to) {
    auto table = graph.find(key);
    if (!table || table->is_null()) return {};
    EDGEC_TRY(JsonObject object, table->as_object());
    for (auto [name, value] : object) to.emplace(name, value);
    return {};
  }

  Status read_graph(JsonValue graph, Graph& g, int depth) {
    if (depth > kMaxGraphDepth) return graph.error("sub-graphs are nested too deeply");
    Scope s{g, {}, {}, {}, {}, {}, depth};
    EDGEC_TRY_VOID(index(graph, "tensor_values", s.tensors));
    EDGEC_TRY_VOID(index(graph, "sym_int_values", s.ints));
    EDGEC_TRY_VOID(index(graph, "sym_float_values", s.floats));
    EDGEC_TRY_VOID(index(graph, "sym_bool_values", s.bools));
    EDGEC_TRY(JsonArray inputs, graph.array("inputs"));
    for (JsonValue input : inputs) {
      if (depth == 0) made_.emplace_back();
      EDGEC_TRY_VOID(read_graph_input(input, s));
      if (depth == 0) made_.back().end = g.inputs.size();
    }
    EDGEC_TRY(JsonArray nodes, graph.array("nodes"));
    for (JsonValue node : nodes) EDGEC_TRY_VOID(read_node(node, s));
    EDGEC_TRY(JsonArray outputs, graph.array("outputs"));
    for (JsonValue output : outputs) {
      EDGEC_TRY(Arg a, read_arg(output, s, nullptr));
      g.outputs.push_back(std::move(a));
    }
    return {};
  }

  Status define(JsonValue at, std::string_view name, ValueId id, Scope& s) {
    if (!s.names.emplace(name, id).second) return at.error(fmt::format("value \"{}\" is defined twice", name));
    return {};
  }

  Status read_graph_input(JsonValue input, Scope& s) {
    EDGEC_TRY(auto member, input.only_member());
    const auto [kind, value] = member;
    if (kind == "as_tensor" || kind.starts_with("as_sym_")) {
      auto named = value.find(kind == "as_tensor" ? "name" : "as_name");
      if (!named && kind.starts_with("as_sym_")) {  // a number fixed at export
        s.g.add_input("literal", Type::none());
        return {};
      }
      EDGEC_TRY(std::string_view name, value.string(kind == "as_tensor" ? "name" : "as_name"));
      if (s.depth == 0)
        if (const auto* inner = subclasses_->inner(name)) {
          made_.back().inner = inner;
          return read_inner_inputs(input, *inner, s);
        }
      EDGEC_TRY(Type t, kind == "as_tensor" ? tensor_type(value, name, s) : sym_type(value, name, s));
      return define(input, name, s.g.add_input(std::string(name), std::move(t)), s);
    }
    if (kind == "as_custom_obj" && s.depth == 0) return {};  // no value: only an error where something uses it
    if (kind == "as_custom_obj") return model_error(fmt::format("{}: sub-graphs with objects are not supported", archive_.path()));
    s.g.add_input("literal", Type::none());
    return {};
  }

  // In place of a tensor subclass: what the graph takes out of it.
  Status read_inner_inputs(JsonValue input, const std::vector<Subclasses::Inner>& inner, Scope& s) {
    for (const auto& i : inner) {
      EDGEC_TRY(Type t, tensor_type(input, i.values.front(), s));
      const ValueId id = s.g.add_input(i.input, std::move(t));
      for (std::string_view name : i.values) EDGEC_TRY_VOID(define(input, name, id, s));
    }
    return {};
  }

  Result<Type> tensor_type(JsonValue at, std::string_view name, Scope& s) {
    auto it = s.tensors.find(name);
    if (it == s.tensors.end()) return at.error(fmt::format("tensor \"{}\" has no entry in tensor_values", name));
    EDGEC_TRY(TensorType t, read_tensor_type(it->second));
    return Type::of(std::move(t));
  }

  Result<Type> sym_type(JsonValue at, std::string_view name, Scope& s) {
    for (auto* table : {&s.ints, &s.floats, &s.bools}) {
      auto it = table->find(name);
      if (it == table->end()) continue;
      const JsonValue v = it->second;
      if (auto b = v.find("as_bool")) {
        EDGEC_TRY(bool known, b->as_bool());
        return Type::sym(sym::Expr::of(known, *m_.syms));
      }
      if (auto f = v.find("as_float")) {
        EDGEC_TRY(double known, read_float(*f));
        return Type::sym(sym::Expr::of(known, *m_.syms));
      }
      EDGEC_TRY(sym::Expr e, read_expr(v));
      return Type::sym(e);
    }
    return at.error(fmt::format("symbolic value \"{}\" has no entry in the graph's tables", name));
  }

  static Result<double> read_float(JsonValue v) {
    if (!v.is_string()) return v.as_number();
    EDGEC_TRY(std::string_view text, v.as_string());
    if (text == "Infinity" || text == "inf") return std::numeric_limits<double>::infinity();
    if (text == "-Infinity" || text == "-inf") return -std::numeric_limits<double>::infinity();
    if (text == "NaN" || text == "nan") return std::numeric_limits<double>::quiet_NaN();
    return v.error("not a number");
  }

  // ---- nodes ------------------------------------------------------------------------------------------------------

  static std::string op_name(std::string_view target) {
    if (target.starts_with("torch.ops.")) target.remove_prefix(10);
    if (target.starts_with("#")) {
      std::string name(target.substr(1));
      if (size_t colon = name.find(':'); colon != std::string::npos) name[colon] = '.';
      return name;
    }
    return std::string(target);
  }

  Status read_node(JsonValue node, Scope& s) {
    EDGEC_TRY(std::string_view target, node.string("target"));
    EDGEC_TRY(JsonArray inputs, node.array("inputs"));
    EDGEC_TRY(JsonArray outputs, node.array("outputs"));
    if (s.depth == 0 && outputs.size() == 1)
      if (auto out = (*outputs.begin()).find("as_tensor"))
        if (auto made = out->string("name"); made && is_taken_apart(*made)) return {};

    std::vector<Type> types;
    std::vector<std::string> names;
    std::vector<std::pair<std::string_view, size_t>> defined;  // name in the archive, result
    for (JsonValue output : outputs) EDGEC_TRY_VOID(read_result(output, s, types, names, defined));

    const std::string name = op_name(target);
    const OpDef* op = Registry::global().find(name);
    if (!op) {
      std::vector<std::string> params;
      for (JsonValue input : inputs) {
        EDGEC_TRY(std::string_view p, input.string("name"));
        params.push_back(p.empty() ? fmt::format("arg{}", params.size()) : std::string(p));
      }
      op = Registry::global().unknown(name, params, types.size());
      if (!op) return node.error(fmt::format("\"{}\" is not an operator's name", target));
    }
    const Schema& schema = op->schema();
    std::vector<Arg> args;
    for (const Param& p : schema.params) args.push_back(default_arg(p));
    size_t position = 0;
    for (JsonValue input : inputs) {
      EDGEC_TRY(std::string_view param, input.string("name"));
      EDGEC_TRY(JsonValue value, input.at("arg"));
      int i = param.empty() ? static_cast<int>(position) : schema.find(param);
      if (i < 0 || static_cast<size_t>(i) >= args.size()) {
        if (!op->known && position < args.size())
          i = static_cast<int>(position);
        else
          return node.error(fmt::format("{} has no argument \"{}\"", name, param));
      }
      EDGEC_TRY(Arg a, read_arg(value, s, &schema.params[static_cast<size_t>(i)]));
      args[static_cast<size_t>(i)] = std::move(a);
      ++position;
    }
    if (op->known)
      if (auto ok = check_args(s.g, *op, args); !ok) return node.error(ok.failure().message);

    const NodeId id = s.g.add_node(op, std::move(args), std::move(types), read_location(node), {}, names);
    for (auto [value_name, result] : defined) EDGEC_TRY_VOID(define(node, value_name, s.g.node(id).results[result], s));
    return {};
  }

  // One output of a node: a value, or the elements of a list.
  Status read_result(JsonValue output, Scope& s, std::vector<Type>& types, std::vector<std::string>& names,
                     std::vector<std::pair<std::string_view, size_t>>& defined) {
    EDGEC_TRY(auto member, output.only_member());
    const auto [kind, value] = member;
    const auto add = [&](std::string_view name, Result<Type> t) -> Status {
      if (!t) return std::move(t).failure();
      defined.emplace_back(name, types.size());
      names.emplace_back(name);
      types.push_back(*std::move(t));
      return {};
    };
    if (kind == "as_none") {
      names.emplace_back("none");
      types.push_back(Type::none());
      return {};
    }
    if (kind == "as_tensor") {
      EDGEC_TRY(std::string_view name, value.string("name"));
      return add(name, tensor_type(value, name, s));
    }
    if (kind == "as_tensors" || kind == "as_optional_tensors" || kind == "as_optional_tensor") {
      if (!value.is_array()) return read_result(value, s, types, names, defined);
      EDGEC_TRY(JsonArray items, value.as_array());
      for (JsonValue item : items) {
        if (item.find("as_tensor") || item.find("as_none")) {
          EDGEC_TRY_VOID(read_result(item, s, types, names, defined));
          continue;
        }
        EDGEC_TRY(std::string_view name, item.string("name"));
        EDGEC_TRY_VOID(add(name, tensor_type(item, name, s)));
      }
      return {};
    }
    if (kind == "as_sym_int" || kind == "as_sym_float" || kind == "as_sym_bool") {
      if (!value.find("as_name")) {  // a number known at export
        EDGEC_TRY(Arg known, read_arg(value, s, nullptr));
        names.emplace_back("known");
        types.push_back(Type::sym(expr_of(s.g, known)));
        return {};
      }
      EDGEC_TRY(std::string_view name, value.string("as_name"));
      return add(name, sym_type(value, name, s));
    }
    if (kind == "as_int" || kind == "as_float" || kind == "as_bool") {
      EDGEC_TRY(Arg known, read_arg(output, s, nullptr));
      names.emplace_back("known");
      types.push_back(Type::sym(expr_of(s.g, known)));
      return {};
    }
    return output.error(fmt::format("results of kind {} are not supported", kind));
  }

  Location read_location(JsonValue node) {
    auto metadata = node.find("metadata");
    if (!metadata) return nullptr;
    const auto text = [&](std::string_view key) -> std::string_view {
      auto v = metadata->find(key);
      if (!v) return {};
      auto t = v->as_string();
      return t ? *t : std::string_view();
    };
    return locations_.read(text("stack_trace"), text("nn_module_stack"));
  }

  // ---- arguments --------------------------------------------------------------------------------------------------

  // Is this value an attribute of a tensor subclass, which an input stands for?
  bool is_taken_apart(std::string_view value) const {
    return subclasses_->resolved(value) || (subclasses_->whole(value) && !subclasses_->inner(value));
  }

  Result<Arg> use(JsonValue at, std::string_view name, Scope& s) {
    auto it = s.names.find(name);
    if (it == s.names.end() && s.depth == 0)
      if (auto whole = subclasses_->whole(name))
        return model_error(
            fmt::format("{}: {}: the weight {} is used as a whole, which is not supported\n  "
                        "call torchao.utils.unwrap_tensor_subclass(model) before the export",
                        archive_.path(), at.path(), *whole));
    if (it == s.names.end()) return at.error(fmt::format("value \"{}\" is used but not defined", name));
    return Arg(it->second);
  }

  template <class Fn>
  Result<Arg> read_list(JsonValue v, const Fn& item) {
    EDGEC_TRY(JsonArray items, v.as_array());
    ArgList out;
    for (JsonValue i : items) {
      Result<Arg> a = item(i);
      if (!a) return std::move(a).failure();
      out.push_back(*std::move(a));
    }
    return Arg(std::move(out));
  }

  Result<Arg> read_arg(JsonValue v, Scope& s, const Param* p) {
    EDGEC_TRY(auto member, v.only_member());
    const auto [kind, value] = member;
    const JsonValue held = value;
    const auto number = [&](JsonValue i) -> Result<Arg> {
      EDGEC_TRY(int64_t n, i.as_int());
      return Arg(n);
    };
    const auto real = [&](JsonValue i) -> Result<Arg> {
      EDGEC_TRY(double d, read_float(i));
      return Arg(d);
    };
    const auto truth = [&](JsonValue i) -> Result<Arg> {
      EDGEC_TRY(bool b, i.as_bool());
      return Arg(b);
    };
    const auto text = [&](JsonValue i) -> Result<Arg> {
      EDGEC_TRY(std::string_view t, i.as_string());
      return Arg(std::string(t));
    };
    const auto tensor = [&](JsonValue i) -> Result<Arg> {
      EDGEC_TRY(std::string_view name, i.string("name"));
      return use(i, name, s);
    };
    const auto symbolic = [&](JsonValue i) -> Result<Arg> {
      if (auto n = i.find("as_name")) {
        EDGEC_TRY(std::string_view name, n->as_string());
        return use(i, name, s);
      }
      return read_arg(i, s, p);
    };
    const auto any = [&](JsonValue i) { return read_arg(i, s, p); };

    if (kind == "as_none") return Arg();
    if (kind == "as_tensor") return tensor(held);
    if (kind == "as_tensors") return read_list(held, tensor);
    if (kind == "as_optional_tensor") return read_arg(held, s, p);
    if (kind == "as_optional_tensors") return read_list(held, any);
    if (kind == "as_nested_tensors") return read_list(held, [&](JsonValue i) { return read_list(i, tensor); });
    if (kind == "as_int") return number(held);
    if (kind == "as_ints") return read_list(held, number);
    if (kind == "as_int_lists") return read_list(held, [&](JsonValue i) { return read_list(i, number); });
    if (kind == "as_float") return real(held);
    if (kind == "as_floats") return read_list(held, real);
    if (kind == "as_complex") {  // a list of two, until passes/complex_parts
      EDGEC_TRY(JsonValue re, held.at("real"));
      EDGEC_TRY(JsonValue im, held.at("imag"));
      EDGEC_TRY(Arg re_part, real(re));
      EDGEC_TRY(Arg im_part, real(im));
      return Arg(ArgList{re_part, im_part});
    }
    if (kind == "as_float_lists") return read_list(held, [&](JsonValue i) { return read_list(i, real); });
    if (kind == "as_bool") return truth(held);
    if (kind == "as_bools") return read_list(held, truth);
    if (kind == "as_string" || kind == "as_operator") return text(held);
    if (kind == "as_strings") return read_list(held, text);
    if (kind == "as_sym_int" || kind == "as_sym_float" || kind == "as_sym_bool") return symbolic(held);
    if (kind == "as_sym_ints" || kind == "as_sym_floats" || kind == "as_sym_bools") return read_list(held, symbolic);
    if (kind == "as_scalar_type") {
      EDGEC_TRY(int64_t n, held.as_int());
      auto d = dtype_from_serialized(n);
      if (!d) return v.error(fmt::format("dtype {} is not known", n));
      return Arg(*d);
    }
    if (kind == "as_memory_format") {
      EDGEC_TRY(int64_t n, held.as_int());
      if (n < 1 || n > 4) return v.error(fmt::format("memory format {} is not known", n));
      return Arg(static_cast<MemoryFormat>(n));
    }
    if (kind == "as_layout" || kind == "as_device") return Arg();  // strided, wherever the program runs
    if (kind == "as_graph") {
      EDGEC_TRY(JsonValue graph, held.at("graph"));
      auto sub = std::make_unique<Graph>(m_.syms);
      EDGEC_TRY_VOID(read_graph(graph, *sub, s.depth + 1));
      s.g.subgraphs.push_back(std::move(sub));
      return Arg(GraphId(static_cast<uint32_t>(s.g.subgraphs.size() - 1)));
    }
    if (kind == "as_custom_obj") {
      auto name = held.find("class_fqn");
      return model_error(fmt::format("{}: {}: an object of class {} is used, which is not supported", archive_.path(), v.path(),
                                     name && name->is_string() ? *name->as_string() : "?"));
    }
    return v.error(fmt::format("arguments of kind {} are not supported", kind));
  }

  // ---- signature --------------------------------------------------------------------------------------------------

  Status read_input_specs(JsonValue signature) {
    EDGEC_TRY(JsonArray specs, signature.array("input_specs"));
    size_t at = 0;  // Subclasses has seen that there are as many specs as inputs
    for (JsonValue spec : specs) {
      EDGEC_TRY(auto member, spec.only_member());
      const auto [kind, v] = member;
      const auto [end, inner] = made_[at++];
      if (kind == "custom_obj" && end == m_.inputs.size()) continue;
      if (inner) {
        EDGEC_TRY_VOID(read_inner_specs(spec, *inner));
        continue;
      }
      if (end != m_.inputs.size() + 1) return spec.error("it does not fit its graph input");
      const ValueId input = m_.graph->inputs[m_.inputs.size()];
      InputSpec in;
      in.name = m_.graph->value(input).name;
      if (kind == "parameter") {
        EDGEC_TRY_VOID(weight(v, "parameter_name", InputSpec::Kind::Parameter, input, in));
      } else if (kind == "buffer") {
        EDGEC_TRY_VOID(weight(v, "buffer_name", InputSpec::Kind::Buffer, input, in));
        auto persistent = v.find("persistent");
        in.persistent = !persistent || !persistent->is_bool() || *persistent->as_bool();
      } else if (kind == "tensor_constant") {
        EDGEC_TRY_VOID(weight(v, "tensor_constant_name", InputSpec::Kind::Constant, input, in));
      } else if (kind == "user_input") {
        if (m_.graph->type(input).kind == Type::Kind::None) {
          EDGEC_TRY(JsonValue arg, v.at("arg"));
          EDGEC_TRY_VOID(literal(arg, in));
        }
        m_.input_names.push_back(in.name);
      } else if (kind == "constant_input") {
        EDGEC_TRY(std::string_view name, v.string("name"));
        in.name = name;
        EDGEC_TRY(JsonValue value, v.at("value"));
        EDGEC_TRY_VOID(literal(value, in));
        m_.input_names.push_back(in.name);
      } else {
        return model_error(fmt::format("{}: graph inputs of kind {} are not supported", archive_.path(), kind));
      }
      m_.inputs.push_back(std::move(in));
    }
    return {};
  }

  // One spec for each input in place of the subclass.
  Status read_inner_specs(JsonValue spec, const std::vector<Subclasses::Inner>& inner) {
    EDGEC_TRY(auto member, spec.only_member());
    const auto [kind, v] = member;
    auto persistent = v.find("persistent");
    for (const auto& i : inner) {
      InputSpec in;
      EDGEC_TRY_VOID(fits(spec, i.weight, i.data, m_.graph->inputs[m_.inputs.size()]));
      in.kind = kind == "parameter" ? InputSpec::Kind::Parameter : kind == "buffer" ? InputSpec::Kind::Buffer : InputSpec::Kind::Constant;
      in.name = i.weight;
      in.data = i.data;
      in.persistent = !persistent || !persistent->is_bool() || *persistent->as_bool();
      m_.inputs.push_back(std::move(in));
    }
    return {};
  }

  Status literal(JsonValue value, InputSpec& in) {
    Scope none{*m_.graph, {}, {}, {}, {}, {}, 0};
    EDGEC_TRY(in.literal, read_arg(value, none, nullptr));
    in.kind = InputSpec::Kind::Literal;
    return {};
  }

  Status weight(JsonValue v, std::string_view name_key, InputSpec::Kind kind, ValueId input, InputSpec& in) {
    EDGEC_TRY(std::string_view name, v.string(name_key));
    const Weights::Weight* w = weights_->find(name);
    if (!w) return v.error(fmt::format("weight \"{}\" has no tensor in the archive", name));
    if (!w->data)
      return model_error(fmt::format("{}: weight \"{}\" is an object{}, which is not supported", archive_.path(), name,
                                     w->pickled ? fmt::format(" ({})", shown(w->pickled->global())) : ""));
    in.kind = kind;
    in.name = name;
    in.data = w->data;
    return fits(v, name, in.data, input);
  }

  // Does the archive hold what the graph wants?
  Status fits(JsonValue at, std::string_view name, ConstId constant, ValueId input) {
    const TensorData& data = m_.constants[constant.index].data;
    const Type& t = m_.graph->type(input);
    bool same = t.is_tensor() && t.tensor.dtype == data.dtype && t.tensor.sizes.size() == data.sizes.size();
    for (size_t i = 0; same && i < data.sizes.size(); ++i) same = t.tensor.sizes[i] == Dim(data.sizes[i]);
    if (!same)
      return at.error(fmt::format("weight \"{}\": the graph wants {}, the archive holds {}[{}]", name, str(t), edgec::name(data.dtype),
                                  fmt::join(data.sizes, ", ")));
    return {};
  }

  Status read_output_specs(JsonValue signature) {
    EDGEC_TRY(JsonArray specs, signature.array("output_specs"));
    if (specs.size() != m_.graph->outputs.size())
      return specs.value().error(fmt::format("{} output specs for {} graph outputs", specs.size(), m_.graph->outputs.size()));
    for (JsonValue spec : specs) {
      EDGEC_TRY(auto member, spec.only_member());
      const auto [kind, v] = member;
      OutputSpec out;
      if (kind == "buffer_mutation") {
        EDGEC_TRY(std::string_view target, v.string("buffer_name"));
        out = {OutputSpec::Kind::BufferMutation, std::string(target), {}};
      } else if (kind == "user_input_mutation") {
        EDGEC_TRY(std::string_view target, v.string("user_input_name"));
        out = {OutputSpec::Kind::InputMutation, std::string(target), {}};
      } else if (kind != "user_output") {
        return model_error(fmt::format("{}: outputs of kind {} are not supported (a program with gradients?)", archive_.path(), kind));
      }
      if (out.kind != OutputSpec::Kind::UserOutput) {
        const Arg& a = m_.graph->outputs[m_.outputs.size()];
        const bool found = std::any_of(m_.inputs.begin(), m_.inputs.end(), [&](const InputSpec& i) { return i.name == out.target; });
        if (!a.is_value() || !m_.graph->type(a.value()).is_tensor() || !found)
          return spec.error(fmt::format("\"{}\" cannot be written: no such input, or the new value is no tensor", out.target));
      }
      m_.outputs.push_back(std::move(out));
    }
    return {};
  }

  Status read_call_specs(JsonValue module) {
    auto calls = module.find("module_call_graph");
    if (!calls || !calls->is_array()) return {};
    EDGEC_TRY(JsonArray list, calls->as_array());
    for (JsonValue call : list) {
      auto sig = call.find("signature");
      if (!sig || !sig->is_object()) return {};
      if (auto in = sig->find("in_spec"); in && in->is_string()) m_.in_spec = *in->as_string();
      if (auto out = sig->find("out_spec"); out && out->is_string()) m_.out_spec = *out->as_string();
      return {};  // the first entry is the module itself
    }
    return {};
  }

  const Archive& archive_;
  Method& m_;
  const Weights* weights_ = nullptr;
  const Subclasses* subclasses_ = nullptr;
  // What became of each input of the archive's main graph: the graph's inputs so far, and those in place of a subclass.
  struct Made {
    size_t end = 0;
    const std::vector<Subclasses::Inner>* inner = nullptr;
  };
  std::vector<Made> made_;
  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view t) const { return std::hash<std::string_view>{}(t); }
  };
  std::unordered_map<std::string, sym::Expr, TextHash, std::equal_to<>> exprs_;
  LocationReader locations_;
};

}  // namespace

Result<std::unique_ptr<Method>> load(const std::string& path, const std::string& name) {
  EDGEC_TRY(auto file, MappedFile::open(path));
  return load(std::move(file), path, name);
}

Result<std::unique_ptr<Method>> load(std::shared_ptr<const MappedFile> file, const std::string& path, const std::string& name) {
  EDGEC_TRY(Archive archive, Archive::open(std::move(file), path));
  auto method = std::make_unique<Method>();
  method->name = name;
  EDGEC_TRY_VOID(Reader(archive, *method).read());
  return method;
}

}  // namespace edgec::pt2
