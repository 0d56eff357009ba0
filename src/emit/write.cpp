#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "emit/file_format.h"
#include "emit/program.h"
#include "schemas/program_generated.h"

namespace edgec::pte {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
template <class T>
using Vec = Offset<flatbuffers::Vector<T>>;

constexpr uint64_t kMaxFile = uint64_t{1} << 62;
constexpr uint32_t kMaxAlignment = uint32_t{1} << 30;

uint64_t align_up(uint64_t n, uint64_t alignment) { return (n + alignment - 1) / alignment * alignment; }

// ---- segments: where each blob goes

struct Piece {
  uint64_t offset = 0;  // from the segment base
  const Blob* blob = nullptr;
};

struct Segment {
  uint64_t offset = 0, size = 0;
};

// Segments one behind the other, offsets from the first one.
struct Row {
  std::vector<Segment> segments;
  std::vector<Piece> pieces;  // in file order
  uint64_t alignment = 1;     // of the row, so that offsets from it align in the file as well
  uint64_t size = 0;
};

// What is shorter than the alignment of segments would be padding for the most part. It goes into a row of its own, which fills the
// gap between the structure and the aligned segments.
struct Layout {
  Row shorts, rest;
  std::vector<uint64_t> constants = {0}, initial_states = {0};
  uint32_t constants_segment = 0;  // numbers count the short ones first
  std::optional<uint32_t> initial_states_segment;
  std::vector<std::optional<uint32_t>> payloads;  // segment of each payload; none: empty, stays inline
  std::vector<uint32_t> named;
  bool empty() const { return shorts.size + rest.size == 0; }
  uint64_t base(uint64_t program_size) const { return align_up(program_size, shorts.size > 0 ? shorts.alignment : rest.alignment); }
  // Where the rest begins, from the base.
  uint64_t rest_at(uint64_t program_size) const {
    const uint64_t at = base(program_size);
    return rest.size == 0 ? shorts.size : align_up(at + shorts.size, rest.alignment) - at;
  }
};

class LayoutMaker {
 public:
  explicit LayoutMaker(const WriteOptions& options) : options_(options) {}

  Result<Layout> make(const Program& p) {
    for (uint32_t alignment : {options_.segment_alignment, options_.constant_alignment})
      if (!std::has_single_bit(alignment) || alignment > kMaxAlignment)
        return usage_error(fmt::format("alignments in a program file are powers of two up to 2^30, not {}", alignment));
    out_.named.resize(p.named_data.size());
    for (const bool short_ones : {true, false}) {
      row_ = short_ones ? &out_.shorts : &out_.rest;
      if (!short_ones) EDGEC_TRY_VOID(add_constants(p));
      if (!p.initial_states.empty() && is_short(p.initial_states) == short_ones) EDGEC_TRY_VOID(add_states(p));
      if (!short_ones) EDGEC_TRY_VOID(add_payloads(p));
      for (size_t i = 0; i < p.named_data.size(); ++i)
        if (const Blob& blob = p.named_data[i].data; is_short({&blob, 1}) == short_ones) EDGEC_TRY_VOID(add_named(i, blob));
    }
    return std::move(out_);
  }

 private:
  bool is_short(std::span<const Blob> blobs) const {
    uint64_t size = 0;
    for (const Blob& b : blobs) size += std::min<uint64_t>(b.size, options_.segment_alignment);
    return size < options_.segment_alignment;
  }

  Status add_constants(const Program& p) {
    out_.constants_segment = open_segment(options_.constant_alignment);
    for (const Blob& blob : p.constants) EDGEC_TRY_VOID(add(blob, std::max(options_.constant_alignment, blob.alignment), &out_.constants));
    return {};
  }

  Status add_states(const Program& p) {
    out_.initial_states_segment = open_segment(1);
    for (const Blob& blob : p.initial_states) EDGEC_TRY_VOID(add(blob, 1, &out_.initial_states));
    return {};
  }

  Status add_payloads(const Program& p) {
    for (const Blob& blob : p.payloads) {
      out_.payloads.emplace_back();
      if (blob.size == 0) continue;
      out_.payloads.back() = open_segment(blob.alignment);
      EDGEC_TRY_VOID(add(blob, 1));
    }
    return {};
  }

  uint32_t open_segment(uint64_t alignment) {
    if (row_ == &out_.rest) alignment = std::max<uint64_t>(options_.segment_alignment, alignment);
    row_->alignment = std::max(row_->alignment, alignment);
    row_->segments.push_back({.offset = align_up(row_->size, alignment), .size = 0});
    return static_cast<uint32_t>(out_.shorts.segments.size() + out_.rest.segments.size() - 1);
  }

  Status add(const Blob& blob, uint32_t alignment, std::vector<uint64_t>* table = nullptr) {
    if (!std::has_single_bit(blob.alignment) || blob.alignment > kMaxAlignment)
      return internal_error(fmt::format("a blob's alignment is {}", blob.alignment));
    Segment& segment = row_->segments.back();
    uint64_t at = align_up(segment.size, alignment);
    if (blob.size > kMaxFile || segment.offset + at > kMaxFile - blob.size)
      return output_error("the program file would have more than 2^62 bytes");
    if (table) table->push_back(at);
    row_->pieces.push_back({segment.offset + at, &blob});
    segment.size = at + blob.size;
    if (segment.size > 0) row_->size = segment.offset + segment.size;
    row_->alignment = std::max<uint64_t>(row_->alignment, alignment);
    return {};
  }

  // Keys whose data is the same memory share a segment.
  Status add_named(size_t index, const Blob& blob) {
    auto key = std::pair(blob.view.data(), blob.view.size());
    auto known = blob.view.empty() ? shared_.end() : shared_.find(key);
    if (known != shared_.end()) {
      out_.named[index] = known->second;
      return {};
    }
    out_.named[index] = open_segment(blob.alignment);
    if (!blob.view.empty()) shared_[key] = out_.named[index];
    return add(blob, 1);
  }

  const WriteOptions& options_;
  Layout out_;
  Row* row_ = nullptr;
  std::map<std::pair<const std::byte*, size_t>, uint32_t> shared_;
};

// ---- structure: the flatbuffer

struct Size {  // a bound from above on the bytes a value takes
  uint64_t bytes = 0;
  static constexpr uint64_t kTable = 64;  // any of the schema's tables with vtable, padding and the offset to it
  void table() { bytes += kTable; }
  template <class V>
  void list(const V& v) {
    bytes += 24 + v.size() * sizeof(typename V::value_type);
  }
  void list(const std::vector<bool>& v) { bytes += 24 + v.size(); }

  void operator()(const Null&) {}
  void operator()(int64_t) {}
  void operator()(bool) {}
  void operator()(double) {}
  void operator()(const std::string& s) { list(s); }
  void operator()(const Tensor& t) {
    table(), table(), table();
    list(t.sizes), list(t.dim_order), list(t.external_name);
  }
  template <class L>
  requires requires(const L& l) { l.items; }
  void operator()(const L& l) { list(l.items); }
};

uint64_t size_bound(const Program& p) {
  Size s;
  s.bytes = 4096 + 16 * (p.constants.size() + p.initial_states.size());
  for (size_t i = 0; i < p.payloads.size() + p.named_data.size(); ++i) s.table(), s.table();
  for (const NamedData& n : p.named_data) s.list(n.key);
  for (const Plan& plan : p.plans) {
    s.bytes += 1024;
    s.list(plan.name), s.list(plan.in_spec), s.list(plan.out_spec);
    s.list(plan.inputs), s.list(plan.outputs), s.list(plan.buffer_sizes);
    for (const Value& v : plan.values) s.table(), s.table(), std::visit(s, v);
    for (const Operator& op : plan.operators) s.table(), s.list(op.name), s.list(op.overload);
    for (const Delegate& d : plan.delegates) {
      s.table(), s.table(), s.list(d.backend_id);
      for (const CompileSpec& c : d.compile_specs) s.table(), s.list(c.key), s.list(c.value);
    }
    for (const Instruction& i : plan.instructions) {
      s.table(), s.table();
      if (auto* k = std::get_if<KernelCall>(&i)) s.list(k->args);
      if (auto* d = std::get_if<DelegateCall>(&i)) s.list(d->args);
    }
  }
  return s.bytes;
}

template <class T, class F>
auto vector_of(FlatBufferBuilder& b, const std::vector<T>& items, F&& make_one) {
  std::vector<decltype(make_one(items.front()))> offsets;
  offsets.reserve(items.size());
  for (const T& item : items) offsets.push_back(make_one(item));
  return b.CreateVector(offsets);
}

class FlatbufferMaker {
 public:
  FlatbufferMaker(const Layout& layout, size_t size_hint) : layout_(layout), b_(size_hint) {}

  std::span<const uint8_t> make(const Program& p) {
    auto plans = vector_of(b_, p.plans, [&](const Plan& plan) { return write(plan); });
    auto inline_data = write_inline_payload();
    std::vector<Segment> all = layout_.shorts.segments;
    all.insert(all.end(), layout_.rest.segments.begin(), layout_.rest.segments.end());
    auto segments = vector_of(b_, all, [&](const Segment& s) {
      b_.ForceDefaults(true);  // the offset is there to be changed
      auto made = fb::CreateDataSegment(b_, s.offset, s.size);
      b_.ForceDefaults(false);
      return made;
    });
    auto constants = fb::CreateSubsegmentOffsets(b_, layout_.constants_segment, b_.CreateVector(layout_.constants));
    Vec<Offset<fb::SubsegmentOffsets>> initial_states;
    if (auto segment = layout_.initial_states_segment) {
      auto offsets = b_.CreateVector(layout_.initial_states);
      initial_states = b_.CreateVector(std::vector{fb::CreateSubsegmentOffsets(b_, *segment, offsets)});
    }
    size_t next = 0;
    auto named = vector_of(
        b_, p.named_data, [&](const NamedData& n) { return fb::CreateNamedData(b_, b_.CreateSharedString(n.key), layout_.named[next++]); });
    b_.Finish(fb::CreateProgram(b_, /*version=*/0, plans, /*constant_buffer=*/0, inline_data, segments, constants, initial_states, named),
              fb::ProgramIdentifier());
    // Where the rest lies is known now.
    const uint64_t shift = layout_.rest_at(b_.GetSize() + kHeaderLength);
    const auto* placed = fb::GetProgram(b_.GetBufferPointer())->segments();
    for (size_t i = layout_.shorts.segments.size(); i < all.size(); ++i) {
      auto* table = reinterpret_cast<flatbuffers::Table*>(const_cast<fb::DataSegment*>(placed->Get(static_cast<uint32_t>(i))));
      table->SetField<uint64_t>(fb::DataSegment::VT_OFFSET, all[i].offset + shift, 0);
    }
    return {b_.GetBufferPointer(), b_.GetSize()};
  }

 private:
  // All empty payloads are one inline entry: a segment without bytes cannot be told from none.
  Vec<Offset<fb::BackendDelegateInlineData>> write_inline_payload() {
    if (std::ranges::all_of(layout_.payloads, [](const auto& segment) { return segment.has_value(); })) return 0;
    b_.ForceVectorAlignment(0, 1, kSchemaAlignment);
    auto none = b_.CreateVector(std::vector<uint8_t>{});
    return b_.CreateVector(std::vector{fb::CreateBackendDelegateInlineData(b_, none)});
  }

  Offset<fb::ExecutionPlan> write(const Plan& plan) {
    auto name = b_.CreateString(plan.name);
    auto in_spec = b_.CreateString(plan.in_spec);
    auto out_spec = b_.CreateString(plan.out_spec);
    auto meta = fb::CreateContainerMetadata(b_, in_spec, out_spec);
    auto values = vector_of(b_, plan.values, [&](const Value& v) { return std::visit([&](const auto& x) { return write(x); }, v); });
    auto inputs = b_.CreateVector(plan.inputs);
    auto outputs = b_.CreateVector(plan.outputs);
    auto instructions =
        vector_of(b_, plan.instructions, [&](const Instruction& i) { return std::visit([&](const auto& x) { return write(x); }, i); });
    auto none = b_.CreateVector(std::vector<int32_t>{});
    auto chain = fb::CreateChain(b_, none, none, instructions);
    auto chains = b_.CreateVector(std::vector{chain});
    auto operators = vector_of(b_, plan.operators, [&](const Operator& op) {
      auto op_name = b_.CreateSharedString(op.name);
      return fb::CreateOperator(b_, op_name, b_.CreateSharedString(op.overload));
    });
    auto delegates = vector_of(b_, plan.delegates, [&](const Delegate& d) { return write(d); });
    auto buffers = b_.CreateVector(plan.buffer_sizes);
    return fb::CreateExecutionPlan(b_, name, meta, values, inputs, outputs, chains, operators, delegates, buffers);
  }

  Offset<fb::BackendDelegate> write(const Delegate& d) {
    auto id = b_.CreateSharedString(d.backend_id);
    auto segment = layout_.payloads[d.payload];
    auto data = segment ? fb::CreateBackendDelegateDataReference(b_, fb::DataLocation::SEGMENT, *segment)
                        : fb::CreateBackendDelegateDataReference(b_, fb::DataLocation::INLINE, 0);
    auto specs = vector_of(b_, d.compile_specs, [&](const CompileSpec& c) {
      auto key = b_.CreateSharedString(c.key);
      auto value = b_.CreateVector(reinterpret_cast<const uint8_t*>(c.value.data()), c.value.size());
      return fb::CreateCompileSpec(b_, key, value);
    });
    return fb::CreateBackendDelegate(b_, id, data, specs);
  }

  // -- values. Equal literals, sizes and dim orders are stored once.

  template <class F>
  Offset<fb::EValue> literal(fb::KernelTypes type, uint64_t bits, F&& make_one) {
    auto& known = literals_[{type, bits}];
    if (known.IsNull()) known = fb::CreateEValue(b_, type, make_one().Union());
    return known;
  }
  template <class T>
  Offset<fb::EValue> evalue(fb::KernelTypes type, Offset<T> value) {
    return fb::CreateEValue(b_, type, value.Union());
  }
  template <class T>
  Vec<T> shared_list(std::map<std::vector<T>, Vec<T>>& known, const std::vector<T>& items) {
    auto& offset = known[items];
    if (offset.IsNull()) offset = b_.CreateVector(items);
    return offset;
  }

  Offset<fb::EValue> write(const Null&) {
    return literal(fb::KernelTypes::Null, 0, [&] { return fb::CreateNull(b_); });
  }
  Offset<fb::EValue> write(int64_t i) {
    return literal(fb::KernelTypes::Int, static_cast<uint64_t>(i), [&] { return fb::CreateInt(b_, i); });
  }
  Offset<fb::EValue> write(bool x) {
    return literal(fb::KernelTypes::Bool, x, [&] { return fb::CreateBool(b_, x); });
  }
  Offset<fb::EValue> write(double d) {
    return literal(fb::KernelTypes::Double, std::bit_cast<uint64_t>(d), [&] {
      b_.ForceDefaults(std::signbit(d));  // -0.0 equals the default 0.0, which is left out
      auto made = fb::CreateDouble(b_, d);
      b_.ForceDefaults(false);
      return made;
    });
  }
  Offset<fb::EValue> write(const std::string& s) { return evalue(fb::KernelTypes::String, fb::CreateString(b_, b_.CreateSharedString(s))); }
  Offset<fb::EValue> write(const IntList& l) { return evalue(fb::KernelTypes::IntList, fb::CreateIntList(b_, b_.CreateVector(l.items))); }
  Offset<fb::EValue> write(const DoubleList& l) {
    return evalue(fb::KernelTypes::DoubleList, fb::CreateDoubleList(b_, b_.CreateVector(l.items)));
  }
  Offset<fb::EValue> write(const BoolList& l) {
    return evalue(fb::KernelTypes::BoolList, fb::CreateBoolList(b_, b_.CreateVector(l.items)));
  }
  Offset<fb::EValue> write(const TensorList& l) {
    return evalue(fb::KernelTypes::TensorList, fb::CreateTensorList(b_, b_.CreateVector(l.items)));
  }
  Offset<fb::EValue> write(const OptionalTensorList& l) {
    return evalue(fb::KernelTypes::OptionalTensorList, fb::CreateOptionalTensorList(b_, b_.CreateVector(l.items)));
  }
  Offset<fb::EValue> write(const Tensor& t) {
    auto sizes = shared_list(sizes_, t.sizes);
    auto dim_order = shared_list(dim_orders_, t.dim_order);
    Offset<fb::AllocationDetails> place;
    if (t.place)
      place = fb::CreateAllocationDetails(b_, t.place->memory_id, static_cast<uint32_t>(t.place->offset),
                                          static_cast<uint32_t>(t.place->offset >> 32));
    Offset<fb::ExtraTensorInfo> extra;
    if (!t.external_name.empty())
      extra = fb::CreateExtraTensorInfo(b_, 0, b_.CreateSharedString(t.external_name), fb::TensorDataLocation::EXTERNAL);
    return evalue(fb::KernelTypes::Tensor,
                  fb::CreateTensor(b_, static_cast<fb::ScalarType>(t.scalar_type), 0, sizes, dim_order, false, t.data_buffer_idx, place, 0,
                                   static_cast<fb::TensorShapeDynamism>(t.dynamism), extra));
  }

  // -- instructions

  template <class T>
  Offset<fb::Instruction> instruction(fb::InstructionArguments type, Offset<T> args) {
    return fb::CreateInstruction(b_, type, args.Union());
  }
  Offset<fb::Instruction> write(const KernelCall& c) {
    return instruction(fb::InstructionArguments::KernelCall, fb::CreateKernelCall(b_, c.op, b_.CreateVector(c.args)));
  }
  Offset<fb::Instruction> write(const DelegateCall& c) {
    return instruction(fb::InstructionArguments::DelegateCall, fb::CreateDelegateCall(b_, c.delegate, b_.CreateVector(c.args)));
  }
  Offset<fb::Instruction> write(const MoveCall& c) {
    return instruction(fb::InstructionArguments::MoveCall, fb::CreateMoveCall(b_, c.from, c.to));
  }
  Offset<fb::Instruction> write(const JumpFalse& c) {
    return instruction(fb::InstructionArguments::JumpFalseCall, fb::CreateJumpFalseCall(b_, c.cond, c.target));
  }

  const Layout& layout_;
  FlatBufferBuilder b_;
  std::map<std::pair<fb::KernelTypes, uint64_t>, Offset<fb::EValue>> literals_;
  std::map<std::vector<int32_t>, Vec<int32_t>> sizes_;
  std::map<std::vector<uint8_t>, Vec<uint8_t>> dim_orders_;
};

// ---- bytes

// Counts what passes, so that a blob that promised another size is found out.
class CountingSink final : public Sink {
 public:
  explicit CountingSink(Sink& out) : out_(out) {}
  Status write(std::span<const std::byte> bytes) override {
    written_ += bytes.size();
    return out_.write(bytes);
  }
  Status pad_to(uint64_t at) {
    static constexpr std::array<std::byte, 4096> zeros{};
    while (written_ < at) {
      auto n = static_cast<size_t>(std::min<uint64_t>(at - written_, zeros.size()));
      EDGEC_TRY_VOID(write(std::span(zeros).first(n)));
    }
    return {};
  }
  uint64_t written() const { return written_; }

 private:
  Sink& out_;
  uint64_t written_ = 0;
};

Status write_blob(const Blob& blob, CountingSink& out) {
  uint64_t before = out.written();
  if (blob.write)
    EDGEC_TRY_VOID(blob.write(out));
  else
    EDGEC_TRY_VOID(out.write(blob.view));
  if (out.written() - before != blob.size)
    return internal_error(fmt::format("a blob of {} bytes wrote {}", blob.size, out.written() - before));
  return {};
}

Status write_row(const Row& row, uint64_t at, CountingSink& out) {
  for (const Piece& piece : row.pieces) {
    if (piece.blob->size == 0) continue;
    EDGEC_TRY_VOID(out.pad_to(at + piece.offset));
    EDGEC_TRY_VOID(write_blob(*piece.blob, out));
  }
  return {};
}

template <class T>
void put(std::vector<std::byte>& bytes, size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

// The flatbuffer's first 8 bytes with the root moved by the header, then the header.
std::vector<std::byte> head(std::span<const uint8_t> flatbuffer, uint64_t program_size, uint64_t base, uint64_t segments) {
  std::vector<std::byte> bytes(kHeaderAt + kHeaderLength);
  uint32_t root = 0;
  std::memcpy(&root, flatbuffer.data(), sizeof root);
  put(bytes, 0, root + kHeaderLength);
  std::memcpy(bytes.data() + kIdentifierAt, flatbuffer.data() + kIdentifierAt, kHeaderAt - kIdentifierAt);
  std::memcpy(bytes.data() + kHeaderAt, kHeaderMagic, sizeof kHeaderMagic);
  put(bytes, kHeaderAt + 4, kHeaderLength);
  put(bytes, kHeaderAt + 8, program_size);
  put(bytes, kHeaderAt + 16, base);
  put(bytes, kHeaderAt + 24, segments);
  return bytes;
}

Status check_payload_indices(const Program& p) {
  for (const Plan& plan : p.plans)
    for (const Delegate& d : plan.delegates)
      if (d.payload >= p.payloads.size())
        return internal_error(
            fmt::format("delegate '{}' of method '{}' has payload {} of {}", d.backend_id, plan.name, d.payload, p.payloads.size()));
  return {};
}

}  // namespace

Blob blob_of(std::vector<std::byte> bytes) {
  auto owned = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  Blob blob;
  blob.size = owned->size();
  blob.view = *owned;
  blob.keep_alive = owned;
  return blob;
}

Status write(const Program& program, Sink& sink, const WriteOptions& options) {
  EDGEC_TRY_VOID(check_payload_indices(program));
  EDGEC_TRY(Layout layout, LayoutMaker(options).make(program));
  uint64_t bound = size_bound(program);
  if (bound > kMaxFlatbuffer - kHeaderLength)
    return output_error(fmt::format(
        "the program's structure would need up to {} bytes; the format ends at 2 GB (weights and payloads not counted)", bound));
  FlatbufferMaker maker(layout, static_cast<size_t>(bound));
  std::span<const uint8_t> flatbuffer = maker.make(program);

  CountingSink out(sink);
  if (layout.empty()) return out.write(std::as_bytes(flatbuffer));
  uint64_t program_size = flatbuffer.size() + kHeaderLength;
  const uint64_t base = layout.base(program_size), rest = layout.rest_at(program_size);
  EDGEC_TRY_VOID(out.write(head(flatbuffer, program_size, base, rest + layout.rest.size)));
  EDGEC_TRY_VOID(out.write(std::as_bytes(flatbuffer.subspan(kHeaderAt))));
  EDGEC_TRY_VOID(write_row(layout.shorts, base, out));
  EDGEC_TRY_VOID(write_row(layout.rest, base + rest, out));
  return out.pad_to(base + rest + layout.rest.size);
}

}  // namespace edgec::pte
