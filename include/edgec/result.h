#pragma once
#include <optional>
#include <string>
#include <utility>
#include <variant>

// What is visible from outside the library: all that the public headers declare.
#if defined(_WIN32)
#define EDGEC_API
#else
#define EDGEC_API __attribute__((visibility("default")))
#endif

namespace edgec EDGEC_API {

// Why an operation failed; each kind is one documented exit code of the command line.
enum class ErrorKind : int {
  Model = 1,         // the model cannot be compiled as asked, `verify` found a fault, or the runtime refused
  Usage = 2,         // wrong options
  Input = 3,         // input unreadable or corrupt
  Output = 4,        // output could not be written
  Internal = 70,     // a bug of ours
  Interrupted = 130  // Ctrl-C
};

// An error value: a full message for the user (possibly many lines: cause, the model's Python line, what to do next).
struct Failure {
  ErrorKind kind = ErrorKind::Internal;
  std::string message;
};

inline Failure model_error(std::string message) { return {ErrorKind::Model, std::move(message)}; }
inline Failure usage_error(std::string message) { return {ErrorKind::Usage, std::move(message)}; }
inline Failure input_error(std::string message) { return {ErrorKind::Input, std::move(message)}; }
inline Failure output_error(std::string message) { return {ErrorKind::Output, std::move(message)}; }
inline Failure internal_error(std::string message) { return {ErrorKind::Internal, std::move(message)}; }

// Either a value or a failure of type F. Check with `if (!r)` before `*r`.
template <class T, class F = Failure>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT: implicit on purpose
  Result(F failure) : state_(std::move(failure)) {}  // NOLINT
  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() & { return std::get<0>(state_); }
  const T& operator*() const& { return std::get<0>(state_); }
  T&& operator*() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  const F& failure() const& { return std::get<1>(state_); }
  F&& failure() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, F> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Failure failure) : failure_(std::move(failure)) {}  // NOLINT
  explicit operator bool() const { return !failure_; }
  const Failure& failure() const& { return *failure_; }
  Failure&& failure() && { return *std::move(failure_); }

 private:
  std::optional<Failure> failure_;
};

using Status = Result<void>;

#define EDGEC_CONCAT_(a, b) a##b
#define EDGEC_CONCAT(a, b) EDGEC_CONCAT_(a, b)

// EDGEC_TRY(Program p, load(file)): declares p from the result's value, or returns its failure.
#define EDGEC_TRY(decl, expr) EDGEC_TRY_IMPL_(EDGEC_CONCAT(edgec_try_, __COUNTER__), decl, expr)
#define EDGEC_TRY_IMPL_(tmp, decl, expr)     \
  auto tmp = (expr);                         \
  if (!tmp) return std::move(tmp).failure(); \
  decl = *std::move(tmp)

// EDGEC_TRY_VOID(write(p)): returns the failure of a Status, or goes on.
#define EDGEC_TRY_VOID(expr) EDGEC_TRY_VOID_IMPL_(EDGEC_CONCAT(edgec_status_, __COUNTER__), expr)
#define EDGEC_TRY_VOID_IMPL_(tmp, expr)                           \
  do {                                                            \
    if (auto tmp = (expr); !tmp) return std::move(tmp).failure(); \
  } while (false)

}  // namespace EDGEC_API
