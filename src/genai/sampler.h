#pragma once
#include <cstdint>
#include <random>
#include <span>

namespace edgec::genai {

struct SamplerOptions {
  double temperature = 0.8;  // 0: always the likeliest token
  double top_p = 0.9;        // of the likeliest tokens whose probabilities add up to this; 1: all
  uint64_t seed = 0;
};

// Chooses the next token. The same options, logits and number of calls before give the same token on every machine.
class Sampler {
 public:
  explicit Sampler(const SamplerOptions& options) : options_(options), random_(options.seed) {}
  int64_t choose(std::span<const float> logits);  // not empty; the first of equal ones, numbers that are none never

 private:
  SamplerOptions options_;
  std::mt19937_64 random_;
};

}  // namespace edgec::genai
