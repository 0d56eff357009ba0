#include "cli/model_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "cli/model_facts.h"
#include "emit/scalar_type.h"
#include "pipeline/pipeline.h"
#include "support/hash.h"

namespace edgec::cli {
namespace {

constexpr int64_t kLargestSize = INT32_MAX;  // sizes of the runtime

Result<const pte::Plan*> plan_of(const pte::Program& program, const std::string& method) {
  std::vector<std::string> names;
  for (const pte::Plan& p : program.plans) {
    if (p.name == method || (method.empty() && (p.name == "forward" || program.plans.size() == 1))) return &p;
    names.push_back(p.name);
  }
  return usage_error(fmt::format("error: the program has no method {}; it has: {}\n  --method NAME says which one the model is",
                                 method.empty() ? "forward" : method, fmt::join(names, ", ")));
}

Hash128 hash_of(const TensorData& data, const DimOrder& order) {
  Hasher128 h;
  const Status never_fails = stream(data, order, [&](std::span<const std::byte> piece) {
    h.add(piece);
    return Status();
  });
  (void)never_fails;
  return h.digest();
}

// The first `bytes` of a blob.
Result<Hash128> hash_of(const pte::Blob& blob, uint64_t bytes) {
  if (blob.view.size() >= bytes) return hash128(blob.view.first(bytes));
  struct Hashing : Sink {
    Hasher128 h;
    Status write(std::span<const std::byte> piece) override {
      h.add(piece);
      return {};
    }
  } sink;
  if (blob.write) EDGEC_TRY_VOID(blob.write(sink));
  return sink.h.digest();
}

class Comparison {
 public:
  Comparison(const InputFile& file, ModelFacts& facts, const pte::Program& program, const pte::Plan& plan)
      : file_(file), facts_(facts), program_(program), plan_(plan) {}

  Result<std::vector<std::string>> run() {
    take_over_quantized_io();
    if (same_count("inputs", plan_.inputs.size(), facts_.inputs.size())) {
      find_bounds();
      for (size_t i = 0; i < facts_.inputs.size(); ++i) port(label("input", i, facts_.inputs[i]), facts_.inputs[i], plan_.inputs[i], true);
    }
    if (same_count("outputs", plan_.outputs.size(), facts_.outputs.size()))
      for (size_t i = 0; i < facts_.outputs.size(); ++i) {
        port(label("output", i, facts_.outputs[i]), facts_.outputs[i], plan_.outputs[i], false);
        written_input(i);
      }
    EDGEC_TRY_VOID(state());
    EDGEC_TRY_VOID(weights());
    return std::move(found_);
  }

 private:
  template <class... T>
  void add(fmt::format_string<T...> format, T&&... args) {
    found_.push_back(fmt::format(format, std::forward<T>(args)...));
  }

  static std::string label(const char* what, size_t i, const ModelFacts::Port& p) {
    return p.name.empty() ? fmt::format("{} {}", what, i) : fmt::format("{} {} ({})", what, i, p.name);
  }

  // Integers at the border where the program declares them: constant methods forward_input0_dtype and the like (`--quantized-io`).
  void take_over_quantized_io() {
    const auto declared = [&](ModelFacts::Port& p, const char* what, size_t i) {
      const std::string name = fmt::format("{}_{}{}_dtype", plan_.name, what, i);
      for (const pte::Plan& constant : program_.plans) {
        if (constant.name != name || !constant.instructions.empty() || constant.outputs.size() != 1 || !p.type.is_tensor()) continue;
        const auto* number = std::get_if<int64_t>(&constant.values[static_cast<size_t>(constant.outputs[0])]);
        const auto dtype = number ? dtype_from_c10(*number) : std::nullopt;
        if (dtype && is_float(p.type.tensor.dtype) && is_integral(*dtype)) p.type.tensor.dtype = *dtype;
      }
    };
    for (size_t i = 0; i < facts_.inputs.size(); ++i) declared(facts_.inputs[i], "input", i);
    size_t user = 0;
    for (ModelFacts::Port& p : facts_.outputs)
      if (!p.written) declared(p, "output", user++);
  }

  bool same_count(const char* what, size_t has, size_t wanted) {
    if (has != wanted) add("the program has {} {}, the model {}", has, what, wanted);
    return has == wanted;
  }

  const pte::Value& value(int32_t i) const { return plan_.values[static_cast<size_t>(i)]; }

  // -- inputs and outputs

  // Sizes that the model leaves open were bounded when it was compiled: the bounds are read off the program's inputs.
  void find_bounds() {
    for (const auto& [name, range] : facts_.sizes) {
      if (range.hi) continue;
      const sym::Expr symbol = *facts_.syms->find_symbol(name);
      std::optional<int64_t> least;
      for (size_t i = 0; i < facts_.inputs.size(); ++i) {
        const auto* t = std::get_if<pte::Tensor>(&value(plan_.inputs[i]));
        const auto& type = facts_.inputs[i].type;
        if (!t || !type.is_tensor() || t->sizes.size() != type.tensor.rank()) continue;
        for (size_t d = 0; d < t->sizes.size(); ++d)
          if (const auto bound = bound_of(symbol, range, type.tensor.sizes[d], t->sizes[d]))
            least = std::min(least.value_or(*bound), *bound);
      }
      facts_.syms->set_range(symbol, {range.lo, least});
      if (least) bounds_[name] = *least;
    }
  }

  // The largest value of a symbol with which a size that depends on it alone stays within `limit`.
  std::optional<int64_t> bound_of(sym::Expr symbol, sym::Range range, const Dim& size, int64_t limit) {
    const auto symbols = sym::free_symbols(size);
    if (symbols.size() != 1 || !(symbols[0] == symbol)) return std::nullopt;
    int64_t low = range.lo.value_or(0), high = kLargestSize;
    const auto fits = [&](int64_t n) {
      facts_.syms->set_range(symbol, {range.lo, n});
      const auto largest = sym::upper_bound(size);
      return largest && *largest <= limit;
    };
    if (!fits(low)) return std::nullopt;
    while (low < high) {
      const int64_t middle = low + (high - low + 1) / 2;
      if (fits(middle))
        low = middle;
      else
        high = middle - 1;
    }
    return low;
  }

  void port(const std::string& where, const ModelFacts::Port& p, int32_t index, bool input) {
    const pte::Value& v = value(index);
    if (p.literal) return literal(where, *p.literal, v);
    const auto* t = std::get_if<pte::Tensor>(&v);
    if (p.type.is_tensor()) {
      if (!t) return add("{} is no tensor in the program", where);
      return tensor(where, p.type.tensor, *t, input);
    }
    if (!p.type.is_sym()) {
      if (!std::holds_alternative<pte::Null>(v)) add("{} is none in the model and something in the program", where);
      return;
    }
    if (!input) {  // a plain number
      const bool number = std::holds_alternative<int64_t>(v) || std::holds_alternative<double>(v) || std::holds_alternative<bool>(v);
      if (!number) add("{} is a number in the model, not in the program", where);
      return;
    }
    const sym::Sort sort = p.type.expr.sort();
    const DType dtype = sort == sym::Sort::Int ? DType::I64 : sort == sym::Sort::Float ? DType::F64 : DType::Bool;
    if (!t || t->scalar_type != c10_number(dtype) || !t->sizes.empty())
      add("{} is a symbolic number, which the program must take as a rank-0 tensor of {}", where, torch_name(dtype));
  }

  void literal(const std::string& where, const Arg& a, const pte::Value& v) {
    bool same = std::holds_alternative<pte::Null>(v);
    if (a.is_expr()) {
      const auto* n = std::get_if<int64_t>(&v);
      same = n && a.expr().constant() == *n;
    } else if (a.is_float()) {
      const auto* d = std::get_if<double>(&v);
      const double wanted = std::get<double>(a.state);
      same = d && (*d == wanted || (*d != *d && wanted != wanted));
    } else if (a.is_bool()) {
      const auto* b = std::get_if<bool>(&v);
      same = b && *b == std::get<bool>(a.state);
    } else if (const auto* s = std::get_if<std::string>(&a.state)) {
      const auto* text = std::get_if<std::string>(&v);
      same = text && *text == *s;
    }
    if (!same) add("{} is fixed at export; the program has another value", where);
  }

  void tensor(const std::string& where, const TensorType& type, const pte::Tensor& t, bool input) {
    if (t.scalar_type != c10_number(type.dtype)) {
      const auto* has = pte::scalar_type(t.scalar_type);
      add("{} is {} in the program and {} in the model", where, has ? has->name : "of unknown dtype", torch_name(type.dtype));
    }
    if (t.sizes.size() != type.rank()) return add("{} has {} dims in the program and {} in the model", where, t.sizes.size(), type.rank());
    for (size_t d = 0; d < type.rank(); ++d) size(where, d, type.sizes[d], t.sizes[d], input);
    if (!type.is_static() && t.dynamism == pte::Dynamism::Static)
      add("{} is {} in the model; in the program its sizes are fixed", where, str(type.sizes));
    if (!input || !type.strides.empty()) return;
    for (size_t d = 0; d < type.rank(); ++d)
      if (t.dim_order[d] != (type.dim_order.empty() ? d : type.dim_order[d]))
        return add("{} has dim order ({}) in the program, another in the model", where, fmt::join(t.dim_order, ", "));
  }

  // Outputs are planned by bounds that the compiler derives; the inputs' are what the model says.
  void size(const std::string& where, size_t d, const Dim& dim, int64_t has, bool input) {
    if (const auto n = dim.constant()) {
      if (*n != has) add("{} dim {} is {} in the program and {} in the model", where, d, has, *n);
      return;
    }
    const sym::Range r = sym::range(dim);
    if (input ? r.hi && *r.hi != has : r.hi && *r.hi < has)
      add("{} dim {} is planned for up to {}; the model's {} goes up to {}", where, d, has, dim.str(), *r.hi);
    else if (r.lo && has < *r.lo)
      add("{} dim {} is planned for up to {}; the model's {} is at least {}", where, d, has, dim.str(), *r.lo);
  }

  void written_input(size_t output) {
    const auto& name = facts_.outputs[output].written;
    if (!name || plan_.inputs.size() != facts_.inputs.size()) return;
    for (size_t i = 0; i < facts_.inputs.size(); ++i)
      if (facts_.inputs[i].name == *name && plan_.inputs[i] != plan_.outputs[output])
        add("output {} must be input {} ({}), which the model writes to", output, i, *name);
  }

  // -- state

  Status state() {
    std::vector<const pte::Tensor*> planned;
    for (const pte::Value& v : plan_.values) {
      const auto* t = std::get_if<pte::Tensor>(&v);
      if (!t || !t->place || t->data_buffer_idx == 0) continue;
      const auto same = [&](const pte::Tensor* other) { return *other->place == *t->place; };
      if (std::ranges::none_of(planned, same)) planned.push_back(t);
    }
    std::set<const pte::Tensor*> taken;
    for (const ModelFacts::State& s : facts_.state) {
      EDGEC_TRY(const pte::Tensor* match, tensor_of(s, planned, taken));
      if (match)
        taken.insert(match);
      else if (plan_.delegates.empty())  // a delegate may keep it
        add("buffer {} is written by the model; the program has no state {}{} with its initial content", s.name, torch_name(s.type.dtype),
            str(s.type.sizes));
    }
    for (const pte::Tensor* t : planned)
      if (!taken.contains(t))
        add("the state at {} of memory {} is no buffer that the model writes to", t->place->offset, t->place->memory_id);
    return {};
  }

  Result<const pte::Tensor*> tensor_of(const ModelFacts::State& s, const std::vector<const pte::Tensor*>& planned,
                                       const std::set<const pte::Tensor*>& taken) {
    for (const pte::Tensor* t : planned) {
      if (taken.contains(t) || t->scalar_type != c10_number(s.type.dtype)) continue;
      if (!std::ranges::equal(t->sizes, s.initial.sizes)) continue;
      EDGEC_TRY(const Hash128 has, hash_of(program_.initial_states[t->data_buffer_idx - 1], *pte::byte_count(*t)));
      if (has == hash_of(s.initial, DimOrder(t->dim_order.begin(), t->dim_order.end()))) return t;
    }
    return static_cast<const pte::Tensor*>(nullptr);
  }

  // -- weights

  static const pte::Tensor* constant(const pte::Value& v) {
    const auto* t = std::get_if<pte::Tensor>(&v);
    return t && !t->place && t->data_buffer_idx > 0 && t->external_name.empty() && *pte::byte_count(*t) > 0 ? t : nullptr;
  }

  // The program's constants are weights of the model, or what the compiler makes of them: the model is compiled again.
  // The same instructions must have the same constants in the same places; where other options gave other
  // instructions, each constant must be one that the model or the compiler has.
  Status weights() {
    if (std::ranges::none_of(plan_.values, [](const auto& v) { return constant(v) != nullptr; })) return {};
    std::optional<pipeline::Outcome> again = compile_again();
    if (again && same_instructions(again->emitted.program.plans[0]))
      return constants_by_place(again->emitted.program.plans[0], again->emitted.program);
    std::unordered_set<Hash128> known;
    if (again)
      for (const pte::Value& v : again->emitted.program.plans[0].values)
        if (const auto* t = constant(v)) {
          EDGEC_TRY(const Hash128 h, constant_hash(again->emitted.program, *t));
          known.insert(h);
        }
    std::unordered_map<const pte::Tensor*, Hash128> open;
    std::set<uint64_t> sizes;
    for (const pte::Value& v : plan_.values)
      if (const auto* t = constant(v)) {
        EDGEC_TRY(const Hash128 h, constant_hash(program_, *t));
        if (known.contains(h)) continue;
        open.emplace(t, h);
        sizes.insert(*pte::byte_count(*t));
      }
    for (const TensorData& w : facts_.weights) {
      if (!sizes.contains(static_cast<uint64_t>(w.nbytes()))) continue;
      known.insert(hash_of(w, {}));
      if (const DimOrder order = channels_last_order(w.sizes.size()); !order.empty()) known.insert(hash_of(w, order));
    }
    for (size_t i = 0; i < plan_.values.size(); ++i)
      if (const auto it = open.find(constant(plan_.values[i])); it != open.end() && !known.contains(it->second)) foreign(i, *it->first);
    return {};
  }

  void foreign(size_t i, const pte::Tensor& t) {
    add("value {} ({} bytes): its constant is no weight of the model and not made from one", i, *pte::byte_count(t));
  }

  // Nothing where today's compiler cannot do it (operators of the user's, for example).
  std::optional<pipeline::Outcome> compile_again() {
    auto model = read_model(file_, plan_.name);
    if (!model) return std::nullopt;
    pipeline::Options options;
    options.bounds.insert(bounds_.begin(), bounds_.end());
    auto outcome = pipeline::compile(**model, options);
    if (!outcome) return std::nullopt;
    return *std::move(outcome);
  }

  Result<Hash128> constant_hash(const pte::Program& program, const pte::Tensor& t) {
    const pte::Blob& blob = program.constants[t.data_buffer_idx - 1];
    const uint64_t bytes = *pte::byte_count(t);
    const auto [it, fresh] = hashes_.try_emplace({&blob, bytes});
    if (fresh) {
      EDGEC_TRY(it->second, hash_of(blob, bytes));
    }
    return it->second;
  }

  bool same_instructions(const pte::Plan& other) const {
    const auto same = [](const pte::Instruction& a, const pte::Instruction& b) {
      if (a.index() != b.index()) return false;
      if (const auto* x = std::get_if<pte::KernelCall>(&a)) {
        const auto& y = std::get<pte::KernelCall>(b);
        return x->op == y.op && x->args == y.args;
      }
      if (const auto* x = std::get_if<pte::MoveCall>(&a))
        return x->from == std::get<pte::MoveCall>(b).from && x->to == std::get<pte::MoveCall>(b).to;
      const auto* x = std::get_if<pte::JumpFalse>(&a);  // delegates are compared by their constants alone
      return x && x->cond == std::get<pte::JumpFalse>(b).cond && x->target == std::get<pte::JumpFalse>(b).target;
    };
    const auto same_operator = [](const pte::Operator& a, const pte::Operator& b) { return a.name == b.name && a.overload == b.overload; };
    const auto same_value = [](const pte::Value& a, const pte::Value& b) {
      const auto *x = constant(a), *y = constant(b);
      if (!x || !y) return a.index() == b.index() && !x && !y;
      return x->scalar_type == y->scalar_type && x->sizes == y->sizes && x->dim_order == y->dim_order;
    };
    return std::ranges::equal(plan_.operators, other.operators, same_operator) &&
           std::ranges::equal(plan_.instructions, other.instructions, same) && std::ranges::equal(plan_.values, other.values, same_value);
  }

  Status constants_by_place(const pte::Plan& other, const pte::Program& program) {
    for (size_t i = 0; i < plan_.values.size(); ++i) {
      const pte::Tensor* t = constant(plan_.values[i]);
      if (!t) continue;
      EDGEC_TRY(const Hash128 has, constant_hash(program_, *t));
      EDGEC_TRY(const Hash128 wanted, constant_hash(program, *constant(other.values[i])));
      if (has != wanted) foreign(i, *t);
    }
    return {};
  }

  struct BlobHash {
    size_t operator()(const std::pair<const pte::Blob*, uint64_t>& key) const {
      return std::hash<const void*>()(key.first) ^ std::hash<uint64_t>()(key.second);
    }
  };

  const InputFile& file_;
  ModelFacts& facts_;
  const pte::Program& program_;
  const pte::Plan& plan_;
  std::map<std::string, int64_t> bounds_;
  std::unordered_map<std::pair<const pte::Blob*, uint64_t>, Hash128, BlobHash> hashes_;
  std::vector<std::string> found_;
};

}  // namespace

Result<std::vector<std::string>> disagreements(const InputFile& model, const pte::Program& program, const std::string& method) {
  EDGEC_TRY(const pte::Plan* plan, plan_of(program, method));
  EDGEC_TRY(auto loaded, read_model(model, plan->name));
  EDGEC_TRY(ModelFacts facts, facts_of(*loaded));
  return Comparison(model, facts, program, *plan).run();
}

}  // namespace edgec::cli
