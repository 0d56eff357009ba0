// Files appear whole or not at all; mapped files and hashes give the bytes' truth.
#include "support/output_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "support/hash.h"
#include "support/mapped_file.h"

namespace edgec {
namespace {

namespace fs = std::filesystem;

class OutputFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "edgec-test-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  size_t entries() const { return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), {})); }
  static std::string content(const std::string& file) {
    std::ostringstream s;
    s << std::ifstream(file, std::ios::binary).rdbuf();
    return s.str();
  }
  static void put(const std::string& file, const std::string& text) { std::ofstream(file) << text; }

  fs::path folder_;
};

void write_file(const std::string& path, const std::string& text) {
  auto file = OutputFile::create(path);
  ASSERT_TRUE(file) << file.failure().message;
  ASSERT_TRUE(file->write(text));
  Status status = file->commit();
  ASSERT_TRUE(status) << status.failure().message;
}

TEST_F(OutputFileTest, AppearsOnCommit) {
  put(path("a"), "old");
  {
    auto file = OutputFile::create(path("a"));
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write(std::string("new")));
    EXPECT_EQ(content(path("a")), "old");
    ASSERT_TRUE(file->commit(/*to_disk=*/true));
  }
  EXPECT_EQ(content(path("a")), "new");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(OutputFileTest, LeavesNothingWithoutCommit) {
  put(path("a"), "old");
  {
    auto file = OutputFile::create(path("a"));
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write(std::string(3 << 20, 'x')));
    EXPECT_EQ(entries(), 2u);
  }
  EXPECT_EQ(content(path("a")), "old");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(OutputFileTest, WritesLargeAndSmallPiecesInOrder) {
  std::string expected;
  auto file = OutputFile::create(path("a"));
  ASSERT_TRUE(file);
  for (int i = 0; i < 40; ++i) {
    std::string piece(static_cast<size_t>(i % 7 == 0 ? 1'500'000 : i * 1000 + 1), static_cast<char>('a' + i % 26));
    expected += piece;
    ASSERT_TRUE(file->write(piece));
  }
  ASSERT_TRUE(file->commit());
  EXPECT_EQ(content(path("a")), expected);
}

TEST_F(OutputFileTest, KeepsLinksAndModes) {
  put(path("a"), "old");
  ASSERT_EQ(::chmod(path("a").c_str(), 0640), 0);
  fs::create_symlink("a", path("link"));
  fs::create_symlink("fresh", path("dangling"));
  write_file(path("link"), "new");
  write_file(path("dangling"), "made");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(content(path("a")), "new");
  EXPECT_EQ(content(path("fresh")), "made");
  struct stat st {};
  ASSERT_EQ(::stat(path("a").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777u, 0640u);
}

TEST_F(OutputFileTest, TakesModeFromUmask) {
  mode_t old = ::umask(027);
  write_file(path("a"), "x");
  ::umask(old);
  struct stat st {};
  ASSERT_EQ(::stat(path("a").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777u, 0640u);
}

TEST_F(OutputFileTest, FailsWithNameAndReason) {
  fs::create_symlink("loop", path("loop"));
  struct {
    std::string path, reason;
  } cases[] = {
      {path("no/such/folder/a"), "No such file or directory"}, {folder_.string(), "Is a directory"}, {path("new/"), "Is a directory"},
      {path(std::string(300, 'n')), "File name too long"},     {path("loop"), "Too many levels"},    {"", "without a name"}};
  for (const auto& c : cases) {
    auto file = OutputFile::create(c.path);
    ASSERT_FALSE(file) << c.path;
    EXPECT_EQ(file.failure().kind, ErrorKind::Output);
    EXPECT_NE(file.failure().message.find(c.reason), std::string::npos) << file.failure().message;
    EXPECT_NE(file.failure().message.find(c.path), std::string::npos);
  }
}

TEST_F(OutputFileTest, WritesDevicesDirectly) {
  write_file("/dev/null", "x");
  auto full = OutputFile::create("/dev/full");
  ASSERT_TRUE(full);
  ASSERT_TRUE(full->write(std::string("x")));
  Status status = full->commit();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.failure().kind, ErrorKind::Output);
  EXPECT_EQ(status.failure().message, "cannot write '/dev/full': No space left on device");
  auto again = OutputFile::create("/dev/full");
  ASSERT_TRUE(again);
  EXPECT_FALSE(again->write(std::string(2 << 20, 'x')));
  EXPECT_TRUE(fs::exists("/dev/full"));
}

TEST_F(OutputFileTest, InterruptRemovesTemporaries) {
  for (int signal : {SIGINT, SIGTERM}) {
    pid_t child = ::fork();
    if (child == 0) {
      install_interrupt_handler();
      auto a = OutputFile::create(path("a")), b = OutputFile::create(path("b"));
      if (a && b && a->write(std::string(3 << 20, 'x'))) {
        put(path("ready"), "");
        for (int i = 0; i < 1000; ++i) ::usleep(10'000);
      }
      ::_exit(1);
    }
    while (!fs::exists(path("ready"))) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(entries(), 3u);
    ::kill(child, signal);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 130);
    fs::remove(path("ready"));
    EXPECT_EQ(entries(), 0u);
  }
}

TEST_F(OutputFileTest, MapsFiles) {
  put(path("a"), "hello");
  put(path("empty"), "");
  auto a = MappedFile::open(path("a"));
  ASSERT_TRUE(a);
  EXPECT_EQ(std::memcmp((*a)->bytes().data(), "hello", 5), 0);
  EXPECT_EQ((*a)->bytes().size(), 5u);
  auto empty = MappedFile::open(path("empty"));
  ASSERT_TRUE(empty);
  EXPECT_TRUE((*empty)->bytes().empty());
}

TEST_F(OutputFileTest, ReadsPipes) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  std::string text(3 << 20, 'p');
  std::thread writer([&] { put(path("pipe"), text); });
  auto file = MappedFile::open(path("pipe"));
  writer.join();
  ASSERT_TRUE(file) << file.failure().message;
  EXPECT_EQ((*file)->bytes().size(), text.size());
}

TEST_F(OutputFileTest, ReadFailuresNameFileAndReason) {
  auto missing = MappedFile::open(path("missing"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.failure().kind, ErrorKind::Input);
  EXPECT_EQ(missing.failure().message, "cannot read '" + path("missing") + "': No such file or directory");
  EXPECT_EQ(MappedFile::open(folder_.string()).failure().message, "cannot read '" + folder_.string() + "': Is a directory");
}

TEST(Hash, IsTheSameInPieces) {
  std::vector<std::byte> bytes(100'000);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 31);
  Hasher128 pieces;
  for (size_t at = 0, n = 1; at < bytes.size(); at += n, n = n * 3 % 1009 + 1)
    pieces.add(std::span(bytes).subspan(at, std::min(n, bytes.size() - at)));
  EXPECT_EQ(pieces.digest(), hash128(bytes));
  EXPECT_EQ(hash128({}).hex(), "99aa06d3014798d86001c324468d497f");  // XXH3's own value for no bytes
  bytes[5] ^= std::byte{1};
  EXPECT_NE(pieces.digest(), hash128(bytes));
}

}  // namespace
}  // namespace edgec
