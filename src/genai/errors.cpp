#include "genai/errors.h"

#include <fmt/format.h>

namespace edgec::genai {
namespace {

std::string stage_text(const std::string& stage, const std::string& message, const std::optional<TypedFailure>& original) {
  std::string text = fmt::format("[{}] {}", stage, message);
  if (original) text += fmt::format(" (caused by {}: {})", type_name(*original), original->message);
  return text;
}

}  // namespace

StageError::StageError(std::string stage_name, const std::string& message, std::optional<TypedFailure> original)
    : PipelineError(stage_text(stage_name, message, original)), stage_name_(std::move(stage_name)), original_(std::move(original)) {}

EngineNotAvailableError::EngineNotAvailableError(std::string engine, const std::string& message)
    : PipelineError(fmt::format("Engine '{}' is not available{}{}", engine, message.empty() ? "" : ": ", message)),
      engine_(std::move(engine)) {}

std::string type_name(const TypedFailure& f) {
  if (error_as<StageError>(f)) return "StageError";
  if (error_as<ConfigValidationError>(f)) return "ConfigValidationError";
  if (error_as<EngineNotAvailableError>(f)) return "EngineNotAvailableError";
  if (error_as<PipelineError>(f)) return "PipelineError";
  switch (f.kind) {
    case ErrorKind::Usage:
      return "ValueError";
    case ErrorKind::Input:
      return "FileError";
    case ErrorKind::Output:
      return "OutputError";
    case ErrorKind::Internal:
      return "InternalError";
    default:
      return "RuntimeError";
  }
}

TypedFailure as_stage_error(const std::string& stage_name, const std::string& message, const TypedFailure& failure) {
  if (error_as<StageError>(failure)) return failure;
  return failure_of(StageError(stage_name, message, failure), failure.kind);
}

}  // namespace edgec::genai
