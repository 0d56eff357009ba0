#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <thread>

#include "genai/adb_transport.h"

// The adb client of the system against a small server that plays a device: shell, push and pull.
namespace edgec::genai {
namespace {

namespace fs = std::filesystem;

class Connection {
 public:
  explicit Connection(int socket) : socket_(socket) {}
  ~Connection() { close(socket_); }
  bool read(void* to, size_t n) {
    for (auto* at = static_cast<char*>(to); n > 0;) {
      const ssize_t got = recv(socket_, at, n, 0);
      if (got <= 0) return false;
      at += got, n -= static_cast<size_t>(got);
    }
    return true;
  }
  std::optional<std::string> read_text(size_t n) {
    std::string text(n, 0);
    return read(text.data(), n) ? std::optional(text) : std::nullopt;
  }
  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
  }
  void write_number(uint32_t n) { write({reinterpret_cast<const char*>(&n), sizeof n}); }
  // A request: four hexadecimal digits of length, then the text.
  std::optional<std::string> request() {
    const auto length = read_text(4);
    return length ? read_text(static_cast<size_t>(std::strtoul(length->c_str(), nullptr, 16))) : std::nullopt;
  }

 private:
  int socket_;
};

class FakeDevice {
 public:
  FakeDevice() {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listener_, 16), 0);
    EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port = ntohs(address.sin_port);
    server_ = std::thread([this] { serve(); });
  }
  ~FakeDevice() {
    shutdown(listener_, SHUT_RDWR);
    server_.join();
    close(listener_);
  }

  int port = 0;
  std::map<std::string, std::string> files;  // by path; read them when the client has ended
  std::vector<std::string> commands, serials;

 private:
  void serve() {
    for (;;) {
      const int socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (socket < 0) return;
      Connection c(socket);
      answer(c);
    }
  }

  void answer(Connection& c) {
    while (const auto request = c.request()) {
      if (*request == "host:version") return c.write("OKAY00040029");
      if (request->starts_with("host:transport") || request->starts_with("host:tport")) {
        serials.push_back(*request);
        c.write("OKAY");
        if (request->starts_with("host:tport")) c.write(std::string(8, '\1'));
      } else if (request->starts_with("host") && request->ends_with("features")) {
        return c.write("OKAY0000");  // none: the old protocols
      } else if (request->starts_with("shell")) {
        return shell(c, request->substr(request->find(':') + 1));
      } else if (*request == "sync:") {
        c.write("OKAY");
        return sync(c);
      } else {
        return c.write("FAIL0007unknown");
      }
    }
  }

  void shell(Connection& c, const std::string& command) {
    commands.push_back(command);
    c.write("OKAY");
    if (command.find("runner") != std::string::npos) files["/ws/outputs/output_0_0.raw"] = "result";
    c.write(command.find("fail") == std::string::npos ? "said\nedgec-status:0\n" : "no such thing\nedgec-status:3\n");
  }

  bool is_folder(const std::string& path) const { return path == "/ws" || path == "/ws/outputs" || path == "/ws/outputs/."; }

  void sync(Connection& c) {
    std::string sent_path;
    while (const auto id = c.read_text(4)) {
      uint32_t n = 0;
      if (!c.read(&n, sizeof n) || *id == "QUIT") return;
      if (*id == "DONE") {  // the number is the time
        c.write("OKAY");
        c.write_number(0);
        continue;
      }
      const auto text = c.read_text(n);
      if (!text) return;
      if (*id == "STAT") {
        const auto file = files.find(*text);
        c.write("STAT");
        c.write_number(is_folder(*text) ? 040755 : file != files.end() ? 0100644 : 0);
        c.write_number(file != files.end() ? static_cast<uint32_t>(file->second.size()) : 0);
        c.write_number(1);
      } else if (*id == "SEND") {
        sent_path = text->substr(0, text->rfind(','));
        files[sent_path].clear();
      } else if (*id == "DATA") {
        files[sent_path] += *text;
      } else if (*id == "LIST") {
        list(c);
      } else if (*id == "RECV") {
        const auto name = text->substr(text->rfind('/') + 1);
        const std::string& bytes = files["/ws/outputs/" + name];
        c.write("DATA");
        c.write_number(static_cast<uint32_t>(bytes.size()));
        c.write(bytes);
        c.write("DONE");
        c.write_number(0);
      }
    }
  }

  void list(Connection& c) {
    const std::string folder = "/ws/outputs/";
    for (const auto& [path, bytes] : files) {
      if (!path.starts_with(folder)) continue;
      const std::string name = path.substr(folder.size());
      c.write("DENT");
      c.write_number(0100644);
      c.write_number(static_cast<uint32_t>(bytes.size()));
      c.write_number(1);
      c.write_number(static_cast<uint32_t>(name.size()));
      c.write(name);
    }
    c.write("DONE");
    c.write(std::string(16, '\0'));
  }

  int listener_ = -1;
  std::thread server_;
};

AdbOptions options_for(const FakeDevice& device) {
  AdbOptions o;
  o.serial = "fake-1";
  o.host = "127.0.0.1";
  o.port = device.port;
  o.workspace = "/ws";
  return o;
}

TEST(GenaiAdb, PushRunPull) {
  const fs::path folder = fs::temp_directory_path() / ("edgec_genai_adb_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  const std::string content(200000, 'x');  // more than one packet
  std::ofstream(folder / "text_decoder.pte") << content;
  FakeDevice device;
  DeviceRunnerAdapter runner(std::make_shared<AdbTransport>(options_for(device)));
  const ArtifactMap artifacts = {{ArtifactKey::TextDecoder, folder / "text_decoder.pte"}};
  const Status pushed = runner.push_artifacts(artifacts);
  ASSERT_TRUE(pushed) << pushed.failure().message;
  EXPECT_EQ(device.files["/ws/text_decoder.pte"], content);
  const auto ran = runner.execute({.method_index = 1, .iteration = 2});
  ASSERT_TRUE(ran) << ran.failure().message;
  const auto files = runner.pull_results(folder / "results");
  ASSERT_TRUE(files) << files.failure().message;
  EXPECT_EQ(*files, std::vector<fs::path>{"output_0_0.raw"});
  std::ifstream result(folder / "results" / "output_0_0.raw");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(result), {}), "result");

  ASSERT_EQ(device.commands.size(), 2u);
  EXPECT_NE(device.commands[0].find("mkdir -p '/ws/outputs'"), std::string::npos);
  EXPECT_NE(device.commands[1].find("--model_path 'text_decoder.pte' --method_index 1 --iteration 2"), std::string::npos)
      << device.commands[1];
  for (const std::string& serial : device.serials) EXPECT_NE(serial.find("fake-1"), std::string::npos) << serial;
  fs::remove_all(folder);
}

TEST(GenaiAdb, Shell) {
  FakeDevice device;
  AdbTransport transport(options_for(device));
  const auto said = transport.shell("echo said");
  ASSERT_TRUE(said) << said.failure().message;
  EXPECT_EQ(*said, "said\n");
  const auto failed = transport.shell("fail");
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.failure().message.find("3"), std::string::npos);
  EXPECT_NE(failed.failure().message.find("no such thing"), std::string::npos);
}

TEST(GenaiAdb, FailuresAreReported) {
  AdbOptions nowhere;
  nowhere.client = "/nonexistent/adb";
  const auto r = AdbTransport(nowhere).shell("true");
  ASSERT_FALSE(r);
  EXPECT_EQ(r.failure().kind, ErrorKind::Model);
  EXPECT_FALSE(AdbTransport(nowhere).push("/nonexistent/file"));
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
}

}  // namespace
}  // namespace edgec::genai
