#pragma once
#include <functional>
#include <string>
#include <vector>

// Jobs in processes of their own: a kernel may end the process or never come back.
namespace edgec::inprocess {

// What `job(0)` ... `job(count - 1)` return, computed in `workers` processes. A job that crashes or hangs gives the
// text kProcessEnded with the signal and what was written to stderr; the others go on in a new process.
inline constexpr const char* kProcessEnded = "the process ended";
std::vector<std::string> run_isolated(size_t count, unsigned workers, const std::function<std::string(size_t)>& job,
                                      unsigned seconds_per_job = 20);

}  // namespace edgec::inprocess
