#pragma once
#include <edgec/edgec.h>
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

// What the examples share: checks, and a call of a program on the official runtime.
namespace example {

// The value, or the end of the example with the failure's message.
template <class T>
T ok(edgec::Result<T> r) {
  if (!r) {
    std::fprintf(stderr, "%s\n", r.failure().message.c_str());
    std::exit(1);
  }
  return *std::move(r);
}
inline void ok(edgec::Status s) {
  if (s) return;
  std::fprintf(stderr, "%s\n", s.failure().message.c_str());
  std::exit(1);
}
inline void check(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "failed: %s\n", what);
  std::exit(1);
}

struct Input {
  std::vector<int32_t> sizes;
  std::vector<float> values;
};

// Writes the program, loads it in the runtime and gives the first output's elements.
inline std::vector<float> run(const edgec::ExecutorchProgramManager& program, const std::string& path, std::vector<Input> inputs) {
  ok(program.write_to_file(path));
  executorch::extension::Module module(path);
  std::vector<executorch::extension::TensorPtr> tensors;
  std::vector<executorch::runtime::EValue> values;
  for (Input& i : inputs) {
    tensors.push_back(executorch::extension::make_tensor_ptr(i.sizes, i.values));
    values.emplace_back(*tensors.back());
  }
  auto outputs = module.forward(values);
  check(outputs.ok() && !outputs->empty() && outputs->at(0).isTensor(), "the program runs");
  const auto tensor = outputs->at(0).toTensor();
  const float* data = tensor.const_data_ptr<float>();
  return {data, data + tensor.numel()};
}

inline bool close(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (std::abs(a[i] - b[i]) > 1e-5f) return false;
  return true;
}

}  // namespace example
