#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <edgec/backend.h>
#include "genai/graph_bundle.h"
#include "genai/spill_fill.h"
#include "genai/targets.h"

namespace edgec::genai {

struct LoweringGraph {
  std::string method;
  Module module;
  std::optional<QuantIoDtypes> quant_io;
};

// One program file: its methods in order, compiled in one call, so that they share weights and state.
struct LoweringRequest {
  std::vector<LoweringGraph> graphs;
  Meta constant_methods;
  CompileSpecs compile_specs;  // all that the lowering sees of the target
  EmitOptions emit;
  size_t num_sharding = 1;               // contexts that the graphs are cut into, between layers; delegates do not reach over a cut
  SpillFillReader spill_fill = nullptr;  // of the contexts of a cut decoder; none: their sizes stay as the backend gave them
};

// The outside operation that an adapter wraps.
class Lowering {
 public:
  virtual ~Lowering() = default;
  virtual Status lower(const LoweringRequest& request, const std::filesystem::path& output) const = 0;
};

// edgec's own compiler with a backend: "qnn", "xnnpack" or another one that is registered, "portable" for none. A backend that this edgec
// does not have is a failure (kind Model) of `lower`. A program without delegates has no contexts: num_sharding changes nothing there.
std::shared_ptr<const Lowering> lowering_to(std::string backend);
std::shared_ptr<const Lowering> lowering_to(std::shared_ptr<const Backend> backend);

// Methods, constant methods and tagged I/O dtypes as one program in the ATen stage.
Result<std::unique_ptr<Program>> program_of(const LoweringRequest& request);

}  // namespace edgec::genai
