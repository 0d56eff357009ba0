#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <edgec/program.h>
#include <edgec/result.h>

namespace edgec::cli {

// What `inspect` and `verify` tell about a model (.pt2).
struct ModelFacts {
  struct Port {
    std::string name;
    Type type;                           // of values
    std::optional<Arg> literal;          // fixed at export
    std::optional<std::string> written;  // outputs: the user input whose new value this is
    bool mutated = false;                // inputs: the model writes to it
  };
  struct State {
    std::string name;
    TensorType type;
    TensorData initial;
  };
  std::string method;
  std::vector<Port> inputs;                               // the user's, flattened
  std::vector<Port> outputs;                              // new values of mutated inputs, then the user's
  std::vector<State> state;                               // mutated buffers
  std::vector<std::pair<std::string, sym::Range>> sizes;  // symbols
  std::map<std::string, size_t> operators;                // calls, subgraphs included
  size_t nodes = 0, parameters = 0, buffers = 0, constants = 0;
  uint64_t weight_bytes = 0;  // as the weights are used; weights of equal content count each
  uint64_t stored_bytes = 0;  // of the archive's records, each once
  size_t guards = 0;
  std::vector<TensorData> weights;
  std::shared_ptr<sym::Context> syms;  // of the types above
};

// Takes a program in the ATen stage with one method; it is functionalized on the way, which tells what is mutated.
Result<ModelFacts> facts_of(Program& program);

std::string describe_text(const ModelFacts& facts);
std::string describe_json(const ModelFacts& facts);

}  // namespace edgec::cli
