#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "genai/decoder_program.h"
#include "genai/sampler.h"
#include "runtime/runner.h"

namespace edgec::genai {

struct GenerateOptions {
  size_t max_new_tokens = 128;
  int64_t max_context = 0;  // positions that the caches hold; 0: get_max_context_len of the program, or no limit
  SamplerOptions sampler;
  std::vector<int64_t> stop_tokens;  // not given out; generation ends
};

struct GenerateStats {
  size_t prompt_tokens = 0, new_tokens = 0;
  double prefill_seconds = 0, decode_seconds = 0;  // to the first token; for all further ones
};

// Text generation on one loaded program: prefill_forward for as much of the prompt as fills it, kv_forward for the rest and every new
// token.
class Generator {
 public:
  static Result<Generator> load(std::shared_ptr<const MappedFile> file, const pte::Program& program);
  // Tokens go to `on_token` as they come; false ends generation. Every call starts at position 0: what the caches hold from calls before
  // is behind the positions that a decoder looks at.
  Result<GenerateStats> generate(std::span<const int64_t> prompt, const GenerateOptions& options,
                                 const std::function<bool(int64_t)>& on_token);
  const DecoderProgram& decoder() const { return decoder_; }

 private:
  Generator(DecoderProgram decoder, runtime::Runner runner) : decoder_(std::move(decoder)), runner_(std::move(runner)) {}
  // Runs a method on its number of tokens from a position; leaves the logits of the last one in `logits_`.
  Status step(const DecoderMethod& method, std::span<const int64_t> tokens, int64_t position);
  void clear_caches();

  DecoderProgram decoder_;
  runtime::Runner runner_;
  std::vector<runtime::Value> caches_;
  std::vector<float> logits_;
};

}  // namespace edgec::genai
