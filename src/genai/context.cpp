#include "genai/context.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

namespace edgec::genai {
namespace {

bool is_blank(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isspace(c) != 0; });
}

}  // namespace

PipelineContextBuilder PipelineContext::builder() { return {}; }

PipelineContextBuilder& PipelineContextBuilder::with_model(std::string model) {
  model_name_ = std::move(model);
  return *this;
}

PipelineContextBuilder& PipelineContextBuilder::with_soc(std::string soc_model) {
  soc_model_ = std::move(soc_model);
  return *this;
}

PipelineContextBuilder& PipelineContextBuilder::with_prompt(const std::string& prompt) {
  prompt_.clear();
  prompt_error_ = is_blank(prompt) ? "prompt is empty or blank" : "";
  if (prompt_error_.empty()) prompt_ = {prompt};
  return *this;
}

PipelineContextBuilder& PipelineContextBuilder::with_prompt(const std::vector<std::string>& prompts) {
  return with_prompt(std::vector<PromptEntry>(prompts.begin(), prompts.end()));
}

PipelineContextBuilder& PipelineContextBuilder::with_prompt(const std::vector<PromptEntry>& prompts) {
  prompt_.clear();
  for (const PromptEntry& entry : prompts)
    if (const auto* text = std::get_if<std::string>(&entry); text && !is_blank(*text)) prompt_.push_back(*text);
  prompt_error_ = prompt_.empty() ? "prompt list cannot be empty: it has no entry with text" : "";
  return *this;
}

PipelineContextBuilder& PipelineContextBuilder::with_artifact_dir(std::string dir) {
  artifact_dir_ = std::move(dir);
  return *this;
}

PipelineContextBuilder& PipelineContextBuilder::with_extra_options(const Options& options) {
  extra_options_ = options;
  return *this;
}

PipelineResult<PipelineContext> PipelineContextBuilder::build() const {
  if (!prompt_error_.empty()) return failure_of(ConfigValidationError(prompt_error_), ErrorKind::Usage);
  std::vector<std::string> missing;
  if (model_name_.empty()) missing.emplace_back("model_name");
  if (soc_model_.empty()) missing.emplace_back("soc_model");
  if (prompt_.empty()) missing.emplace_back("prompt");
  if (!missing.empty())
    return failure_of(ConfigValidationError(fmt::format("missing required fields: {}", fmt::join(missing, ", "))), ErrorKind::Usage);
  return PipelineContext(model_name_, soc_model_, prompt_, artifact_dir_, extra_options_);
}

}  // namespace edgec::genai
