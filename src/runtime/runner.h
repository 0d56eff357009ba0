#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <edgec/result.h>
#include "runtime/array.h"
#include "support/mapped_file.h"

// Runs programs on the official runtime. No header of the runtime is visible from here.
namespace edgec::runtime {

// What the runtime does not tell about a method: its first outputs are the new values of these user inputs.
struct MethodIO {
  std::vector<std::string> mutated_inputs;
};

struct RunnerOptions {
  std::string data_file;                                  // .ptd with external weights; may be empty
  std::function<MethodIO(const std::string&)> method_io;  // by method name; may be empty
  std::vector<uint32_t> shared_memory_ids;                // arenas that all methods have in common (state)
  bool time_operators = false;
  bool etdump = false;
};

struct OperatorTime {
  std::string name;
  size_t calls = 0;
  double milliseconds = 0;
};

// The time of one instruction, or of one part of a delegate call that the delegate tells apart by a debug handle.
struct PartTime {
  int64_t instruction = -1;
  int64_t handle = -1;  // of the delegate; -1: the instruction itself
  size_t calls = 0;
  double milliseconds = 0;
};

struct CallResult {
  std::vector<Value> outputs;                          // the user's outputs
  std::vector<std::pair<std::string, Value>> mutated;  // new values of inputs that the method writes to
  std::vector<double> milliseconds;                    // wall time of each execution, inputs and outputs not counted
  std::vector<OperatorTime> operators;                 // of one execution
  std::vector<PartTime> parts;                         // the same, by instruction
};

class Runner {
 public:
  static Result<Runner> load(std::shared_ptr<const MappedFile> program, RunnerOptions options = {});
  Runner(Runner&&) noexcept;
  ~Runner();

  std::vector<std::string> method_names() const;

  // Loading a method sets the initial state, so all methods of a session are loaded before the first call.
  Status load_methods(std::span<const std::string> names);

  // Executes `repeat` times; the outputs are those of the last time, and state moves on with every one. With operator
  // times and repeat > 1, one more execution at the end measures the operators, so that the wall times stay clean.
  Result<CallResult> call(const std::string& method, std::span<const Value> inputs, size_t repeat = 1);

  std::vector<std::byte> etdump();  // all calls so far

 private:
  struct State;
  explicit Runner(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace edgec::runtime
