#pragma once
#include <edgec/partitioner.h>

#include <string>
#include <vector>

// Regions of a program become delegates (Edge -> Backend).
namespace edgec::partition {

// A node that a backend did not take, and why.
struct Left {
  std::string method;
  const Graph* graph = nullptr;
  NodeId node;
  Location loc;
  std::string op, backend, reason;
};

struct Report {
  std::vector<Left> left;
  void prune(const Program& program);  // drops the nodes that some backend took later
};

// Gives the partitioner's backend its parts of all methods, branches and loop bodies. `whole_graph`: all of every method, or an error that
// names each node which the backend refuses.
Status lower(Program& program, const Partitioner& partitioner, bool whole_graph, Report& report);

}  // namespace edgec::partition
