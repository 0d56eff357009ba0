#include "genai/lowering.h"

#include <edgec/extensions.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "backends/registry.h"
#include "genai/qnn_options.h"
#include "genai/quant_io.h"
#include "genai/shards.h"
#include "pipeline/pipeline.h"

namespace edgec::genai {
namespace {

// The backend that a name stands for; null for "portable".
Result<std::shared_ptr<const Backend>> find_backend(const std::string& name) {
  if (name == "portable") return std::shared_ptr<const Backend>();
  backends::register_all();
  auto backend = Extensions::global().find_backend(name == "qnn" ? std::string(kQnnBackendId) : name);
  if (backend) return backend;
  if (name == "qnn")
    return model_error(
        "error: this edgec has no QNN backend, so it cannot lower to htp or gpu\n"
        "  --backend xnnpack or --backend portable make programs that run on machines without QNN");
  return model_error(fmt::format("error: this edgec has no backend \"{}\"; `edgec backends` lists those it has", name));
}

Result<std::shared_ptr<const Partitioner>> cut_between_layers(std::shared_ptr<const Partitioner> whole, const LoweringRequest& request) {
  if (request.num_sharding <= 1) return whole;
  std::map<std::string, ShardPlan> plans;
  for (const LoweringGraph& graph : request.graphs) {
    EDGEC_TRY(plans[graph.method], plan_shards(*graph.module->methods[0], request.num_sharding));
  }
  return std::shared_ptr<const Partitioner>(std::make_shared<ShardPartitioner>(std::move(whole), std::move(plans)));
}

class CompilerLowering final : public Lowering {
 public:
  using Found = std::function<Result<std::shared_ptr<const Backend>>()>;
  explicit CompilerLowering(Found backend) : backend_(std::move(backend)) {}

  Status lower(const LoweringRequest& request, const std::filesystem::path& output) const override {
    EDGEC_TRY(const auto backend, backend_());
    pipeline::Options options;
    options.plan.alloc_graph_input = request.emit.alloc_graph_input;
    options.plan.alloc_graph_output = request.emit.alloc_graph_output;
    options.plan.share_state = request.graphs.size() > 1;  // buffers of equal name are one cache for prefill and decode
    const auto quantized = [](const LoweringGraph& graph) { return graph.quant_io.has_value(); };
    options.quantized_io = request.emit.quantized_io && std::any_of(request.graphs.begin(), request.graphs.end(), quantized);
    if (backend) {
      CompileSpecs specs = request.compile_specs;
      if (backend->id() != kQnnBackendId) {  // whose specs these are; other backends have theirs
        EDGEC_TRY(specs, backend->parse_options({}));
      }
      EDGEC_TRY(auto partitioner, partitioner_for(backend, std::move(specs)));
      EDGEC_TRY(partitioner, cut_between_layers(std::move(partitioner), request));
      options.partitioners.push_back(std::move(partitioner));
    }
    EDGEC_TRY(auto program, program_of(request));
    EDGEC_TRY(pipeline::Outcome out, pipeline::compile(*program, options));
    if (request.num_sharding > 1 && request.spill_fill) {
      pte::Program* const group[] = {&out.emitted.program};
      EDGEC_TRY_VOID(share_spill_fill(group, request.spill_fill));
    }
    return pipeline::write_file(out.emitted.program, output.string(), options.write);
  }

 private:
  Found backend_;
};

}  // namespace

std::shared_ptr<const Lowering> lowering_to(std::string backend) {
  return std::make_shared<CompilerLowering>([name = std::move(backend)] { return find_backend(name); });
}

std::shared_ptr<const Lowering> lowering_to(std::shared_ptr<const Backend> backend) {
  return std::make_shared<CompilerLowering>([backend = std::move(backend)] { return Result(backend); });
}

Result<std::unique_ptr<Program>> program_of(const LoweringRequest& request) {
  auto program = std::make_unique<Program>();
  Meta constants = request.constant_methods;
  for (const LoweringGraph& graph : request.graphs) {
    auto copy = clone(*graph.module);
    std::unique_ptr<Method> method = std::move(copy->methods[0]);
    method->name = graph.method;
    if (graph.quant_io) EDGEC_TRY_VOID(add_quant_attributes(*method, *graph.quant_io, constants));
    program->methods.push_back(std::move(method));
  }
  for (const auto& [constant, values] : constants) program->constant_methods.push_back({constant, values});
  return program;
}

}  // namespace edgec::genai
