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

// Of a backend with its specs.
class BackendPartitioner : public Partitioner {
 public:
  explicit BackendPartitioner(std::shared_ptr<const Backend> backend, CompileSpecs specs = {})
      : backend_(std::move(backend)), specs_(std::move(specs)) {}
  std::shared_ptr<const Backend> backend() const override { return backend_; }
  const CompileSpecs& compile_specs() const override { return specs_; }

 protected:
  std::shared_ptr<const Backend> backend_;
  CompileSpecs specs_;
};

// Takes what the backend does not refuse.
class CapabilityPartitioner : public BackendPartitioner {
 public:
  using BackendPartitioner::BackendPartitioner;
  NodeMap<Choice> choose(const Method& m, const Graph& g) const override;
};

// Takes matches of graphs, the first pattern first; each match is a region of its own. Operators and plain arguments must be equal, what
// a match makes inside must not be used outside, and the backend must not refuse a node.
class PatternPartitioner : public BackendPartitioner {
 public:
  using BackendPartitioner::BackendPartitioner;  // without patterns: takes nothing
  // Fails when a pattern does not parse.
  static Result<std::shared_ptr<const Partitioner>> create(std::shared_ptr<const Backend> backend, CompileSpecs specs,
                                                           const std::vector<std::string>& patterns);
  NodeMap<Choice> choose(const Method& m, const Graph& g) const override;

 private:
  std::vector<std::shared_ptr<const Program>> patterns_;
};

// By the backend's patterns where it has some, else by what it refuses.
Result<std::shared_ptr<const Partitioner>> partitioner_for(std::shared_ptr<const Backend> backend, CompileSpecs specs);

}  // namespace EDGEC_API
