#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <edgec/result.h>

namespace edgec::genai {

// Text to token ids and back.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  virtual Result<std::vector<int64_t>> encode(std::string_view text) const = 0;  // without begin and end tokens
  virtual std::string decode(std::span<const int64_t> ids) const = 0;            // ids outside the vocabulary give nothing
  virtual int64_t vocab_size() const = 0;
  virtual std::optional<int64_t> bos() const = 0;
  virtual std::optional<int64_t> eos() const = 0;
};

// A SentencePiece model (tokenizer.model of the Llama family). Kind Input when the file is none.
Result<std::unique_ptr<Tokenizer>> load_sentencepiece(const std::string& path);

// The text of tokens as it grows. A character whose bytes are spread over several tokens is held back until it is whole.
class TextStream {
 public:
  explicit TextStream(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}
  std::string add(int64_t token);  // what is new; may be empty
  std::string rest();              // what is left at the end

 private:
  const Tokenizer* tokenizer_;
  std::vector<int64_t> ids_;
  size_t shown_ = 0;  // bytes
};

}  // namespace edgec::genai
