#pragma once
#include <optional>
#include <string>
#include <vector>

#include <edgec/dtype.h>
#include <edgec/result.h>
#include "runtime/array.h"

// The files of cases that make_cases.py writes (README.md has the format).
namespace edgec::op_tests {

struct Tensor {
  DType dtype = DType::F32;
  std::vector<int64_t> sizes;
  std::vector<std::byte> bytes;  // logical order
};

// What torch gave: a tensor, or a plain number as text ("int 5").
struct Expected {
  bool is_tensor = true;
  Tensor tensor;
  double number = 0;
};

struct Call {
  std::vector<Tensor> inputs;
  std::vector<Expected> outputs;
};

struct Case {
  std::string op, name;  // "aten.add.Tensor", "f32_2x3"; "graph" for several operators
  std::string file;
  int line = 0;
  std::string program;          // text IR
  std::string refused;          // not empty: compiling ends with a message that has this in it
  double rtol = -1, atol = -1;  // below zero: by dtype
  double step = 0;              // of a quantized result: few elements may be so far apart
  // Of the XNNPACK delegate's products, sums, means and maxima, how many are of integers, and how many of floats with a weight of integers.
  std::optional<int> integers, integer_weights;
  bool random = false;  // only dtype, sizes and the range of the results count
  double low = 0, high = 0;
  std::vector<Call> calls;
};

Result<std::vector<Case>> read_cases(const std::string& path);

}  // namespace edgec::op_tests
