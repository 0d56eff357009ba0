#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <edgec/result.h>
#include "support/sink.h"

// A .pte file as plain data: what `emit` fills, the writer serialises and the reader gives back (schemas/program.fbs).
namespace edgec::pte {

using edgec::Sink;

// Bytes that are produced when they are written: weights are streamed from the archive's mapping, never gathered in
// memory.
struct Blob {
  uint64_t size = 0;
  std::function<Status(Sink&)> write;      // writes exactly `size` bytes
  std::span<const std::byte> view;         // the bytes, where they lie in memory already (reader; small constants); may be empty
  std::shared_ptr<const void> keep_alive;  // what `view` points into
  uint32_t alignment = 16;
};
Blob blob_of(std::vector<std::byte> bytes);

struct Place {  // allocation_info
  uint32_t memory_id = 1;
  uint64_t offset = 0;
  friend bool operator==(const Place&, const Place&) = default;
};

enum class Dynamism : uint8_t { Static = 0, DynamicBound = 1, DynamicUnbound = 2 };

struct Tensor {
  int8_t scalar_type = 0;  // c10 number, see ir/dtype.h
  std::vector<int32_t> sizes;
  std::vector<uint8_t> dim_order;
  uint32_t data_buffer_idx = 0;  // > 0 without place: constants[i - 1]; with place: initial_states[i - 1]
  std::optional<Place> place;
  Dynamism dynamism = Dynamism::Static;
  std::string external_name;  // not empty: the data is in a .ptd under this name
};
struct Null {};
struct IntList {
  std::vector<int64_t> items;
};  // value indices
struct DoubleList {
  std::vector<double> items;
};
struct BoolList {
  std::vector<bool> items;
};
struct TensorList {
  std::vector<int32_t> items;
};  // value indices
struct OptionalTensorList {
  std::vector<int32_t> items;
};  // value indices, -1 = None
using Value = std::variant<Null, int64_t, bool, double, Tensor, std::string, IntList, DoubleList, BoolList, TensorList, OptionalTensorList>;

struct Operator {
  std::string name, overload;
};
struct KernelCall {
  int32_t op = 0;
  std::vector<int32_t> args;
};
struct DelegateCall {
  int32_t delegate = 0;
  std::vector<int32_t> args;
};
struct MoveCall {
  int32_t from = 0, to = 0;
};
struct JumpFalse {
  int32_t cond = 0, target = 0;
};
using Instruction = std::variant<KernelCall, DelegateCall, MoveCall, JumpFalse>;

struct CompileSpec {
  std::string key;
  std::vector<std::byte> value;
};
struct Delegate {
  std::string backend_id;
  uint32_t payload = 0;
  std::vector<CompileSpec> compile_specs;
};  // payload: index into payloads

struct Plan {
  std::string name;
  std::string in_spec, out_spec;  // pytree JSON
  std::vector<Value> values;
  std::vector<int32_t> inputs, outputs;
  std::vector<Instruction> instructions;
  std::vector<Operator> operators;
  std::vector<Delegate> delegates;
  std::vector<int64_t> buffer_sizes;  // [0] is always 0; [k] = bytes of memory id k
};

struct NamedData {
  std::string key;
  Blob data;
};

struct Program {
  std::vector<Plan> plans;
  std::vector<Blob> constants;       // data_buffer_idx - 1
  std::vector<Blob> initial_states;  // of mutable buffers
  std::vector<Blob> payloads;        // of delegates
  std::vector<NamedData> named_data;
};

struct WriteOptions {
  uint32_t segment_alignment = 128;
  uint32_t constant_alignment = 16;
};

// Serialises: flatbuffer with extended header, then the segments (pipeline.md 3.6). Streams blobs; equal input gives
// equal bytes.
Status write(const Program&, Sink&, const WriteOptions& = {});

// Reads and checks the structure (header, flatbuffer verifier, every index, every offset) of untrusted bytes. Blobs are
// views into `file`.
Result<Program> read(std::span<const std::byte> file, std::shared_ptr<const void> keep_alive = {});

}  // namespace edgec::pte
