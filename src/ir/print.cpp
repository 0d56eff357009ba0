#include <fmt/format.h>

#include <algorithm>

#include <edgec/backend.h>
#include <edgec/op.h>
#include "ir/text.h"

namespace edgec {
namespace {

using text::expr_text;
using text::float_text;
using text::format_name;
using text::quoted;

constexpr size_t kLineWidth = 110;

std::string name_text(const std::string& n) { return text::is_word(n) ? n : quoted(n); }

class Printer {
 public:
  explicit Printer(Stage stage) : stage_(stage) {}

  std::string arg(const Graph& g, const Arg& a, int indent) const {
    struct Visitor {
      const Printer& p;
      const Graph& g;
      int indent;
      std::string operator()(std::monostate) const { return "none"; }
      std::string operator()(ValueId v) const { return "%" + g.value(v).name; }
      std::string operator()(const sym::Expr& e) const { return expr_text(e); }
      std::string operator()(double d) const { return float_text(d); }
      std::string operator()(bool b) const { return b ? "true" : "false"; }
      std::string operator()(const std::string& s) const { return quoted(s); }
      std::string operator()(DType d) const { return std::string(name(d)); }
      std::string operator()(MemoryFormat f) const { return std::string(format_name(f)); }
      std::string operator()(ConstId c) const { return fmt::format("#{}", c.index); }
      std::string operator()(LoweredId l) const { return fmt::format("&{}", l.index); }
      std::string operator()(GraphId s) const { return "graph" + p.body(*g.subgraphs[s.index], nullptr, indent); }
      std::string operator()(const ArgList& l) const {
        std::string out = "[";
        for (size_t i = 0; i < l.size(); ++i) out += (i ? ", " : "") + p.arg(g, l[i], indent);
        return out + "]";
      }
    };
    return std::visit(Visitor{*this, g, indent}, a.state);
  }

  std::string op_name(const OpDef& op) const {
    const bool edge = (stage_ == Stage::Edge || stage_ == Stage::Backend) && op.name().starts_with("aten.");
    return edge ? "edge." + op.name() : op.name();
  }

  std::string node(const Graph& g, NodeId id, int indent) const {
    const Node& n = g.node(id);
    const Schema& s = n.op->schema();
    std::string out(static_cast<size_t>(indent), ' ');
    for (size_t i = 0; i < n.results.size(); ++i) out += fmt::format("{}%{}", i ? ", " : "", g.value(n.results[i]).name);
    if (!n.results.empty()) out += " = ";
    out += op_name(*n.op) + "(";
    bool first = true, by_name = false;
    for (size_t i = 0; i < n.args.size(); ++i) {
      const Param& p = s.params[i];
      const bool is_default = p.default_value && n.args[i] == default_arg(p);
      if (is_default) {  // left out; what follows is named
        by_name = true;
        continue;
      }
      out += first ? "" : ", ";
      first = false;
      if (by_name || p.kwarg_only || (!n.op->known && p.name != fmt::format("arg{}", i))) {
        out += p.name + "=";
        by_name = true;
      }
      out += arg(g, n.args[i], indent);
    }
    out += ")";
    for (size_t i = 0; i < n.results.size(); ++i) {
      const Value& v = g.value(n.results[i]);
      out += (i ? ", " : " : ") + str(v.type) + place(g, v);
    }
    return out;
  }

  // "(%x: f32[2] = input "x") {\n  ...\n}"; inputs of a method that do not fit one line get a line each.
  std::string body(const Graph& g, const Method* m, int indent) const {
    const std::string pad(static_cast<size_t>(indent), ' ');
    std::vector<std::string> inputs;
    size_t width = 0;
    for (size_t i = 0; i < g.inputs.size(); ++i) {
      const Value& v = g.value(g.inputs[i]);
      inputs.push_back(fmt::format("%{}: {}{}", v.name, str(v.type), place(g, v)));
      if (m) inputs.back() += " = " + input_spec(*m, m->inputs[i]);
      width += inputs.back().size() + 2;
    }
    const bool one_line = !m || width <= kLineWidth - 20;
    std::string out = one_line ? "(" : "(\n    ";
    out += fmt::format("{}", fmt::join(inputs, one_line ? ", " : ",\n    "));
    out += ")";
    if (m) out += facts(*m);
    out += " {\n";
    for (NodeId n = g.first(); n; n = g.next(n)) out += node(g, n, indent + 2) + "\n";
    out += pad + "  return";
    for (size_t i = 0; i < g.outputs.size(); ++i) {
      out += (i ? ", " : " ") + arg(g, g.outputs[i], indent + 2);
      if (m) out += output_spec(m->outputs[i]);
    }
    return out + "\n" + pad + "}";
  }

  std::string method(const Method& m, int indent = 0) const {
    return fmt::format("{:{}}method @{}{}\n", "", indent, name_text(m.name), body(*m.graph, &m, indent));
  }

  // A method after the constants and lowered modules that it names.
  std::string with_parts(const Method& m, int indent = 0) const {
    std::string out;
    for (size_t i = 0; i < m.constants.size(); ++i) {
      const auto& c = m.constants[i];
      out += fmt::format("{:{}}constant #{} {} {}[{}]{}\n", "", indent, i, quoted(c.name), name(c.data.dtype),
                         fmt::join(c.data.sizes, ", "), text::values_text(c.data));
    }
    for (size_t i = 0; i < m.lowered.size(); ++i) {
      const LoweredModule& l = *m.lowered[i];
      out += fmt::format("{:{}}lowered &{} {} {} {{\n{}{:{}}}}\n", "", indent, i, quoted(l.backend_id), specs(l.compile_specs),
                         Printer(Stage::Edge).with_parts(*l.region, indent + 2), "", indent);
    }
    return out + method(m, indent);
  }

 private:
  static std::string specs(const CompileSpecs& all) {
    std::vector<std::string> out;
    for (const CompileSpec& s : all)
      out.push_back(fmt::format("[{}, {}]", quoted(s.key), quoted({reinterpret_cast<const char*>(s.value.data()), s.value.size()})));
    return fmt::format("[{}]", fmt::join(out, ", "));
  }
  static std::string place(const Graph& g, const Value& v) {
    std::string out;
    if (v.inside) out = fmt::format(" in %{}+{}", g.value(v.inside->of).name, v.inside->offset);
    if (v.place) out += fmt::format(" @{}+{}", v.place->memory_id, v.place->offset);
    return out;
  }

  std::string input_spec(const Method& m, const InputSpec& s) const {
    return input_kind(m, s) + (s.persistent ? "" : " transient") + (s.mutated ? " mutated" : "");
  }
  std::string input_kind(const Method& m, const InputSpec& s) const {
    switch (s.kind) {
      case InputSpec::Kind::Parameter:
        return fmt::format("parameter {} #{}", quoted(s.name), s.data.index);
      case InputSpec::Kind::Buffer:
        return fmt::format("buffer {} #{}", quoted(s.name), s.data.index);
      case InputSpec::Kind::Constant:
        return fmt::format("constant {} #{}", quoted(s.name), s.data.index);
      case InputSpec::Kind::UserInput:
        return "input " + quoted(s.name);
      case InputSpec::Kind::Literal:
        return fmt::format("literal {} {}", quoted(s.name), arg(*m.graph, s.literal, 0));
    }
    return {};
  }
  static std::string output_spec(const OutputSpec& s) {
    std::string out;
    if (!s.dim_order.empty()) out += fmt::format(" order {{{}}}", fmt::join(s.dim_order, ","));
    if (s.kind != OutputSpec::Kind::UserOutput)
      out += (s.kind == OutputSpec::Kind::BufferMutation ? " -> buffer " : " -> input ") + quoted(s.target);
    return out;
  }

  // What is known of the symbols. Plain integers that an input's type names need no mention.
  static std::string facts(const Method& m) {
    std::vector<std::string> seen;
    for (ValueId v : m.graph->inputs)
      for (const Dim& d : m.graph->type(v).tensor.sizes)
        for (const sym::Expr& s : sym::free_symbols(d)) seen.emplace_back(s.symbol_name());
    std::sort(seen.begin(), seen.end());
    std::vector<std::string> out;
    for (const sym::Expr& s : m.syms->symbols()) {
      const sym::Range r = m.syms->range_of(s);
      const bool plain = s.sort() == sym::Sort::Int && !r.lo && !r.hi;
      if (plain && std::binary_search(seen.begin(), seen.end(), s.symbol_name())) continue;
      out.push_back(s.str());
      if (s.sort() != sym::Sort::Int) out.back() += s.sort() == sym::Sort::Float ? " float" : " bool";
      if (r.lo || r.hi) out.back() += fmt::format(" in {}..{}", r.lo ? std::to_string(*r.lo) : "", r.hi ? std::to_string(*r.hi) : "");
    }
    for (const auto& g : m.guards) out.push_back("{" + g.condition.str() + "}" + (g.message.empty() ? "" : " " + quoted(g.message)));
    return out.empty() ? "" : fmt::format(" where {}", fmt::join(out, ", "));
  }

  Stage stage_;
};

}  // namespace

std::string print(const Method& m, Stage stage) { return Printer(stage).method(m); }

std::string print_node(const Graph& g, NodeId n, Stage stage) { return Printer(stage).node(g, n, 0); }

std::string print(const Program& p) {
  std::string out = fmt::format("stage {}\n", name(p.stage));
  for (const auto& m : p.methods) out += Printer(p.stage).with_parts(*m);
  static const Graph empty(std::make_shared<sym::Context>());
  for (const auto& c : p.constant_methods)
    out += fmt::format("constant_method @{} = {}\n", name_text(c.name), Printer(p.stage).arg(empty, Arg(c.values), 0));
  return out;
}

}  // namespace edgec
