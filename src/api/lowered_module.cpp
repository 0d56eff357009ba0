#include <edgec/edgec.h>
#include <edgec/extensions.h>
#include <fmt/format.h>

#include "api/impl.h"
#include "backends/registry.h"
#include "partition/place.h"

namespace edgec {

struct LoweredBackendModule::Impl {
  std::unique_ptr<Program> program;  // one method that calls the module
  std::shared_ptr<const LoweredModule> module;
};

LoweredBackendModule::LoweredBackendModule(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LoweredBackendModule::LoweredBackendModule(LoweredBackendModule&&) noexcept = default;
LoweredBackendModule& LoweredBackendModule::operator=(LoweredBackendModule&&) noexcept = default;
LoweredBackendModule::~LoweredBackendModule() = default;
const std::string& LoweredBackendModule::backend_id() const { return impl_->module->backend_id; }
const CompileSpecs& LoweredBackendModule::compile_specs() const { return impl_->module->compile_specs; }
const std::vector<std::byte>& LoweredBackendModule::processed_bytes() const { return impl_->module->payload.bytes; }

Result<LoweredBackendModule> to_backend(std::string_view backend_id, const ExportedProgram& edge_program, CompileSpecs specs) {
  backends::register_all();
  const auto backend = Extensions::global().find_backend(backend_id);
  if (!backend) return usage_error(fmt::format("error: no backend is called {}; `edgec backends` lists them", backend_id));
  if (edge_program.program().stage != Stage::Edge || edge_program.program().methods.size() != 1)
    return usage_error("error: to_backend wants a program of the Edge dialect (EdgeProgramManager::exported_program)");
  EDGEC_TRY(auto partitioner, partitioner_for(backend, std::move(specs)));
  auto impl = std::make_unique<LoweredBackendModule::Impl>();
  impl->program = clone(edge_program.program());
  partition::Report report;
  EDGEC_TRY_VOID(partition::lower(*impl->program, *partitioner, {.whole_graph = true, .only_method = {}, .share_state = false}, report));
  if (impl->program->methods[0]->lowered.size() != 1) return model_error("error: the graph has no nodes that a backend could compile");
  impl->module = impl->program->methods[0]->lowered[0];
  return LoweredBackendModule(std::move(impl));
}

Result<ExecutorchProgramManager> LoweredBackendModule::to_executorch(const ExecutorchBackendConfig& config) const {
  auto edge = std::make_unique<EdgeProgramManager::Impl>();
  edge->program = clone(*impl_->program);
  return EdgeProgramManager(std::move(edge)).to_executorch(config);
}

Result<std::vector<ValueId>> LoweredBackendModule::call(Method& m, Graph& g, const std::vector<Arg>& inputs, NodeId before) const {
  return partition::place(m, g, impl_->module, inputs, before);
}

}  // namespace edgec
