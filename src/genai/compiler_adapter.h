#pragma once
#include "genai/configs.h"
#include "genai/lowering.h"

namespace edgec::genai {

// Soc model and backend type as text or enum: they come down the pipeline as text.
struct TargetText {
  std::string soc_model, backend_type;
};

struct CompileModelRequest {
  ModelSource model;
  CompileSpecs compile_specs;
  ArtifactKey artifact_key = ArtifactKey::TextDecoder;  // the caller knows the graph's role; the file does not tell it
  std::filesystem::path artifact_dir = ".";
  std::string file_name;  // without .pte
  TargetText target;
  std::string method = "forward";
  Meta constant_methods;
  std::optional<QuantIoDtypes> quant_io;
  std::optional<EmitOptions> executorch_config;  // replaces: no graph I/O in the plan, quantized I/O
  bool generate_etrecord = false;
};

// The graphs of one artifact: one lowering call, one file.
struct CompileGraphsRequest {
  std::vector<LoweringGraph> graphs;
  CompileSpecs compile_specs;
  ArtifactKey artifact_key = ArtifactKey::TextDecoder;
  std::filesystem::path artifact_dir = ".";
  std::string file_name;
  TargetText target;
  Meta constant_methods;
  std::optional<EmitOptions> executorch_config;
  size_t num_sharding = 1;
  SpillFillReader spill_fill = nullptr;
};

class CompilerAdapter {
 public:
  virtual ~CompilerAdapter() = default;
  virtual Result<CompilationResult> compile_model(const CompileModelRequest& request) = 0;
  virtual Result<CompilationResult> compile_graphs(const CompileGraphsRequest& request) = 0;
};

// Resolves the target, checks that the compile specs are for it, lowers, writes <artifact_dir>/<file_name>.pte (the folder is made) and
// gives its path under the caller's key. What the specs say and what the parameters say must agree, because the lowering sees the specs
// only; specs without a QNN entry are not checked.
class DefaultCompilerAdapter final : public CompilerAdapter {
 public:
  explicit DefaultCompilerAdapter(std::shared_ptr<const Lowering> lowering) : lowering_(std::move(lowering)) {}
  Result<CompilationResult> compile_model(const CompileModelRequest& request) override;
  Result<CompilationResult> compile_graphs(const CompileGraphsRequest& request) override;

 private:
  std::shared_ptr<const Lowering> lowering_;
};

// Kind Usage, naming both sides, when the QNN options among the specs are for another chipset or backend.
Status validate_target(const CompileSpecs& specs, const TargetText& target);

Result<Module> module_of(const ModelSource& source);

}  // namespace edgec::genai
