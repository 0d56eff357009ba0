#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "emit/file_format.h"
#include "emit/program.h"
#include "emit/scalar_type.h"
#include "schemas/program_generated.h"

namespace edgec::pte {
namespace {

using Bytes = std::span<const std::byte>;

Failure corrupt(const std::string& what) { return input_error("not a valid program file: " + what); }

template <class T>
T get(Bytes bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// ---- frame

struct Frame {
  Bytes flatbuffer, segments;
};

Result<Frame> split(Bytes file) {
  if (file.size() < kSchemaAlignment) return corrupt(fmt::format("it has only {} bytes", file.size()));
  const char* identifier = fb::ProgramIdentifier();
  if (std::memcmp(file.data() + kIdentifierAt, identifier, kHeaderAt - kIdentifierAt) != 0)
    return corrupt(fmt::format("the bytes at 4 are not \"{}\"", identifier));
  Frame frame{.flatbuffer = file, .segments = {}};
  if (std::memcmp(file.data() + kHeaderAt, kHeaderMagic, sizeof kHeaderMagic) == 0) {
    if (file.size() < kHeaderAt + kHeaderLength) return corrupt("it ends within the extended header");
    auto length = get<uint32_t>(file, kHeaderAt + 4);
    auto program = get<uint64_t>(file, kHeaderAt + 8), base = get<uint64_t>(file, kHeaderAt + 16);
    auto segments = length >= kHeaderLength ? get<uint64_t>(file, kHeaderAt + 24) : 0;
    if (length < kOldHeaderLength) return corrupt(fmt::format("its extended header has {} bytes", length));
    if (program > file.size() || base > file.size() || segments > file.size() - base)
      return corrupt(
          fmt::format("the extended header tells of {} bytes of program and of {} bytes of segments from {} on, the "
                      "file has {}; is it cut short?",
                      program, segments, base, file.size()));
    frame.flatbuffer = file.first(program);
    if (base > 0) frame.segments = file.subspan(base);
  }
  if (frame.flatbuffer.size() > kMaxFlatbuffer - 1) return corrupt("its flatbuffer has 2 GB or more");
  return frame;
}

// ---- content

class Reader {
 public:
  Reader(Frame frame, std::shared_ptr<const void> keep_alive) : frame_(frame), keep_alive_(std::move(keep_alive)) {}

  Result<Program> read() {
    EDGEC_TRY_VOID(verify());
    EDGEC_TRY_VOID(read_segments());
    if (!root_->execution_plan()) return corrupt("it has no list of methods");
    for (const fb::ExecutionPlan* plan : *root_->execution_plan()) {
      EDGEC_TRY(Plan read_plan, read(*plan));
      out_.plans.push_back(std::move(read_plan));
    }
    EDGEC_TRY_VOID(read_constants());
    EDGEC_TRY_VOID(read_initial_states());
    EDGEC_TRY_VOID(read_named_data());
    return std::move(out_);
  }

 private:
  Status verify() {
    // Scalars are read where they lie, which must be aligned.
    base_ = frame_.flatbuffer.data();
    if (reinterpret_cast<uintptr_t>(base_) % kSchemaAlignment != 0) {
      aligned_.resize(frame_.flatbuffer.size() / sizeof(Chunk) + 1);
      std::memcpy(aligned_.data(), base_, frame_.flatbuffer.size());
      base_ = reinterpret_cast<const std::byte*>(aligned_.data());
    }
    size_t size = frame_.flatbuffer.size();
    flatbuffers::Verifier::Options options;
    options.max_depth = 16;  // the schema nests 7 deep
    options.max_tables = static_cast<flatbuffers::uoffset_t>(size);
    flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(base_), size, options);
    if (!fb::VerifyProgramBuffer(verifier)) return corrupt("an offset or a length in its flatbuffer is out of bounds");
    root_ = fb::GetProgram(base_);
    budget_ = 65536 + 4 * uint64_t{size};
    return {};
  }

  // Offsets may meet, so a small file can describe a huge program; honest files have about as many items as bytes at
  // most.
  Status spend(uint64_t items) {
    if (items >= budget_) return corrupt("its lists share memory so that they are far larger than the file");
    budget_ -= items;
    return {};
  }

  // -- data

  Blob blob(Bytes bytes) const {
    Blob b;
    b.size = bytes.size();
    b.view = bytes;
    b.keep_alive = keep_alive_;
    return b;
  }

  Bytes in_file(const flatbuffers::Vector<uint8_t>& v) const {  // also when the flatbuffer was copied to be aligned
    auto at = static_cast<size_t>(reinterpret_cast<const std::byte*>(v.data()) - base_);
    return frame_.flatbuffer.subspan(at, v.size());
  }

  Status read_segments() {
    if (!root_->segments()) return {};
    EDGEC_TRY_VOID(spend(root_->segments()->size()));
    for (const fb::DataSegment* s : *root_->segments()) {
      if (s->offset() > frame_.segments.size() || s->size() > frame_.segments.size() - s->offset())
        return corrupt(fmt::format("segment {} (offset {}, {} bytes) ends after the file", segments_.size(), s->offset(), s->size()));
      segments_.push_back(frame_.segments.subspan(s->offset(), s->size()));
    }
    return {};
  }

  Result<Bytes> segment(uint32_t index) const {
    if (index >= segments_.size()) return corrupt(fmt::format("there is no segment {}; it has {}", index, segments_.size()));
    return segments_[index];
  }

  // The table holds starts only. A piece's size is that of the largest tensor that uses it; of an unused one, up to the
  // next.
  Status read_pieces(const fb::SubsegmentOffsets& table, const std::map<uint32_t, uint64_t>& used, std::vector<Blob>& out) {
    if (!table.offsets() || table.offsets()->size() < 2) return {};
    EDGEC_TRY_VOID(spend(table.offsets()->size()));
    EDGEC_TRY_VOID(check_alignment(*table.offsets()));
    EDGEC_TRY(Bytes bytes, segment(table.segment_index()));
    std::vector<uint64_t> starts(table.offsets()->begin(), table.offsets()->end());
    std::vector<uint64_t> sorted = starts;
    std::ranges::sort(sorted);
    for (uint32_t i = 1; i < starts.size(); ++i) {
      if (starts[i] > bytes.size()) return corrupt(fmt::format("data {} starts after its segment's end", i));
      uint64_t room = bytes.size() - starts[i];
      auto next = std::ranges::upper_bound(sorted, starts[i]);
      uint64_t size = next == sorted.end() ? room : std::min(room, *next - starts[i]);
      if (auto user = used.find(i); user != used.end()) size = std::min(room, user->second);
      out.push_back(blob(bytes.subspan(starts[i], size)));
    }
    return {};
  }

  Status read_constants() {
    if (const auto* table = root_->constant_segment(); table && table->offsets() && table->offsets()->size() > 0)
      return read_pieces(*table, constant_bytes_, out_.constants);
    const auto* buffers = root_->constant_buffer();  // files from before there were segments
    if (!buffers) return {};
    EDGEC_TRY_VOID(spend(buffers->size()));
    for (flatbuffers::uoffset_t i = 1; i < buffers->size(); ++i) {
      const auto* storage = buffers->Get(i)->storage();
      out_.constants.push_back(blob(storage ? in_file(*storage) : Bytes{}));
    }
    return {};
  }

  Status read_initial_states() {
    const auto* tables = root_->mutable_data_segments();
    if (!tables || tables->size() == 0) return {};
    if (tables->size() > 1) return corrupt("more than one segment of initial states is not supported");
    return read_pieces(*tables->Get(0), initial_bytes_, out_.initial_states);
  }

  Status read_named_data() {
    if (!root_->named_data()) return {};
    for (const fb::NamedData* named : *root_->named_data()) {
      EDGEC_TRY(Bytes bytes, segment(named->segment_index()));
      NamedData& n = out_.named_data.emplace_back();
      EDGEC_TRY_VOID(read(named->key(), n.key));
      n.data = blob(bytes);
    }
    return {};
  }

  // -- lists

  Status read(const flatbuffers::String* s, std::string& out) {
    EDGEC_TRY_VOID(spend(1 + (s ? s->size() : 0)));
    if (s) out = s->str();
    return {};
  }

  // The verifier looks at the alignment of a vector's length only.
  template <class In>
  static Status check_alignment(const flatbuffers::Vector<In>& v) {
    if (v.size() > 0 && reinterpret_cast<uintptr_t>(v.Data()) % sizeof(In) != 0) return corrupt("a list of numbers is not aligned");
    return {};
  }

  template <class In, class Out>
  Status read(const flatbuffers::Vector<In>* v, std::vector<Out>& out) {
    EDGEC_TRY_VOID(spend(1 + (v ? v->size() : 0)));
    if (v) EDGEC_TRY_VOID(check_alignment(*v));
    if (v) out.assign(v->begin(), v->end());
    return {};
  }

  // The runtime takes a missing list for an error where it takes an empty one.
  template <class In, class Out>
  Status read_present(const flatbuffers::Vector<In>* v, std::vector<Out>& out, const char* what) {
    if (!v) return corrupt(fmt::format("{} missing", what));
    return read(v, out);
  }

  // -- methods

  Result<Plan> read(const fb::ExecutionPlan& p) {
    Plan plan;
    EDGEC_TRY_VOID(read(p.name(), plan.name));
    if (const auto* meta = p.container_meta_type()) {
      EDGEC_TRY_VOID(read(meta->encoded_inp_str(), plan.in_spec));
      EDGEC_TRY_VOID(read(meta->encoded_out_str(), plan.out_spec));
    }
    EDGEC_TRY_VOID(read_present(p.inputs(), plan.inputs, "a method's inputs are"));
    EDGEC_TRY_VOID(read_present(p.outputs(), plan.outputs, "a method's outputs are"));
    EDGEC_TRY_VOID(read_present(p.non_const_buffer_sizes(), plan.buffer_sizes, "a method's buffer sizes are"));
    EDGEC_TRY_VOID(check_devices(p));
    if (!p.values()) return corrupt("a method's values are missing");
    EDGEC_TRY_VOID(spend(p.values()->size()));
    plan.values.reserve(p.values()->size());
    for (const fb::EValue* v : *p.values()) {
      EDGEC_TRY(Value value, read(*v));
      note_data(value);
      plan.values.push_back(std::move(value));
    }
    if (p.operators())
      for (const fb::Operator* op : *p.operators()) {
        Operator& o = plan.operators.emplace_back();
        EDGEC_TRY_VOID(read(op->name(), o.name));
        EDGEC_TRY_VOID(read(op->overload(), o.overload));
      }
    if (p.delegates())
      for (const fb::BackendDelegate* d : *p.delegates()) {
        EDGEC_TRY(Delegate delegate, read(*d));
        plan.delegates.push_back(std::move(delegate));
      }
    if (!p.chains() || p.chains()->size() != 1)
      return corrupt(fmt::format("method '{}' has {} chains instead of one", plan.name, p.chains() ? p.chains()->size() : 0));
    const auto* instructions = p.chains()->Get(0)->instructions();
    if (!instructions) return corrupt("a method's instructions are missing");
    EDGEC_TRY_VOID(spend(instructions->size()));
    plan.instructions.reserve(instructions->size());
    for (const fb::Instruction* i : *instructions) {
      EDGEC_TRY(Instruction instruction, read(*i));
      plan.instructions.push_back(std::move(instruction));
    }
    return plan;
  }

  static Status check_devices(const fb::ExecutionPlan& p) {
    if (p.non_const_buffer_device())
      for (const fb::NonConstBufferDevice* d : *p.non_const_buffer_device())
        if (d->device_type() != fb::DeviceType::CPU) return corrupt("memory of devices other than the CPU is not supported");
    return {};
  }

  // How many bytes of which constant and of which initial state are used.
  void note_data(const Value& value) {
    const auto* t = std::get_if<Tensor>(&value);
    if (!t || t->data_buffer_idx == 0 || !t->external_name.empty()) return;
    uint64_t& bytes = (t->place ? initial_bytes_ : constant_bytes_)[t->data_buffer_idx];
    bytes = std::max(bytes, byte_count(*t).value_or(0));
  }

  Result<Delegate> read(const fb::BackendDelegate& d) {
    Delegate out;
    EDGEC_TRY_VOID(read(d.id(), out.backend_id));
    if (!d.processed()) return corrupt("a delegate's payload is missing");
    EDGEC_TRY(out.payload, payload(*d.processed()));
    if (d.compile_specs())
      for (const fb::CompileSpec* spec : *d.compile_specs()) {
        CompileSpec& s = out.compile_specs.emplace_back();
        EDGEC_TRY_VOID(read(spec->key(), s.key));
        EDGEC_TRY_VOID(spend(1));
        if (spec->value()) {
          EDGEC_TRY_VOID(spend(spec->value()->size()));
          Bytes bytes = in_file(*spec->value());
          s.value.assign(bytes.begin(), bytes.end());
        }
      }
    return out;
  }

  Result<uint32_t> payload(const fb::BackendDelegateDataReference& r) {
    auto [at, is_new] = payloads_.try_emplace({r.location(), r.index()}, static_cast<uint32_t>(out_.payloads.size()));
    if (!is_new) return at->second;
    if (r.location() == fb::DataLocation::SEGMENT) {
      EDGEC_TRY(Bytes bytes, segment(r.index()));
      out_.payloads.push_back(blob(bytes));
    } else {
      const auto* list = root_->backend_delegate_data();
      if (!list || r.index() >= list->size() || !list->Get(r.index())->data()) return corrupt("a delegate's payload is missing");
      out_.payloads.push_back(blob(in_file(*list->Get(r.index())->data())));
    }
    return at->second;
  }

  // -- values

  template <class List, class Table>
  Result<Value> list(const Table& table) {
    List out;
    EDGEC_TRY_VOID(read_present(table.items(), out.items, "a list value's items are"));
    return Value(std::move(out));
  }

  Result<Value> read(const fb::EValue& v) {
    if (v.val_type() == fb::KernelTypes::Null) return Value(Null{});
    if (!v.val()) return corrupt("a value is missing");
    switch (v.val_type()) {
      case fb::KernelTypes::Int:
        return Value(int64_t{v.val_as_Int()->int_val()});
      case fb::KernelTypes::Bool:
        return Value(v.val_as_Bool()->bool_val());
      case fb::KernelTypes::Double:
        return Value(v.val_as_Double()->double_val());
      case fb::KernelTypes::Tensor:
        return read(*v.val_as_Tensor());
      case fb::KernelTypes::String: {
        if (!v.val_as_String()->string_val()) return corrupt("a string value is missing");
        std::string s;
        EDGEC_TRY_VOID(read(v.val_as_String()->string_val(), s));
        return Value(std::move(s));
      }
      case fb::KernelTypes::IntList:
        return list<IntList>(*v.val_as_IntList());
      case fb::KernelTypes::DoubleList:
        return list<DoubleList>(*v.val_as_DoubleList());
      case fb::KernelTypes::BoolList:
        return list<BoolList>(*v.val_as_BoolList());
      case fb::KernelTypes::TensorList:
        return list<TensorList>(*v.val_as_TensorList());
      case fb::KernelTypes::OptionalTensorList:
        return list<OptionalTensorList>(*v.val_as_OptionalTensorList());
      default:
        return corrupt(fmt::format("values of type {} are not known", static_cast<int>(v.val_type())));
    }
  }

  Result<Value> read(const fb::Tensor& t) {
    Tensor out;
    out.scalar_type = static_cast<int8_t>(t.scalar_type());
    EDGEC_TRY_VOID(read_present(t.sizes(), out.sizes, "a tensor's sizes are"));
    EDGEC_TRY_VOID(read_present(t.dim_order(), out.dim_order, "a tensor's dim order is"));
    out.data_buffer_idx = t.data_buffer_idx();
    if (t.storage_offset() != 0) return corrupt("a tensor has a storage offset, which the runtime does not take");
    if (const auto* a = t.allocation_info())
      out.place = Place{a->memory_id(), (uint64_t{a->memory_offset_high()} << 32) | a->memory_offset_low()};
    auto dynamism = static_cast<int8_t>(t.shape_dynamism());
    if (dynamism < 0 || dynamism > 2) return corrupt(fmt::format("a tensor has shape dynamism {}", dynamism));
    out.dynamism = static_cast<Dynamism>(dynamism);
    if (const auto* extra = t.extra_tensor_info()) {
      if (extra->device_type() != fb::DeviceType::CPU) return corrupt("tensors on devices other than the CPU are not supported");
      if (extra->location() == fb::TensorDataLocation::EXTERNAL) {
        EDGEC_TRY_VOID(read(extra->fully_qualified_name(), out.external_name));
        if (out.external_name.empty()) return corrupt("a tensor with external data has no name");
      }
    }
    return Value(std::move(out));
  }

  // -- instructions

  Result<Instruction> read(const fb::Instruction& i) {
    if (!i.instr_args()) return corrupt("an instruction is missing");
    switch (i.instr_args_type()) {
      case fb::InstructionArguments::KernelCall: {
        KernelCall call{.op = i.instr_args_as_KernelCall()->op_index(), .args = {}};
        EDGEC_TRY_VOID(read_present(i.instr_args_as_KernelCall()->args(), call.args, "a kernel call's arguments are"));
        return Instruction(std::move(call));
      }
      case fb::InstructionArguments::DelegateCall: {
        DelegateCall call{.delegate = i.instr_args_as_DelegateCall()->delegate_index(), .args = {}};
        EDGEC_TRY_VOID(read_present(i.instr_args_as_DelegateCall()->args(), call.args, "a delegate call's arguments are"));
        return Instruction(std::move(call));
      }
      case fb::InstructionArguments::MoveCall:
        return Instruction(MoveCall{i.instr_args_as_MoveCall()->move_from(), i.instr_args_as_MoveCall()->move_to()});
      case fb::InstructionArguments::JumpFalseCall:
        return Instruction(
            JumpFalse{i.instr_args_as_JumpFalseCall()->cond_value_index(), i.instr_args_as_JumpFalseCall()->destination_instruction()});
      default:
        return corrupt(fmt::format("instructions of type {} are not supported", static_cast<int>(i.instr_args_type())));
    }
  }

  struct alignas(kSchemaAlignment) Chunk {
    std::array<std::byte, kSchemaAlignment> bytes;
  };

  Frame frame_;
  std::shared_ptr<const void> keep_alive_;
  std::vector<Chunk> aligned_;
  const std::byte* base_ = nullptr;  // of the flatbuffer
  const fb::Program* root_ = nullptr;
  uint64_t budget_ = 0;
  std::vector<Bytes> segments_;
  std::map<std::pair<fb::DataLocation, uint32_t>, uint32_t> payloads_;
  std::map<uint32_t, uint64_t> constant_bytes_, initial_bytes_;
  Program out_;
};

}  // namespace

Result<Program> read(std::span<const std::byte> file, std::shared_ptr<const void> keep_alive) {
  EDGEC_TRY(Frame frame, split(file));
  return Reader(frame, std::move(keep_alive)).read();
}

}  // namespace edgec::pte
