#include "runtime/file_bytes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

namespace edgec::runtime {
namespace {

Failure unreadable(const std::string& path, const char* why) {
  return input_error(fmt::format("error: cannot read {}: {}", path == "-" ? "standard input" : path, why));
}

// Closes on every way out.
struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd > STDERR_FILENO) ::close(fd);
  }
};

Result<FileBytes> read_to_end(int fd, const std::string& path) {
  auto all = std::make_shared<std::vector<std::byte>>();
  size_t used = 0;
  for (;;) {
    if (all->size() - used < 65536) all->resize(std::max<size_t>(65536, all->size()) * 2);
    const ssize_t got = ::read(fd, all->data() + used, all->size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return unreadable(path, std::strerror(errno));
    if (got == 0) break;
    used += static_cast<size_t>(got);
  }
  return FileBytes{{all->data(), used}, all};
}

}  // namespace

Result<FileBytes> read_file(const std::string& path) {
  Descriptor file{path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) return unreadable(path, std::strerror(errno));
  struct stat info = {};
  if (::fstat(file.fd, &info) != 0) return unreadable(path, std::strerror(errno));
  if (S_ISDIR(info.st_mode)) return unreadable(path, "it is a folder");
  if (!S_ISREG(info.st_mode) || info.st_size == 0 || path == "-") return read_to_end(file.fd, path);
  const auto size = static_cast<size_t>(info.st_size);
  void* at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (at == MAP_FAILED) return read_to_end(file.fd, path);
  std::shared_ptr<const void> keep(at, [size](const void* p) { ::munmap(const_cast<void*>(p), size); });
  return FileBytes{{static_cast<const std::byte*>(at), size}, std::move(keep)};
}

Status write_file(const std::string& path, std::span<const std::span<const std::byte>> parts) {
  auto failed = [&] { return output_error(fmt::format("error: cannot write {}: {}", path, std::strerror(errno))); };
  std::FILE* file = path == "-" ? stdout : std::fopen(path.c_str(), "wb");
  if (!file) return failed();
  bool good = true;
  for (auto part : parts)
    good = good && (part.empty() || std::fwrite(part.data(), 1, part.size(), file) == part.size());
  if (!good) {
    Failure failure = failed();
    if (file != stdout) std::fclose(file);
    return failure;
  }
  if ((file == stdout ? std::fflush(file) : std::fclose(file)) != 0) return failed();
  return {};
}

}  // namespace edgec::runtime
