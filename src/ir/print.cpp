#include <fmt/format.h>

#include <cmath>

#include "ir/op.h"
#include "ir/program.h"

namespace edgec {
namespace {

std::string quoted(std::string_view s) {
  std::string out = "\"";
  for (char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out + "\"";
}

std::string float_text(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  std::string s = fmt::format("{}", v);
  if (s.find_first_of(".e") == std::string::npos) s += ".0";
  return s;
}

std::string_view format_name(MemoryFormat f) {
  switch (f) {
    case MemoryFormat::Contiguous:
      return "contiguous_format";
    case MemoryFormat::ChannelsLast:
      return "channels_last";
    case MemoryFormat::ChannelsLast3d:
      return "channels_last_3d";
    case MemoryFormat::Preserve:
      return "preserve_format";
  }
  return "";
}

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
      std::string operator()(const sym::Expr& e) const {
        return e.is_static() || e.kind() == sym::Kind::Symbol ? e.str() : "{" + e.str() + "}";
      }
      std::string operator()(double d) const { return float_text(d); }
      std::string operator()(bool b) const { return b ? "true" : "false"; }
      std::string operator()(const std::string& s) const { return quoted(s); }
      std::string operator()(DType d) const { return std::string(name(d)); }
      std::string operator()(MemoryFormat f) const { return std::string(format_name(f)); }
      std::string operator()(ConstId c) const { return fmt::format("#{}", c.index); }
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
    for (size_t i = 0; i < n.results.size(); ++i)
      out += fmt::format("{}%{}", i ? ", " : "", g.value(n.results[i]).name);
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
      if (by_name || p.kwarg_only) out += p.name + "=";
      out += arg(g, n.args[i], indent);
    }
    out += ")";
    for (size_t i = 0; i < n.results.size(); ++i) {
      const Value& v = g.value(n.results[i]);
      out += (i ? ", " : " : ") + str(v.type) + place(v);
    }
    return out;
  }

  // "(%x: f32[2] = input "x") {\n  ...\n}"
  std::string body(const Graph& g, const Method* m, int indent) const {
    const std::string pad(static_cast<size_t>(indent), ' ');
    std::string out = "(";
    for (size_t i = 0; i < g.inputs.size(); ++i) {
      const Value& v = g.value(g.inputs[i]);
      if (m)
        out += i ? ",\n    " : "\n    ";
      else
        out += i ? ", " : "";
      out += fmt::format("%{}: {}{}", v.name, str(v.type), place(v));
      if (m) out += " = " + input_spec(*m, m->inputs[i]);
    }
    out += ")";
    if (m) out += symbols(*m);
    out += " {\n";
    for (NodeId n = g.first(); n; n = g.next(n)) out += node(g, n, indent + 2) + "\n";
    out += pad + "  return";
    for (size_t i = 0; i < g.outputs.size(); ++i) {
      out += (i ? ", " : " ") + arg(g, g.outputs[i], indent + 2);
      if (m && m->outputs[i].kind == OutputSpec::Kind::BufferMutation)
        out += " -> buffer " + quoted(m->outputs[i].target);
      if (m && m->outputs[i].kind == OutputSpec::Kind::InputMutation)
        out += " -> input " + quoted(m->outputs[i].target);
    }
    return out + "\n" + pad + "}";
  }

  std::string method(const Method& m) const {
    std::string out = fmt::format("method @{}{}", m.name, body(*m.graph, &m, 0));
    return out + "\n";
  }

 private:
  static std::string place(const Value& v) {
    return v.place ? fmt::format(" @{}+{}", v.place->memory_id, v.place->offset) : std::string();
  }

  std::string input_spec(const Method& m, const InputSpec& s) const {
    switch (s.kind) {
      case InputSpec::Kind::Parameter:
        return fmt::format("parameter {} #{}", quoted(s.name), s.data.index);
      case InputSpec::Kind::Buffer:
        return fmt::format("buffer {} #{}{}", quoted(s.name), s.data.index, s.persistent ? "" : " transient");
      case InputSpec::Kind::Constant:
        return fmt::format("constant {} #{}", quoted(s.name), s.data.index);
      case InputSpec::Kind::UserInput:
        return "input " + quoted(s.name);
      case InputSpec::Kind::Literal:
        return fmt::format("literal {} {}", quoted(s.name), arg(*m.graph, s.literal, 0));
    }
    return {};
  }

  static std::string symbols(const Method& m) {
    std::string out;
    for (const sym::Expr& s : m.syms->symbols()) {
      const sym::Range r = m.syms->range_of(s);
      out += out.empty() ? " where " : ", ";
      out += s.str();
      if (s.sort() != sym::Sort::Int)
        out += s.sort() == sym::Sort::Float ? " float" : " bool";
      else if (r.lo || r.hi)
        out += fmt::format(" in {}..{}", r.lo ? std::to_string(*r.lo) : "", r.hi ? std::to_string(*r.hi) : "");
    }
    for (const auto& g : m.guards) out += (out.empty() ? " where {" : ", {") + g.condition.str() + "}";
    return out;
  }

  Stage stage_;
};

}  // namespace

std::string print(const Method& m, Stage stage) { return Printer(stage).method(m); }

std::string print_node(const Graph& g, NodeId n, Stage stage) { return Printer(stage).node(g, n, 0); }

std::string print(const Program& p) {
  std::string out = fmt::format("stage {}\n", name(p.stage));
  for (const auto& m : p.methods) {
    // The constants by number: name, dtype, sizes; the bytes are the archive's.
    for (size_t i = 0; i < m->constants.size(); ++i) {
      const auto& c = m->constants[i];
      out +=
          fmt::format("constant #{} {} {}[{}]\n", i, quoted(c.name), name(c.data.dtype), fmt::join(c.data.sizes, ", "));
    }
    out += print(*m, p.stage);
  }
  static const Graph empty(std::make_shared<sym::Context>());
  for (const auto& c : p.constant_methods)
    out += fmt::format("constant_method @{} = {}\n", c.name, Printer(p.stage).arg(empty, Arg(c.values), 0));
  return out;
}

}  // namespace edgec
