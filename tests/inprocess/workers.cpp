#include "inprocess/workers.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <thread>

namespace edgec::inprocess {
namespace {

using Job = std::function<std::string(size_t)>;

void send(int fd, std::string text) {
  std::replace(text.begin(), text.end(), '\n', '\x01');
  text += '\n';
  for (size_t at = 0; at < text.size();) {
    const ssize_t n = ::write(fd, text.data() + at, text.size() - at);
    if (n <= 0) ::_exit(3);
    at += static_cast<size_t>(n);
  }
}

[[noreturn]] void work(const std::vector<size_t>& mine, size_t from, const Job& job, unsigned seconds, int fd) {
  ::dup2(fd, STDERR_FILENO);  // the runtime's last words become lines of the report
  for (size_t i = from; i < mine.size(); ++i) {
    send(fd, fmt::format("@begin {}", i));
    ::alarm(seconds);
    send(fd, fmt::format("@end {}", job(mine[i])));
  }
  ::_exit(0);
}

std::string restored(std::string text) {
  std::replace(text.begin(), text.end(), '\x01', '\n');
  return text;
}

std::string all_from(int fd) {
  std::string all;
  char buffer[65536];
  for (ssize_t n; (n = ::read(fd, buffer, sizeof buffer)) > 0;) all.append(buffer, static_cast<size_t>(n));
  return all;
}

// Runs the jobs `mine`, starting a new process after each crash.
void supervise(const std::vector<size_t>& mine, const Job& job, unsigned seconds, std::vector<std::string>& results) {
  for (size_t next = 0; next < mine.size();) {
    int ends[2];
    if (::pipe(ends) != 0) return;
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(ends[0]);
      work(mine, next, job, seconds, ends[1]);
    }
    ::close(ends[1]);
    const std::string all = all_from(ends[0]);
    ::close(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    bool open = false;
    std::string words;
    for (size_t at = 0; at < all.size();) {
      const size_t end = std::min(all.find('\n', at), all.size());
      const std::string line = all.substr(at, end - at);
      at = end + 1;
      if (line.starts_with("@begin ")) {
        open = true;
        words.clear();
      } else if (line.starts_with("@end ") && open) {
        results[mine[next++]] = restored(line.substr(5));
        open = false;
      } else {
        words += line + "\n";
      }
    }
    if (open)
      results[mine[next++]] = fmt::format("{} ({}) {}", kProcessEnded, WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "exit", words);
    else if (next < mine.size() && all.empty())
      return;
  }
}

}  // namespace

std::vector<std::string> run_isolated(size_t count, unsigned workers, const Job& job, unsigned seconds_per_job) {
  std::vector<std::string> results(count, "not run");
  std::vector<std::vector<size_t>> shares(std::clamp<size_t>(workers, 1, std::max<size_t>(count, 1)));
  for (size_t i = 0; i < count; ++i) shares[i % shares.size()].push_back(i);
  std::vector<std::thread> threads;
  for (size_t i = 1; i < shares.size(); ++i) threads.emplace_back([&, i] { supervise(shares[i], job, seconds_per_job, results); });
  supervise(shares[0], job, seconds_per_job, results);
  for (auto& t : threads) t.join();
  return results;
}

}  // namespace edgec::inprocess
