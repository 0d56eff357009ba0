#include <fmt/format.h>

#include <algorithm>

#include "passes/inline.h"
#include "passes/registry.h"

// %y = higher_order.cond(%p, graph(%a) { A return %u }, graph(%a) { B return %v }, [%x])
// ->
//   %y = prim.alloc()                                  %c = prim.alloc()              while_loop
//   prim.branch(%p)                                    prim.assign(%c, init)
//   A                                                  prim.loop([%c])
//   prim.assign(%y, %u)                                condition
//   prim.otherwise()                                   prim.exit_unless(%go_on)
//   B                                                  body
//   prim.assign(%y, %v)                                prim.assign(%c, %next)
//   prim.join([%y])                                    prim.repeat([%c])
//
// map and scan are such loops that count turns in a number, take a slice of each operand and write a row of each
// result. Positions in the flat order are what the memory planner goes by: the two branches share memory by themselves.
namespace edgec::passes {
namespace {

constexpr int kMaxDepth = 64;

class ControlFlow {
 public:
  ControlFlow(Graph& g, PassContext& cx) : g_(g), cx_(cx), inliner_(g) {
    inliner_.special = [this](const Graph& from, const Node& n, std::vector<Arg>& args, const sym::Bindings& symbols) {
      return lowered(from, n, args, symbols);
    };
  }

  void run() {
    Rewriter rw(g_);
    bool any = false;
    for (NodeId id = g_.first(), next; id; id = next) {
      next = g_.next(id);
      rw.refresh(id);
      const Node n = g_.node(id);  // a copy: the graph grows
      if (n.op->schema().ns != "higher_order") continue;
      any = true;
      inliner_.before = id;
      std::vector<Arg> args = n.args;
      const auto results = lowered(g_, n, args, {});
      for (size_t i = 0; i < n.results.size() && i < results.size(); ++i)
        if (results[i].is_value()) rw.replace(n.results[i], results[i].value());
      if (results.empty()) continue;  // reported
      g_.erase(id);
      for (const Arg& a : n.args)
        if (a.is_graph()) g_.subgraphs[std::get<GraphId>(a.state).index].reset();
    }
    if (!any) return;
    rw.finish();
    inliner_.finish();
  }

 private:
  struct Call {
    const Graph& from;
    const Node& n;
    std::vector<Arg>& args;
    const sym::Bindings& symbols;
    const Graph& graph(size_t i) const { return *from.subgraphs[std::get<GraphId>(args[i].state).index]; }
    Type result(size_t i) const {
      Type t = from.type(n.results[i]);
      substitute(t, symbols);
      return t;
    }
    std::span<const Arg> list(size_t i) const { return args[i].list(); }
  };

  std::vector<Arg> lowered(const Graph& from, const Node& n, std::vector<Arg>& args, const sym::Bindings& symbols) {
    const Location around = loc_;
    loc_ = n.loc;
    const Call c{from, n, args, symbols};
    std::vector<Arg> out;
    if (++depth_ > kMaxDepth)
      error(fmt::format("more than {} control-flow operators in each other", kMaxDepth));
    else if (!well_formed(c))
      error(fmt::format("{} has another form than torch.export gives it", n.op->name()));
    else if (n.op->name() == "higher_order.cond")
      out = cond(c);
    else if (n.op->name() == "higher_order.while_loop")
      out = while_loop(c);
    else if (n.op->name() == "higher_order.map_impl")
      out = counted_loop(c, {}, c.list(1), c.list(2));
    else if (n.op->name() == "higher_order.scan")
      out = counted_loop(c, c.list(1), c.list(2), c.list(3));
    else
      error(fmt::format("operator {} is not supported", n.op->name()));
    --depth_;
    loc_ = around;
    return out;
  }

  // Archives are untrusted: what the lowerings rely on.
  static bool well_formed(const Call& c) {
    const std::string& op = c.n.op->name();
    const auto fits = [&](size_t graph, size_t inputs, size_t outputs) {
      return c.args.size() > graph && c.args[graph].is_graph() && c.graph(graph).inputs.size() == inputs &&
             c.graph(graph).outputs.size() == outputs;
    };
    const auto count = [&](size_t list) { return c.args[list].is_list() ? c.args[list].list().size() : 0; };
    const size_t results = c.n.results.size();
    if (c.args.size() < 3) return false;
    for (size_t i = 1; i < c.args.size(); ++i)
      if (!c.args[i].is_graph() && !c.args[i].is_list()) return false;
    if (op == "higher_order.cond") return fits(1, count(3), results) && fits(2, count(3), results) && results > 0;
    if (op == "higher_order.while_loop")
      return fits(0, count(2) + count(3), 1) && fits(1, count(2) + count(3), count(2)) && results == count(2) && results > 0;
    if (op == "higher_order.map_impl") return fits(0, count(1) + count(2), results) && count(1) > 0 && results > 0;
    if (op == "higher_order.scan")
      return fits(0, count(1) + count(2) + count(3), results) && results >= count(1) && count(2) > 0 && results > 0;
    return true;
  }

  // ---- cond -------------------------------------------------------------------------------------------------------

  std::vector<Arg> cond(const Call& c) {
    const Arg pred = c.args[0];
    if (auto known = decided(pred)) {
      auto out = inliner_.call(c.graph(*known ? 1 : 2), c.list(3), c.symbols);
      for (size_t i = 0; i < out.size(); ++i) inliner_.rename(c.result(i), type_of(g_, out[i]));
      return out;
    }
    std::vector<Arg> targets;
    for (size_t i = 0; i < c.n.results.size(); ++i) {
      const Type t = c.result(i);
      // A number without a symbol of its own is the same expression in both branches.
      const bool has_place = t.is_tensor() || (t.is_sym() && t.expr.kind() == sym::Kind::Symbol);
      targets.push_back(has_place ? Arg(alloc(t)) : t.is_sym() ? Arg(t.expr) : Arg());
    }
    for (size_t i = 0; i < targets.size(); ++i) bound(c.result(i), c.graph(1), c.graph(2), i);
    mark("prim.branch", {condition(pred)});
    assign(targets, inliner_.call(c.graph(1), c.list(3), c.symbols));
    mark("prim.otherwise", {});
    assign(targets, inliner_.call(c.graph(2), c.list(3), c.symbols));
    mark("prim.join", {tensors(targets)});
    return targets;
  }

  // A size that differs between the branches has a symbol without an upper bound: the larger one of theirs.
  void bound(const Type& t, const Graph& yes, const Graph& no, size_t output) {
    const Dims a = type_of(yes, yes.outputs[output]).tensor.sizes, b = type_of(no, no.outputs[output]).tensor.sizes;
    const Dims& sizes = t.tensor.sizes;
    for (size_t d = 0; d < sizes.size() && d < a.size() && d < b.size(); ++d) {
      if (sizes[d].kind() != sym::Kind::Symbol || sym::upper_bound(sizes[d])) continue;
      const auto one = sym::upper_bound(a[d]), other = sym::upper_bound(b[d]);
      sym::Range r = g_.syms().range_of(sizes[d]);
      if (!one || !other) continue;
      r.hi = std::max(*one, *other);
      g_.syms().set_range(sizes[d], r);
    }
  }

  static std::optional<bool> decided(const Arg& pred) {
    if (pred.is_bool()) return std::get<bool>(pred.state);
    if (!pred.is_expr()) return std::nullopt;
    if (auto n = pred.expr().constant()) return *n != 0;
    if (pred.expr().sort() != sym::Sort::Bool) return std::nullopt;
    const sym::Proof p = sym::holds(pred.expr());
    return p == sym::Proof::Unknown ? std::nullopt : std::optional(p == sym::Proof::Yes);
  }

  // ---- loops ------------------------------------------------------------------------------------------------------

  std::vector<Arg> while_loop(const Call& c) {
    const Graph& body = c.graph(1);
    const auto init = c.list(2), more = c.list(3);
    std::vector<Arg> carried = start_carries(body, init, c.symbols);
    std::vector<Arg> operands = carried;
    operands.insert(operands.end(), more.begin(), more.end());
    mark("prim.loop", {tensors(carried)});
    mark("prim.exit_unless", {condition(inliner_.call(c.graph(0), operands, c.symbols)[0])});
    assign(carried, inliner_.call(body, operands, c.symbols), true);
    mark("prim.repeat", {tensors(carried)});
    for (size_t i = 0; i < carried.size(); ++i) inliner_.rename(c.result(i), type_of(g_, carried[i]));
    return carried;
  }

  // Places for the values that a body gets from the turn before, with the initial values in them.
  std::vector<Arg> start_carries(const Graph& body, std::span<const Arg> init, const sym::Bindings& symbols) {
    std::vector<Arg> carried;
    for (size_t i = 0; i < init.size(); ++i) {
      Type t = body.type(body.inputs[i]);
      substitute(t, symbols);
      if (t.is_sym() && t.expr.kind() != sym::Kind::Symbol) t.expr = new_symbol("carry", t.expr.sort(), {});
      carried.push_back(alloc(t));
    }
    assign(carried, std::vector<Arg>(init.begin(), init.end()));
    return carried;
  }

  std::vector<Arg> counted_loop(const Call& c, std::span<const Arg> init, std::span<const Arg> xs, std::span<const Arg> more) {
    const Graph& body = c.graph(0);
    if (!std::all_of(xs.begin(), xs.end(), [&](const Arg& x) { return type_of(g_, x).tensor.rank() > 0; })) {
      error(fmt::format("{} over something without dims", c.n.op->name()));
      return {};
    }
    for (size_t i = init.size(); i < c.n.results.size(); ++i)
      if (c.result(i).tensor.rank() == 0) {
        error(fmt::format("{} gives something without dims", c.n.op->name()));
        return {};
      }
    const Dim turns = g_.tensor(xs[0].value()).sizes[0];
    std::vector<Arg> carried = start_carries(body, init, c.symbols), stacked;
    for (size_t i = init.size(); i < c.n.results.size(); ++i) stacked.push_back(rows(c.result(i)));
    std::vector<Arg> results = carried;
    results.insert(results.end(), stacked.begin(), stacked.end());
    if (turns == Dim(0)) return results;

    const sym::Expr turn = new_symbol("turn", sym::Sort::Int, {0, sym::upper_bound(turns)});
    const Arg counter = alloc(Type::sym(turn));
    assign({counter}, {Arg(0)});
    const bool some = sym::lower_bound(turns).value_or(0) > 0;
    mark("prim.loop", {tensors(carried)});
    if (!some) mark("prim.exit_unless", {sym::lt(turn, turns)});
    std::vector<Arg> operands = carried;
    Builder b(g_, loc_, inliner_.before);
    for (const Arg& x : xs) operands.emplace_back(b.call("aten.select.int", {x, 0, turn}));
    if (b.failed()) {
      error(b.status().failure().message);
      return {};
    }
    operands.insert(operands.end(), more.begin(), more.end());
    auto out = inliner_.call(body, operands, c.symbols);
    for (size_t i = 0; i < stacked.size(); ++i) mark("executorch_prim.et_copy_index.tensor", {stacked[i], out[init.size() + i], turn});
    out.resize(init.size());
    assign(carried, out, true);
    assign({counter}, {Arg(turn + 1)});
    if (some)
      mark("prim.repeat_until", {sym::ge(turn, turns), tensors(carried)});
    else
      mark("prim.repeat", {tensors(carried)});
    for (size_t i = 0; i < carried.size(); ++i) inliner_.rename(c.result(i), type_of(g_, carried[i]));
    return results;
  }

  // The memory of stacked results. Writing row i gives it i + 1 rows; the size of a row, and no rows at all, are to be
  // set before.
  Arg rows(const Type& t) {
    const Dims& sizes = t.tensor.sizes;
    const bool rows_are_static = std::all_of(sizes.begin() + 1, sizes.end(), [](const Dim& d) { return d.is_static(); });
    if (rows_are_static && sym::lower_bound(sizes[0]).value_or(0) > 0) return alloc(t);
    Builder b(g_, loc_, inliner_.before);
    const ValueId made = b.full(t.tensor.sizes, 0, t.tensor.dtype);
    if (b.failed()) error(b.status().failure().message);
    return made;
  }

  // ---- pieces -----------------------------------------------------------------------------------------------------

  void mark(std::string_view op, std::vector<Arg> args) {
    g_.add_node(&Registry::global().get(op), std::move(args), {}, loc_, inliner_.before);
  }

  ValueId alloc(const Type& t) {
    const NodeId n = g_.add_node(&Registry::global().get("prim.alloc"), {}, {t}, loc_, inliner_.before);
    return g_.node(n).results[0];
  }

  // A bool tensor, or a bool.
  Arg condition(const Arg& pred) {
    if (pred.is_value() && g_.type(pred.value()).is_tensor() && g_.tensor(pred.value()).dtype != DType::Bool)
      return copy(pred.value(), DType::Bool);
    if (pred.is_expr() && pred.expr().sort() != sym::Sort::Bool) return sym::ne(pred.expr(), 0);
    return pred;
  }

  Arg tensors(const std::vector<Arg>& values) const {
    ArgList out;
    for (const Arg& v : values)
      if (v.is_value() && g_.type(v.value()).is_tensor()) out.push_back(v);
    return out;
  }

  // Gives every target its value. In a loop all values are those before the assignment: a value that needs a target
  // which has been assigned by then is copied first.
  void assign(const std::vector<Arg>& targets, std::vector<Arg> values, bool in_loop = false) {
    if (in_loop)
      for (size_t i = 1; i < targets.size(); ++i)
        for (size_t k = 0; k < i; ++k)
          if (targets[i] != values[i] && targets[k] != values[k] && reads(values[i], targets[k].value())) {
            values[i] = saved(values[i]);
            break;
          }
    for (size_t i = 0; i < targets.size(); ++i)
      if (targets[i].is_value() && targets[i] != values[i]) {
        if (type_of(g_, targets[i]).kind != type_of(g_, values[i]).kind) return error("the values of branches or turns differ in kind");
        mark("prim.assign", {targets[i], values[i]});
      }
  }

  bool reads(const Arg& value, ValueId place) const {
    if (value.is_value() && g_.type(value.value()).is_tensor()) return viewed_root(g_, value.value()) == place;
    const sym::Expr symbol = g_.type(place).expr;
    const auto symbols = sym::free_symbols(type_of(g_, value).expr);
    return g_.type(place).is_sym() && std::find(symbols.begin(), symbols.end(), symbol) != symbols.end();
  }

  Arg saved(const Arg& value) {
    const Type t = type_of(g_, value);
    if (t.is_tensor()) return copy(value.value(), t.tensor.dtype);
    const NodeId n = g_.add_node(&Registry::global().get("prim.number"), {value}, {t}, loc_, inliner_.before);
    return g_.node(n).results[0];
  }

  ValueId copy(ValueId v, DType dtype) {
    Builder b(g_, loc_, inliner_.before);
    ArgList order;
    for (size_t i = 0; i < g_.tensor(v).rank(); ++i) order.push_back(static_cast<int64_t>(i));
    NamedArgs named = {{"dim_order", order}};
    if (dtype != g_.tensor(v).dtype) named.emplace_back("dtype", dtype);
    return b.call("dim_order_ops._to_dim_order_copy", {v}, named);
  }

  sym::Expr new_symbol(std::string_view base, sym::Sort sort, sym::Range range) {
    std::string name;
    do name = fmt::format("{}{}", base, symbols_made_++);
    while (g_.syms().find_symbol(name));
    const sym::Expr s = g_.syms().symbol(name, sort);
    if (sort == sym::Sort::Int) g_.syms().set_range(s, range);
    return s;
  }

  void error(std::string message) { cx_.diag.error(loc_, std::move(message)); }

  Graph& g_;
  PassContext& cx_;
  Inliner inliner_;
  Location loc_;
  int depth_ = 0, symbols_made_ = 0;
};

}  // namespace

Status inline_control_flow(Program& p, PassContext& cx) {
  for (auto& m : p.methods) ControlFlow(*m->graph, cx).run();
  p.stage = Stage::Exec;
  return outcome(cx);
}

}  // namespace edgec::passes
