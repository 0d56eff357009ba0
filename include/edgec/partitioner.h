#pragma once
#include <edgec/backend.h>

#include <memory>

namespace edgec EDGEC_API {

// Which nodes of a graph go to one backend.
class Partitioner {
 public:
  struct Choice {
    std::optional<uint32_t> group;  // nodes of different groups never share a region; none: the node stays
    std::string reason;             // why it stays: a sentence
  };
  virtual ~Partitioner() = default;
  virtual std::shared_ptr<const Backend> backend() const = 0;
  virtual const CompileSpecs& compile_specs() const = 0;
  // For every node of `g`, the method's graph or a sub-graph. Nodes without an entry stay.
  virtual NodeMap<Choice> choose(const Method& m, const Graph& g) const = 0;
};

// Takes what the backend does not refuse.
class CapabilityPartitioner : public Partitioner {
 public:
  explicit CapabilityPartitioner(std::shared_ptr<const Backend> backend, CompileSpecs specs = {})
      : backend_(std::move(backend)), specs_(std::move(specs)) {}
  std::shared_ptr<const Backend> backend() const override { return backend_; }
  const CompileSpecs& compile_specs() const override { return specs_; }
  NodeMap<Choice> choose(const Method& m, const Graph& g) const override;

 private:
  std::shared_ptr<const Backend> backend_;
  CompileSpecs specs_;
};

}  // namespace EDGEC_API
