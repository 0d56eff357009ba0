#pragma once
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include <edgec/result.h>

// The pipeline's errors as types. Where they can occur, functions give a PipelineResult: a Result whose failure also knows its type
// (`error_as<StageError>(failure)`), and which is an ordinary Failure for everyone else.
namespace edgec::genai {

class PipelineError {
 public:
  virtual ~PipelineError() = default;
  explicit PipelineError(std::string message) : message_(std::move(message)) {}
  const std::string& message() const { return message_; }

 private:
  std::string message_;  // the whole text
};

// A Failure together with its error; none for a failure of the layers below.
struct TypedFailure : Failure {
  TypedFailure(Failure f, std::shared_ptr<const PipelineError> e = nullptr) : Failure(std::move(f)), error(std::move(e)) {}  // NOLINT
  std::shared_ptr<const PipelineError> error;
};

template <class T>
class [[nodiscard]] PipelineResult : public Result<T, TypedFailure> {
 public:
  using Result<T, TypedFailure>::Result;
  PipelineResult(Failure failure) : PipelineResult(TypedFailure(std::move(failure))) {}  // NOLINT: implicit like Result
  PipelineResult(Result<T> result)                                                       // NOLINT
      : PipelineResult(result ? PipelineResult(*std::move(result)) : PipelineResult(TypedFailure(result.failure()))) {}
};

// A stage that failed: "[stage] message (caused by ValueError: text)".
class StageError final : public PipelineError {
 public:
  StageError(std::string stage_name, const std::string& message, std::optional<TypedFailure> original = std::nullopt);
  const std::string& stage_name() const { return stage_name_; }
  const std::optional<TypedFailure>& original() const { return original_; }

 private:
  std::string stage_name_;
  std::optional<TypedFailure> original_;
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
TypedFailure failure_of(E error, ErrorKind kind = ErrorKind::Model) {
  Failure f{kind, error.message()};
  return {std::move(f), std::make_shared<const E>(std::move(error))};
}

// The failure as E or one of its heirs; null when it is another.
template <class E>
const E* error_as(const TypedFailure& f) {
  return dynamic_cast<const E*>(f.error.get());
}

// The kind of failure under its name in the official package: StageError, ..., ValueError for what a caller gave wrongly.
std::string type_name(const TypedFailure&);

// What leaves a strategy: a StageError passes unchanged, everything else becomes the cause of one.
TypedFailure as_stage_error(const std::string& stage_name, const std::string& message, const TypedFailure& failure);

}  // namespace edgec::genai
