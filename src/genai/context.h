#pragma once
#include <any>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "genai/errors.h"

namespace edgec::genai {

using Options = std::map<std::string, std::any>;  // by name; who takes an option knows its type
template <class T>
const T* option(const Options& options, const std::string& name) {
  const auto it = options.find(name);
  return it == options.end() ? nullptr : std::any_cast<T>(&it->second);
}

class PipelineContextBuilder;

// What the user asked for; it does not change on its way through the stages.
class PipelineContext {
 public:
  // Checks nothing; the builder does.
  PipelineContext(std::string model_name, std::string soc_model, std::vector<std::string> prompt,
                  std::string artifact_dir = "./genai_artifacts", Options extra_options = {})
      : model_name_(std::move(model_name)),
        soc_model_(std::move(soc_model)),
        prompt_(std::move(prompt)),
        artifact_dir_(std::move(artifact_dir)),
        extra_options_(std::move(extra_options)) {}
  static PipelineContextBuilder builder();
  const std::string& model_name() const { return model_name_; }
  const std::string& soc_model() const { return soc_model_; }
  const std::vector<std::string>& prompt() const { return prompt_; }
  const std::string& artifact_dir() const { return artifact_dir_; }
  const Options& extra_options() const { return extra_options_; }

 private:
  std::string model_name_, soc_model_;
  std::vector<std::string> prompt_;
  std::string artifact_dir_;
  Options extra_options_;
};

// A list of prompts may come from an untyped source: entries that are no text are dropped like blank ones.
using PromptEntry = std::variant<std::string, std::any>;

// `build` reports what was wrong on the way: a prompt that is empty or blank, or all missing fields in one failure (kind Usage).
class PipelineContextBuilder {
 public:
  PipelineContextBuilder& with_model(std::string name);
  PipelineContextBuilder& with_soc(std::string soc_model);
  PipelineContextBuilder& with_prompt(const std::string& prompt);
  PipelineContextBuilder& with_prompt(const char* prompt) { return with_prompt(std::string(prompt)); }
  PipelineContextBuilder& with_prompt(const std::vector<std::string>& prompts);
  PipelineContextBuilder& with_prompt(const std::vector<PromptEntry>& prompts);
  PipelineContextBuilder& with_artifact_dir(std::string dir);
  PipelineContextBuilder& with_extra_options(const Options& options);
  PipelineResult<PipelineContext> build() const;

 private:
  std::string model_name_, soc_model_, artifact_dir_ = "./genai_artifacts";
  std::vector<std::string> prompt_;
  Options extra_options_;
  std::string prompt_error_;
};

}  // namespace edgec::genai
