#include "runtime/runner.h"

#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/flat_tensor/flat_tensor_data_map.h>
#include <executorch/extension/memory_allocator/malloc_memory_allocator.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>

#include "runtime/runtime_log.h"
#include "runtime/tensors.h"
#include "runtime/tracer.h"

namespace edgec::runtime {
namespace {

namespace et = executorch::runtime;
using executorch::extension::BufferDataLoader;
using executorch::extension::FlatTensorDataMap;
using executorch::extension::MallocMemoryAllocator;

// One method with everything that has to outlive it; members are destroyed from the last to the first.
struct LoadedMethod {
  MethodIO io;
  std::vector<AlignedBytes> arenas;  // [k] is memory id k + 1
  std::vector<et::Span<uint8_t>> spans;
  std::vector<AlignedBytes> output_memory;
  std::optional<et::HierarchicalAllocator> planned;
  MallocMemoryAllocator method_allocator, temp_allocator;
  std::optional<et::MemoryManager> memory;
  std::unique_ptr<Tracer> tracer;
  std::optional<et::Method> method;
};

// A value for one input: what the runtime takes, and the memory that it may keep pointing to while it executes.
struct StagedInput {
  std::optional<StagedTensor> tensor;
  const Array* array = nullptr;  // what fills the tensor; `number` when null
  Array number;                  // when a plain number became a tensor
  et::EValue value;
};

std::string kind_of(const Value& value) {
  struct Visitor {
    std::string operator()(None) const { return "none"; }
    std::string operator()(int64_t v) const { return fmt::format("the int {}", v); }
    std::string operator()(double v) const { return fmt::format("the float {}", v); }
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(const std::string&) const { return "a string"; }
    std::string operator()(const Array& a) const { return describe(a.element, a.shape); }
    std::string operator()(const List&) const { return "a list"; }
  };
  return std::visit(Visitor{}, value.held);
}

std::string_view kind_of(et::Tag tag) {
  switch (tag) {
    case et::Tag::None:
      return "none";
    case et::Tag::Tensor:
      return "a tensor";
    case et::Tag::String:
      return "a string";
    case et::Tag::Double:
      return "a float";
    case et::Tag::Int:
      return "an int";
    case et::Tag::Bool:
      return "true or false";
    default:
      return "a list";
  }
}

template <class T>
Array rank0(Element element, T value) {
  Array array{element, {}, std::vector<std::byte>(sizeof value)};
  std::memcpy(array.bytes.data(), &value, sizeof value);
  return array;
}

// The rank-0 tensor that a plain number stands for; nothing when the number is not of the tensor's kind.
std::optional<Array> number_as_tensor(const Value& value, Element element) {
  if (const auto* v = std::get_if<int64_t>(&value.held)) {
    if (element == Element::Int64) return rank0(element, *v);
    if (element == Element::Float64) return rank0(element, static_cast<double>(*v));
  }
  if (const auto* v = std::get_if<double>(&value.held); v && element == Element::Float64) return rank0(element, *v);
  if (const auto* v = std::get_if<bool>(&value.held); v && element == Element::Bool) return rank0(element, *v);
  return std::nullopt;
}

// .npy has no bfloat16 and no float8: they travel as unsigned integers of the same size.
bool carries(Element file, Element wanted) {
  if (file == wanted) return true;
  if (file == Element::UInt16) return wanted == Element::BFloat16;
  return file == Element::UInt8 && (wanted == Element::Float8E5M2 || wanted == Element::Float8E4M3);
}

Result<Value> value_of(const et::EValue& value);

template <class Items>
Result<Value> list_of(const et::Result<Items>& items) {
  if (!items.ok()) return model_error("an output is a list without content");
  List list;
  for (const auto& item : items.get()) {
    EDGEC_TRY(Value v, value_of(et::EValue(item)));
    list.push_back(std::move(v));
  }
  return Value{std::move(list)};
}

Result<Value> value_of(const et::EValue& value) {
  switch (value.tag) {
    case et::Tag::None:
      return Value{None{}};
    case et::Tag::Int:
      return Value{value.toInt()};
    case et::Tag::Double:
      return Value{value.toDouble()};
    case et::Tag::Bool:
      return Value{value.toBool()};
    case et::Tag::String:
      return Value{std::string(value.toString())};
    case et::Tag::Tensor: {
      EDGEC_TRY(Array array, array_of(value.toTensor()));
      return Value{std::move(array)};
    }
    case et::Tag::ListInt:
      return list_of(value.tryToIntList());
    case et::Tag::ListDouble:
      return list_of(value.tryToDoubleList());
    case et::Tag::ListBool:
      return list_of(value.tryToBoolList());
    case et::Tag::ListTensor:
      return list_of(value.tryToTensorList());
    case et::Tag::ListOptionalTensor: {
      auto items = value.tryToListOptionalTensor();
      if (!items.ok()) break;
      List list;
      for (const auto& item : items.get()) {
        EDGEC_TRY(Value v, value_of(item ? et::EValue(*item) : et::EValue()));
        list.push_back(std::move(v));
      }
      return Value{std::move(list)};
    }
    default:
      break;
  }
  return model_error("an output has a kind that this tool does not know");
}

std::string shape_limit(const et::TensorInfo& info) {
  const auto element = element_of(static_cast<int>(info.scalar_type()));
  return describe(element.value_or(Element::UInt8), {info.sizes().begin(), info.sizes().end()});
}

Result<StagedInput> stage_tensor(const Value& value, const et::TensorInfo& info, const std::string& where) {
  const auto element = element_of(static_cast<int>(info.scalar_type()));
  if (!element) return model_error(fmt::format("error: {} has an element type that .npy cannot hold", where));
  StagedInput staged;
  const auto* array = std::get_if<Array>(&value.held);
  const size_t rank = info.sizes().size();
  if (!array && rank == 0) {
    if (auto number = number_as_tensor(value, *element)) staged.number = *std::move(number), array = &staged.number;
  }
  if (!array || !carries(array->element, *element) || array->shape.size() != rank)
    return model_error(
        fmt::format("error: {} is {} (dynamic dims at their bound), the call gives {}", where, shape_limit(info), kind_of(value)));
  if (info.dim_order().size() != rank) return model_error(fmt::format("error: {} has a damaged dim order", where));
  EDGEC_TRY(StagedTensor tensor, StagedTensor::create(*array, *element, {info.dim_order().data(), info.dim_order().size()}));
  staged.value = et::EValue(tensor.tensor());
  staged.tensor = std::move(tensor);
  if (array != &staged.number) staged.array = array;
  return staged;
}

Result<StagedInput> stage_input(const Value& value, const et::MethodMeta& meta, size_t index, const std::string& where) {
  auto tag = meta.input_tag(index);
  if (!tag.ok()) return runtime_failure(tag.error(), Phase::Load, where);
  if (*tag == et::Tag::Tensor) {
    auto info = meta.input_tensor_meta(index);
    if (!info.ok()) return runtime_failure(info.error(), Phase::Load, where);
    return stage_tensor(value, *info, where);
  }
  StagedInput staged;
  const auto* as_int = std::get_if<int64_t>(&value.held);
  if (*tag == et::Tag::Int && as_int)
    staged.value = et::EValue(*as_int);
  else if (*tag == et::Tag::Double && as_int)
    staged.value = et::EValue(static_cast<double>(*as_int));
  else if (const auto* d = std::get_if<double>(&value.held); d && *tag == et::Tag::Double)
    staged.value = et::EValue(*d);
  else if (const auto* b = std::get_if<bool>(&value.held); b && *tag == et::Tag::Bool)
    staged.value = et::EValue(*b);
  else if (!(std::holds_alternative<None>(value.held) && *tag == et::Tag::None))
    return model_error(fmt::format("error: {} is {}, the call gives {}", where, kind_of(*tag), kind_of(value)));
  return staged;
}

// Outputs that the memory plan leaves to the caller get memory for their largest size.
Status place_outputs(LoadedMethod& loaded, const std::string& name) {
  const et::MethodMeta meta = loaded.method->method_meta();
  for (size_t i = 0; i < loaded.method->outputs_size(); ++i) {
    const et::EValue& output = loaded.method->get_output(i);
    if (!output.isTensor() || output.toTensor().const_data_ptr() != nullptr) continue;
    auto info = meta.output_tensor_meta(i);
    if (!info.ok()) return runtime_failure(info.error(), Phase::Load, fmt::format("output {} of {}", i, name));
    if (info->nbytes() == 0) continue;
    std::optional<AlignedBytes> memory = AlignedBytes::create(info->nbytes());
    if (!memory) return model_error(fmt::format("error: no memory for {} bytes of output {} of {}", info->nbytes(), i, name));
    loaded.output_memory.push_back(*memory);
    const et::Error error = loaded.method->set_output_data_ptr(memory->data(), memory->size(), i);
    if (error != et::Error::Ok) return runtime_failure(error, Phase::Load, fmt::format("output {} of {}", i, name));
  }
  return {};
}

// Wall times are taken without the cost of looking at each operator.
et::EventTracerProfilingLevel level_for(bool timing) {
  return timing ? et::EventTracerProfilingLevel::kProfileMethodOnly : et::EventTracerProfilingLevel::kProfileAllEvents;
}

}  // namespace

struct Runner::State {
  RunnerOptions options;
  std::shared_ptr<const MappedFile> file, data_file;
  std::optional<BufferDataLoader> loader, data_loader;
  std::optional<et::Program> program;
  std::optional<FlatTensorDataMap> data;
  std::unique_ptr<executorch::etdump::ETDumpGen> dump;
  std::map<uint32_t, AlignedBytes> shared;  // by memory id
  std::map<std::string, std::unique_ptr<LoadedMethod>> methods;

  Result<std::vector<size_t>> arena_sizes(const std::string& name) const;
  Status allocate_shared(std::span<const std::string> names);
  Status load_method(const std::string& name);
  Status execute(LoadedMethod& loaded, const std::string& name, std::vector<StagedInput>& inputs, double& milliseconds);
};

Runner::Runner(std::unique_ptr<State> state) : state_(std::move(state)) {}
Runner::Runner(Runner&&) noexcept = default;
Runner::~Runner() = default;

Result<Runner> Runner::load(std::shared_ptr<const MappedFile> program, RunnerOptions options) {
  start_runtime();
  auto state = std::make_unique<State>();
  state->options = std::move(options);
  state->file = std::move(program);
  state->loader.emplace(state->file->bytes().data(), state->file->bytes().size());
  forget_log();
  auto loaded = et::Program::load(&*state->loader, et::Program::Verification::InternalConsistency);
  if (!loaded.ok()) return runtime_failure(loaded.error(), Phase::Open, "reading the program");
  state->program.emplace(std::move(*loaded));
  if (!state->options.data_file.empty()) {
    EDGEC_TRY(state->data_file, MappedFile::open(state->options.data_file));
    state->data_loader.emplace(state->data_file->bytes().data(), state->data_file->bytes().size());
    auto data = FlatTensorDataMap::load(&*state->data_loader);
    if (!data.ok()) return runtime_failure(data.error(), Phase::Open, "reading " + state->options.data_file);
    state->data.emplace(std::move(*data));
  }
  if (state->options.etdump) state->dump = std::make_unique<executorch::etdump::ETDumpGen>();
  return Runner(std::move(state));
}

std::vector<std::string> Runner::method_names() const {
  std::vector<std::string> names;
  for (size_t i = 0; i < state_->program->num_methods(); ++i)
    if (auto name = state_->program->get_method_name(i); name.ok()) names.emplace_back(*name);
  return names;
}

Result<std::vector<size_t>> Runner::State::arena_sizes(const std::string& name) const {
  auto meta = program->method_meta(name.c_str());
  if (!meta.ok()) return runtime_failure(meta.error(), Phase::Load, fmt::format("method {}", name));
  std::vector<size_t> sizes;
  for (size_t k = 0; k < meta->num_memory_planned_buffers(); ++k) {
    auto size = meta->memory_planned_buffer_size(k);
    if (!size.ok() || *size < 0) return model_error(fmt::format("error: method {} has a damaged arena size", name));
    sizes.push_back(static_cast<size_t>(*size));
  }
  return sizes;
}

Status Runner::State::allocate_shared(std::span<const std::string> names) {
  std::map<uint32_t, size_t> largest;
  for (const std::string& name : names) {
    EDGEC_TRY(const std::vector<size_t> sizes, arena_sizes(name));
    for (uint32_t id : options.shared_memory_ids)
      if (id >= 1 && id <= sizes.size()) largest[id] = std::max(largest[id], sizes[id - 1]);
  }
  for (auto [id, size] : largest) {
    if (auto it = shared.find(id); it != shared.end() && it->second.size() >= size) continue;
    std::optional<AlignedBytes> bytes = AlignedBytes::create(size);
    if (!bytes) return model_error(fmt::format("error: no memory for {} bytes of shared state", size));
    shared[id] = *bytes;
  }
  return {};
}

Status Runner::load_methods(std::span<const std::string> names) {
  forget_log();
  for (const std::string& name : names) {
    const std::vector<std::string> known = method_names();
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    std::string list;
    for (const std::string& one : known) list += (list.empty() ? "" : ", ") + printable(one);
    return usage_error(fmt::format("error: the program has no method {}; it has: {}", name, list));
  }
  EDGEC_TRY_VOID(state_->allocate_shared(names));
  for (const std::string& name : names)
    if (!state_->methods.count(name)) EDGEC_TRY_VOID(state_->load_method(name));
  return {};
}

Status Runner::State::load_method(const std::string& name) {
  auto loaded = std::make_unique<LoadedMethod>();
  if (options.method_io) loaded->io = options.method_io(name);
  EDGEC_TRY(const std::vector<size_t> sizes, arena_sizes(name));
  for (size_t k = 0; k < sizes.size(); ++k) {
    auto in_common = shared.find(static_cast<uint32_t>(k + 1));
    std::optional<AlignedBytes> arena = in_common != shared.end() ? in_common->second : AlignedBytes::create(sizes[k]);
    if (!arena) return model_error(fmt::format("error: no memory for {} bytes of arena {} of method {}", sizes[k], k + 1, name));
    loaded->arenas.push_back(*arena);
    loaded->spans.emplace_back(reinterpret_cast<uint8_t*>(arena->data()), sizes[k]);
  }
  loaded->planned.emplace(et::Span<et::Span<uint8_t>>(loaded->spans.data(), loaded->spans.size()));
  loaded->memory.emplace(&loaded->method_allocator, &*loaded->planned, &loaded->temp_allocator);
  if (options.time_operators || dump) loaded->tracer = std::make_unique<Tracer>(dump.get());
  auto method = program->load_method(name.c_str(), &*loaded->memory, loaded->tracer.get(), data ? &*data : nullptr);
  if (!method.ok()) return runtime_failure(method.error(), Phase::Load, fmt::format("loading method {}", name));
  loaded->method.emplace(std::move(*method));
  if (loaded->tracer) loaded->tracer->take_times();  // of loading
  methods[name] = std::move(loaded);
  return {};
}

Status Runner::State::execute(LoadedMethod& loaded, const std::string& name, std::vector<StagedInput>& inputs, double& milliseconds) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].tensor)
      inputs[i].tensor->fill(inputs[i].array ? *inputs[i].array : inputs[i].number);  // the last execution may have written to it
    const et::Error error = loaded.method->set_input(inputs[i].value, i);
    if (error != et::Error::Ok) return runtime_failure(error, Phase::Input, fmt::format("input {} of {}", i, name));
  }
  EDGEC_TRY_VOID(place_outputs(loaded, name));
  const auto start = std::chrono::steady_clock::now();
  const et::Error error = loaded.method->execute();
  milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  if (error != et::Error::Ok) return runtime_failure(error, Phase::Execute, fmt::format("running method {}", name));
  return {};
}

Result<CallResult> Runner::call(const std::string& name, std::span<const Value> inputs, size_t repeat) {
  auto found = state_->methods.find(name);
  if (found == state_->methods.end()) return internal_error(fmt::format("method {} is not loaded", name));
  LoadedMethod& loaded = *found->second;
  const et::MethodMeta meta = loaded.method->method_meta();
  if (inputs.size() != meta.num_inputs())
    return usage_error(fmt::format("error: method {} takes {} inputs, the call gives {}", name, meta.num_inputs(), inputs.size()));
  forget_log();
  std::vector<StagedInput> staged;
  for (size_t i = 0; i < inputs.size(); ++i) {
    EDGEC_TRY(StagedInput one, stage_input(inputs[i], meta, i, fmt::format("input {} of {}", i, name)));
    staged.push_back(std::move(one));
  }

  CallResult result;
  const bool time_operators = state_->options.time_operators;
  for (size_t i = 0; i < repeat; ++i) {
    if (loaded.tracer) loaded.tracer->set_event_tracer_profiling_level(level_for(repeat > 1 && time_operators));
    EDGEC_TRY_VOID(state_->execute(loaded, name, staged, result.milliseconds.emplace_back()));
  }
  if (time_operators && repeat > 1) {
    double unused = 0;
    loaded.tracer->set_event_tracer_profiling_level(level_for(false));
    EDGEC_TRY_VOID(state_->execute(loaded, name, staged, unused));
  }
  if (loaded.tracer) {
    result.parts = loaded.tracer->part_times();
    result.operators = loaded.tracer->take_times();
  }

  const std::vector<std::string>& mutated = loaded.io.mutated_inputs;
  for (size_t i = 0; i < loaded.method->outputs_size(); ++i) {
    auto value = value_of(loaded.method->get_output(i));
    if (!value) return model_error(fmt::format("error: output {} of {}: {}", i, name, value.failure().message));
    if (i < mutated.size())
      result.mutated.emplace_back(mutated[i], *std::move(value));
    else
      result.outputs.push_back(*std::move(value));
  }
  return result;
}

std::vector<std::byte> Runner::etdump() {
  if (!state_->dump) return {};
  const executorch::etdump::ETDumpResult dumped = state_->dump->get_etdump_data();
  const auto* from = static_cast<const std::byte*>(dumped.buf);
  std::vector<std::byte> bytes(from, from + (from ? dumped.size : 0));
  if (!state_->dump->is_static_etdump()) std::free(dumped.buf);
  return bytes;
}

}  // namespace edgec::runtime
