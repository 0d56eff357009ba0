#pragma once
#include <optional>
#include <string>
#include <string_view>

#include <edgec/result.h>
#include <edgec/tensor_data.h>
#include <edgec/type.h>

// What the printer and the parser of the text form share: its tokens.
namespace edgec::text {

// A word that an argument list reads as something else than a symbol: "true", "f32", "channels_last", "graph".
bool is_reserved(std::string_view word);
bool is_word(std::string_view);  // [A-Za-z_][A-Za-z0-9_]*
std::string quoted(std::string_view);
std::string float_text(double);           // always told from an integer: "1.0", "1e-05", "nan", "-inf"
std::string expr_text(const sym::Expr&);  // a number or symbol as it is, anything else in braces
std::string_view format_name(MemoryFormat);
std::optional<MemoryFormat> format_from_name(std::string_view);
// " = [1.0, 2.0]": the elements of a constant of at most 16, in contiguous order; empty for others and for all zeros.
std::string values_text(const TensorData&);

struct Position {
  int line = 1, column = 1;
};

// Reads tokens off a text. Blanks, line ends and comments (from '#' to the end of the line, unless a digit follows) are
// skipped before each token. Nothing here throws or reads past the end.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}
  size_t offset();  // of the next token
  void seek(size_t offset) { at_ = offset; }
  bool at_end();
  char peek();            // first character of the next token; 0 at the end
  char peek_raw() const;  // the very next character
  bool eat(char);
  bool eat(std::string_view symbol);
  bool eat_word(std::string_view);  // a whole word
  std::string_view word();          // empty when the next token is none
  std::string_view name_here();     // letters, digits and '_' without a blank before them
  std::string_view dotted_name();   // words joined by '.'
  std::string_view number();        // optional sign, digits, fraction, exponent; or -inf
  std::optional<std::string> string();
  // The text up to the `close` that belongs to a bracket already read; brackets inside must match. None: not found.
  std::optional<std::string_view> until_close(char close);
  // An item of a list: up to ',' or `close` outside of brackets, neither of which is read.
  std::optional<std::string_view> item(char close);

  Position position_of(size_t offset) const;
  std::string_view line_text(size_t offset) const;
  Failure failure(size_t offset, std::string_view message) const;  // "3:14: message"
  Failure expected(std::string_view what);                         // ... at the next token

 private:
  void skip();
  std::optional<std::string_view> balanced(char close, bool stop_at_comma);
  std::string_view text_;
  size_t at_ = 0;
  mutable size_t known_offset_ = 0;  // positions are asked for in rising order
  mutable Position known_;
};

}  // namespace edgec::text
