#include "support/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <vector>

#include <fmt/format.h>

namespace edgec {
namespace {

constexpr size_t kBuffer = size_t{1} << 20;
constexpr size_t kLargestWrite = size_t{1} << 30;
constexpr int kMaxLinks = 40;

std::string shown(const std::string& path) { return path == "-" ? "standard output" : "'" + path + "'"; }

Failure cannot_write(const std::string& path, int error) {
  return output_error(fmt::format("cannot write {}: {}", shown(path), std::generic_category().message(error)));
}

// Names of the temporary files that exist now, for the signal handler. Who takes a name out of its slot owns it.
std::array<std::atomic<char*>, 64> live_temporaries;
static_assert(std::atomic<char*>::is_always_lock_free);

// The slot's number, or -1 when all are taken (then an interrupt leaves that file behind).
int remember(const std::string& path) {
  char* name = ::strdup(path.c_str());
  for (size_t i = 0; name && i < live_temporaries.size(); ++i) {
    char* none = nullptr;
    if (live_temporaries[i].compare_exchange_strong(none, name)) return static_cast<int>(i);
  }
  std::free(name);
  return -1;
}

void forget(int slot) {
  if (slot >= 0) std::free(live_temporaries[static_cast<size_t>(slot)].exchange(nullptr));
}

extern "C" void remove_temporaries_and_exit(int) {
  for (auto& slot : live_temporaries)
    if (const char* name = slot.exchange(nullptr)) ::unlink(name);
  ::_exit(130);
}

std::string folder_of(const std::string& path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

// A link stays a link: its target is what gets replaced.
Result<std::string> follow_links(const std::string& path) {
  std::string at = path;
  for (int i = 0; i < kMaxLinks; ++i) {
    struct stat st {};
    if (::lstat(at.c_str(), &st) != 0) {
      if (errno == ENOENT) return at;  // to be created
      return cannot_write(path, errno);
    }
    if (!S_ISLNK(st.st_mode)) return at;
    std::array<char, 4096> target{};
    ssize_t n = ::readlink(at.c_str(), target.data(), target.size());
    if (n < 0) return cannot_write(path, errno);
    if (static_cast<size_t>(n) == target.size()) return cannot_write(path, ENAMETOOLONG);
    std::string to(target.data(), static_cast<size_t>(n));
    at = to.starts_with('/') ? to : folder_of(at) + to;
  }
  return cannot_write(path, ELOOP);
}

// /dev/stdout and its like lead to an open file, not to a name.
bool names_open_file(const std::string& path) {
  return path.starts_with("/dev/std") || path.starts_with("/dev/fd/") || path.starts_with("/proc/");
}

int write_some(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    ssize_t n = ::write(fd, bytes.data(), std::min(bytes.size(), kLargestWrite));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return 0;
}

}  // namespace

struct OutputFile::State {
  std::string path;       // as the user wrote it
  std::string target;     // links followed
  std::string temporary;  // empty: written directly
  int slot = -1;
  int fd = -1;
  std::vector<std::byte> buffer;

  ~State() {
    if (fd >= 0 && fd != STDOUT_FILENO) ::close(fd);
    if (!temporary.empty()) {
      ::unlink(temporary.c_str());
      forget(slot);
    }
  }

  Status flush() {
    int error = write_some(fd, buffer);
    buffer.clear();
    if (error) return cannot_write(path, error);
    return {};
  }

  Status open_directly() {
    fd = ::open(target.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) return cannot_write(path, errno);
    return {};
  }

  Status open_temporary() {
    static std::atomic<unsigned> serial{0};
    for (int attempt = 0; attempt < 100; ++attempt) {
      temporary = fmt::format("{}.edgec-{}-{}.tmp", folder_of(target), ::getpid(), serial++);
      // Remembered before it exists, so that no interrupt falls in between.
      slot = remember(temporary);
      fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (fd >= 0) return {};
      int error = errno;
      forget(slot);
      temporary.clear();
      if (error != EEXIST) return cannot_write(path, error);
    }
    return cannot_write(path, EEXIST);
  }
};

OutputFile::OutputFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
OutputFile::OutputFile(OutputFile&&) noexcept = default;
OutputFile& OutputFile::operator=(OutputFile&&) noexcept = default;
OutputFile::~OutputFile() = default;

Result<OutputFile> OutputFile::create(const std::string& path) {
  auto state = std::make_unique<State>();
  state->path = path;
  state->buffer.reserve(kBuffer);
  if (path == "-") {
    state->fd = STDOUT_FILENO;
    return OutputFile(std::move(state));
  }
  if (path.empty()) return output_error("cannot write a file without a name");
  if (names_open_file(path)) {
    state->target = path;
    EDGEC_TRY_VOID(state->open_directly());
    return OutputFile(std::move(state));
  }
  EDGEC_TRY(state->target, follow_links(path));
  struct stat st {};
  bool exists = ::stat(state->target.c_str(), &st) == 0;
  if (state->target.ends_with('/') || (exists && S_ISDIR(st.st_mode))) return cannot_write(path, EISDIR);
  if (exists && !S_ISREG(st.st_mode)) {
    EDGEC_TRY_VOID(state->open_directly());
    return OutputFile(std::move(state));
  }
  if (exists && ::access(state->target.c_str(), W_OK) != 0) return cannot_write(path, errno);
  EDGEC_TRY_VOID(state->open_temporary());
  if (exists && ::fchmod(state->fd, st.st_mode & 07777) != 0) return cannot_write(path, errno);
  return OutputFile(std::move(state));
}

Status OutputFile::write(std::span<const std::byte> bytes) {
  std::vector<std::byte>& buffer = state_->buffer;
  if (buffer.size() + bytes.size() > kBuffer) EDGEC_TRY_VOID(state_->flush());
  if (bytes.size() < kBuffer) {
    buffer.insert(buffer.end(), bytes.begin(), bytes.end());
    return {};
  }
  if (int error = write_some(state_->fd, bytes)) return cannot_write(state_->path, error);
  return {};
}

Status OutputFile::write(const std::string& text) { return write(std::as_bytes(std::span(text.data(), text.size()))); }

Result<std::string> OutputFile::flushed_file() {
  EDGEC_TRY_VOID(state_->flush());
  return state_->temporary;
}

Status OutputFile::commit(bool to_disk) {
  State& s = *state_;
  EDGEC_TRY_VOID(s.flush());
  bool regular = !s.temporary.empty();
  if (regular && to_disk && ::fsync(s.fd) != 0) return cannot_write(s.path, errno);
  if (s.fd != STDOUT_FILENO) {
    int closed = ::close(s.fd);
    s.fd = -1;
    if (closed != 0 && errno != EINTR) return cannot_write(s.path, errno);
  }
  if (!regular) return {};
  if (::rename(s.temporary.c_str(), s.target.c_str()) != 0) return cannot_write(s.path, errno);
  forget(s.slot);
  s.temporary.clear();
  return {};
}

void install_interrupt_handler() {
  struct sigaction action {};
  action.sa_handler = remove_temporaries_and_exit;
  sigemptyset(&action.sa_mask);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction old {};
    // `nohup` and background jobs of a shell have a signal ignored on purpose.
    if (::sigaction(signal, nullptr, &old) == 0 && old.sa_handler == SIG_IGN) continue;
    ::sigaction(signal, &action, nullptr);
  }
}

}  // namespace edgec
