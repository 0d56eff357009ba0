#include "genai/runtime/generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "memory/plan.h"

namespace edgec::genai {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

runtime::Value integers(std::span<const int64_t> values, int8_t type, std::vector<int64_t> shape) {
  runtime::Array array;
  array.element = runtime::Element(type);
  array.shape = std::move(shape);
  for (const int64_t v : values) {
    const auto narrow = static_cast<int32_t>(v);
    const auto bytes = type == 3 ? std::as_bytes(std::span(&narrow, 1)) : std::as_bytes(std::span(&v, 1));
    array.bytes.insert(array.bytes.end(), bytes.begin(), bytes.end());
  }
  return {std::move(array)};
}

}  // namespace

Result<Generator> Generator::load(std::shared_ptr<const MappedFile> file, const pte::Program& program) {
  EDGEC_TRY(DecoderProgram decoder, describe_decoder(program));
  runtime::RunnerOptions options;
  options.shared_memory_ids = {memory::kSharedStateId};
  EDGEC_TRY(runtime::Runner runner, runtime::Runner::load(std::move(file), std::move(options)));
  std::vector<std::string> methods = {decoder.decode.name};
  if (decoder.prefill) methods.push_back(decoder.prefill->name);
  EDGEC_TRY_VOID(runner.load_methods(methods));
  return Generator(std::move(decoder), std::move(runner));
}

void Generator::clear_caches() {
  caches_.clear();
  for (const pte::Tensor& t : decoder_.decode.caches) {
    runtime::Array array;
    array.element = runtime::Element(t.scalar_type);
    array.shape.assign(t.sizes.begin(), t.sizes.end());
    size_t bytes = runtime::size_of(array.element);
    for (const int32_t size : t.sizes) bytes *= static_cast<size_t>(size);
    array.bytes.resize(bytes);
    caches_.push_back({std::move(array)});
  }
}

Status Generator::step(const DecoderMethod& method, std::span<const int64_t> tokens, int64_t position) {
  std::vector<int64_t> positions;
  for (size_t i = 0; i < tokens.size(); ++i) positions.push_back(position + static_cast<int64_t>(i));
  std::vector<runtime::Value> inputs;
  inputs.push_back(integers(tokens, method.token_type, {1, method.tokens}));
  inputs.push_back(integers(positions, method.position_type, method.position_shape));
  for (runtime::Value& cache : caches_) inputs.push_back(std::move(cache));
  EDGEC_TRY(runtime::CallResult result, runner_.call(method.name, inputs));
  const auto* logits = result.outputs.empty() ? nullptr : std::get_if<runtime::Array>(&result.outputs[0].held);
  const auto row = static_cast<size_t>(method.vocab_size) * sizeof(float);
  if (!logits || logits->bytes.size() < row || result.outputs.size() != 1 + caches_.size())
    return model_error(fmt::format("error: {} gave no logits", method.name));
  logits_.resize(static_cast<size_t>(method.vocab_size));
  std::memcpy(logits_.data(), logits->bytes.data() + logits->bytes.size() - row, row);
  for (size_t i = 0; i < caches_.size(); ++i) caches_[i] = std::move(result.outputs[i + 1]);
  return {};
}

Result<GenerateStats> Generator::generate(std::span<const int64_t> prompt, const GenerateOptions& options,
                                          const std::function<bool(int64_t)>& on_token) {
  if (prompt.empty()) return usage_error("error: the prompt has no token");
  for (const int64_t token : prompt)
    if (token < 0 || token >= decoder_.decode.vocab_size)
      return usage_error(
          fmt::format("error: the prompt's token {} is outside of the model's vocabulary of {}", token, decoder_.decode.vocab_size));
  const int64_t context = options.max_context > 0 ? options.max_context : decoder_.constant("get_max_context_len").value_or(INT64_MAX);
  if (static_cast<int64_t>(prompt.size()) > context)
    return usage_error(fmt::format("error: the prompt has {} tokens, the model's context {}", prompt.size(), context));

  GenerateStats stats;
  stats.prompt_tokens = prompt.size();
  Sampler sampler(options.sampler);
  clear_caches();
  auto start = Clock::now();
  int64_t position = 0;
  for (auto rest = prompt; !rest.empty();) {
    const bool fills = decoder_.prefill && rest.size() >= static_cast<size_t>(decoder_.prefill->tokens);
    const DecoderMethod& method = fills ? *decoder_.prefill : decoder_.decode;
    const auto n = static_cast<size_t>(method.tokens);
    EDGEC_TRY_VOID(step(method, rest.first(n), position));
    rest = rest.subspan(n);
    position += method.tokens;
  }
  stats.prefill_seconds = seconds_since(start);
  start = Clock::now();
  while (stats.new_tokens < options.max_new_tokens) {
    const int64_t token = sampler.choose(logits_);
    if (std::find(options.stop_tokens.begin(), options.stop_tokens.end(), token) != options.stop_tokens.end()) break;
    ++stats.new_tokens;
    if (!on_token(token) || stats.new_tokens == options.max_new_tokens || position >= context) break;
    EDGEC_TRY_VOID(step(decoder_.decode, std::span(&token, 1), position++));
  }
  stats.decode_seconds = seconds_since(start);
  return stats;
}

}  // namespace edgec::genai
