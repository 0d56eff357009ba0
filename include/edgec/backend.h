#pragma once
#include <edgec/program.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

// What a backend is to edgec: it says which nodes it takes and compiles a region of them to a payload, which its delegate in the
// runtime reads. Built-in backends and those of plugins implement the same interface.
namespace edgec EDGEC_API {

struct CompileSpec {
  std::string key;
  std::vector<std::byte> value;
  friend bool operator==(const CompileSpec&, const CompileSpec&) = default;
};
using CompileSpecs = std::vector<CompileSpec>;
CompileSpec compile_spec(std::string key, std::string_view text);
// The value of a key as text; nothing when it is not there.
std::optional<std::string> spec_text(const CompileSpecs&, std::string_view key);

// How a size (or another symbolic number) that is made outside a region gets into it.
enum class SymInputs : uint8_t {
  None,          // not at all: a node that needs one is refused
  AsInt,         // as an int, float or bool input of the delegate
  AsRank0Tensor  // as a rank-0 int64, float64 or bool tensor made at the border and read back inside
};

struct BackendTraits {
  SymInputs sym_inputs = SymInputs::None;
  bool sym_inside = false;         // computes sizes of its own tensor inputs, and arithmetic on them, inside a region
  bool dynamic_shapes = true;      // takes nodes whose sizes are not static
  bool mutable_buffers = false;    // keeps state that only the region uses; else state is an input and an output
  bool joins_independent = false;  // parts that do not depend on each other become one region where the order of execution allows it
  size_t min_region = 1;           // nodes; smaller regions stay outside
};

// Bytes that a program stores once however many payloads name them.
struct NamedData {
  std::string key;
  TensorData data;
  uint32_t alignment = 16;
};

struct Payload {
  std::vector<std::byte> bytes;
  std::vector<NamedData> named_data;
  // Debug handle of the payload -> nodes of the region that it stands for.
  std::vector<std::pair<uint32_t, std::vector<NodeId>>> debug_handles;
};

// A region and what a backend made of it: the callee of `executorch.call_delegate`.
struct LoweredModule {
  std::string backend_id;
  CompileSpecs compile_specs;
  Payload payload;
  std::unique_ptr<const Method> region;  // Edge dialect, with symbols of its own
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string id() const = 0;       // in the program: the runtime finds the delegate by it
  virtual std::string name() const = 0;     // on the command line
  virtual std::string summary() const = 0;  // one line for `edgec backends`
  // `--backend NAME,key=value`: checked and turned into compile specs (kind Usage when a key is not known).
  virtual Result<CompileSpecs> parse_options(std::span<const std::pair<std::string, std::string>> options) const = 0;
  virtual BackendTraits traits(const CompileSpecs&) const { return {}; }
  // Composite operators that stay whole until the backend has seen them ("aten.layer_norm").
  virtual std::vector<std::string> keeps_whole(const CompileSpecs&) const { return {}; }
  // Graphs in text form (one method each, the outputs last) of which the backend takes whole matches only. None: any nodes together.
  virtual std::vector<std::string> patterns(const CompileSpecs&) const { return {}; }
  // Why the backend leaves a node of `g` (the method's graph or a sub-graph) to the runtime's kernels: a sentence. Nothing: it takes it.
  virtual std::optional<std::string> refuses(const Method& m, const Graph& g, NodeId n, const CompileSpecs&) const = 0;
  // Why a region of nodes that the backend takes is left to the kernels all the same: a sentence. Nothing: it becomes a delegate.
  virtual std::optional<std::string> refuses_region(const Method&, const Graph&, std::span<const NodeId>, const CompileSpecs&) const {
    return std::nullopt;
  }
  // Of nodes with different numbers none share a region. Empty: any nodes that the backend takes go together.
  virtual NodeMap<uint32_t> groups(const Method&, const Graph&, const CompileSpecs&) const { return {}; }
  // Compiles a region: a method of its own in the Edge dialect. Weights that moved in are inputs with data; what crosses the border are
  // user inputs and outputs, in the order of the delegate's arguments.
  virtual Result<Payload> preprocess(const Method& region, const CompileSpecs&) const = 0;
};

}  // namespace EDGEC_API
