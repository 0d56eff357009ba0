#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "arguments.h"
#include "backends/xnnpack/rows.h"
#include "draft.h"

namespace edgec::random_graphs {
namespace {

constexpr int64_t kMaxElements = 2000;
constexpr size_t kMaxRank = 6;

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::optional<Type> with_numbers(const Type& t, const sym::Bindings& numbers) {
  Type out = t;
  for (Dim& d : out.tensor.sizes) {
    const auto size = sym::evaluate_int(d, numbers);
    if (!size) return std::nullopt;
    d = *size;
  }
  if (t.is_sym()) {
    const auto value = sym::evaluate_int(t.expr, numbers);
    if (!value) return std::nullopt;
    out.expr = *value;
  }
  return out;
}

int category(DType d) { return d == DType::Bool ? 0 : is_integral(d) ? 1 : 2; }

bool runs_on(DType d) { return d <= DType::I64 || (d >= DType::F16 && d <= DType::F64); }

// What a view by schema may turn out to be in torch: a copy, depending on strides that a random graph does not know.
bool may_copy(const OpDef& op) {
  return is_one_of(op.schema().name,
                   {"reshape", "reshape_as", "flatten", "contiguous", "to", "ravel", "unflatten", "view", "view_as", "lift_fresh"});
}

// Give their operand, or views of it, without saying so.
bool may_be_its_operand(const OpDef& op) {
  return is_one_of(op.schema().name, {"broadcast_tensors", "meshgrid", "atleast_1d", "atleast_2d", "atleast_3d", "type_as", "lift", "data",
                                      "_unsafe_view", "unsafe_split", "unsafe_chunk", "unsafe_split_with_sizes", "resolve_conj",
                                      "resolve_neg", "positive", "dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout"});
}

// Writes that read their operands again after they have begun.
bool reads_late(const OpDef& op) {
  return op.schema().find("index") >= 0 ||
         is_one_of(op.schema().name, {"masked_scatter_", "addmm_", "baddbmm_", "addbmm_", "addmv_", "addr_"});
}

// Operators of the backend's table, and those that become them.
std::vector<const OpDef*> operators_of_xnnpack() {
  std::vector<const OpDef*> out;
  for (const OpDef* op : usable_operators()) {
    const std::string& name = op->name();
    const bool becomes_some = is_one_of(name, {"aten.conv1d",
                                               "aten.conv2d",
                                               "aten.conv_transpose2d.input",
                                               "aten.relu",
                                               "aten.matmul",
                                               "aten.avg_pool1d",
                                               "aten.max_pool1d",
                                               "aten.pad",
                                               "aten.chunk",
                                               "aten.unbind.int",
                                               "aten.batch_norm",
                                               "aten.upsample_bilinear2d",
                                               "aten.unflatten.int",
                                               "aten.selu",
                                               "aten.celu",
                                               "aten.instance_norm",
                                               "aten.hardtanh",
                                               "aten.mean",
                                               "aten.sum",
                                               "aten.log_softmax.int",
                                               "aten.movedim.int",
                                               "aten.swapaxes",
                                               "aten.flip",
                                               "aten.narrow",
                                               "aten.repeat"});
    if (becomes_some || xnnpack::find_row(name)) out.push_back(op);
  }
  return out;
}

bool repeats_elements(const OpDef& op) {
  return is_one_of(op.schema().name, {"expand", "expand_as", "broadcast_to", "unfold", "as_strided", "broadcast_tensors"});
}

}  // namespace

const OpDef* functional_form(const OpDef& op) {
  const Schema& s = op.schema();
  if (!s.name.ends_with('_') || s.name.starts_with("__")) return nullptr;
  return Registry::global().find(
      fmt::format("{}.{}{}{}", s.ns, s.name.substr(0, s.name.size() - 1), s.overload.empty() ? "" : ".", s.overload));
}

Draft::Draft(Rng& rng, bool for_delegate) : rng_(rng), for_delegate_(for_delegate) {
  program_->methods.push_back(std::make_unique<Method>());
  method_ = program_->methods[0].get();
  const auto count = std::array{0, 0, 1, 1, 2}[rng_.below(5)];
  for (int i = 0; i < count; ++i) {
    symbols_.push_back(method_->syms->symbol(fmt::format("s{}", i)));
    method_->syms->set_range(symbols_.back(), {rng_.between(1, 2), rng_.between(3, 4)});
  }
  sizes_ = sizes_of_calls(*method_->syms);
  for (size_t k = 0; k < sizes_.size(); ++k) twins_.push_back(std::make_unique<Graph>(std::make_shared<sym::Context>()));
}

std::vector<int64_t> Draft::numbers(const sym::Expr& e) const {
  std::vector<int64_t> out;
  for (const auto& s : sizes_) out.push_back(sym::evaluate_int(e, s).value_or(-1));
  return out;
}

DType Draft::random_float() {
  if (rng_.chance(for_delegate_ ? 92 : 70)) return DType::F32;
  return rng_.pick({DType::F64, DType::F16, DType::BF16});
}

DType Draft::random_dtype() {
  if (rng_.chance(for_delegate_ ? 93 : 65)) return random_float();
  return rng_.pick({DType::I64, DType::I64, DType::I32, DType::Bool, DType::Bool, DType::U8, DType::I8, DType::I16});
}

Dim Draft::random_dim() {
  if (!symbols_.empty() && rng_.chance(35)) {
    const Dim s = rng_.pick(symbols_);
    return rng_.chance(90) ? s : rng_.chance(50) ? s + Dim(1) : s * Dim(2);
  }
  if (rng_.chance(3)) return 0;
  return rng_.pick({1, 2, 2, 3, 3, 4, 5});
}

Dims Draft::random_sizes(size_t rank) {
  Dims out;
  for (size_t i = 0; i < rank; ++i) out.push_back(random_dim());
  return out;
}

ValueId Draft::add_input(DType dtype, Dims sizes, Domain domain) {
  TensorType t{dtype, std::move(sizes), {}, {}};
  const bool is_static = t.is_static();
  InputSpec spec;
  const int kind = is_static ? static_cast<int>(rng_.below(10)) : 0;
  spec.kind = kind < 6 ? InputSpec::Kind::UserInput : kind < 9 ? InputSpec::Kind::Parameter : InputSpec::Kind::Buffer;
  const char letter = spec.kind == InputSpec::Kind::UserInput ? 'x' : spec.kind == InputSpec::Kind::Parameter ? 'p' : 'b';
  if (letter == 'x' && t.rank() == 4 && rng_.chance(25)) t.dim_order = channels_last_order(4);
  const std::string name = fmt::format("{}{}{}", domain.prefix(), letter, graph().inputs.size());
  for (size_t k = 0; k < twins_.size(); ++k) twins_[k]->add_input(name, with_numbers(Type::of(t), sizes_[k]).value_or(Type()));
  const bool dense = t.dim_order.empty();
  const ValueId v = graph().add_input(name, Type::of(t));
  spec.name = name;
  if (spec.is_weight()) {
    std::vector<int64_t> numbers;
    int64_t count = 1;
    for (const Dim& d : t.sizes) count *= numbers.emplace_back(*d.constant());
    spec.data = method_->add_constant(name, make_tensor_data(dtype, numbers, elements(name, dtype, count, 0)));
  }
  method_->inputs.push_back(std::move(spec));
  facts_.push_back({frozen_.size(), true, letter != 'p', dense});
  frozen_.push_back(letter == 'p' || domain != Domain());
  return v;
}

Arg Draft::numbered(const Arg& a, size_t twin) const {
  if (a.is_expr()) {
    const auto value = sym::evaluate_int(a.expr(), sizes_[twin]);
    return value ? Arg(*value) : Arg(sym::Expr::invalid(twins_[twin]->syms()));
  }
  if (!a.is_list()) return a;
  ArgList out;
  for (const Arg& item : a.list()) out.push_back(numbered(item, twin));
  return out;
}

std::vector<int64_t> Draft::sizes_in_twin(ValueId v, size_t twin) const {
  std::vector<int64_t> out;
  for (const Dim& d : twins_[twin]->tensor(v).sizes) out.push_back(d.constant().value_or(0));
  return out;
}

Status Draft::check_types(const std::vector<Type>& types, const std::vector<std::vector<Type>>& in_twins) const {
  for (size_t k = 0; k < in_twins.size(); ++k) {
    if (in_twins[k].size() != types.size()) return model_error("another number of results");
    for (size_t i = 0; i < types.size(); ++i) {
      const auto numbered_type = with_numbers(types[i], sizes_[k]);
      if (!numbered_type || *numbered_type != in_twins[k][i])
        return model_error(fmt::format("{} for symbols, {} for numbers", str(types[i]), str(in_twins[k][i])));
      if (!types[i].is_tensor()) continue;
      const TensorType& t = in_twins[k][i].tensor;
      int64_t count = 1;
      for (const Dim& d : t.sizes) {
        if (d.constant().value_or(-1) < 0) return model_error("a negative size");
        count *= *d.constant();
      }
      if (count > kMaxElements || t.rank() > kMaxRank || !runs_on(t.dtype)) return model_error("too large, or of an odd dtype");
    }
  }
  return {};
}

std::vector<Type> Draft::types_of(const OpDef& op, const std::vector<Arg>& args) const {
  if (!check_args(graph(), op, args)) return {};
  auto types = infer(graph(), op, args);
  return types ? *std::move(types) : std::vector<Type>();
}

Status Draft::check_write(const OpDef& op, const std::vector<Arg>& args) const {
  const ValueId target = args[0].value();
  const OpDef* form = functional_form(op);
  if (!form || form->random || form->schema().is_view()) return model_error("no functional form that gives values");
  if (!facts(target).writable || is_frozen(target)) return model_error("not writable");
  const auto types = types_of(*form, args);
  if (types.size() != 1 || types[0].tensor.sizes != graph().tensor(target).sizes) return model_error("the result does not fit");
  if (category(types[0].tensor.dtype) > category(graph().tensor(target).dtype)) return model_error("the result has a higher dtype");
  // torch refuses operands that overlap the target in part.
  for (size_t i = 1; i < args.size(); ++i) {
    bool overlaps = false;
    for_each_value(args[i], [&](const ValueId& v) {
      overlaps = overlaps || ((v != target || reads_late(op)) && facts(v).storage == facts(target).storage);
    });
    if (overlaps) return model_error("an operand overlaps the target");
  }
  return {};
}

Status Draft::add_call(const OpDef& op, const std::vector<Arg>& args) {
  EDGEC_TRY_VOID(check_args(graph(), op, args));
  const bool writes = op.schema().mutates();
  if (writes) EDGEC_TRY_VOID(check_write(op, args));
  const OpDef& rules = writes ? *functional_form(op) : op;
  EDGEC_TRY(std::vector<Type> types, infer(graph(), rules, args));
  std::vector<std::vector<Type>> in_twins;
  std::vector<std::vector<Arg>> twin_args;
  for (size_t k = 0; k < twins_.size(); ++k) {
    auto& list = twin_args.emplace_back();
    for (const Arg& a : args) list.push_back(numbered(a, k));
    EDGEC_TRY_VOID(check_args(*twins_[k], rules, list));
    EDGEC_TRY(std::vector<Type> more, infer(*twins_[k], rules, list));
    in_twins.push_back(std::move(more));
  }
  EDGEC_TRY_VOID(check_types(types, in_twins));
  if (!takes_empty(op))
    for (const auto& list : in_twins)
      for (const Type& t : list)
        if (t.is_tensor() && numel(t.tensor.sizes) == Dim(0)) return model_error("an empty result");
  if (writes) {
    types = {graph().type(args[0].value())};
    for (size_t k = 0; k < twins_.size(); ++k) in_twins[k] = {twins_[k]->type(args[0].value())};
  }
  for (size_t k = 0; k < twins_.size(); ++k) twins_[k]->add_node(&op, std::move(twin_args[k]), std::move(in_twins[k]), nullptr);
  const NodeId n = graph().add_node(&op, args, std::move(types), nullptr);
  note_results(op, args, graph().node(n).results);
  return {};
}

void Draft::note_results(const OpDef& op, const std::vector<Arg>& args, const std::vector<ValueId>& results) {
  const bool writes = op.schema().mutates(), view = op.schema().is_view();
  bool dense = true;
  for (const Arg& a : args) for_each_value(a, [&](const ValueId& v) { dense = dense && (!graph().type(v).is_tensor() || facts(v).dense); });
  for (size_t i = 0; i < results.size(); ++i) {
    if (writes) {
      facts_.push_back(facts_[args[0].value().index]);
    } else if (view) {
      Facts f = facts(args[0].value());
      if (may_copy(op)) frozen_[f.storage] = frozen_[f.storage] || !(f.dense && op.schema().name.starts_with("view"));
      f.writable = f.writable && !repeats_elements(op);
      f.dense =
          f.dense && is_one_of(op.schema().name, {"view", "unsqueeze", "squeeze", "alias", "detach", "contiguous", "flatten", "view_as"});
      facts_.push_back(f);
    } else {
      const bool specified = !op.random && op.schema().name.find("empty") == std::string::npos;
      facts_.push_back({frozen_.size(), specified, true, dense || op.schema().name == "contiguous"});
      // Composite operators that give views in torch.
      const bool composite_view = may_be_its_operand(op);
      frozen_.push_back(composite_view);
      if (composite_view)
        for (const Arg& a : args) for_each_value(a, [&](const ValueId& v) { frozen_[facts(v).storage] = true; });
    }
  }
}

void Draft::choose_outputs() {
  Graph& g = graph();
  const auto uses = g.use_counts();
  std::vector<ValueId> unused, all;
  for (uint32_t i = 0; i < facts_.size(); ++i) {
    const ValueId v(i);
    if (!g.type(v).is_tensor() && !g.type(v).is_sym()) continue;
    if (g.value(v).def)
      (uses[i] == 0 ? unused : all).push_back(v);
    else if (rng_.chance(3))
      all.push_back(v);
  }
  rng_.shuffle(unused);
  if (unused.size() > 8) unused.resize(8);
  for (int extra = static_cast<int>(rng_.below(3)); extra > 0 && !all.empty(); --extra) unused.push_back(rng_.pick(all));
  for (ValueId v : unused) {
    g.outputs.emplace_back(v);
    method_->outputs.push_back({});
    Type& t = g.value(v).type;
    if (t.is_tensor() && g.value(v).def && t.tensor.rank() == 4 && rng_.chance(20)) t.tensor.dim_order = channels_last_order(4);
  }
}

std::unique_ptr<Program> Draft::finish() {
  choose_outputs();
  std::vector<size_t> outputs;
  for (size_t i = 0; i < graph().outputs.size(); ++i) outputs.push_back(i);
  return rebuilt(*program_, std::vector<bool>(graph().node_capacity(), true), outputs);
}

std::unique_ptr<Program> generate(uint64_t seed, size_t max_nodes, const std::string& backend) {
  Rng rng(seed);
  Draft draft(rng, !backend.empty());
  const auto& all = usable_operators();
  const auto own = backend == "xnnpack" ? operators_of_xnnpack() : std::vector<const OpDef*>();
  // Every symbol is the size of an input.
  if (!draft.symbols().empty()) draft.add_input(draft.random_dtype(), Dims(draft.symbols().begin(), draft.symbols().end()));
  for (int i = static_cast<int>(rng.between(1, 3)); i > 0; --i) draft.add_input(draft.random_dtype(), draft.random_sizes(rng.below(6)));
  const auto nodes = static_cast<size_t>(rng.between(1, static_cast<int64_t>(max_nodes)));
  for (int attempts = 0; draft.graph().node_count() < nodes && attempts < 400; ++attempts) {
    const OpDef& op = *rng.pick(!own.empty() && rng.chance(95) ? own : all);
    for (int tries = 0; tries < 8; ++tries) {
      auto args = choose_arguments(draft, op);
      if (args && draft.add_call(op, *args)) break;
    }
  }
  return draft.finish();
}

}  // namespace edgec::random_graphs
