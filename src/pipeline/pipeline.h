#pragma once
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "emit/lower.h"
#include "memory/plan.h"
#include "partition/partition.h"
#include "passes/registry.h"

// The compiler in one function: every stage is a line of `compile`.
namespace edgec::pipeline {

struct Options {
  std::map<std::string, int64_t> bounds;  // upper bounds of symbols that the model leaves open
  std::optional<int64_t> bound_all;       // the same for all of them
  bool guards = true;                     // range checks at the program's start
  bool quantized_io = false;              // integers at the border where the model quantizes there
  int64_t weight_growth = 4 << 10;        // bytes that weights computed ahead of time may add to a method
  std::set<std::string> disabled_passes;
  bool verify_every_pass = false;                                // the stage's rules after each pass, not only at the end of each stage
  std::vector<std::shared_ptr<const Partitioner>> partitioners;  // asked in turn
  bool whole_graph = false;                                      // the first one takes all
  std::vector<passes::PassInfo> passes;                          // the user's, on the Edge or the Backend graph
  memory::PlanningOptions plan;
  pte::WriteOptions write;
  std::function<Status(Stage, const Program&)> on_stage;  // dumps; called when a stage is reached
};

struct Timing {
  std::string what;
  double seconds = 0;
};

// What became of a program.
struct Outcome {
  emit::Emitted emitted;
  std::vector<memory::Plan> plans;  // one a method
  partition::Report partition;
  std::vector<Timing> timings;
  std::string warnings;
};

// A pass that --no-pass may leave out; later stages cannot do without the others.
bool is_lever(std::string_view pass);

// A program of one or more methods: method name -> .pt2 file.
Result<std::unique_ptr<Program>> load(const std::vector<std::pair<std::string, std::string>>& methods, std::vector<Timing>& timings);
// ATen to Exec to program file contents. The program is transformed in place.
Result<Outcome> compile(Program& program, const Options& options);
// Lowers a program up to a stage (Exec: planned).
Status lower_to(Program& program, Stage stage, const Options& options, Outcome& out);
// Writes to a temporary name, reads the structure back and renames.
Status write_file(const pte::Program& program, const std::string& path, const pte::WriteOptions& options);

}  // namespace edgec::pipeline
