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
  std::string str() const;  // "model.py:12: aten.sin: demo does not take it: ..."
};

// Where a delegate ends: a node outside uses what it gives.
struct Break {
  std::string method;
  LoweredId lowered;
  Location loc;
  std::string op, reason;
  std::string str() const;  // "model.py:13: delegate 0 of forward ends before aten.exp: ..."
};

struct Report {
  std::vector<Left> left;
  std::vector<Break> breaks;
  void prune(const Program& program);  // drops the nodes that some backend took later
};

struct LowerOptions {
  bool whole_graph = false;           // all of every method, or an error that names each node which the backend refuses
  std::string_view only_method = {};  // empty: all
  bool share_state = false;           // mutable buffers of equal name are one state for all methods: they stay outside of delegates
};

// Gives the partitioner's backend its parts of methods, of their branches and loop bodies.
Status lower(Program& program, const Partitioner& partitioner, const LowerOptions& options, Report& report);

}  // namespace edgec::partition
