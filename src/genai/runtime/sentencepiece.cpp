#include <fmt/format.h>
#include <sentencepiece_processor.h>

#include "genai/tokenizer.h"
#include "support/mapped_file.h"

namespace edgec::genai {
namespace {

class SentencePieceTokenizer final : public Tokenizer {
 public:
  sentencepiece::util::Status load(std::span<const std::byte> bytes) {
    return processor_.LoadFromSerializedProto({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  Result<std::vector<int64_t>> encode(std::string_view text) const override {
    std::vector<int> ids;
    const auto status = processor_.Encode({text.data(), text.size()}, &ids);
    if (!status.ok()) return model_error(fmt::format("error: the tokenizer cannot encode the prompt: {}", status.ToString()));
    return std::vector<int64_t>(ids.begin(), ids.end());
  }
  std::string decode(std::span<const int64_t> ids) const override {
    std::vector<int> known;
    for (const int64_t id : ids)
      if (id >= 0 && id < processor_.GetPieceSize()) known.push_back(static_cast<int>(id));
    std::string text;
    return processor_.Decode(known, &text).ok() ? text : std::string();
  }
  int64_t vocab_size() const override { return processor_.GetPieceSize(); }
  std::optional<int64_t> bos() const override { return present(processor_.bos_id()); }
  std::optional<int64_t> eos() const override { return present(processor_.eos_id()); }

 private:
  static std::optional<int64_t> present(int id) { return id >= 0 ? std::optional<int64_t>(id) : std::nullopt; }
  sentencepiece::SentencePieceProcessor processor_;
};

}  // namespace

Result<std::unique_ptr<Tokenizer>> load_sentencepiece(const std::string& path) {
  EDGEC_TRY(const auto file, MappedFile::open(path));
  auto tokenizer = std::make_unique<SentencePieceTokenizer>();
  if (const auto status = tokenizer->load(file->bytes()); !status.ok())
    return input_error(fmt::format("error: {} is no SentencePiece model", path));
  return std::unique_ptr<Tokenizer>(std::move(tokenizer));
}

}  // namespace edgec::genai
