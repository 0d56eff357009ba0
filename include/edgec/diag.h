#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <edgec/result.h>

namespace edgec EDGEC_API {

// Where in the user's model something comes from: the innermost Python frame of the user's code (model.py:41, the text
// of the line) and the module path (`layers.0.attn`, class `Attention`). All empty when the archive says nothing.
struct SourceLocation {
  std::string file;
  int line = 0;
  std::string function;
  std::string text;          // the Python source line
  std::string module_path;   // dotted path of the module
  std::string module_class;  // last component of the module's class name
  bool known() const { return !file.empty(); }
  std::string str() const;  // "model.py:41" or "<unknown>"
};
using Location = std::shared_ptr<const SourceLocation>;  // shared by the nodes that one line became; may be null

enum class Severity { Error, Warning, Note };

struct Diagnostic {
  Severity severity = Severity::Error;
  Location where;
  std::string message;  // first line: what is wrong, in the model's words
  std::string hint;     // what to do next; may be empty
  std::string str() const;
};

// Collects the findings of a stage; the stage stops at its end with `failure()`.
class Diagnostics {
 public:
  void error(Location where, std::string message, std::string hint = {});
  void warning(Location where, std::string message, std::string hint = {});
  bool has_errors() const { return errors_ > 0; }
  size_t error_count() const { return errors_; }
  const std::vector<Diagnostic>& all() const { return all_; }
  // All errors rendered one after the other (equal messages once, with a count).
  Failure failure(ErrorKind kind = ErrorKind::Model) const;
  std::string warnings_str() const;

 private:
  std::vector<Diagnostic> all_;
  size_t errors_ = 0;
};

}  // namespace EDGEC_API
