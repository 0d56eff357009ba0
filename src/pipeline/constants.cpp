#include "pipeline/constants.h"

#include "support/json.h"

namespace edgec::pipeline {

static Result<Arg> constant(JsonValue v) {
  if (v.is_bool()) {
    EDGEC_TRY(bool b, v.as_bool());
    return Arg(b);
  }
  if (v.is_int()) {
    EDGEC_TRY(int64_t n, v.as_int());
    return Arg(n);
  }
  if (v.is_number()) {
    EDGEC_TRY(double d, v.as_number());
    return Arg(d);
  }
  if (v.is_string()) {
    EDGEC_TRY(std::string_view s, v.as_string());
    return Arg(std::string(s));
  }
  return v.expected("a number, a bool or a string");
}

Result<std::vector<Arg>> parse_constants(std::string_view json) {
  auto doc = JsonDocument::parse(json, "--constant");
  if (!doc) return usage_error("error: " + doc.failure().message);
  std::vector<Arg> out;
  const JsonValue root = doc->root();
  const auto add = [&](JsonValue v) -> Status {
    auto c = constant(v);
    if (!c) return usage_error("error: " + c.failure().message);
    out.push_back(*std::move(c));
    return {};
  };
  if (root.is_array()) {
    EDGEC_TRY(JsonArray items, root.as_array());
    for (JsonValue v : items) EDGEC_TRY_VOID(add(v));
  } else {
    EDGEC_TRY_VOID(add(root));
  }
  return out;
}

}  // namespace edgec::pipeline
