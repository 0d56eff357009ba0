#include <edgec/edgec.h>
#include <fmt/format.h>

#include <algorithm>

#include "pipeline/constants.h"
#include "pipeline/pipeline.h"

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
  std::vector<pipeline::Timing> timings;
  EDGEC_TRY(auto program, pipeline::load({{"forward", path}}, timings));
  return ExportedProgram(std::move(program));
}

struct EdgeProgramManager::Impl {
  std::unique_ptr<Program> program;
  std::set<std::string> disabled_passes;
  bool share_state = false;
};

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

Result<EdgeProgramManager> to_edge(std::map<std::string, ExportedProgram> methods, EdgeCompileConfig config) {
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
  options.plan.share_state = impl->share_state = config.share_state;
  pipeline::Outcome outcome;
  EDGEC_TRY_VOID(pipeline::lower_to(*impl->program, Stage::Edge, options, outcome));
  return EdgeProgramManager(std::move(impl));
}

struct ExecutorchProgramManager::Impl {
  pipeline::Outcome outcome;
  std::vector<std::string> methods;
  pte::WriteOptions write;
};

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
  struct Collect : Sink {
    std::vector<std::byte> bytes;
    Status write(std::span<const std::byte> piece) override {
      bytes.insert(bytes.end(), piece.begin(), piece.end());
      return {};
    }
  } sink;
  EDGEC_TRY_VOID(pte::write(impl_->outcome.emitted.program, sink, impl_->write));
  return std::move(sink.bytes);
}

std::optional<int64_t> ExecutorchProgramManager::arena_bytes(std::string_view method) const {
  for (size_t i = 0; i < impl_->methods.size(); ++i)
    if (impl_->methods[i] == method) return impl_->outcome.plans[i].arena_bytes;
  return std::nullopt;
}

}  // namespace edgec
