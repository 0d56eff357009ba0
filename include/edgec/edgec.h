#pragma once
#include <edgec/partitioner.h>
#include <edgec/pass.h>
#include <edgec/planner.h>
#include <edgec/result.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The public API, with the names of torch.export and ExecuTorch:
//
//   edgec::Result<edgec::ExportedProgram> ep = edgec::load("model.pt2");
//   auto edge = edgec::to_edge(std::move(*ep));
//   auto program = edge->to_executorch({.memory_planning_pass = {.alloc_graph_input = false}});
//   program->write_to_file("model.pte");
//
// Parts for a backend: edge->to_backend(*partitioner), or all of it: edgec::to_backend("BackendWithCompilerDemo",
// edge->exported_program()).
//
// Everything that can fail gives a Result; its Failure carries the message that the command line would print.

namespace edgec {

// One method, in the ATen dialect as torch.export.save wrote it or in the dialect of the EdgeProgramManager that it is a copy of. Weights
// stay in the mapped file, which must not change meanwhile.
class EDGEC_API ExportedProgram {
 public:
  ExportedProgram(ExportedProgram&&) noexcept;
  ExportedProgram& operator=(ExportedProgram&&) noexcept;
  ~ExportedProgram();
  std::string str() const;  // the text form
  // Upper bound of a symbol that the export left open (Failure kind Usage when there is no such symbol).
  Status set_bound(const std::string& symbol, int64_t bound);
  const Program& program() const { return *program_; }

 private:
  friend Result<ExportedProgram> load(const std::string& path);
  friend class EdgeProgramManager;
  friend class LoweredBackendModule;
  friend Result<class LoweredBackendModule> to_backend(std::string_view backend_id, const ExportedProgram& edge_program,
                                                       CompileSpecs specs);
  explicit ExportedProgram(std::unique_ptr<Program> program);
  std::unique_ptr<Program> program_;
};

struct EdgeCompileConfig {
  std::vector<std::string> disabled_passes;             // names as `edgec passes` lists them
  std::map<std::string, std::string> constant_methods;  // name -> JSON: a number, a bool, a string or a list of them
  // Inputs that the model quantizes first and outputs that it dequantizes last are integers; constant methods forward_input0_scale, _zp,
  // _quant_min, _quant_max and _dtype (likewise output) give the parameters.
  bool quantized_io = false;
  int64_t weight_growth = 4 << 10;  // bytes that weights dequantized ahead of time may add to a method
  bool share_state = false;         // mutable buffers of equal name are one state for all methods (memory id 2)
};

// How memory is planned: each method by itself, in one arena (memory id 1) or in the layers given.
struct MemoryPlanningPass {
  bool alloc_graph_input = true;      // false: the caller's memory is used for inputs
  bool alloc_graph_output = true;     // false: the caller gives memory for outputs
  bool alloc_mutable_buffers = true;  // false: whoever runs the program gives memory for state (docs/memory.md)
  int64_t alignment = 16;             // of every offset, bytes, a power of two; a layer may ask for more
  std::vector<MemoryLayer> layers = {};
  std::shared_ptr<const MemoryPlanner> planner = nullptr;  // the algorithm; null: `best`. Its answer is checked.
};

struct ExecutorchBackendConfig {
  std::vector<passes::PassInfo> passes = {};  // run on the Backend graph (`from` says so), each followed by the rules of the stage
  MemoryPlanningPass memory_planning_pass = {};
  bool guards = true;                // range checks of dynamic sizes at the program's start
  uint32_t segment_alignment = 128;  // bytes, a power of two
};

// A complete program, ready to be written.
class EDGEC_API ExecutorchProgramManager {
 public:
  ExecutorchProgramManager(ExecutorchProgramManager&&) noexcept;
  ExecutorchProgramManager& operator=(ExecutorchProgramManager&&) noexcept;
  ~ExecutorchProgramManager();
  // Written under a temporary name, read back and renamed; on failure nothing is left.
  Status write_to_file(const std::string& path) const;
  // The file's bytes.
  Result<std::vector<std::byte>> buffer() const;
  // Planned bytes of a method's arena.
  std::optional<int64_t> arena_bytes(std::string_view method = "forward") const;

 private:
  friend class EdgeProgramManager;
  friend class LoweredBackendModule;
  struct Impl;
  explicit ExecutorchProgramManager(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// The methods of a program in the Edge dialect.
class EDGEC_API EdgeProgramManager {
 public:
  EdgeProgramManager(EdgeProgramManager&&) noexcept;
  EdgeProgramManager& operator=(EdgeProgramManager&&) noexcept;
  ~EdgeProgramManager();
  std::vector<std::string> methods() const;
  std::string str() const;                                                      // the text form
  ExportedProgram exported_program(std::string_view method = "forward") const;  // a copy of one method, which must exist
  // Runs passes on the Edge graph, each followed by the rules of the stage.
  Status transform(const std::vector<passes::PassInfo>& passes);
  // Gives the partitioner's backend its parts of all methods, or of one. May be called again for other partitioners.
  Status to_backend(const Partitioner& partitioner, std::string_view only_method = {});
  // Why nodes are in no delegate: "model.py:12: aten.sin: demo does not take it: ..." each.
  std::vector<std::string> undelegated() const;
  // The program stays as it is: it may be lowered again with other options.
  Result<ExecutorchProgramManager> to_executorch(const ExecutorchBackendConfig& config = {}) const;

 private:
  friend Result<EdgeProgramManager> to_edge(std::map<std::string, ExportedProgram> methods, EdgeCompileConfig config);
  friend Result<EdgeProgramManager> to_edge_transform_and_lower(std::map<std::string, ExportedProgram> methods,
                                                                std::vector<std::shared_ptr<const Partitioner>> partitioners,
                                                                EdgeCompileConfig config, std::vector<passes::PassInfo> transform_passes);
  friend class LoweredBackendModule;
  static Result<EdgeProgramManager> lower(std::map<std::string, ExportedProgram> methods, EdgeCompileConfig config, Stage stage,
                                          std::vector<std::shared_ptr<const Partitioner>> partitioners,
                                          std::vector<passes::PassInfo> transform_passes);
  struct Impl;
  explicit EdgeProgramManager(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// A whole graph that a backend has compiled.
class EDGEC_API LoweredBackendModule {
 public:
  LoweredBackendModule(LoweredBackendModule&&) noexcept;
  LoweredBackendModule& operator=(LoweredBackendModule&&) noexcept;
  ~LoweredBackendModule();
  const std::string& backend_id() const;
  const CompileSpecs& compile_specs() const;
  const std::vector<std::byte>& processed_bytes() const;
  // A program of its own: one method that calls the delegate.
  Result<ExecutorchProgramManager> to_executorch(const ExecutorchBackendConfig& config = {}) const;
  // Calls it in another program: a node of `g` before `before` (none: at the end). The values are its results.
  Result<std::vector<ValueId>> call(Method& m, Graph& g, const std::vector<Arg>& inputs, NodeId before = {}) const;

 private:
  friend Result<LoweredBackendModule> to_backend(std::string_view backend_id, const ExportedProgram& edge_program, CompileSpecs specs);
  struct Impl;
  explicit LoweredBackendModule(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Reads a .pt2 file of torch 2.9 to 2.14.
EDGEC_API Result<ExportedProgram> load(const std::string& path);
// Lowers to the Edge dialect: functional, decomposed, dtypes and memory formats explicit.
EDGEC_API Result<EdgeProgramManager> to_edge(std::map<std::string, ExportedProgram> methods, EdgeCompileConfig config = {});
inline Result<EdgeProgramManager> to_edge(ExportedProgram program, EdgeCompileConfig config = {}) {
  std::map<std::string, ExportedProgram> methods;
  methods.emplace("forward", std::move(program));
  return to_edge(std::move(methods), std::move(config));
}
// Compiles all of a method (of the Edge dialect) by one backend. Fails with the list of what the backend does not take.
EDGEC_API Result<LoweredBackendModule> to_backend(std::string_view backend_id, const ExportedProgram& edge_program,
                                                  CompileSpecs specs = {});
// to_edge, transform and to_backend in one: the backends see composite operators that they ask to keep whole; those that none takes in
// the end are decomposed.
EDGEC_API Result<EdgeProgramManager> to_edge_transform_and_lower(std::map<std::string, ExportedProgram> methods,
                                                                 std::vector<std::shared_ptr<const Partitioner>> partitioners,
                                                                 EdgeCompileConfig config = {},
                                                                 std::vector<passes::PassInfo> transform_passes = {});

}  // namespace edgec
