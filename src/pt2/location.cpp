#include "pt2/location.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace edgec::pt2 {
namespace {

struct Frame {
  std::string_view file, function, text;
  int line = 0;
};

// Files of torch.nn that stand between the user's line and the operator; archives may hold base names only.
bool is_torch_frame(std::string_view file) {
  if (file.starts_with("<")) return true;  // code that torch made
  if (file.find("/torch/") != std::string_view::npos) return true;
  static constexpr std::array<std::string_view, 17> kOwn = {"activation.py",    "batchnorm.py",    "container.py", "conv.py", "dropout.py",
                                                            "functional.py",    "instancenorm.py", "linear.py",    "loss.py", "module.py",
                                                            "normalization.py", "padding.py",      "pooling.py",   "rnn.py",  "sparse.py",
                                                            "transformer.py",   "upsampling.py"};
  const size_t slash = file.rfind('/');
  if (slash != std::string_view::npos) return false;  // a full path says it itself
  return std::find(kOwn.begin(), kOwn.end(), file) != kOwn.end();
}

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\r')) s.remove_suffix(1);
  return s;
}

// `File "model.py", line 41, in forward` and the source text on the line behind it.
bool read_frame(std::string_view& rest, Frame& f) {
  for (;;) {
    const size_t at = rest.find("File \"");
    if (at == std::string_view::npos) return false;
    rest.remove_prefix(at + 6);
    const size_t quote = rest.find('"');
    if (quote == std::string_view::npos) return false;
    f = {};
    f.file = rest.substr(0, quote);
    rest.remove_prefix(quote + 1);
    size_t end = rest.find('\n');
    std::string_view head = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    constexpr std::string_view kLine = ", line ";
    if (!head.starts_with(kLine)) continue;
    head.remove_prefix(kLine.size());
    std::from_chars(head.data(), head.data() + head.size(), f.line);
    if (const size_t in = head.find(", in "); in != std::string_view::npos) f.function = head.substr(in + 5);
    end = rest.find('\n');
    if (!trimmed(rest.substr(0, end)).starts_with("File \"")) f.text = trimmed(rest.substr(0, end));
    return true;
  }
}

}  // namespace

Location LocationReader::read(std::string_view stack_trace, std::string_view nn_module_stack) {
  if (stack_trace.empty() && nn_module_stack.empty()) return nullptr;
  std::string key;
  key.reserve(stack_trace.size() + nn_module_stack.size() + 1);
  key.append(stack_trace).append(1, '\n').append(nn_module_stack);
  auto [it, fresh] = seen_.try_emplace(std::move(key));
  if (!fresh) return it->second;

  auto loc = std::make_shared<SourceLocation>();
  Frame frame, user, last;
  std::string_view rest = stack_trace;
  while (read_frame(rest, frame)) {
    last = frame;
    if (!is_torch_frame(frame.file)) user = frame;
  }
  const Frame& chosen = user.file.empty() ? last : user;
  loc->file = chosen.file;
  loc->line = chosen.line;
  loc->function = chosen.function;
  loc->text = chosen.text;

  // "key,path,class;key,path,class": the innermost module is the last one.
  const size_t semicolon = nn_module_stack.rfind(';');
  std::string_view module = semicolon == std::string_view::npos ? nn_module_stack : nn_module_stack.substr(semicolon + 1);
  const size_t first = module.find(','), second = first == std::string_view::npos ? first : module.find(',', first + 1);
  if (second != std::string_view::npos) {
    loc->module_path = module.substr(first + 1, second - first - 1);
    std::string_view cls = module.substr(second + 1);
    const size_t dot = cls.rfind('.');
    loc->module_class = dot == std::string_view::npos ? cls : cls.substr(dot + 1);
  }
  return it->second = std::move(loc);
}

}  // namespace edgec::pt2
