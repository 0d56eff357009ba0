#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <edgec/result.h>

// torch's operator schema grammar: "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor".
namespace edgec EDGEC_API {

enum class ArgType : uint8_t {
  Tensor,
  Int,
  SymInt,
  Float,
  Bool,
  Scalar,
  String,
  DType,
  Layout,
  Device,
  MemoryFormat,
  Dimname,
  Generator,
  Object
};

struct SchemaDefault {  // of a parameter; ints double as DType/Layout/MemoryFormat numbers
  std::variant<std::monostate, int64_t, double, bool, std::string, std::vector<int64_t>> value;  // monostate = None
};

struct Param {
  std::string name;
  ArgType type = ArgType::Tensor;
  bool optional = false;          // "Tensor?", "int[]?"
  bool list = false;              // "int[]"
  bool list_of_optional = false;  // "Tensor?[]"
  int list_size = 0;              // "int[2]": a single number is given for all
  bool kwarg_only = false;
  char alias = 0;        // 'a' of Tensor(a), Tensor(a!)
  bool written = false;  // (a!)
  std::optional<SchemaDefault> default_value;
};

struct Return {
  ArgType type = ArgType::Tensor;
  bool list = false;
  bool optional = false;
  char alias = 0;
  bool written = false;
  std::string name;
};

struct Schema {
  std::string ns, name, overload;  // "aten", "add", "Tensor"
  std::vector<Param> params;
  std::vector<Return> returns;
  bool mutates() const;                    // writes to an argument
  bool is_view() const;                    // a result aliases an argument that is not written
  int find(std::string_view param) const;  // index or -1
  // The text form's name: "aten.add.Tensor"; the default overload is left out.
  std::string full_name() const;
};

Result<Schema> parse_schema(std::string_view text);

}  // namespace EDGEC_API
