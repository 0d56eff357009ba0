#include "cli/model_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>

#include <edgec/op.h>
#include "emit/json.h"
#include "ir/text.h"
#include "passes/registry.h"

namespace edgec::cli {
namespace {

using pte::quoted;

void count_nodes(const Graph& g, ModelFacts& facts) {
  for (NodeId n = g.first(); n; n = g.next(n)) {
    ++facts.operators[g.node(n).op->name()];
    ++facts.nodes;
  }
  for (const auto& sub : g.subgraphs) count_nodes(*sub, facts);
}

void count_weights(const Method& m, ModelFacts& facts) {
  for (const InputSpec& s : m.inputs) {
    facts.parameters += s.kind == InputSpec::Kind::Parameter;
    facts.buffers += s.kind == InputSpec::Kind::Buffer;
    facts.constants += s.kind == InputSpec::Kind::Constant;
  }
  std::set<const std::byte*> records;
  for (const Constant& c : m.constants) {
    facts.weights.push_back(c.data);
    facts.weight_bytes += static_cast<uint64_t>(c.data.nbytes());
    if (records.insert(c.data.storage->bytes.data()).second) facts.stored_bytes += c.data.storage->bytes.size();
  }
}

// Names of mutated values; "" for none.
ModelFacts::Port output_port(const Graph& g, const Arg& a, const OutputSpec& spec) {
  ModelFacts::Port port;
  if (a.is_value()) {
    port.name = g.value(a.value()).name;
    port.type = g.type(a.value());
  } else if (a.is_expr() && !a.expr().is_static()) {
    port.type = Type::sym(a.expr());
  } else {
    port.literal = a;
  }
  if (spec.kind == OutputSpec::Kind::InputMutation) port.written = spec.target;
  return port;
}

Status functionalize(Program& program) {
  passes::PassContext cx;
  for (std::string_view pass : {"inline-regions", "resolve-symbols", "functionalize"})
    EDGEC_TRY_VOID(passes::find_pass(pass)->fn(program, cx));
  return {};
}

// -- text

std::string_view sort_name(sym::Sort s) { return s == sym::Sort::Int ? "int" : s == sym::Sort::Float ? "float" : "bool"; }
std::string_view tensor_of(sym::Sort s) { return s == sym::Sort::Int ? "int64" : s == sym::Sort::Float ? "float64" : "bool"; }

std::string literal_text(const Arg& a) {
  if (a.is_none()) return "none";
  if (a.is_expr()) return a.expr().str();
  if (a.is_float()) return text::float_text(std::get<double>(a.state));
  if (a.is_bool()) return std::get<bool>(a.state) ? "true" : "false";
  if (const auto* s = std::get_if<std::string>(&a.state)) return quoted(*s);
  return "a literal";
}

std::string tensor_text(const TensorType& t) {
  std::string s = std::string(torch_name(t.dtype)) + str(t.sizes);
  if (!t.dim_order.empty()) s += fmt::format(" in dim order ({})", fmt::join(t.dim_order, ", "));
  if (!t.strides.empty()) s += " with strides " + str(t.strides);
  return s;
}

std::string port_text(const ModelFacts::Port& p, bool input) {
  if (p.literal) return literal_text(*p.literal) + (input ? ", fixed at export" : "");
  if (p.type.is_tensor()) return tensor_text(p.type.tensor);
  if (!p.type.is_sym()) return p.type.kind == Type::Kind::None ? "none" : str(p.type);
  std::string s = fmt::format("{} {}", sort_name(p.type.expr.sort()), p.type.expr.str());
  if (input) s += fmt::format(", in the program a rank-0 tensor of {}", tensor_of(p.type.expr.sort()));
  return s;
}

std::string range_text(const sym::Range& r) {
  if (r.lo && r.hi) return fmt::format("{} to {}", *r.lo, *r.hi);
  if (r.lo) return fmt::format("{} or more", *r.lo);
  return r.hi ? fmt::format("up to {}", *r.hi) : "any";
}

class Text {
 public:
  std::string run(const ModelFacts& f) {
    put("torch.export archive: {} nodes, {} guards\n", f.nodes, f.guards);
    ports("inputs", f.inputs, true);
    ports("outputs", f.outputs, false);
    if (!f.sizes.empty()) put("  sizes\n");
    for (const auto& [name, range] : f.sizes) put("    {}: {}\n", name, range_text(range));
    put("  weights: {} parameters, {} buffers, {} constants, {} bytes ({} stored)\n", f.parameters, f.buffers, f.constants, f.weight_bytes,
        f.stored_bytes);
    if (!f.state.empty()) put("  mutated buffers\n");
    for (const auto& s : f.state) put("    {}: {}\n", s.name, tensor_text(s.type));
    std::vector<std::pair<std::string, size_t>> by_count(f.operators.begin(), f.operators.end());
    std::ranges::stable_sort(by_count, [](const auto& a, const auto& b) { return a.second > b.second; });
    if (!by_count.empty()) put("  operators\n");
    for (const auto& [name, calls] : by_count) put("    {}: {} {}\n", name, calls, calls == 1 ? "call" : "calls");
    return std::move(out_);
  }

 private:
  template <class... T>
  void put(fmt::format_string<T...> format, T&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<T>(args)...);
  }
  void ports(const char* title, const std::vector<ModelFacts::Port>& ports, bool input) {
    put("  {}\n", title);
    for (size_t i = 0; i < ports.size(); ++i) {
      const auto& p = ports[i];
      const std::string mark = p.mutated   ? ", written by the model"
                               : p.written ? fmt::format(", the new value of input {}", *p.written)
                                           : "";
      put("    {}: {}{}{}{}\n", i, p.name, p.name.empty() ? "" : " ", port_text(p, input), mark);
    }
  }
  std::string out_;
};

// -- JSON

std::string dims_json(const Dims& dims) {
  std::vector<std::string> items;
  for (const Dim& d : dims) items.push_back(d.is_static() ? fmt::format("{}", *d.constant()) : quoted(d.str()));
  return fmt::format("[{}]", fmt::join(items, ", "));
}

std::string bounds_json(const Dims& dims) {
  std::vector<std::string> items;
  for (const Dim& d : dims) {
    const auto bound = sym::upper_bound(d);
    items.push_back(bound ? fmt::format("{}", *bound) : "null");
  }
  return fmt::format("[{}]", fmt::join(items, ", "));
}

std::string tensor_json(const TensorType& t) {
  std::string s = fmt::format("\"kind\": \"tensor\", \"dtype\": \"{}\", \"shape\": {}, \"upper_bounds\": {}", torch_name(t.dtype),
                              dims_json(t.sizes), bounds_json(t.sizes));
  if (!t.dim_order.empty()) s += fmt::format(", \"dim_order\": [{}]", fmt::join(t.dim_order, ", "));
  return s;
}

std::string literal_json(const Arg& a) {
  if (a.is_none()) return "null";
  if (a.is_expr() || a.is_bool() || std::holds_alternative<std::string>(a.state)) return literal_text(a);
  if (a.is_float()) {
    const double d = std::get<double>(a.state);
    return d - d == 0 ? text::float_text(d) : quoted(text::float_text(d));  // JSON has no words for infinities
  }
  return "null";
}

std::string port_json(const ModelFacts::Port& p) {
  std::string s = fmt::format("{{\"name\": {}, ", quoted(p.name));
  if (p.literal)
    s += fmt::format("\"kind\": \"literal\", \"value\": {}", literal_json(*p.literal));
  else if (p.type.is_tensor())
    s += tensor_json(p.type.tensor);
  else if (p.type.is_sym())
    s += fmt::format("\"kind\": \"symbolic\", \"sort\": \"{}\", \"value\": {}, \"rank0_tensor\": \"{}\"", sort_name(p.type.expr.sort()),
                     quoted(p.type.expr.str()), tensor_of(p.type.expr.sort()));
  else
    s += p.type.kind == Type::Kind::None ? "\"kind\": \"none\"" : "\"kind\": \"object\"";
  if (p.mutated) s += ", \"mutated\": true";
  if (p.written) s += fmt::format(", \"new_value_of\": {}", quoted(*p.written));
  return s + "}";
}

template <class Items, class Fn>
std::string list_json(const Items& items, Fn&& one) {
  std::string s = "[";
  for (const auto& item : items) s += (s.size() > 1 ? ", " : "") + one(item);
  return s + "]";
}

std::string number_or_null(const std::optional<int64_t>& n) { return n ? fmt::format("{}", *n) : "null"; }

}  // namespace

Result<ModelFacts> facts_of(Program& program) {
  Method& m = *program.methods.at(0);
  ModelFacts facts;
  facts.method = m.name;
  count_nodes(*m.graph, facts);
  count_weights(m, facts);
  EDGEC_TRY_VOID(functionalize(program));
  const Graph& g = *m.graph;
  std::set<std::string> written;
  for (size_t i = 0; i < m.outputs.size(); ++i) {
    if (m.outputs[i].kind != OutputSpec::Kind::UserOutput) written.insert(m.outputs[i].target);
    if (m.outputs[i].kind == OutputSpec::Kind::InputMutation) facts.outputs.push_back(output_port(g, g.outputs[i], m.outputs[i]));
  }
  for (size_t i = 0; i < m.outputs.size(); ++i)
    if (m.outputs[i].kind == OutputSpec::Kind::UserOutput) facts.outputs.push_back(output_port(g, g.outputs[i], m.outputs[i]));
  for (size_t i = 0; i < m.inputs.size(); ++i) {
    const InputSpec& s = m.inputs[i];
    const Type& type = g.type(g.inputs[i]);
    if (s.is_weight()) {
      if (s.mutated || written.contains(s.name)) facts.state.push_back({s.name, type.tensor, m.constants[s.data.index].data});
      continue;
    }
    ModelFacts::Port port;
    port.name = s.name;
    port.type = type;
    port.mutated = written.contains(s.name);
    if (s.kind == InputSpec::Kind::Literal) port.literal = s.literal;
    facts.inputs.push_back(std::move(port));
  }
  for (const sym::Expr& s : m.syms->symbols()) facts.sizes.emplace_back(std::string(s.symbol_name()), m.syms->range_of(s));
  facts.guards = m.guards.size();
  facts.syms = m.syms;
  return facts;
}

std::string describe_text(const ModelFacts& facts) { return Text().run(facts); }

std::string describe_json(const ModelFacts& f) {
  std::string s = fmt::format("{{\"kind\": \"model\", \"nodes\": {}, \"guards\": {}, \"inputs\": {}, \"outputs\": {}", f.nodes, f.guards,
                              list_json(f.inputs, port_json), list_json(f.outputs, port_json));
  s += ", \"sizes\": " + list_json(f.sizes, [](const auto& one) {
         return fmt::format("{{\"name\": {}, \"min\": {}, \"max\": {}}}", quoted(one.first), number_or_null(one.second.lo),
                            number_or_null(one.second.hi));
       });
  s += fmt::format(
      ", \"weights\": {{\"parameters\": {}, \"buffers\": {}, \"constants\": {}, \"bytes\": {}, "
      "\"stored_bytes\": {}}}",
      f.parameters, f.buffers, f.constants, f.weight_bytes, f.stored_bytes);
  s += ", \"mutated_buffers\": " +
       list_json(f.state, [](const auto& one) { return fmt::format("{{\"name\": {}, {}}}", quoted(one.name), tensor_json(one.type)); });
  s += ", \"operators\": " + list_json(f.operators, [](const auto& one) {
         return fmt::format("{{\"name\": {}, \"calls\": {}}}", quoted(one.first), one.second);
       });
  return s + "}\n";
}

}  // namespace edgec::cli
