#include "emit/lower.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <unordered_set>

#include <edgec/op.h>
#include "emit/constants.h"
#include "emit/delegates.h"
#include "emit/tensors.h"
#include "memory/storage.h"

namespace edgec::emit {
namespace {

// The runtime's MemoryFormat numbers.
int64_t memory_format_number(MemoryFormat f) {
  switch (f) {
    case MemoryFormat::Contiguous:
      return 0;
    case MemoryFormat::Preserve:
      return 1;
    case MemoryFormat::ChannelsLast:
      return 2;
    case MemoryFormat::ChannelsLast3d:
      return 3;
  }
  return 0;
}

enum class SameMemory { OneTensor, TensorEach };

class MethodEmitter {
 public:
  MethodEmitter(const Method& m, ConstantPool& constants, ConstantPool& states, DelegatePool& delegates, SameMemory same)
      : m_(m),
        g_(*m.graph),
        storage_(*m.graph),
        shown_(memory::views_for_delegates(*m.graph, storage_)),
        same_(same == SameMemory::OneTensor ? tensors_of(*m.graph, storage_, shown_) : tensor_of_each(*m.graph)),
        constants_(constants),
        states_(states),
        delegates_(delegates) {}

  bool shares_tensors() const { return same_ != tensor_of_each(g_); }

  Status run(pte::Plan& plan, std::vector<InstructionOrigin>& origins) {
    plan_ = &plan;
    origins_ = &origins;
    plan.name = m_.name;
    plan.in_spec = m_.in_spec;
    plan.out_spec = m_.out_spec;
    for (size_t i = 0; i < m_.inputs.size(); ++i) {
      const ValueId v = g_.inputs[i];
      if (m_.inputs[i].is_weight()) continue;  // emitted where they are used
      if (m_.inputs[i].kind == InputSpec::Kind::Literal) {
        plan.inputs.push_back(literal_input(m_.inputs[i].literal));
      } else {
        EDGEC_TRY(int32_t index, tensor_value(v));
        plan.inputs.push_back(index);
      }
    }
    emit_guard_exit();
    for (NodeId n = g_.first(); n; n = g_.next(n))
      if (g_.node(n).op->name() == "executorch_prim.et_copy_index.tensor") grows_.insert(g_.node(n).args[0].value());
    for (NodeId n = g_.first(); n; n = g_.next(n)) EDGEC_TRY_VOID(emit_node(n));
    // State that only its parts and its new value name is still where the initial content goes.
    for (size_t i = 0; i < m_.inputs.size(); ++i)
      if (m_.inputs[i].is_weight() && m_.inputs[i].mutated && g_.value(g_.inputs[i]).place) EDGEC_TRY_VOID(tensor_value(g_.inputs[i]));
    for (const Arg& a : g_.outputs) {
      EDGEC_TRY(int32_t index, output_value(a));
      plan.outputs.push_back(index);
    }
    size_buffers();
    return {};
  }

 private:
  // A buffer for each memory id up to the highest; ids without tensors get none.
  void size_buffers() {
    std::vector<int64_t>& sizes = plan_->buffer_sizes;
    sizes = {0};
    if (uses_memory_1_) sizes.push_back(1);
    for (uint32_t i = 0; i < g_.value_count(); ++i) {
      const auto& v = g_.value(ValueId(i));
      if (!v.place || !v.type.is_tensor()) continue;
      if (v.place->memory_id >= sizes.size()) sizes.resize(v.place->memory_id + 1);
      int64_t& size = sizes[v.place->memory_id];
      size = std::max(size, v.place->offset + std::max<int64_t>(upper_bound_bytes(v.type.tensor).value_or(0), 1));
    }
    for (int64_t& size : sizes) size = (size + 15) / 16 * 16;
  }

  // ---- values -----------------------------------------------------------------------------------------------------

  int32_t push(pte::Value v) {
    plan_->values.push_back(std::move(v));
    return static_cast<int32_t>(plan_->values.size() - 1);
  }

  // Equal literals share a value: kernels only read them.
  template <class T>
  int32_t literal(std::map<T, int32_t>& known, const T& v) {
    auto [it, fresh] = known.try_emplace(v, 0);
    if (fresh) it->second = push(v);
    return it->second;
  }
  int32_t integer(int64_t v) { return literal(ints_, v); }
  int32_t boolean(bool v) { return literal(bools_, v); }
  int32_t real(double v) {
    int64_t bits;
    std::memcpy(&bits, &v, sizeof bits);
    auto [it, fresh] = doubles_.try_emplace(bits, 0);
    if (fresh) it->second = push(v);
    return it->second;
  }
  int32_t null() {
    if (null_ < 0) null_ = push(pte::Null{});
    return null_;
  }

  // The runtime compares a literal input with the value in the program: it has a value of its own.
  int32_t literal_input(const Arg& a) {
    if (a.is_expr()) return push(*a.expr().constant());
    if (a.is_float()) return push(std::get<double>(a.state));
    if (a.is_bool()) return push(std::get<bool>(a.state));
    if (auto* s = std::get_if<std::string>(&a.state)) return push(*s);
    return push(pte::Null{});
  }

  Result<int32_t> tensor_value(ValueId v) {
    // A write gives its target; a static view of planned memory is a tensor of its own at the same place.
    while (g_.value(v).def && g_.node(g_.value(v).def).op->schema().mutates()) v = g_.node(g_.value(v).def).args[0].value();
    v = same_[v.index];
    auto [it, fresh] = values_.try_emplace(v, 0);
    if (!fresh) return it->second;
    const Value& value = g_.value(v);
    const TensorType& type = value.type.tensor;
    pte::Tensor t;
    t.scalar_type = c10_number(type.dtype);
    for (size_t i = 0; i < type.rank(); ++i) {
      auto bound = sym::upper_bound(type.sizes[i]);
      if (!bound || *bound > INT32_MAX || *bound < 0)
        return model_error(fmt::format("size {} of %{} ({}) is not within the runtime's 32-bit sizes", i, value.name, str(type)));
      t.sizes.push_back(static_cast<int32_t>(*bound));
      t.dim_order.push_back(type.dim_order.empty() ? static_cast<uint8_t>(i) : type.dim_order[i]);
    }
    if (!type.is_static() || grows_.count(v)) t.dynamism = pte::Dynamism::DynamicBound;
    const TensorData* data = m_.constant_of(g_, v);
    if (data && data->nbytes() == 0) {  // the runtime refuses constants and initial states without bytes
      t.place = pte::Place{1, 0};
      uses_memory_1_ = true;
    } else if (data) {
      t.data_buffer_idx = constants_.add(*data, type.dim_order) + 1;
    } else if (value.place) {
      t.place = pte::Place{value.place->memory_id, static_cast<uint64_t>(value.place->offset)};
      const InputSpec* spec = m_.spec_of(v);
      const bool has_state = spec && spec->is_weight() && m_.constants[spec->data.index].data.nbytes() > 0;
      if (has_state) t.data_buffer_idx = states_.add(m_.constants[spec->data.index].data, type.dim_order) + 1;
    }
    return it->second = push(std::move(t));
  }

  Result<int32_t> value_index(ValueId v) {
    if (g_.type(v).is_tensor()) return tensor_value(v);
    auto [it, fresh] = values_.try_emplace(v, 0);
    if (fresh) it->second = push(int64_t{0});  // overwritten by the operator that computes it
    return it->second;
  }

  Result<int32_t> output_value(const Arg& a) {
    if (a.is_value()) return value_index(a.value());
    return literal_input(a);  // outputs may be literals; each its own value
  }

  Result<int32_t> argument(const Arg& a, const Param& p) {
    if (a.is_none()) {
      if (p.type != ArgType::Tensor || p.optional || p.list) return null();
      return push(pte::Tensor{c10_number(DType::U8), {0}, {0}, 0, {}, pte::Dynamism::Static, {}});
    }
    if (p.list) return list_argument(a, p);
    if (a.is_value()) return value_index(a.value());
    if (auto* e = std::get_if<sym::Expr>(&a.state)) {
      auto n = e->constant();
      if (!n) return internal_error(fmt::format("size expression {} was left in argument {}", e->str(), p.name));
      if (p.type == ArgType::Float) return real(static_cast<double>(*n));
      if (p.type == ArgType::Bool) return boolean(*n != 0);
      return integer(*n);
    }
    if (auto* d = std::get_if<double>(&a.state)) return real(*d);
    if (auto* b = std::get_if<bool>(&a.state)) {
      if (p.type == ArgType::Int || p.type == ArgType::SymInt) return integer(*b);
      if (p.type == ArgType::Float) return real(*b);
      return boolean(*b);
    }
    if (auto* s = std::get_if<std::string>(&a.state)) return literal(strings_, *s);
    if (auto* d = std::get_if<DType>(&a.state)) return integer(c10_number(*d));
    if (auto* f = std::get_if<MemoryFormat>(&a.state)) return integer(memory_format_number(*f));
    return internal_error(fmt::format("argument {} has no form in a program", p.name));
  }

  Result<int32_t> list_argument(const Arg& a, const Param& p) {
    const ArgList one{a};
    const ArgList& items = a.is_list() ? a.list() : one;
    if (p.type == ArgType::Tensor) {
      std::vector<int32_t> indices;
      for (const Arg& item : items) {
        if (item.is_none()) {
          indices.push_back(-1);
          continue;
        }
        EDGEC_TRY(int32_t i, value_index(item.value()));
        indices.push_back(i);
      }
      if (p.list_of_optional) return push(pte::OptionalTensorList{std::move(indices)});
      return push(pte::TensorList{std::move(indices)});
    }
    if (p.type == ArgType::Float) {
      pte::DoubleList l;
      for (const Arg& item : items)
        l.items.push_back(item.is_float() ? std::get<double>(item.state) : item.is_expr() ? item.expr().constant_float().value_or(0) : 0);
      return push(std::move(l));
    }
    if (p.type == ArgType::Bool) {
      pte::BoolList l;
      for (const Arg& item : items) l.items.push_back(item == Arg(true) || (item.is_expr() && item.expr().constant().value_or(0) != 0));
      return push(std::move(l));
    }
    std::vector<int64_t> indices;
    Param element = p;
    element.list = false;
    for (const Arg& item : items) {
      EDGEC_TRY(int32_t i, argument(item, element));
      indices.push_back(i);
    }
    auto [it, fresh] = int_lists_.try_emplace(indices, 0);
    if (fresh) it->second = push(pte::IntList{std::move(indices)});
    return it->second;
  }

  // ---- instructions -----------------------------------------------------------------------------------------------

  void add(pte::Instruction i, const Node& n) {
    origins_->push_back({static_cast<uint32_t>(plan_->instructions.size()), n.loc, n.op->name()});
    plan_->instructions.push_back(std::move(i));
  }

  int32_t op_index(const KernelName& k) {
    auto [it, fresh] = operators_.try_emplace({k.name, k.overload}, 0);
    if (fresh) {
      it->second = static_cast<int32_t>(plan_->operators.size());
      plan_->operators.push_back({k.name, k.overload});
    }
    return it->second;
  }

  // A guard that fails jumps to instruction 1, which the runtime refuses: a JumpFalse on a number.
  void emit_guard_exit() {
    bool any = false;
    for (NodeId n = g_.first(); n && !any; n = g_.next(n)) any = g_.node(n).op->name() == "prim.guard";
    if (!any) return;
    plan_->instructions.push_back(pte::JumpFalse{boolean(false), 2});
    plan_->instructions.push_back(pte::JumpFalse{integer(0), 1});
  }

  Status emit_node(NodeId id) {
    const Node& n = g_.node(id);
    const std::string& name = n.op->name();
    const bool shown = n.op->memory_view && shown_[n.results[0].index];
    if (name == "prim.constant" || (memory::is_free(g_, storage_, id) && !shown)) return {};
    if (name == "aten.copy_" && memory::same_memory(g_, storage_, n.args[0].value(), n.args[1].value())) return {};
    if (name == "prim.guard") {
      if (!n.args[0].is_value()) return internal_error("a guard without a value");
      EDGEC_TRY(int32_t cond, value_index(n.args[0].value()));
      add(pte::JumpFalse{cond, 1}, n);
      return {};
    }
    if (n.op->schema().ns == "prim") return emit_flow(n);
    if (n.op->schema().ns == "executorch") return emit_delegate(n);
    if (n.op->memory_view) return emit_view(n);
    if (!n.op->kernel.exists()) return internal_error(fmt::format("{} reached emission without a kernel", name));
    if (!n.op->kernel_writes.empty()) return emit_on_copies(n);
    pte::KernelCall call;
    call.op = op_index(n.op->kernel);
    const Schema& s = n.op->schema();
    for (size_t i = 0; i < n.args.size(); ++i) {
      const auto& drop = n.op->kernel.drop;
      if (std::find(drop.begin(), drop.end(), s.params[i].name) != drop.end()) continue;
      EDGEC_TRY(int32_t index, argument(n.args[i], s.params[i]));
      call.args.push_back(index);
    }
    std::vector<int32_t> outs;
    for (ValueId r : n.results) {
      EDGEC_TRY(int32_t index, value_index(r));
      outs.push_back(index);
    }
    // Prims and writes only give back.
    add_outs(call, outs, !n.results.empty() && g_.type(n.results[0]).is_tensor() && !s.mutates());
    add(std::move(call), n);
    return {};
  }

  // A kernel that writes to its arguments works on the last results, which start as copies; the first ones are its own.
  Status emit_on_copies(const Node& n) {
    pte::KernelCall call;
    call.op = op_index(n.op->kernel);
    const auto& written = n.op->kernel_writes;
    const size_t own = n.results.size() - written.size();
    for (size_t i = 0; i < n.args.size(); ++i) {
      EDGEC_TRY(int32_t index, argument(n.args[i], n.op->schema().params[i]));
      if (const auto at = std::find(written.begin(), written.end(), i); at != written.end()) {
        EDGEC_TRY(int32_t copy, value_index(n.results[own + static_cast<size_t>(at - written.begin())]));
        add(pte::KernelCall{op_index({"aten::clone", "out", {}}), {index, null(), copy, copy}}, n);
        index = copy;
      }
      call.args.push_back(index);
    }
    std::vector<int32_t> outs;
    for (size_t i = 0; i < own; ++i) {
      EDGEC_TRY(outs.emplace_back(), value_index(n.results[i]));
    }
    add_outs(call, outs);
    add(std::move(call), n);
    return {};
  }

  // Out variants take the outs as arguments and give them back: one again, or several as a list.
  void add_outs(pte::KernelCall& call, const std::vector<int32_t>& outs, bool as_arguments = true) {
    if (as_arguments) call.args.insert(call.args.end(), outs.begin(), outs.end());
    if (outs.size() == 1)
      call.args.push_back(outs[0]);
    else if (outs.size() > 1)
      call.args.push_back(push(pte::TensorList{outs}));
  }

  // The inputs, then the outputs.
  Status emit_delegate(const Node& n) {
    const LoweredId id = std::get<LoweredId>(n.args[0].state);
    auto [it, fresh] = delegate_index_.try_emplace(id, static_cast<int32_t>(plan_->delegates.size()));
    if (fresh) {
      EDGEC_TRY(pte::Delegate delegate, delegates_.add(m_.lowered[id.index]));
      plan_->delegates.push_back(std::move(delegate));
    }
    pte::DelegateCall call;
    call.delegate = it->second;
    for (const Arg& a : n.args[1].list()) {
      EDGEC_TRY(int32_t input, argument(a, n.op->schema().params[0]));
      call.args.push_back(input);
    }
    for (ValueId r : n.results) {
      EDGEC_TRY(int32_t output, value_index(r));
      call.args.push_back(output);
    }
    add(std::move(call), n);
    return {};
  }

  // Points the result at the operand's bytes at run time.
  Status emit_view(const Node& n) {
    pte::KernelCall call;
    call.op = op_index({"executorch_prim::et_view", "default", {}});
    EDGEC_TRY(int32_t self, value_index(n.args[0].value()));
    EDGEC_TRY(int32_t size, argument(n.args[1], n.op->schema().params[1]));
    EDGEC_TRY(int32_t out, value_index(n.results[0]));
    call.args = {self, size, out};
    add(std::move(call), n);
    return {};
  }

  // ---- branches and loops -----------------------------------------------------------------------------------------

  int32_t here() const { return static_cast<int32_t>(plan_->instructions.size()); }

  // A jump whose destination is set by `land`.
  Status jump_unless(const Arg& condition, const Node& n, std::vector<size_t>& to) {
    EDGEC_TRY(int32_t cond, argument(condition, n.op->schema().params[0]));
    to.push_back(plan_->instructions.size());
    add(pte::JumpFalse{cond, 0}, n);
    return {};
  }
  void jump(const Node& n, int32_t to) { add(pte::JumpFalse{boolean(false), to}, n); }
  void land(const std::vector<size_t>& jumps) {
    for (size_t i : jumps) std::get<pte::JumpFalse>(plan_->instructions[i]).target = here();
  }

  // A branch or loop whose end has not come yet.
  struct Open {
    int32_t start = 0;           // of a loop
    std::vector<size_t> to_end;  // jumps to behind it
    std::vector<size_t> to_otherwise;
  };

  Status emit_flow(const Node& n) {
    const std::string& name = n.op->name();
    if (name == "prim.alloc") return {};
    if (name == "prim.assign") return emit_assign(n);
    if (name == "prim.number") {
      EDGEC_TRY(int32_t to, value_index(n.results[0]));
      return emit_move(n.args[0], to, g_.type(n.results[0]), n);
    }
    if (name == "prim.branch") {
      open_.emplace_back();
      return jump_unless(n.args[0], n, open_.back().to_otherwise);
    }
    if (name == "prim.loop") {
      open_.push_back({here(), {}, {}});
      return {};
    }
    if (open_.empty()) return internal_error(fmt::format("{} ends nothing", name));
    Open& o = open_.back();
    if (name == "prim.exit_unless") return jump_unless(n.args[0], n, o.to_end);
    if (name == "prim.otherwise") {
      o.to_end.push_back(plan_->instructions.size());
      jump(n, 0);
      land(o.to_otherwise);
      return {};
    }
    if (name == "prim.repeat_until") {
      EDGEC_TRY(int32_t cond, argument(n.args[0], n.op->schema().params[0]));
      add(pte::JumpFalse{cond, o.start}, n);
    } else if (name == "prim.repeat") {
      jump(n, o.start);
    } else if (name != "prim.join") {
      return internal_error(fmt::format("{} has no form in a program", name));
    }
    land(o.to_end);
    open_.pop_back();
    return {};
  }

  // Tensors are copied, which also gives the target the size; numbers are moved.
  Status emit_assign(const Node& n) {
    const ValueId target = n.args[0].value();
    EDGEC_TRY(int32_t to, value_index(target));
    if (!g_.type(target).is_tensor()) return emit_move(n.args[1], to, g_.type(target), n);
    if (g_.tensor(target).is_static() && memory::same_memory(g_, storage_, target, n.args[1].value())) return {};
    EDGEC_TRY(int32_t from, value_index(n.args[1].value()));
    pte::KernelCall call;
    call.op = op_index({"aten::clone", "out", {}});
    call.args = {from, null(), to, to};
    add(std::move(call), n);
    return {};
  }

  Status emit_move(const Arg& value, int32_t to, const Type& type, const Node& n) {
    Arg a = value;
    if (a.is_expr() && type.expr.sort() == sym::Sort::Float)
      if (auto number = a.expr().constant()) a = static_cast<double>(*number);
    EDGEC_TRY(int32_t from, argument(a, n.op->schema().params.back()));
    add(pte::MoveCall{from, to}, n);
    return {};
  }

  const Method& m_;
  const Graph& g_;
  const memory::Storage storage_;
  const std::vector<bool> shown_;    // views that are instructions where they would be free
  const std::vector<ValueId> same_;  // by value: the one whose tensor of the program it is
  std::vector<Open> open_;
  std::unordered_set<ValueId> grows_;  // written row by row, which sets the size each time
  ConstantPool &constants_, &states_;
  DelegatePool& delegates_;
  std::unordered_map<LoweredId, int32_t> delegate_index_;
  pte::Plan* plan_ = nullptr;
  std::vector<InstructionOrigin>* origins_ = nullptr;
  bool uses_memory_1_ = false;
  int32_t null_ = -1;
  std::unordered_map<ValueId, int32_t> values_;
  std::map<int64_t, int32_t> ints_, doubles_;
  std::map<bool, int32_t> bools_;
  std::map<std::string, int32_t> strings_;
  std::map<std::vector<int64_t>, int32_t> int_lists_;
  std::map<std::pair<std::string, std::string>, int32_t> operators_;
};

pte::Plan constant_method(const ConstantMethod& c) {
  pte::Plan p;
  p.name = c.name;
  p.buffer_sizes = {0};
  for (const Arg& a : c.values) {
    p.outputs.push_back(static_cast<int32_t>(p.values.size()));
    if (a.is_expr())
      p.values.emplace_back(*a.expr().constant());
    else if (a.is_float())
      p.values.emplace_back(std::get<double>(a.state));
    else if (a.is_bool())
      p.values.emplace_back(std::get<bool>(a.state));
    else if (auto* s = std::get_if<std::string>(&a.state))
      p.values.emplace_back(*s);
    else
      p.values.emplace_back(pte::Null{});
  }
  return p;
}

}  // namespace

Result<Emitted> lower(const Program& program) {
  Emitted out;
  ConstantPool constants, states;
  DelegatePool delegates;
  std::vector<const Method*> methods;
  for (const auto& m : program.methods) methods.push_back(m.get());
  std::sort(methods.begin(), methods.end(), [](auto* a, auto* b) { return a->name < b->name; });
  for (const Method* m : methods) {
    pte::Plan plan;
    std::vector<InstructionOrigin> origins;
    MethodEmitter emitter(*m, constants, states, delegates, SameMemory::OneTensor);
    EDGEC_TRY_VOID(emitter.run(plan, origins));
    if (emitter.shares_tensors()) {
      std::vector<InstructionOrigin> known;
      EDGEC_TRY_VOID(MethodEmitter(*m, constants, states, delegates, SameMemory::TensorEach).run(out.unshared.emplace_back(), known));
    }
    out.program.plans.push_back(std::move(plan));
    out.origins.push_back(std::move(origins));
  }
  for (const ConstantMethod& c : program.constant_methods) out.program.plans.push_back(constant_method(c));
  out.program.constants = constants.take_blobs();
  out.program.initial_states = states.take_blobs();
  out.program.payloads = delegates.take_payloads();
  out.program.named_data = delegates.take_named_data();
  return out;
}

}  // namespace edgec::emit
