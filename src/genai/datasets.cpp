#include "genai/datasets.h"

#include <fmt/format.h>

#include <random>

namespace edgec::genai {

Result<Dataset> CalibrationDataAdapter::generate_calibration_data(std::optional<int64_t> vocab_size, size_t samples, int64_t length,
                                                                  const Options& options, uint64_t seed) {
  if (const auto it = options.find("dataset"); it != options.end()) return it->second;
  if (!vocab_size || *vocab_size <= 0)
    return usage_error(vocab_size ? fmt::format("a vocabulary of {} tokens gives no calibration data", *vocab_size)
                                  : "the tokenizer does not tell its vocabulary's size, so calibration data cannot be made");
  if (length <= 0) return usage_error("calibration samples want a length of at least 1");
  std::mt19937_64 random(seed);  // distributions differ between libraries, the generator does not
  Samples out;
  for (size_t i = 0; i < samples; ++i) {
    std::vector<int64_t> ids;
    for (int64_t k = 0; k < length; ++k) ids.push_back(static_cast<int64_t>(random() % static_cast<uint64_t>(*vocab_size)));
    const std::vector<int64_t> ones(ids.size(), 1);
    out.push_back({make_tensor_data(DType::I64, {1, length}, ids), make_tensor_data(DType::I64, {1, length}, ones)});
  }
  return Dataset(std::move(out));
}

Result<Dataset> TrainingDataAdapter::training_data(const Options& options) {
  const auto it = options.find("training_data");
  if (it == options.end() || !it->second.has_value())
    return usage_error("training needs the option training_data: labels cannot be made up");
  return it->second;
}

}  // namespace edgec::genai
