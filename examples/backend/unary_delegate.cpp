#include "unary_delegate.h"

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>

#include <cmath>
#include <cstring>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

// Interprets the payload. The compile spec "phase" makes two delegates of one: "start" copies the inputs, begins to compute in a thread and
// gives a ticket; "wait" takes the ticket and gives the outputs.
namespace {

namespace et = executorch::runtime;
using Values = std::vector<std::vector<float>>;

float sine(float v) { return std::sin(v); }
float cosine(float v) { return std::cos(v); }
float exponential(float v) { return std::exp(v); }

struct Step {
  size_t operand = 0;
  float (*function)(float) = nullptr;
};
struct Chain {
  size_t inputs = 0;
  std::vector<Step> steps;
  std::vector<size_t> outputs;
  std::string phase;

  bool parse(const std::string& text) {
    std::istringstream in(text);
    if (!(in >> inputs)) return false;
    for (std::string first, second, function; in >> first;) {
      size_t operand = 0;
      if (first == "return") {
        if (!(in >> operand) || operand >= inputs + steps.size()) return false;
        outputs.push_back(operand);
        continue;
      }
      if (!(in >> function >> operand) || operand >= inputs + steps.size()) return false;
      if (function != "sin" && function != "cos" && function != "exp") return false;
      steps.push_back({operand, function == "sin" ? sine : function == "cos" ? cosine : exponential});
    }
    return !outputs.empty();
  }

  Values compute(Values values) const {
    for (const Step& s : steps) {
      std::vector<float> out;
      for (float v : values[s.operand]) out.push_back(s.function(v));
      values.push_back(std::move(out));
    }
    Values results;
    for (size_t i : outputs) results.push_back(values[i]);
    return results;
  }
};

class UnaryDelegate final : public et::BackendInterface {
 public:
  bool is_available() const override { return true; }

  et::Result<et::DelegateHandle*> init(et::BackendInitContext&, et::FreeableBuffer* payload,
                                       et::ArrayRef<et::CompileSpec> specs) const override {
    auto chain = std::make_unique<Chain>();
    if (!chain->parse({static_cast<const char*>(payload->data()), payload->size()})) return et::Error::DelegateInvalidCompatibility;
    for (const et::CompileSpec& s : specs)
      if (std::string(s.key) == "phase") chain->phase.assign(static_cast<const char*>(s.value.buffer), s.value.nbytes);
    return chain.release();
  }

  et::Error execute(et::BackendExecutionContext&, et::DelegateHandle* handle, et::Span<et::EValue*> args) const override {
    const Chain& chain = *static_cast<const Chain*>(handle);
    if (chain.phase == "start") {
      if (args.size() != chain.inputs + 1) return et::Error::InvalidProgram;
      const std::lock_guard lock(mutex_);
      const int64_t ticket = next_++;
      running_[ticket] = std::async(std::launch::async, [&chain, values = read(args, chain.inputs)] { return chain.compute(values); });
      *args[chain.inputs]->toTensor().mutable_data_ptr<int64_t>() = ticket;
      return et::Error::Ok;
    }
    if (chain.phase == "wait") {
      if (args.size() != 1 + chain.outputs.size()) return et::Error::InvalidProgram;
      std::future<Values> result;
      {
        const std::lock_guard lock(mutex_);
        auto it = running_.find(*args[0]->toTensor().const_data_ptr<int64_t>());
        if (it == running_.end()) return et::Error::InvalidState;
        result = std::move(it->second);
        running_.erase(it);
      }
      return write(result.get(), args, 1);
    }
    if (args.size() != chain.inputs + chain.outputs.size()) return et::Error::InvalidProgram;
    return write(chain.compute(read(args, chain.inputs)), args, chain.inputs);
  }

  void destroy(et::DelegateHandle* handle) const override { delete static_cast<Chain*>(handle); }

 private:
  static Values read(et::Span<et::EValue*> args, size_t count) {
    Values out;
    for (size_t i = 0; i < count; ++i) {
      const auto t = args[i]->toTensor();
      out.emplace_back(t.const_data_ptr<float>(), t.const_data_ptr<float>() + t.numel());
    }
    return out;
  }
  static et::Error write(const Values& values, et::Span<et::EValue*> args, size_t at) {
    for (size_t i = 0; i < values.size(); ++i) {
      auto t = args[at + i]->toTensor();
      if (static_cast<size_t>(t.numel()) != values[i].size()) return et::Error::InvalidArgument;
      std::memcpy(t.mutable_data_ptr<float>(), values[i].data(), values[i].size() * sizeof(float));
    }
    return et::Error::Ok;
  }

  mutable std::mutex mutex_;
  mutable std::map<int64_t, std::future<Values>> running_;
  mutable int64_t next_ = 1;
};

}  // namespace

void register_unary_delegate() {
  static UnaryDelegate delegate;
  (void)et::register_backend({"UnaryExample", &delegate});
}
