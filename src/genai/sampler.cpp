#include "genai/sampler.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace edgec::genai {

int64_t Sampler::choose(std::span<const float> logits) {
  size_t best = 0;
  for (size_t i = 1; i < logits.size(); ++i)
    if (std::isnan(logits[best]) || logits[i] > logits[best]) best = i;
  if (options_.temperature <= 0) return static_cast<int64_t>(best);

  struct Candidate {
    double weight;
    size_t token;
  };
  std::vector<Candidate> candidates;
  double total = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    const double weight = std::exp((static_cast<double>(logits[i]) - static_cast<double>(logits[best])) / options_.temperature);
    if (!(weight > 0)) continue;
    candidates.push_back({weight, i});
    total += weight;
  }
  std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) { return a.weight > b.weight; });
  double kept = 0;
  size_t count = 0;
  while (count < candidates.size() && (count == 0 || kept < options_.top_p * total)) kept += candidates[count++].weight;
  double at = static_cast<double>(random_() >> 11) * 0x1p-53 * kept;
  for (size_t i = 0; i < count; ++i)
    if ((at -= candidates[i].weight) < 0) return static_cast<int64_t>(candidates[i].token);
  return count > 0 ? static_cast<int64_t>(candidates[count - 1].token) : static_cast<int64_t>(best);
}

}  // namespace edgec::genai
