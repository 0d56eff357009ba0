#include "emit/verify.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "emit/operators.h"
#include "emit/plan_check.h"
#include "emit/scalar_type.h"

namespace edgec::pte {
namespace {

constexpr size_t kMaxRank = 16;
constexpr size_t kMaxOperatorName = 100;
constexpr size_t kMaxArguments = 1000;  // no schema comes near; XNNPACK-like delegates have hundreds of borders

template <class T>
const T* at(const std::vector<Value>& values, int64_t i) {
  return i >= 0 && std::cmp_less(i, values.size()) ? std::get_if<T>(&values[static_cast<size_t>(i)]) : nullptr;
}

class Findings {
 public:
  explicit Findings(size_t limit) : limit_(limit) {}
  template <class... T>
  void add(fmt::format_string<T...> format, T&&... args) {
    add_line(fmt::format(format, std::forward<T>(args)...));
  }
  void add_line(std::string line) {
    if (++count_ <= limit_) lines_.push_back(std::move(line));
  }
  size_t count() const { return count_; }
  std::vector<std::string> take() {
    if (count_ > limit_) lines_.push_back(fmt::format("and {} more", count_ - limit_));
    return std::move(lines_);
  }

 private:
  size_t limit_, count_ = 0;
  std::vector<std::string> lines_;
};

class PlanVerifier {
 public:
  PlanVerifier(const Program& program, const Plan& plan, const VerifyOptions& options, Findings& out)
      : program_(program), plan_(plan), options_(options), out_(out) {}

  void run() {
    size_t before = out_.count();
    if (plan_.name.empty()) out_.add("a method has no name");
    check_buffers();
    for (size_t i = 0; i < plan_.values.size(); ++i) check_value(static_cast<int64_t>(i));
    for (int32_t i : plan_.inputs) check_index(i, "inputs");
    for (int32_t i : plan_.outputs) check_index(i, "outputs");
    check_operators();
    check_delegates();
    for (size_t i = 0; i < plan_.instructions.size(); ++i)
      std::visit([&](const auto& instruction) { check(i, instruction); }, plan_.instructions[i]);
    if (out_.count() != before || options_.structure_only) return;  // the plan check relies on all of the above
    for (std::string& fault : plan_faults(plan_)) out_.add("{}: {}", method(), std::move(fault));
  }

 private:
  std::string method() const { return fmt::format("method '{}'", plan_.name); }

  bool check_index(int64_t i, const std::string& where) {
    bool ok = i >= 0 && std::cmp_less(i, plan_.values.size());
    if (!ok) out_.add("{}: {}: value {} of {}", method(), where, i, plan_.values.size());
    return ok;
  }

  void check_buffers() {
    if (plan_.buffer_sizes.empty() || plan_.buffer_sizes[0] != 0)
      out_.add("{}: buffer sizes start with {} instead of 0", method(),
               plan_.buffer_sizes.empty() ? "nothing" : std::to_string(plan_.buffer_sizes[0]));
    for (size_t i = 1; i < plan_.buffer_sizes.size(); ++i)
      if (plan_.buffer_sizes[i] < 0) out_.add("{}: memory {} has {} bytes", method(), i, plan_.buffer_sizes[i]);
  }

  // -- values

  void check_value(int64_t i) {
    auto where = [&] { return fmt::format("value {}", i); };
    if (auto* t = at<Tensor>(plan_.values, i)) check_tensor(i, *t);
    if (auto* l = at<IntList>(plan_.values, i))
      for (int64_t item : l->items) check_index(item, where());
    if (auto* l = at<TensorList>(plan_.values, i))
      for (int32_t item : l->items) check_list_item(i, item);
    if (auto* l = at<OptionalTensorList>(plan_.values, i))
      for (int32_t item : l->items)
        if (item != -1 && !at<Null>(plan_.values, item)) check_list_item(i, item);
  }

  void check_list_item(int64_t list, int32_t item) {
    if (!at<Tensor>(plan_.values, item))
      out_.add("{}: value {}: item {} of a tensor list is no tensor", method(), list, item);
    else if (item >= list)  // the runtime copies the item while it loads the values in order
      out_.add("{}: value {}: item {} of a tensor list comes after the list", method(), list, item);
  }

  void check_tensor(int64_t i, const Tensor& t) {
    auto fault = [&](const std::string& what) { out_.add("{}: value {}: {}", method(), i, what); };
    if (!scalar_type(t.scalar_type)) return fault(fmt::format("scalar type {} is not known", t.scalar_type));
    if (t.sizes.size() > kMaxRank) fault(fmt::format("{} dimensions, the runtime takes {}", t.sizes.size(), kMaxRank));
    if (!is_dim_order(t)) fault(fmt::format("dim order ({}) is none for {} dimensions", fmt::join(t.dim_order, ", "), t.sizes.size()));
    if (t.dynamism == Dynamism::DynamicUnbound) fault("its size has no upper bound, which the runtime refuses");
    auto bytes = byte_count(t);
    if (!bytes) return fault(fmt::format("sizes ({}) are negative or too large", fmt::join(t.sizes, ", ")));
    if (t.external_name.empty() && t.data_buffer_idx > 0)
      check_data(i, t, *bytes, t.place ? program_.initial_states : program_.constants, t.place ? "initial state" : "constant");
    if (t.place) check_place(i, *t.place, *bytes);
  }

  static bool is_dim_order(const Tensor& t) {
    std::vector<uint8_t> sorted = t.dim_order;
    std::ranges::sort(sorted);
    for (size_t i = 0; i < sorted.size(); ++i)
      if (sorted[i] != i) return false;
    return sorted.size() == t.sizes.size();
  }

  void check_data(int64_t i, const Tensor& t, uint64_t bytes, const std::vector<Blob>& blobs, const char* what) {
    if (t.data_buffer_idx > blobs.size())
      out_.add("{}: value {}: {} {} of {}", method(), i, what, t.data_buffer_idx, blobs.size());
    else if (uint64_t has = blobs[t.data_buffer_idx - 1].size; bytes > has)
      out_.add("{}: value {}: needs {} bytes, its {} {} has {}", method(), i, bytes, what, t.data_buffer_idx, has);
  }

  void check_place(int64_t i, const Place& p, uint64_t bytes) {
    if (p.memory_id == 0 || p.memory_id >= plan_.buffer_sizes.size())
      return out_.add("{}: value {}: is in memory {}, which the method does not have", method(), i, p.memory_id);
    auto size = static_cast<uint64_t>(std::max<int64_t>(plan_.buffer_sizes[p.memory_id], 0));
    if (p.offset > size || bytes > size - p.offset)
      out_.add("{}: value {}: {} bytes at {} end after memory {}, which has {}", method(), i, bytes, p.offset, p.memory_id, size);
  }

  // -- operators and delegates

  void check_operators() {
    for (const Operator& op : plan_.operators) {
      std::string name = full_name(op);
      if (name.size() > kMaxOperatorName)
        out_.add("{}: operator {} has a name longer than {} characters", method(), name, kMaxOperatorName);
      else if (!options_.structure_only && !library_of(name) &&
               std::ranges::find(options_.more_operators, name) == options_.more_operators.end())
        out_.add("{}: the runtime has no operator {}", method(), name);
    }
  }

  void check_delegates() {
    for (const Delegate& d : plan_.delegates) {
      if (d.backend_id.empty()) out_.add("{}: a delegate has no backend id", method());
      if (d.payload >= program_.payloads.size())
        out_.add("{}: delegate '{}' has payload {} of {}", method(), d.backend_id, d.payload, program_.payloads.size());
    }
  }

  // -- instructions

  std::string at_instruction(size_t i) const { return fmt::format("instruction {}", i); }

  bool check_args(size_t i, const std::vector<int32_t>& args) {
    bool ok = true;
    for (int32_t a : args) ok &= check_index(a, at_instruction(i));
    return ok;
  }

  void check(size_t i, const KernelCall& c) {
    bool known = c.op >= 0 && std::cmp_less(c.op, plan_.operators.size());
    if (!known) out_.add("{}: instruction {}: operator {} of {}", method(), i, c.op, plan_.operators.size());
    if (!check_args(i, c.args) || !known) return;
    // Every call carries its result at the end, and every operator takes something or has an out argument.
    std::string name = full_name(plan_.operators[static_cast<size_t>(c.op)]);
    if (c.args.size() < 2 || c.args.size() > kMaxArguments)
      return out_.add("{}: instruction {}: {} with {} arguments", method(), i, name, c.args.size());
    if (name.find("out", name.find('.') + 1) == std::string::npos || name.find('.') == std::string::npos) return;
    int32_t result = c.args.back();
    if (!at<Tensor>(plan_.values, result) && !at<TensorList>(plan_.values, result))
      out_.add("{}: instruction {}: the result of {} is no tensor", method(), i, name);
  }

  void check(size_t i, const DelegateCall& c) {
    if (c.delegate < 0 || std::cmp_greater_equal(c.delegate, plan_.delegates.size()))
      out_.add("{}: instruction {}: delegate {} of {}", method(), i, c.delegate, plan_.delegates.size());
    check_args(i, c.args);
  }

  void check(size_t i, const MoveCall& c) {
    check_index(c.from, at_instruction(i));
    check_index(c.to, at_instruction(i));
  }

  void check(size_t i, const JumpFalse& c) {
    if (c.target < 0 || std::cmp_greater(c.target, plan_.instructions.size()))
      out_.add("{}: instruction {}: jumps to {} of {}", method(), i, c.target, plan_.instructions.size());
    if (!check_index(c.cond, at_instruction(i))) return;
    const auto* tensor = at<Tensor>(plan_.values, c.cond);
    bool is_bool_tensor = tensor && tensor->scalar_type == 11;
    // An Int stops the run with an error: how guards end. Results of symbolic operators are stored as Int before they
    // run.
    if (!is_bool_tensor && !at<bool>(plan_.values, c.cond) && !at<int64_t>(plan_.values, c.cond))
      out_.add("{}: instruction {}: the condition, value {}, is neither a bool nor a bool tensor", method(), i, c.cond);
  }

  const Program& program_;
  const Plan& plan_;
  const VerifyOptions& options_;
  Findings& out_;
};

}  // namespace

std::vector<std::string> faults(const Program& program, const VerifyOptions& options) {
  Findings out(options.limit);
  if (program.plans.empty()) out.add("the program has no methods");
  std::set<std::string> names, keys;
  for (const Plan& plan : program.plans) {
    if (!names.insert(plan.name).second) out.add("two methods have the name '{}'", plan.name);
    PlanVerifier(program, plan, options, out).run();
  }
  for (const NamedData& named : program.named_data)
    if (!keys.insert(named.key).second) out.add("two blobs have the name '{}'", named.key);
  return out.take();
}

}  // namespace edgec::pte
