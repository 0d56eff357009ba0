#include "genai/decoder_program.h"

#include <fmt/format.h>

#include "genai/names.h"

namespace edgec::genai {
namespace {

const pte::Plan* find_plan(const pte::Program& program, std::string_view name) {
  for (const pte::Plan& plan : program.plans)
    if (plan.name == name) return &plan;
  return nullptr;
}

bool is_int(const pte::Tensor& t) { return t.scalar_type == 3 || t.scalar_type == 4; }

int64_t count(const pte::Tensor& t) {
  int64_t n = 1;
  for (const int32_t size : t.sizes) n *= size;
  return n;
}

Result<DecoderMethod> decoder_method(const pte::Plan& plan) {
  const auto wrong = [&](std::string_view what) {
    return model_error(fmt::format(
        "error: method {} is no decoder: {}\n  a decoder takes (tokens [1, n], positions [n], caches...) and gives (logits, caches...)",
        plan.name, what));
  };
  const auto tensor = [&](int32_t index) { return std::get_if<pte::Tensor>(&plan.values[static_cast<size_t>(index)]); };
  if (plan.inputs.size() < 2) return wrong("it has less than two inputs");
  const pte::Tensor *tokens = tensor(plan.inputs[0]), *positions = tensor(plan.inputs[1]);
  if (!tokens || !is_int(*tokens) || tokens->sizes.size() != 2 || tokens->sizes[0] != 1)
    return wrong("its first input is not tokens [1, n]");
  if (!positions || !is_int(*positions) || count(*positions) != tokens->sizes[1])
    return wrong("its second input is not a position a token");
  DecoderMethod out;
  out.name = plan.name;
  out.tokens = tokens->sizes[1];
  out.token_type = tokens->scalar_type;
  out.position_type = positions->scalar_type;
  out.position_shape.assign(positions->sizes.begin(), positions->sizes.end());
  for (size_t i = 2; i < plan.inputs.size(); ++i) {
    const pte::Tensor* cache = tensor(plan.inputs[i]);
    if (!cache || is_int(*cache)) return wrong(fmt::format("input {} is no cache", i));
    out.caches.push_back(*cache);
  }
  if (plan.outputs.size() != 1 + out.caches.size())
    return wrong(fmt::format("it takes {} caches and gives {} outputs", out.caches.size(), plan.outputs.size()));
  for (size_t i = 0; i < out.caches.size(); ++i) {
    const pte::Tensor* cache = tensor(plan.outputs[i + 1]);
    if (!cache || cache->sizes != out.caches[i].sizes || cache->scalar_type != out.caches[i].scalar_type)
      return wrong(fmt::format("output {} is not the cache that goes in at input {}", i + 1, i + 2));
  }
  const pte::Tensor* logits = tensor(plan.outputs[0]);
  if (!logits || logits->scalar_type != 6 || logits->sizes.empty() || logits->sizes.back() < 1)
    return wrong("its first output is no float32 logits");
  out.vocab_size = logits->sizes.back();
  if (count(*logits) != out.vocab_size && count(*logits) != out.vocab_size * out.tokens)
    return wrong("its logits are not one row or one a token");
  return out;
}

std::vector<int64_t> whole_numbers(const pte::Plan& plan) {
  std::vector<int64_t> out;
  if (!plan.inputs.empty() || !plan.instructions.empty()) return out;
  for (const int32_t index : plan.outputs)
    if (const auto* n = std::get_if<int64_t>(&plan.values[static_cast<size_t>(index)])) out.push_back(*n);
  return out;
}

}  // namespace

std::optional<int64_t> DecoderProgram::constant(const std::string& name) const {
  const auto it = constants.find(name);
  return it == constants.end() || it->second.empty() ? std::nullopt : std::optional(it->second[0]);
}

Result<DecoderProgram> describe_decoder(const pte::Program& program) {
  DecoderProgram out;
  const pte::Plan* only = nullptr;
  size_t methods = 0;
  for (const pte::Plan& plan : program.plans) {
    if (auto numbers = whole_numbers(plan); !numbers.empty())
      out.constants[plan.name] = std::move(numbers);
    else if (!plan.inputs.empty())
      only = &plan, ++methods;
  }
  const pte::Plan* decode = find_plan(program, name(GraphName::KvForward));
  if (!decode && methods == 1) decode = only;
  if (!decode) return model_error("error: the program has no method kv_forward");
  EDGEC_TRY(out.decode, decoder_method(*decode));
  if (out.decode.tokens != 1)
    return model_error(
        fmt::format("error: {} takes {} tokens at once; generation wants one that takes 1", out.decode.name, out.decode.tokens));
  if (const pte::Plan* prefill = find_plan(program, name(GraphName::PrefillForward))) {
    EDGEC_TRY(out.prefill, decoder_method(*prefill));
    if (out.prefill->vocab_size != out.decode.vocab_size || out.prefill->caches.size() != out.decode.caches.size())
      return model_error("error: prefill_forward and kv_forward differ in vocabulary or caches");
    for (size_t i = 0; i < out.decode.caches.size(); ++i)
      if (out.prefill->caches[i].sizes != out.decode.caches[i].sizes ||
          out.prefill->caches[i].scalar_type != out.decode.caches[i].scalar_type)
        return model_error(fmt::format("error: cache {} of prefill_forward and kv_forward differ", i));
  }
  return out;
}

}  // namespace edgec::genai
