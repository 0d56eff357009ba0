#include "support/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <new>
#include <system_error>

#include <fmt/format.h>

namespace edgec {
namespace {

constexpr size_t kFirstRead = size_t{1} << 20;
constexpr size_t kDeviceLimit = size_t{1} << 30;  // /dev/zero never ends

Failure cannot_read(const std::string& path, const std::string& why) {
  return input_error(fmt::format("cannot read {}: {}", path == "-" ? "standard input" : "'" + path + "'", why));
}
Failure cannot_read(const std::string& path, int error) { return cannot_read(path, std::generic_category().message(error)); }

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::of(std::vector<std::byte> bytes) {
  std::shared_ptr<MappedFile> file(new MappedFile);
  file->owned_ = std::move(bytes);
  file->bytes_ = file->owned_;
  return file;
}

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path) {
  std::shared_ptr<MappedFile> file(new MappedFile);
  if (path == "-") {
    EDGEC_TRY_VOID(file->map_or_read(STDIN_FILENO, path));
    return std::shared_ptr<const MappedFile>(std::move(file));
  }
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return cannot_read(path, errno);
  Status status = file->map_or_read(fd, path);
  ::close(fd);
  if (!status) return std::move(status).failure();
  return std::shared_ptr<const MappedFile>(std::move(file));
}

MappedFile::~MappedFile() {
  if (mapped_) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

Status MappedFile::map_or_read(int fd, const std::string& path) {
  struct stat st {};
  if (::fstat(fd, &st) != 0) return cannot_read(path, errno);
  if (S_ISDIR(st.st_mode)) return cannot_read(path, EISDIR);
  // Standard input may stand in the middle of its file. Files of size 0 may still have content, as in /proc.
  if (S_ISREG(st.st_mode) && st.st_size > 0 && fd != STDIN_FILENO) {
    auto size = static_cast<size_t>(st.st_size);
    void* p = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p != MAP_FAILED) {
      mapped_ = true;
      bytes_ = {static_cast<const std::byte*>(p), size};
      return {};
    }
  }
  return read_all(fd, path, S_ISCHR(st.st_mode) ? kDeviceLimit : std::numeric_limits<size_t>::max());
}

Status MappedFile::read_all(int fd, const std::string& path, size_t limit) try {
  size_t used = 0;
  while (true) {
    if (used == owned_.size()) owned_.resize(std::max(kFirstRead, used * 2));
    ssize_t n = ::read(fd, owned_.data() + used, owned_.size() - used);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return cannot_read(path, errno);
    if (n == 0) break;
    used += static_cast<size_t>(n);
    if (used > limit) return cannot_read(path, fmt::format("the device gives more than {} bytes", limit));
  }
  owned_.resize(used);
  bytes_ = owned_;
  return {};
} catch (const std::bad_alloc&) {
  return cannot_read(path, "not enough memory; give a regular file, which is mapped");
}

}  // namespace edgec
