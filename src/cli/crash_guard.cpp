#include "cli/crash_guard.h"

#include <signal.h>
#include <unistd.h>

#include <iterator>
#include <string_view>

namespace edgec::cli {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
#else
constexpr bool kSanitized = false;
#endif

void on_crash(int) {
  constexpr std::string_view kText =
      "error: the runtime crashed on this program: the file is damaged, or it was made for another runtime\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kText.data(), kText.size());
  ::_exit(1);
}

}  // namespace

void blame_crashes_on_the_program() {
  if (kSanitized) return;
  static char stack[64 * 1024];  // the usual stack may be what ran out
  const stack_t alternative = {stack, 0, std::size(stack)};
  ::sigaltstack(&alternative, nullptr);
  struct sigaction action = {};
  action.sa_handler = on_crash;
  action.sa_flags = SA_ONSTACK;
  for (int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) ::sigaction(number, &action, nullptr);
}

}  // namespace edgec::cli
