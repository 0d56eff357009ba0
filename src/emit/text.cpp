#include "emit/text.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "emit/json.h"
#include "emit/memory_use.h"
#include "emit/operators.h"
#include "emit/scalar_type.h"
#include "emit/usage.h"

namespace edgec::pte {
namespace {

constexpr size_t kShownItems = 32;  // of a list within a line
constexpr size_t kShownText = 200;

std::string counted(size_t n, const char* one, const char* many) { return fmt::format("{} {}", n, n == 1 ? one : many); }

class MethodText {
 public:
  MethodText(const Program& program, const Plan& plan, std::string& out)
      : program_(program), plan_(plan), usage_(usage_of(plan)), out_(out) {
    for (int32_t i : plan.inputs) shown_.insert(i);
    for (int32_t i : plan.outputs) shown_.insert(i);
  }

  void run() {
    put("\nmethod {}: {}, {}, {}\n", quoted(plan_.name), counted(plan_.values.size(), "value", "values"),
        counted(plan_.instructions.size(), "instruction", "instructions"), counted(plan_.delegates.size(), "delegate", "delegates"));
    for (size_t i = 1; i < plan_.buffer_sizes.size(); ++i) put("  memory {}: {} bytes\n", i, plan_.buffer_sizes[i]);
    if (planned_bytes(plan_) > 0)
      if (auto most = max_live_bytes(plan_)) put("  live at most: {} bytes\n", *most);
    memory_over_time();
    values("inputs", plan_.inputs, ", a number for `edgec run`");
    values("outputs", plan_.outputs);
    operators();
    delegates();
    put("  values (literals stand where they are used)\n");
    for (size_t i = 0; i < plan_.values.size(); ++i)
      if (!is_literal(static_cast<int64_t>(i))) put("    %{} = {}\n", i, described(plan_.values[i]));
    put("  instructions\n");
    for (size_t i = 0; i < plan_.instructions.size(); ++i)
      put("    {}: {}\n", i, std::visit([&](const auto& x) { return described(x); }, plan_.instructions[i]));
  }

 private:
  template <class... T>
  void put(fmt::format_string<T...> format, T&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<T>(args)...);
  }

  void memory_over_time() {
    const auto live = planned_bytes(plan_) > 0 ? live_bytes(plan_) : std::nullopt;
    if (!live) return;
    for (size_t id = 1; id < plan_.buffer_sizes.size(); ++id) {
      const std::string picture = timeline(plan_, *live, static_cast<uint32_t>(id));
      if (picture.empty()) continue;
      put("  memory {} over time: the call at the left, byte 0 at the bottom; # full, + in part, . never used\n", id);
      for (size_t at = 0; at < picture.size(); at = picture.find('\n', at) + 1)
        put("    |{}|\n", std::string_view(picture).substr(at, picture.find('\n', at) - at));
    }
  }

  const Value* value(int64_t i) const {
    return i >= 0 && std::cmp_less(i, plan_.values.size()) ? &plan_.values[static_cast<size_t>(i)] : nullptr;
  }

  // Numbers, texts and lists that no instruction changes and that do not cross the method's border.
  bool is_literal(int64_t i) const {
    const Value* v = value(i);
    return v && !std::holds_alternative<Tensor>(*v) && !usage_.written[static_cast<size_t>(i)] && !shown_.contains(i);
  }

  // Symbolic numbers enter as rank-0 tensors; nothing tells them from tensors that have rank 0 in the model.
  void values(const char* title, const std::vector<int32_t>& indices, const char* rank0_note = "") {
    put("  {}\n", title);
    for (int32_t i : indices) {
      const auto* t = value(i) ? std::get_if<Tensor>(value(i)) : nullptr;
      put("    %{} = {}{}\n", i, value(i) ? described(*value(i)) : "nothing: no such value", t && t->sizes.empty() ? rank0_note : "");
    }
  }

  void operators() {
    if (plan_.operators.empty()) return;
    put("  operators\n");
    for (size_t i = 0; i < plan_.operators.size(); ++i) {
      std::string name = full_name(plan_.operators[i]);
      auto library = library_of(name);
      std::string note = !library                          ? ", not in the official runtime"
                         : *library == KernelLibrary::base ? ""
                                                           : fmt::format(", from the {} kernel library", name_of(*library));
      put("    {}: {}{}\n", printable(name), counted(usage_.operator_calls[i], "call", "calls"), note);
    }
  }

  void delegates() {
    if (plan_.delegates.empty()) return;
    put("  delegates\n");
    for (size_t i = 0; i < plan_.delegates.size(); ++i) {
      const Delegate& d = plan_.delegates[i];
      put("    {}: {}, payload {} of {} bytes, {}\n", i, printable(d.backend_id), d.payload, payload_bytes(program_, d),
          counted(usage_.delegate_calls[i], "call", "calls"));
      for (const CompileSpec& s : d.compile_specs) put("      {}: {} bytes\n", printable(s.key), s.value.size());
    }
  }

  // -- values

  std::string described(const Value& v) const {
    return std::visit([&](const auto& x) { return described(x); }, v);
  }
  std::string described(const Null&) const { return "none"; }
  std::string described(int64_t i) const { return fmt::format("{}", i); }
  std::string described(bool b) const { return b ? "true" : "false"; }
  std::string described(double d) const {
    std::string s = fmt::format("{}", d);
    return s.find_first_not_of("-0123456789") == std::string::npos ? s + ".0" : s;
  }
  std::string described(const std::string& s) const {
    return s.size() <= kShownText ? quoted(s) : fmt::format("{}... ({} bytes)", quoted(s.substr(0, kShownText)), s.size());
  }
  std::string described(const DoubleList& l) const {
    return listed(l.items, [&](double d) { return described(d); });
  }
  std::string described(const BoolList& l) const {
    return listed(l.items, [&](bool b) { return described(b); });
  }
  std::string described(const IntList& l) const {
    return listed(l.items, [&](int64_t i) {
      return is_literal(i) && !std::holds_alternative<IntList>(*value(i)) ? described(*value(i)) : fmt::format("%{}", i);
    });
  }
  std::string described(const TensorList& l) const {
    return listed(l.items, [&](int32_t i) { return fmt::format("%{}", i); });
  }
  std::string described(const OptionalTensorList& l) const {
    return listed(l.items, [&](int32_t i) {
      return i == -1 || (value(i) && std::holds_alternative<Null>(*value(i))) ? "none" : fmt::format("%{}", i);
    });
  }
  template <class T, class F>
  std::string listed(const std::vector<T>& items, F&& one) const {
    std::string s = "[";
    for (size_t i = 0; i < items.size() && i < kShownItems; ++i) s += (i ? ", " : "") + std::string(one(items[i]));
    if (items.size() > kShownItems) s += fmt::format(", ... {} items", items.size());
    return s + "]";
  }
  std::string described(const Tensor& t) const {
    const ScalarType* type = scalar_type(t.scalar_type);
    std::string s = type ? std::string(type->name) : fmt::format("dtype {}", t.scalar_type);
    s += t.dynamism == Dynamism::Static ? "[" : "[up to ";
    s += fmt::format("{}]", fmt::join(t.sizes, ", "));
    if (!std::ranges::is_sorted(t.dim_order)) s += fmt::format(" in dim order ({})", fmt::join(t.dim_order, ", "));
    if (t.dynamism == Dynamism::DynamicUnbound) s += " unbounded";
    if (auto bytes = byte_count(t)) s += fmt::format(", {} bytes", *bytes);
    if (t.place) s += fmt::format(" at {} of memory {}", t.place->offset, t.place->memory_id);
    if (!t.external_name.empty())
      s += ", external " + quoted(t.external_name);
    else if (t.data_buffer_idx > 0)
      s += fmt::format(", {} {}", t.place ? "initial state" : "constant", t.data_buffer_idx - 1);
    return s;
  }

  // -- instructions

  std::string argument(int32_t i) const {
    const Value* v = value(i);
    if (!v) return fmt::format("%{} (no such value)", i);
    bool tensors = std::holds_alternative<TensorList>(*v) || std::holds_alternative<OptionalTensorList>(*v);
    return tensors || is_literal(i) ? described(*v) : fmt::format("%{}", i);
  }
  std::string arguments(const std::vector<int32_t>& args, size_t n) const {
    std::string s;
    for (size_t i = 0; i < n; ++i) s += (i ? ", " : "") + argument(args[i]);
    return s;
  }

  std::string described(const KernelCall& c) const {
    bool known = c.op >= 0 && std::cmp_less(c.op, plan_.operators.size());
    std::string name =
        known ? printable(full_name(plan_.operators[static_cast<size_t>(c.op)])) : fmt::format("operator {} (no such one)", c.op);
    if (c.args.empty()) return name + "()";
    return fmt::format("{} = {}({})", argument(c.args.back()), name, arguments(c.args, c.args.size() - 1));
  }
  std::string described(const DelegateCall& c) const {
    bool known = c.delegate >= 0 && std::cmp_less(c.delegate, plan_.delegates.size());
    return fmt::format("delegate {} {}({})", c.delegate,
                       known ? printable(plan_.delegates[static_cast<size_t>(c.delegate)].backend_id) : "(no such one)",
                       arguments(c.args, c.args.size()));
  }
  std::string described(const MoveCall& c) const { return fmt::format("%{} = move {}", c.to, argument(c.from)); }
  std::string described(const JumpFalse& c) const { return fmt::format("if not {} go to {}", argument(c.cond), c.target); }

  // Names as they are, unless a broken file has put other characters into them.
  static std::string printable(const std::string& name) {
    std::string q = quoted(name);
    return q.size() == name.size() + 2 && !name.empty() ? name : q;
  }

  const Program& program_;
  const Plan& plan_;
  Usage usage_;
  std::string& out_;
  std::set<int64_t> shown_;  // inputs and outputs
};

}  // namespace

std::string describe_text(const Program& program) {
  std::string out = fmt::format("program: {}\n", counted(program.plans.size(), "method", "methods"));
  auto blobs = [&](const char* title, const std::vector<Blob>& list) {
    if (!list.empty()) out += fmt::format("  {}: {}, {} bytes\n", title, list.size(), total_bytes(list));
  };
  blobs("constants", program.constants);
  blobs("initial states", program.initial_states);
  blobs("delegate payloads", program.payloads);
  for (const NamedData& n : program.named_data) out += fmt::format("  named data {}: {} bytes\n", quoted(n.key), n.data.size);
  for (const Plan& plan : program.plans) MethodText(program, plan, out).run();
  return out;
}

}  // namespace edgec::pte
