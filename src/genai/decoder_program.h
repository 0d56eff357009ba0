#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "emit/program.h"

namespace edgec::genai {

// A decoder as the program file describes it: method(tokens [1, n], positions [n], caches...) -> (logits [1, vocab] or [1, n, vocab],
// caches...). Caches that the method keeps as state are no arguments. Caches that are arguments go in as they came out last time.
struct DecoderMethod {
  std::string name;
  int64_t tokens = 1;                        // n
  int8_t token_type = 4, position_type = 4;  // c10 numbers: int32 or int64
  std::vector<int64_t> position_shape;
  std::vector<pte::Tensor> caches;
  int64_t vocab_size = 0;
};

struct DecoderProgram {
  std::optional<DecoderMethod> prefill;                   // takes prompt tokens n at a time
  DecoderMethod decode;                                   // one token
  std::map<std::string, std::vector<int64_t>> constants;  // constant methods whose values are whole numbers
  std::optional<int64_t> constant(const std::string& name) const;
};

// Methods are kv_forward and prefill_forward, or the only one. Kind Model, with the reason, when a method has another form.
Result<DecoderProgram> describe_decoder(const pte::Program& program);

}  // namespace edgec::genai
