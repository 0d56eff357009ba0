#include <fmt/format.h>

#include <algorithm>

#include <edgec/backend.h>
#include <edgec/op.h>
#include "ir/text.h"

namespace edgec {
namespace {

// Walks two programs side by side; the first difference is kept in words.
class Comparison {
 public:
  explicit Comparison(std::string* why) : why_(why) {}

  bool programs(const Program& a, const Program& b) {
    if (a.stage != b.stage) return differ("stage", name(a.stage), name(b.stage));
    if (!counts("methods", a.methods.size(), b.methods.size())) return false;
    for (size_t i = 0; i < a.methods.size(); ++i)
      if (!methods(*a.methods[i], *b.methods[i])) return false;
    if (!counts("constant methods", a.constant_methods.size(), b.constant_methods.size())) return false;
    for (size_t i = 0; i < a.constant_methods.size(); ++i) {
      const auto &x = a.constant_methods[i], &y = b.constant_methods[i];
      if (x.name != y.name) return differ("constant method", x.name, y.name);
      where_ = "@" + x.name;
      const Graph none(std::make_shared<sym::Context>());
      if (!arg_lists(none, x.values, none, y.values)) return false;
    }
    return true;
  }

 private:
  bool differ(std::string_view what, std::string_view a, std::string_view b) {
    if (why_ && why_->empty()) *why_ = fmt::format("{}{}{}: {} and {}", where_, where_.empty() ? "" : ", ", what, a, b);
    return false;
  }
  bool counts(std::string_view what, size_t a, size_t b) { return a == b || differ(what, std::to_string(a), std::to_string(b)); }
  bool texts(std::string_view what, std::string_view a, std::string_view b) { return a == b || differ(what, a, b); }
  bool numbers(std::string_view what, uint32_t a, uint32_t b) { return counts(what, a, b); }

  bool methods(const Method& a, const Method& b) {
    where_ = "@" + a.name;
    if (!texts("name", a.name, b.name)) return false;
    if (!symbols(*a.syms, *b.syms) || !constants(a, b)) return false;
    if (!counts("guards", a.guards.size(), b.guards.size())) return false;
    for (size_t i = 0; i < a.guards.size(); ++i)
      if (!texts("guard", a.guards[i].condition.str(), b.guards[i].condition.str()) ||
          !texts("guard message", a.guards[i].message, b.guards[i].message))
        return false;
    if (!counts("input specs", a.inputs.size(), b.inputs.size())) return false;
    for (size_t i = 0; i < a.inputs.size(); ++i) {
      const auto &x = a.inputs[i], &y = b.inputs[i];
      const std::string what = fmt::format("input {}", i);
      if (!texts(what, x.name, y.name) || !numbers(what + " kind", uint32_t(x.kind), uint32_t(y.kind)) ||
          !numbers(what + " persistence", x.persistent, y.persistent) || !numbers(what + " mutation", x.mutated, y.mutated) ||
          !numbers(what + " constant", x.data.index, y.data.index) || !args(*a.graph, x.literal, *b.graph, y.literal))
        return false;
    }
    if (!counts("output specs", a.outputs.size(), b.outputs.size())) return false;
    for (size_t i = 0; i < a.outputs.size(); ++i) {
      const auto &x = a.outputs[i], &y = b.outputs[i];
      const std::string what = fmt::format("output {}", i);
      if (!texts(what, x.target, y.target) || !numbers(what + " kind", uint32_t(x.kind), uint32_t(y.kind))) return false;
      if (x.dim_order != y.dim_order) return differ(what + " dim order", "one", "another");
    }
    return lowered_modules(a, b) && graphs(*a.graph, *b.graph);
  }

  // Payloads are no part of the text.
  bool lowered_modules(const Method& a, const Method& b) {
    if (!counts("lowered modules", a.lowered.size(), b.lowered.size())) return false;
    for (size_t i = 0; i < a.lowered.size(); ++i) {
      const LoweredModule &x = *a.lowered[i], &y = *b.lowered[i];
      const std::string what = fmt::format("lowered module &{}", i);
      if (!texts(what, x.backend_id, y.backend_id)) return false;
      if (x.compile_specs != y.compile_specs) return differ(what + " compile specs", "one", "another");
      const std::string around = where_;
      if (!methods(*x.region, *y.region)) return false;
      where_ = around;
    }
    return true;
  }

  // Names with sorts and ranges. A plain integer symbol says nothing that its uses do not say.
  static std::vector<std::string> symbol_facts(const sym::Context& cx) {
    std::vector<std::string> out;
    for (const sym::Expr& s : cx.symbols()) {
      const sym::Range r = cx.range_of(s);
      if (s.sort() == sym::Sort::Int && !r.lo && !r.hi) continue;
      out.push_back(fmt::format("{} sort {} in {}..{}", s.symbol_name(), int(s.sort()), r.lo ? std::to_string(*r.lo) : "",
                                r.hi ? std::to_string(*r.hi) : ""));
    }
    return out;
  }
  bool symbols(const sym::Context& a, const sym::Context& b) {
    return texts("symbols", fmt::format("{}", fmt::join(symbol_facts(a), ", ")), fmt::format("{}", fmt::join(symbol_facts(b), ", ")));
  }

  bool constants(const Method& a, const Method& b) {
    if (!counts("constants", a.constants.size(), b.constants.size())) return false;
    for (size_t i = 0; i < a.constants.size(); ++i) {
      auto text = [](const Constant& c) {
        return fmt::format("{} {}[{}]{}", c.name, name(c.data.dtype), fmt::join(c.data.sizes, ", "), text::values_text(c.data));
      };
      if (!texts(fmt::format("constant #{}", i), text(a.constants[i]), text(b.constants[i]))) return false;
    }
    return true;
  }

  using Pairs = std::unordered_map<ValueId, ValueId>;

  bool values(const Graph& a, ValueId x, const Graph& b, ValueId y, Pairs& pairs) {
    const Value &v = a.value(x), &w = b.value(y);
    if (!texts("type of %" + v.name, str(v.type), str(w.type))) return false;
    auto place = [](const Value& u) { return u.place ? fmt::format("@{}+{}", u.place->memory_id, u.place->offset) : std::string("none"); };
    if (!texts("place of %" + v.name, place(v), place(w))) return false;
    pairs.emplace(x, y);
    return true;
  }

  bool graphs(const Graph& a, const Graph& b) {
    Pairs pairs, *outer = std::exchange(pairs_, &pairs);
    const bool same = graph_parts(a, b, pairs);
    pairs_ = outer;
    return same;
  }

  bool graph_parts(const Graph& a, const Graph& b, Pairs& pairs) {
    if (!counts("graph inputs", a.inputs.size(), b.inputs.size()) || !counts("nodes", a.node_count(), b.node_count())) return false;
    for (size_t i = 0; i < a.inputs.size(); ++i)
      if (!values(a, a.inputs[i], b, b.inputs[i], pairs)) return false;
    for (NodeId n = a.first(), m = b.first(); n; n = a.next(n), m = b.next(m)) {
      const Node &x = a.node(n), &y = b.node(m);
      if (!texts("operator", x.op->name(), y.op->name()) || !arg_lists(a, x.args, b, y.args) ||
          !counts("results of " + x.op->name(), x.results.size(), y.results.size()))
        return false;
      for (size_t i = 0; i < x.results.size(); ++i)
        if (!values(a, x.results[i], b, y.results[i], pairs)) return false;
    }
    return aliases(a, b, pairs) && arg_lists(a, a.outputs, b, b.outputs);
  }

  bool aliases(const Graph& a, const Graph& b, const Pairs& pairs) {
    for (const auto& [x, y] : pairs) {
      const auto &v = a.value(x).inside, &w = b.value(y).inside;
      const auto same = [&] {
        const auto of = pairs.find(v->of);
        return of != pairs.end() && of->second == w->of && v->offset == w->offset;
      };
      if (v.has_value() != w.has_value() || (v && !same())) return differ("memory of %" + a.value(x).name, "one alias", "another");
    }
    return true;
  }

  bool arg_lists(const Graph& a, const ArgList& x, const Graph& b, const ArgList& y) {
    if (!counts("arguments", x.size(), y.size())) return false;
    for (size_t i = 0; i < x.size(); ++i)
      if (!args(a, x[i], b, y[i])) return false;
    return true;
  }

  bool args(const Graph& a, const Arg& x, const Graph& b, const Arg& y) {
    if (!counts("kind of argument", x.state.index(), y.state.index())) return false;
    if (x.is_value()) {
      auto it = pairs_ ? pairs_->find(x.value()) : Pairs::iterator();
      const bool same = pairs_ && it != pairs_->end() && it->second == y.value();
      return same || differ("argument", "%" + a.value(x.value()).name, "%" + b.value(y.value()).name);
    }
    if (x.is_expr()) return texts("expression", x.expr().str(), y.expr().str());
    if (x.is_float()) return texts("number", text::float_text(std::get<double>(x.state)), text::float_text(std::get<double>(y.state)));
    if (x.is_list()) return arg_lists(a, x.list(), b, y.list());
    if (x.is_graph()) return graphs(*a.subgraphs[std::get<GraphId>(x.state).index], *b.subgraphs[std::get<GraphId>(y.state).index]);
    return x == y || differ("argument", "one value", "another");
  }

  std::string* why_;
  std::string where_;
  Pairs* pairs_ = nullptr;
};

}  // namespace

bool same_program(const Program& a, const Program& b, std::string* why) {
  if (why) why->clear();
  return Comparison(why).programs(a, b);
}

}  // namespace edgec
