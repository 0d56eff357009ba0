#pragma once
#include <any>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include <edgec/tensor_data.h>
#include "genai/context.h"

// Data that several stages use: calibration and training samples. Providers beside the stages, not part of preparation.
namespace edgec::genai {

using Sample = std::vector<TensorData>;                 // the positional arguments of one forward pass
using Samples = std::vector<Sample>;                    // a list
using Loader = std::function<std::optional<Sample>()>;  // one sample a call, nothing at the end
using Dataset = std::any;                               // Samples, a Loader, or whatever the caller's strategies understand

struct CalibrationDataAdapter {
  // The option "dataset" untouched; else `samples` pairs (ids[1, length], ones[1, length]), int64, ids random in [0, vocab) and the same
  // for the same seed. Kind Usage when the vocabulary's size is unknown or not positive.
  static Result<Dataset> generate_calibration_data(std::optional<int64_t> vocab_size, size_t samples = 128, int64_t length = 1024,
                                                   const Options& options = {}, uint64_t seed = 42);
};

struct TrainingDataAdapter {
  // The option "training_data" untouched. Training data is never made up: without it kind Usage.
  static Result<Dataset> training_data(const Options& options);
};

}  // namespace edgec::genai
