#pragma once
#include <memory>
#include <string>
#include <vector>

#include <edgec/graph.h>
#include <edgec/tensor_data.h>

namespace edgec EDGEC_API {

// What is true of a program's graphs; each stage has its verifier rules (src/verify).
enum class Stage : uint8_t { ATen, Functional, Core, Edge, Backend, Exec };
std::string_view name(Stage);
std::optional<Stage> stage_from_name(std::string_view);

struct Constant {
  std::string name;  // fully qualified name in the module, or one made by a pass
  TensorData data;
};

struct InputSpec {
  enum class Kind : uint8_t {
    Parameter,
    Buffer,
    Constant,   // weights; `data` set
    UserInput,  // a tensor or a symbolic number
    Literal     // a user input fixed at export: `literal` (None included)
  };
  Kind kind = Kind::UserInput;
  std::string name;  // fully qualified name; for user inputs the argument's name
  ConstId data;
  Arg literal;
  bool persistent = true;  // buffers
  bool mutated = false;    // the method writes it: not a constant, even where it has an initial value
  bool is_weight() const { return kind <= Kind::Constant; }
};

struct OutputSpec {
  enum class Kind : uint8_t { UserOutput, BufferMutation, InputMutation };
  Kind kind = Kind::UserOutput;
  std::string target;       // the buffer's or user input's name
  DimOrder dim_order = {};  // memory layout that the exported module gives the output
};

struct LoweredModule;  // edgec/backend.h

// One entry point. `graph.inputs` and `inputs`, `graph.outputs` and `outputs` run in parallel.
struct Method {
  std::string name = "forward";
  std::shared_ptr<sym::Context> syms = std::make_shared<sym::Context>();
  std::unique_ptr<Graph> graph = std::make_unique<Graph>(syms);
  std::vector<InputSpec> inputs;
  std::vector<OutputSpec> outputs;
  std::vector<Constant> constants;
  std::vector<std::shared_ptr<const LoweredModule>> lowered;  // what `executorch.call_delegate` nodes of any graph call
  std::string in_spec, out_spec;                              // pytree JSON
  std::vector<std::string> input_names;                       // of forward's arguments, for messages
  // Facts that hold whenever the method runs (range checks and torch._check of the export), kept as guards.
  struct Guard {
    sym::Expr condition;
    std::string message;
    Location loc;
  };
  std::vector<Guard> guards;

  ConstId add_constant(std::string constant_name, TensorData data);
  const InputSpec* spec_of(ValueId graph_input) const;  // null for values that are not inputs of the main graph
  // The data of a weight input or of a `prim.constant` node in any graph of the method; null for others.
  const TensorData* constant_of(const Graph& g, ValueId v) const;
};

// A method without instructions: `get_max_seq_len` and the like.
struct ConstantMethod {
  std::string name;
  std::vector<Arg> values;  // int, float, bool or string
};

struct Program {
  Stage stage = Stage::ATen;
  std::vector<std::unique_ptr<Method>> methods;
  std::vector<ConstantMethod> constant_methods;
};

// Copies that share the weights' storages and the methods' symbols.
std::unique_ptr<Method> clone(const Method&);
std::unique_ptr<Program> clone(const Program&);

// Text form. What prints parses back to the same program (weights by name; their bytes are not part of the text, but
// for the values of constants with at most 16 elements).
std::string print(const Program&);
std::string print(const Method&, Stage);
std::string print_node(const Graph&, NodeId, Stage stage = Stage::ATen);
// Untrusted input; a failure says line and column. Nodes without result types get those of the operator's entry,
// weights without "#k" a constant of their name and type. The line of the text becomes the location of a node.
Result<std::unique_ptr<Program>> parse_program(std::string_view text);
// Equality of what the text form says, apart from the names and numbers of values; `why` gets the first difference.
bool same_program(const Program&, const Program&, std::string* why = nullptr);

// Drops nodes whose results have no users (nodes with side effects stay), in subgraphs too. True when something went.
bool remove_dead_nodes(Graph&);
// Weight inputs and constants without users leave the method.
void remove_unused_weights(Method&);

}  // namespace EDGEC_API
