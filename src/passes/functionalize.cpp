#include <fmt/format.h>

#include <algorithm>

#include <edgec/rewriter.h>
#include "ops/define.h"
#include "passes/registry.h"

// %v = aten.select.int(%x, 0, 1)               %v = aten.select.int(%x, 0, 1)
// aten.add_.Tensor(%v, %y)              ->     %r = aten.add.Tensor(%v, %y)
// use(%x)                                      %x2 = aten.select_scatter(%x, %r, 0, 1)
//                                              use(%x2)
//
// Every tensor is a chain of views of a storage. A write through a view gives the storage a new value (the views'
// inverses); values read later are made again from it. Storages of inputs that were written become outputs of the
// method.
namespace edgec::passes {
namespace {

// One primitive view: `args` with the viewed tensor as the first argument.
struct Step {
  const OpDef* op;
  std::vector<Arg> args;
};

struct StorageState {
  ValueId root;     // the value that made it
  ValueId current;  // its newest value
  uint32_t version = 0;
};

struct View {
  size_t storage = 0;
  std::vector<Step> chain;
  ValueId current;  // the view's value at `version` of the storage
  uint32_t version = 0;
};

class Functionalizer {
 public:
  Functionalizer(Method& m, Graph& g, PassContext& cx) : m_(m), g_(g), cx_(cx) {}

  Status run() {
    for (ValueId v : g_.inputs) own(v, v);
    for (NodeId id : g_.nodes_in_order()) visit(id);
    for (Arg& a : g_.outputs) for_each_value(a, [&](ValueId& v) { v = read(v, nullptr, {}); });
    if (&g_ == m_.graph.get())
      add_mutation_outputs();
    else
      refuse_writes_to_inputs();
    return outcome(cx_);
  }

 private:
  // A tensor with memory of its own. `v` is the archive's value, `current` what stands for it now.
  void own(ValueId v, ValueId current) {
    views_[v] = {storages_.size(), {}, current, 0};
    storages_.push_back({v, current, 0});
  }

  // The newest value of what the archive calls `v`.
  ValueId read(ValueId v, const Location& loc, NodeId before) {
    auto it = views_.find(v);
    if (it == views_.end()) return v;  // not a tensor
    View& view = it->second;
    const StorageState& s = storages_[view.storage];
    if (view.version != s.version) {
      Builder b(g_, loc, before);
      ValueId x = s.current;
      for (const Step& step : view.chain) x = apply(b, step, x);
      check(b, loc);
      view.current = x;
      view.version = s.version;
    }
    return view.current;
  }

  ValueId apply(Builder& b, const Step& step, ValueId x) {
    std::vector<Arg> args = step.args;
    args[0] = x;
    return b.call(step.op->name(), std::move(args));
  }

  // Views whose expansion is none: steps of their own.
  static bool places_elements(const std::string& op) { return op == "aten.unfold" || op == "aten.as_strided"; }

  // Where the elements of such a view are: the same view of the elements' numbers.
  ValueId put_through(Builder& b, const Step& step, ValueId whole, ValueId part) {
    if (b.failed()) return {};
    const Dims sizes = b.tensor(whole).sizes;
    const Dim count = numel(sizes), written = numel(b.tensor(part).sizes);
    const ValueId numbers = b.view(b.call("aten.arange", {count}), sizes);
    const ValueId at = b.view(apply(b, step, numbers), {written});
    const ValueId put = b.call("aten.index_put", {b.view(whole, {count}), Arg::tensors({at}), b.view(part, {written})});
    return b.view(put, sizes);
  }

  // What the viewed tensor `whole` is when its view has become `part`.
  ValueId invert(Builder& b, const Step& step, ValueId whole, ValueId part) {
    const std::string& op = step.op->name();
    const auto& a = step.args;
    if (op == "aten.view") return b.view(part, b.tensor(whole).sizes);
    if (op == "aten.permute") {
      const Call call(g_, *step.op, a);
      const auto order = call.integers("dims");
      std::vector<int64_t> back(order.size());
      for (size_t i = 0; i < order.size(); ++i) {
        const int64_t d = order[i] < 0 ? order[i] + static_cast<int64_t>(order.size()) : order[i];
        back[static_cast<size_t>(d)] = static_cast<int64_t>(i);
      }
      return b.permute(part, back);
    }
    if (op == "aten.select.int") return b.call("aten.select_scatter", {whole, part, a[1], a[2]});
    if (op == "aten.slice.Tensor") return b.call("aten.slice_scatter", {whole, part, a[1], a[2], a[3], a[4]});
    if (op == "aten.diagonal") return b.call("aten.diagonal_scatter", {whole, part, a[1], a[2], a[3]});
    if (op == "aten.expand" && b.tensor(whole).sizes == b.tensor(part).sizes) return part;
    if (places_elements(op)) return put_through(b, step, whole, part);
    b.fail(fmt::format("a write through {} is not supported", op));
    return whole;
  }

  // The archive's `v` becomes `value`.
  void write(ValueId v, ValueId value, Builder& b) {
    auto it = views_.find(v);
    if (it == views_.end()) return b.fail("a write to something that is no tensor");
    if (!first_write_) first_write_ = b.loc();
    View& view = it->second;
    StorageState& s = storages_[view.storage];
    std::vector<ValueId> wholes = {s.current};
    for (size_t i = 0; i + 1 < view.chain.size(); ++i) wholes.push_back(apply(b, view.chain[i], wholes.back()));
    ValueId x = value;
    for (size_t i = view.chain.size(); i-- > 0;) x = invert(b, view.chain[i], wholes[i], x);
    s.current = x;
    view.current = value;
    view.version = ++s.version;
  }

  void visit(NodeId id) {
    const Node before = g_.node(id);  // a copy: the graph grows
    const Schema& schema = before.op->schema();
    for (Arg& a : g_.node(id).args) for_each_value(a, [&](ValueId& v) { v = read(v, before.loc, id); });
    if (updates_running_statistics(before)) return visit_batch_norm(id, before);
    if (before.op->known && schema.mutates() && before.op->name() != kBatchNorm) return visit_write(id, before);
    if (before.op->known && is_its_operand(before)) {
      alias_results(before, before.args[0].value());
      return g_.erase(id);
    }
    if (before.op->known && schema.is_view() && !before.results.empty() && aliases(before)) return visit_view(id, before);
    for (ValueId r : before.results)
      if (g_.type(r).is_tensor()) own(r, r);
  }

  // Batch norm in training mode writes its running statistics, which most of its schemas do not say.
  static constexpr std::string_view kBatchNorm = "aten._native_batch_norm_legit";
  bool updates_running_statistics(const Node& n) const {
    const std::string& op = n.op->name();
    if (op != "aten.batch_norm" && op != "aten.native_batch_norm" && op != kBatchNorm) return false;
    const Call c(g_, *n.op, n.args);
    return c.flag("training") && c.is_tensor("running_mean") && c.is_tensor("running_var");
  }

  void visit_batch_norm(NodeId id, const Node& before) {
    const Node now = g_.node(id);
    const Call original(g_, *before.op, before.args), current(g_, *now.op, now.args);
    const Location& at = before.loc;
    const std::string kind = at && !at->module_class.empty() ? at->module_class : "batch norm";
    const std::string module = at && !at->module_path.empty() ? kind + " (" + at->module_path + ")" : kind;
    cx_.diag.warning(before.loc, fmt::format("{} is in training mode: every call updates its running statistics", module),
                     "export the model after model.eval() if that is not wanted");
    Builder b(g_, before.loc, id);
    std::vector<Arg> args;
    for (const char* p : {"input", "weight", "bias", "running_mean", "running_var", "training", "momentum", "eps"})
      args.push_back(current.arg(p));
    const ValueId mean = original.value("running_mean"), var = original.value("running_var");
    const auto made = b.call_all("aten._native_batch_norm_legit_functional", std::move(args));
    if (!b.failed()) {
      write(mean, made[3], b);
      write(var, made[4], b);
      for (size_t i = 0; i < before.results.size(); ++i) own(before.results[i], made[i]);
    }
    check(b, before.loc);
    g_.erase(id);
  }

  // Without alias marks in the schema: dropout at rest gives its operand itself, so that writes to one are seen in the
  // other.
  bool is_its_operand(const Node& n) const {
    const std::string& op = n.op->name();
    if (op != "aten.dropout" && op != "aten.feature_dropout" && op != "aten.alpha_dropout" && op != "aten.feature_alpha_dropout")
      return false;
    return !Call(g_, *n.op, n.args).flag("train");
  }

  // Views by schema that copy in some cases: then what they give has memory of its own.
  bool aliases(const Node& n) const {
    const std::string& op = n.op->name();
    const TensorType& from = g_.tensor(n.args[0].value());
    const TensorType& to = g_.tensor(n.results[0]);
    if (op == "aten.contiguous" || op.starts_with("aten.to."))
      return from.dtype == to.dtype && from.dim_order == to.dim_order && from.strides == to.strides && !asks_for_copy(n);
    if (op == "aten.reshape" || op == "aten.reshape_as" || op == "aten.flatten.using_ints" || op == "aten.ravel")
      return from.strides.empty() || to.strides != Dims{} || from.sizes == to.sizes;
    return true;
  }
  bool asks_for_copy(const Node& n) const {
    const int i = n.op->schema().find("copy");
    return i >= 0 && n.args[static_cast<size_t>(i)] == Arg(true);
  }

  void visit_view(NodeId id, const Node& before) {
    const ValueId source = before.args[0].value();
    const Node now = g_.node(id);
    Builder b(g_, before.loc, id);
    // Composite views expand to primitive ones, each a step of the chain.
    std::vector<ValueId> results = now.results;
    bool expanded = false;
    if (now.op->expand) {
      auto made = now.op->expand(b, Call(g_, *now.op, now.args));
      if (!made) {
        cx_.diag.error(before.loc, made.failure().message);
        return;
      }
      if (!made->empty()) {
        results = *std::move(made);
        for (ValueId& r : results) r = primitive(r, now.args[0].value());
        expanded = true;
      }
    }
    for (size_t i = 0; i < results.size(); ++i) {
      auto from = views_.find(source);
      if (from == views_.end()) return cx_.diag.error(before.loc, "a view of something that is no tensor");
      View view = from->second;
      auto steps = steps_between(now.args[0].value(), results[i]);
      if (places_elements(now.op->name())) steps = {Step{now.op, now.args}};
      if (!steps) {  // not made of views: memory of its own
        own(before.results[i], results[i]);
        continue;
      }
      view.chain.insert(view.chain.end(), steps->begin(), steps->end());
      view.current = results[i];
      views_[before.results[i]] = std::move(view);
    }
    if (expanded) g_.erase(id);
  }

  // An expansion may be made of composite views again (swapdims is a transpose): `v` without them.
  ValueId primitive(ValueId v, ValueId source) {
    const NodeId def = g_.value(v).def;
    if (v == source || !def) return v;
    const Node n = g_.node(def);
    if (!n.op->known || !n.op->schema().is_view() || n.results.size() != 1 || !n.args[0].is_value()) return v;
    const ValueId from = primitive(n.args[0].value(), source);
    g_.node(def).args[0] = from;
    if (!n.op->expand) return v;
    Builder b(g_, n.loc, def);
    auto made = n.op->expand(b, Call(g_, *n.op, g_.node(def).args));
    return made && made->size() == 1 ? primitive((*made)[0], from) : v;
  }

  // The views that lead from `source` to `result`, outermost last.
  std::optional<std::vector<Step>> steps_between(ValueId source, ValueId result) const {
    std::vector<Step> steps;
    while (result != source) {
      const NodeId def = g_.value(result).def;
      if (!def) return std::nullopt;
      const Node& n = g_.node(def);
      if (n.args.empty() || !n.args[0].is_value()) return std::nullopt;
      const std::string& op = n.op->name();
      // What changes nothing but may be in the way.
      if (op != "aten.clone" && op != "aten.contiguous") {
        if (!n.op->schema().is_view()) return std::nullopt;
        steps.push_back({n.op, n.args});
      }
      result = n.args[0].value();
    }
    std::reverse(steps.begin(), steps.end());
    return steps;
  }

  // torch.add(x, y, out=z): the plain call, whose results are written. An `out` of other sizes takes the result's.
  void visit_out(NodeId id, const Node& before) {
    const Node now = g_.node(id);
    const Schema& schema = now.op->schema();
    const OpDef& plain = Registry::global().get(now.op->functional);
    std::vector<ValueId> targets;
    for (size_t i = 0; i < schema.params.size(); ++i)
      if (schema.params[i].written) for_each_value(before.args[i], [&](const ValueId& v) { targets.push_back(v); });
    std::vector<Arg> args;
    for (const Param& p : plain.schema().params) {
      const int i = schema.find(p.name);
      const bool wants_dtype = i < 0 && p.name == "dtype" && !targets.empty();
      args.push_back(i >= 0 ? now.args[static_cast<size_t>(i)] : wants_dtype ? Arg(g_.tensor(targets[0]).dtype) : default_arg(p));
    }
    Builder b(g_, before.loc, id);
    const auto made = b.call_all(plain.name(), std::move(args));
    for (size_t i = 0; i < targets.size() && i < made.size() && !b.failed(); ++i) {
      const ValueId value = b.cast(made[i], g_.tensor(targets[i]).dtype);
      auto view = views_.find(targets[i]);
      if (b.failed() || view == views_.end()) continue;
      if (!view->second.chain.empty() && b.tensor(value).sizes != g_.tensor(targets[i]).sizes)
        b.fail(now.op->name() + " gives other sizes than the view that it writes to has");
      else
        write(targets[i], value, b);
    }
    check(b, before.loc);
    for (size_t i = 0; i < before.results.size() && i < targets.size(); ++i)
      if (auto it = views_.find(targets[i]); it != views_.end()) views_[before.results[i]] = View(it->second);
    g_.erase(id);
  }

  void visit_write(NodeId id, const Node& before) {
    const Node now = g_.node(id);
    const Schema& schema = now.op->schema();
    if (!schema.params[0].written && !now.op->functional.empty()) return visit_out(id, before);
    const std::string name = now.op->name();
    // "aten.add_.Tensor" -> "aten.add.Tensor"
    std::string functional = name;
    const size_t op_end = functional.find('.', functional.find('.') + 1);
    const size_t underscore = (op_end == std::string::npos ? functional.size() : op_end) - 1;
    if (functional[underscore] == '_') functional.erase(underscore, 1);
    if (!now.op->functional.empty()) functional = now.op->functional;
    const OpDef* op = Registry::global().find(functional);
    const size_t first_written = op && !op->kernel_writes.empty() ? op->kernel_writes[0] : 0;
    const ValueId target = before.args[first_written].value();
    if (functional == "aten.detach" || functional == "aten.requires_grad") {
      alias_results(before, target);
      g_.erase(id);
      return;
    }
    if (functional == name || !op || op->schema().params.size() != schema.params.size()) {
      cx_.diag.error(before.loc, fmt::format("operator {} writes in place and is not supported", name));
      return;
    }
    if (op->schema().is_view()) return visit_view_in_place(id, before, *op);
    Builder b(g_, before.loc, id);
    if (!op->kernel_writes.empty()) {  // of several arguments, in any place
      const auto values = b.call_all(functional, now.args);
      const size_t results = op->schema().returns.size() - op->kernel_writes.size();
      for (size_t k = 0; k < op->kernel_writes.size() && !b.failed(); ++k)
        if (const Arg& written = before.args[op->kernel_writes[k]]; written.is_value()) write(written.value(), values[results + k], b);
      check(b, before.loc);
      for (size_t k = 0; k < before.results.size() && k < results && !b.failed(); ++k) own(before.results[k], values[k]);
      return g_.erase(id);
    }
    const ValueId old = now.args[0].value();
    ValueId value = b.call(functional, now.args);
    if (!b.failed() && b.tensor(value).sizes != b.tensor(old).sizes) value = b.expand(value, b.tensor(old).sizes);
    if (!b.failed()) value = b.cast(value, b.tensor(old).dtype);
    if (!b.failed()) write(target, value, b);
    check(b, before.loc);
    alias_results(before, target);
    g_.erase(id);
  }

  // x.unsqueeze_(0) writes nothing: the name stands for a view of what it was.
  void visit_view_in_place(NodeId id, const Node& before, const OpDef& op) {
    const ValueId target = before.args[0].value();
    const Node now = g_.node(id);
    Builder b(g_, before.loc, id);
    auto made = op.expand ? op.expand(b, Call(g_, op, now.args)) : Result<std::vector<ValueId>>(std::vector<ValueId>{});
    if (!made) return cx_.diag.error(before.loc, made.failure().message);
    const ValueId result = made->empty() ? b.call(op.name(), now.args) : made->front();
    check(b, before.loc);
    auto view = views_.find(target);
    const auto steps = steps_between(now.args[0].value(), result);
    if (view == views_.end() || !steps)
      return cx_.diag.error(before.loc, fmt::format("operator {} changes something that is no tensor", now.op->name()));
    view->second.chain.insert(view->second.chain.end(), steps->begin(), steps->end());
    view->second.current = result;
    alias_results(before, target);
    g_.erase(id);
  }

  void alias_results(const Node& before, ValueId target) {
    for (ValueId r : before.results)
      if (auto it = views_.find(target); it != views_.end()) {
        View copy = it->second;
        views_[r] = std::move(copy);
      }
  }

  void add_mutation_outputs() {
    std::vector<Arg> values;
    std::vector<OutputSpec> specs;
    for (const auto kind : {OutputSpec::Kind::BufferMutation, OutputSpec::Kind::InputMutation})
      for (size_t i = 0; i < m_.inputs.size(); ++i) {
        auto it = views_.find(g_.inputs[i]);
        if (it == views_.end()) continue;
        const StorageState& s = storages_[it->second.storage];
        const bool user = !m_.inputs[i].is_weight();
        if (s.version == 0 || user != (kind == OutputSpec::Kind::InputMutation)) continue;
        values.push_back(s.current);
        specs.push_back({kind, m_.inputs[i].name, {}});
      }
    // Behind mutations that the archive's signature has already, before the user's outputs.
    size_t at = 0;
    while (at < m_.outputs.size() && m_.outputs[at].kind != OutputSpec::Kind::UserOutput) ++at;
    g_.outputs.insert(g_.outputs.begin() + static_cast<ptrdiff_t>(at), values.begin(), values.end());
    m_.outputs.insert(m_.outputs.begin() + static_cast<ptrdiff_t>(at), specs.begin(), specs.end());
  }

  // What a branch or a turn writes to, the graph around it would have to see.
  void refuse_writes_to_inputs() {
    for (ValueId v : g_.inputs)
      if (auto it = views_.find(v); it != views_.end() && storages_[it->second.storage].version > 0)
        cx_.diag.error(first_write_, fmt::format("a branch or loop body writes to its operand \"{}\"", g_.value(v).name),
                       "give the new value out as a result, and write it behind the branch or loop");
  }

  void check(Builder& b, const Location& loc) {
    if (b.failed()) cx_.diag.error(loc, b.status().failure().message);
  }

  Method& m_;
  Graph& g_;
  PassContext& cx_;
  std::vector<StorageState> storages_;
  std::unordered_map<ValueId, View> views_;
  Location first_write_;
};

// Strides matter to aliasing only; layouts of computed values are decided by passes/dim_order. Operands of branches and
// loops are contiguous.
void forget_layouts(Graph& g, bool main) {
  for (uint32_t i = 0; i < g.value_count(); ++i) {
    Value& v = g.value(ValueId(i));
    v.type.tensor.strides.clear();
    if (v.def || !main) v.type.tensor.dim_order.clear();
  }
}

}  // namespace

Status functionalize(Program& p, PassContext& cx) {
  EDGEC_TRY_VOID(for_each_graph(p, [&](Method& m, Graph& g) -> Status {
    std::vector<DimOrder> layouts;  // of the outputs, as the archive has them
    for (const Arg& a : g.outputs) layouts.push_back(a.is_value() ? g.tensor(a.value()).dim_order : DimOrder{});
    EDGEC_TRY_VOID(Functionalizer(m, g, cx).run());
    forget_layouts(g, &g == m.graph.get());
    if (&g != m.graph.get()) return Status();
    for (InputSpec& in : m.inputs)
      for (const OutputSpec& out : m.outputs)
        in.mutated = in.mutated || (out.kind != OutputSpec::Kind::UserOutput && out.target == in.name);
    for (size_t i = 0; i < layouts.size(); ++i) m.outputs[m.outputs.size() - layouts.size() + i].dim_order = layouts[i];
    return Status();
  }));
  p.stage = Stage::Functional;
  return {};
}

}  // namespace edgec::passes
