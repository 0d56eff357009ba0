#include "runtime/runtime_log.h"

#include <executorch/runtime/platform/platform.h>
#include <executorch/runtime/platform/runtime.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <deque>
#include <mutex>

#include "runtime/array.h"

namespace edgec::runtime {
namespace {

using executorch::runtime::Error;

constexpr size_t kKeptLines = 12;  // the first one is the cause, later ones often repeat it

// Kernels log from the threads of the pool too.
struct Log {
  std::mutex mutex;
  std::deque<std::string> errors;
};
Log& the_log() {
  static Log log;
  return log;
}

void on_log(et_timestamp_t, et_pal_log_level_t level, const char*, const char*, size_t, const char* message, size_t length) {
  if (level != kError && level != kFatal) return;
  Log& log = the_log();
  const std::lock_guard lock(log.mutex);
  std::string line = printable(std::string(message, length));
  if (log.errors.size() < kKeptLines && (log.errors.empty() || log.errors.back() != line)) log.errors.push_back(std::move(line));
}

std::string log_text() {
  Log& log = the_log();
  const std::lock_guard lock(log.mutex);
  std::string text;
  for (const std::string& line : log.errors) text += fmt::format("\n  runtime: {}", line);
  log.errors.clear();
  return text;
}

// The runtime's ET_CHECK: it cannot go on and its frames cannot be unwound.
void on_abort() {
  const std::string text = fmt::format("error: the runtime gave up{}\n", log_text());
  std::fflush(stdout);
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
  ::_exit(static_cast<int>(ErrorKind::Model));
}

std::string_view meaning(Error error, Phase phase) {
  switch (error) {
    case Error::NotSupported:
      return phase == Phase::Load ? "the program uses something this runtime cannot do, e.g. a tensor without an upper bound"
                                  : "the runtime cannot do this with the value it was given";
    case Error::InvalidArgument:
      if (phase == Phase::Open) return "the file is truncated or damaged";
      return phase == Phase::Input ? "the value does not fit the input"
                                   : "an operator was given arguments that it does not take, often sizes that do not fit";
    case Error::InvalidType:
      return "a value has another type than the program says";
    case Error::OperatorMissing:
      return "the program calls operators that this runtime does not have";
    case Error::NotFound:
      return phase == Phase::Load ? "a backend or external data is missing (weights in a .ptd file need --data)"
                                  : "something that the program names does not exist";
    case Error::MemoryAllocationFailed:
      return "the memory plan and the program disagree, or memory ran out";
    case Error::OutOfResources:
      return "memory ran out";
    case Error::AccessFailed:
      return "data of the program could not be read";
    case Error::InvalidProgram:
      return phase == Phase::Execute ? "an input is outside of the ranges that the model was exported with"
                                     : "the file is not a program that this runtime can read, or it is damaged";
    case Error::InvalidExternalData:
      return "the external data does not belong to the program, or it is damaged";
    case Error::DelegateInvalidCompatibility:
      return "a backend does not accept its part of the program";
    case Error::InvalidState:
      return "the runtime lacks data or a step that the program needs (weights in a .ptd file need --data)";
    default:
      return "";
  }
}

}  // namespace

void start_runtime() {
  static const bool started = [] {
    executorch::runtime::register_pal(
        executorch::runtime::PalImpl::create(nullptr, on_abort, nullptr, nullptr, on_log, nullptr, nullptr, __FILE_NAME__));
    executorch::runtime::runtime_init();
    return true;
  }();
  (void)started;
}

void forget_log() { (void)log_text(); }

Failure runtime_failure(Error error, Phase phase, const std::string& doing) {
  std::string name = executorch::runtime::to_string(error);
  name.erase(0, name.find_last_of(':') + 1);
  std::string message = fmt::format("error: {}: {} (0x{:02x})", doing, name, static_cast<unsigned>(error));
  if (const std::string_view text = meaning(error, phase); !text.empty()) message += fmt::format(": {}", text);
  return {phase == Phase::Open ? ErrorKind::Input : ErrorKind::Model, message + log_text()};
}

}  // namespace edgec::runtime
