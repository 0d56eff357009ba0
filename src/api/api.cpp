#include <edgec/edgec.h>
#include <fmt/format.h>

#include <algorithm>

#include <edgec/extensions.h>

#include "api/impl.h"
#include "backends/registry.h"
#include "pipeline/constants.h"
#include "pipeline/to_backend.h"

namespace edgec {

ExportedProgram::ExportedProgram(std::unique_ptr<Program> program) : program_(std::move(program)) {}
ExportedProgram::ExportedProgram(ExportedProgram&&) noexcept = default;
ExportedProgram& ExportedProgram::operator=(ExportedProgram&&) noexcept = default;
ExportedProgram::~ExportedProgram() = default;
std::string ExportedProgram::str() const { return print(*program_); }

Status ExportedProgram::set_bound(const std::string& symbol, int64_t bound) {
  for (auto& m : program_->methods)
    if (auto s = m->syms->find_symbol(symbol)) {
      sym::Range r = m->syms->range_of(*s);
      if (bound < r.lo.value_or(0))
        return usage_error(fmt::format("error: bound {} of {} is below its least value {}", bound, symbol, r.lo.value_or(0)));
      r.hi = std::min(bound, r.hi.value_or(bound));
      m->syms->set_range(*s, r);
      return {};
    }
  return usage_error(fmt::format("error: the model has no symbol {}", symbol));
}

Result<ExportedProgram> load(const std::string& path) {
  backends::register_all();
  std::vector<pipeline::Timing> timings;
  EDGEC_TRY(auto program, pipeline::load({{"forward", path}}, timings));
  return ExportedProgram(std::move(program));
}

EdgeProgramManager::EdgeProgramManager(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
EdgeProgramManager::EdgeProgramManager(EdgeProgramManager&&) noexcept = default;
EdgeProgramManager& EdgeProgramManager::operator=(EdgeProgramManager&&) noexcept = default;
EdgeProgramManager::~EdgeProgramManager() = default;
std::string EdgeProgramManager::str() const { return print(*impl_->program); }

std::vector<std::string> EdgeProgramManager::methods() const {
  std::vector<std::string> out;
  for (const auto& m : impl_->program->methods) out.push_back(m->name);
  return out;
}

Result<EdgeProgramManager> EdgeProgramManager::lower(std::map<std::string, ExportedProgram> methods, EdgeCompileConfig config, Stage stage,
                                                     std::vector<std::shared_ptr<const Partitioner>> partitioners,
                                                     std::vector<passes::PassInfo> transform_passes) {
  auto impl = std::make_unique<EdgeProgramManager::Impl>();
  impl->program = std::make_unique<Program>();
  impl->disabled_passes = {config.disabled_passes.begin(), config.disabled_passes.end()};
  for (auto& [name, exported] : methods) {
    exported.program_->methods[0]->name = name;
    impl->program->methods.push_back(std::move(exported.program_->methods[0]));
  }
  for (const auto& [name, json] : config.constant_methods) {
    EDGEC_TRY(auto values, pipeline::parse_constants(json));
    impl->program->constant_methods.push_back({name, std::move(values)});
  }
  pipeline::Options options;
  options.disabled_passes = impl->disabled_passes;
  options.quantized_io = config.quantized_io;
  options.weight_growth = config.weight_growth;
  options.partitioners = std::move(partitioners);
  options.passes = std::move(transform_passes);
  options.plan.share_state = impl->share_state = config.share_state;
  pipeline::Outcome outcome;
  EDGEC_TRY_VOID(pipeline::lower_to(*impl->program, stage, options, outcome));
  impl->partition = std::move(outcome.partition);
  return EdgeProgramManager(std::move(impl));
}

Result<EdgeProgramManager> to_edge(std::map<std::string, ExportedProgram> methods, EdgeCompileConfig config) {
  return EdgeProgramManager::lower(std::move(methods), std::move(config), Stage::Edge, {}, {});
}

Result<EdgeProgramManager> to_edge_transform_and_lower(std::map<std::string, ExportedProgram> methods,
                                                       std::vector<std::shared_ptr<const Partitioner>> partitioners,
                                                       EdgeCompileConfig config, std::vector<passes::PassInfo> transform_passes) {
  return EdgeProgramManager::lower(std::move(methods), std::move(config), Stage::Backend, std::move(partitioners),
                                   std::move(transform_passes));
}

ExportedProgram EdgeProgramManager::exported_program(std::string_view method) const {
  auto copy = clone(*impl_->program);
  std::erase_if(copy->methods, [&](const auto& m) { return m->name != method; });
  copy->constant_methods.clear();
  return ExportedProgram(std::move(copy));
}

Status EdgeProgramManager::transform(const std::vector<passes::PassInfo>& passes) {
  passes::PassContext cx;
  std::vector<pipeline::Timing> timings;
  return pipeline::run_user_passes(*impl_->program, passes, cx, timings);
}

Status EdgeProgramManager::to_backend(const Partitioner& partitioner, std::string_view only_method) {
  return partition::lower(*impl_->program, partitioner,
                          {.whole_graph = false, .only_method = only_method, .share_state = impl_->share_state}, impl_->partition);
}

std::vector<std::string> EdgeProgramManager::undelegated() const {
  std::vector<std::string> out;
  for (const partition::Left& l : impl_->partition.left) out.push_back(l.str());
  return out;
}

ExecutorchProgramManager::ExecutorchProgramManager(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ExecutorchProgramManager::ExecutorchProgramManager(ExecutorchProgramManager&&) noexcept = default;
ExecutorchProgramManager& ExecutorchProgramManager::operator=(ExecutorchProgramManager&&) noexcept = default;
ExecutorchProgramManager::~ExecutorchProgramManager() = default;

static memory::PlanningOptions planning_options(const MemoryPlanningPass& pass) {
  memory::PlanningOptions out;
  out.alignment = std::max<int64_t>(pass.alignment, 16);
  out.alloc_graph_input = pass.alloc_graph_input;
  out.alloc_graph_output = pass.alloc_graph_output;
  out.alloc_mutable_buffers = pass.alloc_mutable_buffers;
  out.layers = pass.layers;
  out.planner = pass.planner;
  return out;
}

Result<ExecutorchProgramManager> EdgeProgramManager::to_executorch(const ExecutorchBackendConfig& config) const {
  auto impl = std::make_unique<ExecutorchProgramManager::Impl>();
  pipeline::Options options;
  options.disabled_passes = impl_->disabled_passes;
  options.guards = config.guards;
  options.plan = planning_options(config.memory_planning_pass);
  options.plan.share_state = impl_->share_state;
  options.write.segment_alignment = config.segment_alignment;
  options.passes = config.passes;
  const auto program = clone(*impl_->program);
  for (const auto& m : program->methods) impl->methods.push_back(m->name);
  EDGEC_TRY(impl->outcome, pipeline::compile(*program, options));
  impl->write = options.write;
  return ExecutorchProgramManager(std::move(impl));
}

Status ExecutorchProgramManager::write_to_file(const std::string& path) const {
  return pipeline::write_file(impl_->outcome.emitted.program, path, impl_->write);
}

Result<std::vector<std::byte>> ExecutorchProgramManager::buffer() const {
  BytesSink sink;
  EDGEC_TRY_VOID(pte::write(impl_->outcome.emitted.program, sink, impl_->write));
  return std::move(sink.bytes);
}

std::optional<int64_t> ExecutorchProgramManager::arena_bytes(std::string_view method) const {
  for (size_t i = 0; i < impl_->methods.size(); ++i)
    if (impl_->methods[i] == method) return impl_->outcome.plans[i].arena_bytes;
  return std::nullopt;
}

}  // namespace edgec
