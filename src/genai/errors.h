#pragma once
#include <optional>
#include <string>

#include <edgec/result.h>

// The pipeline's errors as types. They travel in a Failure like any other; `error_as<StageError>(failure)` gives the type back.
namespace edgec::genai {

class PipelineError : public FailureDetail {
 public:
  explicit PipelineError(std::string message) : message_(std::move(message)) {}
  const std::string& message() const { return message_; }

 private:
  std::string message_;  // the whole text
};

// A stage that failed: "[stage] message (caused by ValueError: text)".
class StageError final : public PipelineError {
 public:
  StageError(std::string stage_name, const std::string& message, std::optional<Failure> original = std::nullopt);
  const std::string& stage_name() const { return stage_name_; }
  const std::optional<Failure>& original() const { return original_; }

 private:
  std::string stage_name_;
  std::optional<Failure> original_;
};

// What a user gave cannot be built.
class ConfigValidationError final : public PipelineError {
 public:
  using PipelineError::PipelineError;
};

// "Engine 'x' is not available: message".
class EngineNotAvailableError final : public PipelineError {
 public:
  explicit EngineNotAvailableError(std::string engine, const std::string& message = {});
  const std::string& engine() const { return engine_; }

 private:
  std::string engine_;
};

template <class E>
Failure failure_of(E error, ErrorKind kind = ErrorKind::Model) {
  Failure f{kind, error.message()};
  f.detail = std::make_shared<const E>(std::move(error));
  return f;
}

// The failure as E or one of its heirs; null when it is another.
template <class E>
const E* error_as(const Failure& f) {
  return dynamic_cast<const E*>(f.detail.get());
}

// The kind of failure under its name in the official package: StageError, ..., ValueError for what a caller gave wrongly.
std::string type_name(const Failure&);

// What leaves a strategy: a StageError passes unchanged, everything else becomes the cause of one.
Failure as_stage_error(const std::string& stage_name, const std::string& message, const Failure& failure);

}  // namespace edgec::genai
