#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/memory_allocator/malloc_memory_allocator.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>

#include <cstring>
#include <memory>
#include <optional>
#include <vector>

// Runs the program in the payload by the runtime itself.
namespace edgec::delegates {
namespace {

namespace et = executorch::runtime;
using executorch::aten::Tensor;
using executorch::extension::BufferDataLoader;
using executorch::extension::MallocMemoryAllocator;

// A number that the nested method takes as a rank-0 tensor.
struct Number {
  int64_t bytes = 0;
  std::optional<et::etensor::TensorImpl> tensor;
};

// Members are destroyed from the last to the first.
struct Nested {
  std::optional<BufferDataLoader> loader;
  std::optional<et::Program> program;
  std::vector<std::unique_ptr<std::byte[]>> arenas;
  std::vector<et::Span<uint8_t>> spans;
  std::optional<et::HierarchicalAllocator> planned;
  MallocMemoryAllocator method_allocator, temp_allocator;
  std::optional<et::MemoryManager> memory;
  std::vector<Number> numbers;
  std::optional<et::Method> method;
};

et::Error load(Nested& nested, et::BackendInitContext& context, const et::FreeableBuffer& payload) {
  nested.loader.emplace(payload.data(), payload.size());
  auto program = et::Program::load(&*nested.loader);
  if (!program.ok()) return program.error();
  nested.program.emplace(std::move(*program));
  auto name = nested.program->get_method_name(0);
  if (!name.ok()) return name.error();
  auto meta = nested.program->method_meta(*name);
  if (!meta.ok()) return meta.error();
  for (size_t k = 0; k < meta->num_memory_planned_buffers(); ++k) {
    auto size = meta->memory_planned_buffer_size(k);
    if (!size.ok() || *size < 0) return et::Error::InvalidProgram;
    nested.arenas.push_back(std::make_unique<std::byte[]>(static_cast<size_t>(*size)));
    nested.spans.emplace_back(reinterpret_cast<uint8_t*>(nested.arenas.back().get()), static_cast<size_t>(*size));
  }
  nested.planned.emplace(et::Span<et::Span<uint8_t>>(nested.spans.data(), nested.spans.size()));
  nested.memory.emplace(&nested.method_allocator, &*nested.planned, &nested.temp_allocator);
  auto method = nested.program->load_method(*name, &*nested.memory, context.event_tracer(), context.get_named_data_map());
  if (!method.ok()) return method.error();
  nested.method.emplace(std::move(*method));
  nested.numbers.resize(nested.method->inputs_size());
  return et::Error::Ok;
}

// Int, Double and Bool values as the rank-0 tensor that the nested method has in their place.
et::Error set_number(Nested& nested, const et::EValue& value, size_t index) {
  Number& number = nested.numbers[index];
  auto type = et::etensor::ScalarType::Long;
  if (value.isInt()) {
    number.bytes = value.toInt();
  } else if (value.isDouble()) {
    const double d = value.toDouble();
    std::memcpy(&number.bytes, &d, sizeof d);
    type = et::etensor::ScalarType::Double;
  } else if (value.isBool()) {
    const bool b = value.toBool();
    std::memcpy(&number.bytes, &b, sizeof b);
    type = et::etensor::ScalarType::Bool;
  } else {
    return et::Error::InvalidArgument;
  }
  number.tensor.emplace(type, 0, nullptr, &number.bytes, nullptr, nullptr);
  return nested.method->set_input(et::EValue(Tensor(&*number.tensor)), index);
}

et::Error hand_out(const et::EValue& from, et::EValue& to) {
  if (!from.isTensor()) {
    to = from;
    return et::Error::Ok;
  }
  if (!to.isTensor()) return et::Error::InvalidArgument;
  const Tensor source = from.toTensor();
  Tensor target = to.toTensor();
  if (et::Error e = et::resize_tensor(target, source.sizes()); e != et::Error::Ok) return e;
  if (source.nbytes() != target.nbytes()) return et::Error::InvalidProgram;
  if (source.nbytes() > 0) std::memcpy(target.mutable_data_ptr(), source.const_data_ptr(), source.nbytes());
  return et::Error::Ok;
}

class ExecutorDelegate final : public et::BackendInterface {
 public:
  bool is_available() const override { return true; }

  et::Result<et::DelegateHandle*> init(et::BackendInitContext& context, et::FreeableBuffer* payload,
                                       et::ArrayRef<et::CompileSpec>) const override {
    auto nested = std::make_unique<Nested>();
    if (et::Error e = load(*nested, context, *payload); e != et::Error::Ok) return e;
    return nested.release();
  }

  et::Error execute(et::BackendExecutionContext&, et::DelegateHandle* handle, et::Span<et::EValue*> args) const override {
    auto& nested = *static_cast<Nested*>(handle);
    et::Method& method = *nested.method;
    const size_t inputs = method.inputs_size();
    if (args.size() != inputs + method.outputs_size()) return et::Error::InvalidProgram;
    for (size_t i = 0; i < inputs; ++i) {
      const et::Error e = args[i]->isTensor() ? method.set_input(*args[i], i) : set_number(nested, *args[i], i);
      if (e != et::Error::Ok) return e;
    }
    if (et::Error e = method.execute(); e != et::Error::Ok) return e;
    for (size_t i = 0; i < method.outputs_size(); ++i)
      if (et::Error e = hand_out(method.get_output(i), *args[inputs + i]); e != et::Error::Ok) return e;
    return et::Error::Ok;
  }

  void destroy(et::DelegateHandle* handle) const override { delete static_cast<Nested*>(handle); }
};

}  // namespace

void executor() {
  static ExecutorDelegate delegate;
  (void)et::register_backend({"ExecutorBackend", &delegate});
}

}  // namespace edgec::delegates
