#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/event_tracer_hooks_delegate.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

// Executes what src/backends/demo compiles. The payload is untrusted.
namespace edgec::delegates {
namespace {

namespace et = executorch::runtime;
using executorch::aten::Tensor;

enum class Kind { Sin, Mm, Add };
struct Op {
  Kind kind = Kind::Sin;
  int64_t numel = 0;
  et::DelegateDebugIntId handle = 0;
};
using Ops = std::vector<Op>;

// The text before `mark`, which goes with it; nothing when it is not there.
bool take(std::string_view& text, std::string_view mark, std::string_view& before) {
  const size_t at = text.find(mark);
  if (at == std::string_view::npos) return false;
  before = text.substr(0, at);
  text.remove_prefix(at + mark.size());
  return true;
}

template <class T>
bool number(std::string_view text, T& to) {
  return std::from_chars(text.data(), text.data() + text.size(), to) == std::from_chars_result{text.data() + text.size(), std::errc()};
}

// "op:demo::aten.sin.default, numel:1, dtype:torch.float32<debug_handle>1"
bool parse(std::string_view text, Op& op) {
  constexpr std::string_view kStart = "op:demo::";
  std::string_view name, numel, dtype;
  if (!text.starts_with(kStart)) return false;
  text.remove_prefix(kStart.size());
  if (!take(text, ", numel:", name) || !take(text, ", dtype:", numel) || !take(text, "<debug_handle>", dtype)) return false;
  if (name == "aten.sin.default")
    op.kind = Kind::Sin;
  else if (name == "aten.mm.default")
    op.kind = Kind::Mm;
  else if (name == "aten.add.Tensor")
    op.kind = Kind::Add;
  else
    return false;
  return dtype == "torch.float32" && number(numel, op.numel) && number(text, op.handle) && op.numel >= 0;
}

bool parse(std::string_view text, Ops& ops) {
  std::string_view count, version, one;
  if (!take(text, "version:", count) || !take(text, "#", version) || version != "0") return false;
  size_t expected = 0;
  if (!number(count, expected)) return false;
  while (take(text, "#", one)) {
    Op op;
    if (!parse(one, op)) return false;
    ops.push_back(op);
  }
  if (ops.size() != expected) return false;
  const bool is_sin = ops.size() == 1 && ops[0].kind == Kind::Sin;
  return is_sin || (ops.size() == 2 && ops[0].kind == Kind::Mm && ops[1].kind == Kind::Add && ops[0].numel == 4 && ops[1].numel == 4);
}

bool is_f32(const et::EValue& v, int64_t numel) {
  return v.isTensor() && v.toTensor().scalar_type() == et::etensor::ScalarType::Float && v.toTensor().numel() == numel;
}

class DemoDelegate final : public et::BackendInterface {
 public:
  bool is_available() const override { return true; }

  et::Result<et::DelegateHandle*> init(et::BackendInitContext&, et::FreeableBuffer* payload,
                                       et::ArrayRef<et::CompileSpec> specs) const override {
    constexpr int32_t kLargest = 4;
    if (specs.size() > 0) {
      int32_t max_value = 0;
      std::memcpy(&max_value, specs[0].value.buffer, std::min(specs[0].value.nbytes, sizeof max_value));
      if (max_value > kLargest) return et::Error::InvalidArgument;
    }
    auto ops = std::make_unique<Ops>();
    if (!parse({static_cast<const char*>(payload->data()), payload->size()}, *ops)) return et::Error::DelegateInvalidCompatibility;
    payload->Free();
    return ops.release();
  }

  et::Error execute(et::BackendExecutionContext& context, et::DelegateHandle* handle, et::Span<et::EValue*> args) const override {
    const Ops& ops = *static_cast<const Ops*>(handle);
    const bool is_sin = ops.size() == 1;
    if (args.size() != (is_sin ? 2u : 4u)) return et::Error::InvalidProgram;
    for (et::EValue* a : args)
      if (!is_f32(*a, ops[0].numel)) return et::Error::InvalidArgument;
    const auto in = [&](size_t i) { return args[i]->toTensor().const_data_ptr<float>(); };
    float* out = args[args.size() - 1]->toTensor().mutable_data_ptr<float>();
    for (const Op& op : ops) {
      const auto event = et::event_tracer_start_profiling_delegate(context.event_tracer(), nullptr, op.handle);
      switch (op.kind) {
        case Kind::Sin:
          for (int64_t i = 0; i < op.numel; ++i) out[i] = std::sin(in(0)[i]);
          break;
        case Kind::Mm:
          for (int r = 0; r < 2; ++r)
            for (int c = 0; c < 2; ++c) out[2 * r + c] = in(0)[2 * r] * in(1)[c] + in(0)[2 * r + 1] * in(1)[2 + c];
          break;
        case Kind::Add:
          for (int i = 0; i < 4; ++i) out[i] += in(2)[i];
          break;
      }
      et::event_tracer_end_profiling_delegate(context.event_tracer(), event);
    }
    return et::Error::Ok;
  }

  void destroy(et::DelegateHandle* handle) const override { delete static_cast<Ops*>(handle); }
};

}  // namespace

void demo() {
  static DemoDelegate delegate;
  (void)et::register_backend({"BackendWithCompilerDemo", &delegate});
}

}  // namespace edgec::delegates
