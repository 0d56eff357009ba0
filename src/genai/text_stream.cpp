#include "genai/tokenizer.h"

namespace edgec::genai {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD: what a decoder gives for bytes that are no character yet

// The length without a character at the end that is not complete.
size_t whole_characters(std::string_view text) {
  while (text.ends_with(kReplacement)) text.remove_suffix(kReplacement.size());
  size_t back = 0;
  while (back < 3 && back < text.size() && (static_cast<unsigned char>(text[text.size() - 1 - back]) & 0xc0) == 0x80) ++back;
  if (back == text.size()) return text.size() - back;
  const auto lead = static_cast<unsigned char>(text[text.size() - 1 - back]);
  const size_t wanted = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc0 ? 1 : 0;
  return back < wanted ? text.size() - back - 1 : text.size();
}

}  // namespace

std::string TextStream::add(int64_t token) {
  ids_.push_back(token);
  const std::string all = tokenizer_->decode(ids_);
  const size_t end = whole_characters(all);
  if (end <= shown_) return {};
  std::string fresh = all.substr(shown_, end - shown_);
  shown_ = end;
  return fresh;
}

std::string TextStream::rest() {
  const std::string all = tokenizer_->decode(ids_);
  std::string fresh = all.size() > shown_ ? all.substr(shown_) : std::string();
  shown_ = all.size();
  return fresh;
}

}  // namespace edgec::genai
