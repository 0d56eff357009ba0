#pragma once
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
// Everything that can fail gives a Result; its Failure carries the message that the command line would print.

namespace edgec {

struct Program;

// One method as torch.export.save wrote it, in the ATen dialect. Weights stay in the mapped file, which must not change meanwhile.
class EDGEC_API ExportedProgram {
 public:
  ExportedProgram(ExportedProgram&&) noexcept;
  ExportedProgram& operator=(ExportedProgram&&) noexcept;
  ~ExportedProgram();
  std::string str() const;  // the text form
  // Upper bound of a symbol that the export left open (Failure kind Usage when there is no such symbol).
  Status set_bound(const std::string& symbol, int64_t bound);

 private:
  friend Result<ExportedProgram> load(const std::string& path);
  friend class EdgeProgramManager;
  friend Result<class EdgeProgramManager> to_edge(std::map<std::string, ExportedProgram> methods, struct EdgeCompileConfig config);
  explicit ExportedProgram(std::unique_ptr<Program> program);
  std::unique_ptr<Program> program_;
};

struct EdgeCompileConfig {
  std::vector<std::string> disabled_passes;             // names as `edgec passes` lists them
  std::map<std::string, std::string> constant_methods;  // name -> JSON: a number, a bool, a string or a list of them
  bool share_state = false;                             // mutable buffers of equal name are one state for all methods (memory id 2)
};

// How memory is planned: each method by itself, in one arena (memory id 1) or in the layers given.
struct MemoryPlanningPass {
  bool alloc_graph_input = true;      // false: the caller's memory is used for inputs
  bool alloc_graph_output = true;     // false: the caller gives memory for outputs
  bool alloc_mutable_buffers = true;  // false: whoever runs the program gives memory for state (docs/memory.md)
  int64_t alignment = 16;             // of every offset, bytes, a power of two; a layer may ask for more
  std::vector<MemoryLayer> layers = {};
  std::shared_ptr<const MemoryPlanner> planner = {};  // the algorithm; null: `best`. Its answer is checked.
};

struct ExecutorchBackendConfig {
  MemoryPlanningPass memory_planning_pass;
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
  std::string str() const;  // the text form
  // The program stays as it is: it may be lowered again with other options.
  Result<ExecutorchProgramManager> to_executorch(const ExecutorchBackendConfig& config = {}) const;

 private:
  friend Result<EdgeProgramManager> to_edge(std::map<std::string, ExportedProgram> methods, EdgeCompileConfig config);
  struct Impl;
  explicit EdgeProgramManager(std::unique_ptr<Impl> impl);
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

}  // namespace edgec
