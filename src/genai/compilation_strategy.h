#pragma once
#include <memory>

#include "genai/compiler_adapter.h"
#include "genai/control_args.h"
#include "genai/stages.h"

namespace edgec::genai {

// How the artifacts of a model are cut and specified.
struct CompilationPlan {
  ControlArgs args;                    // options that reach the compile specs
  std::optional<size_t> num_sharding;  // contexts that the decoder is cut into; none: as args.decoder_model is cut officially
  bool qnn = true;                     // make QNN compile specs; off for programs of other backends
  Meta constant_methods;               // beside those of the decode graph, which win
  SpillFillReader spill_fill;          // of the contexts of an artifact that is cut
  size_t contexts(ArtifactKey key) const;
};

// Contexts that the official flow cuts a model into: more than one for models that do not fit one.
size_t num_sharding(std::string_view decoder_model, ArtifactKey key);

// The compile specs of an artifact as the official flow makes them by its role. Nothing but the QNN entry.
Result<CompileSpecs> specs_for(ArtifactKey key, const CompilationPlan& plan, SocModel soc, BackendType backend);

// Groups the graphs of a config by artifact and compiles each group in one call: a hybrid decoder is one text_decoder.pte whose methods
// share weights and state, with the constant methods of its decode graph. Failures are StageErrors of "compilation".
class ExecuTorchCompilationStrategy final : public CompilationStrategy {
 public:
  ExecuTorchCompilationStrategy(std::shared_ptr<CompilerAdapter> adapter, CompilationPlan plan)
      : adapter_(std::move(adapter)), plan_(std::move(plan)) {}
  PipelineResult<CompilationOutputConfig> invoke(const PipelineContext& context, const CompilationInputConfig& input) override;

 private:
  PipelineResult<CompilationOutputConfig> compile(const CompilationInputConfig& input);
  Status compile_group(ArtifactKey key, const std::vector<std::pair<GraphName, const GraphBundle*>>& graphs,
                       const CompilationInputConfig& input, ArtifactMap& artifacts);
  std::shared_ptr<CompilerAdapter> adapter_;
  CompilationPlan plan_;
};

}  // namespace edgec::genai
