#pragma once
#include <edgec/program.h>

#include <edgec/rewriter.h>

#include <functional>
#include <optional>
#include <vector>

// Computing with weights ahead of time: what fold-constants and fold-weights share.
namespace edgec::passes {

std::optional<std::vector<int64_t>> static_sizes(const TensorType& t);

// A sum, difference, product or quotient of two float32 tensors whose values are known.
struct Arithmetic {
  float (*function)(float, float) = nullptr;
  TensorData left, right;      // with the sizes of the result
  int64_t larger_operand = 0;  // bytes of the larger one as it is stored
  int64_t nbytes() const { return left.nbytes(); }
  TensorData compute() const;  // as the kernel rounds it
};
std::optional<Arithmetic> arithmetic_of_weights(const Method& m, const Graph& g, const Node& n);

// The node's result becomes a constant of this name and type. Gives the value that stands for it now.
ValueId replace_by_constant(Method& m, Graph& g, Rewriter& rw, NodeId n, TensorData data);

}  // namespace edgec::passes
