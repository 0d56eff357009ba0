// Any bytes as JSON: refused, or a tree whose every value can be visited, named and asked for the wrong type.
#include "support/json.h"

using namespace edgec;

static size_t visit(JsonValue v, size_t& budget) {
  if (budget == 0) return 0;
  --budget;
  size_t seen = v.path().size() + v.expected("something else").message.size();
  if (auto s = v.as_string()) seen += s->size();
  if (auto i = v.as_int()) seen += *i != 0;
  if (auto d = v.as_number()) seen += *d != 0;
  if (auto one = v.only_member()) seen += one->first.size();
  if (v.is_array()) {
    JsonArray items = *v.as_array();
    size_t count = 0;
    for (JsonValue item : items) seen += visit(item, budget), ++count;
    if (count != items.size()) __builtin_trap();
  }
  if (v.is_object()) {
    JsonObject members = *v.as_object();
    size_t count = 0;
    for (auto [key, value] : members) {
      seen += visit(value, budget), ++count;
      if (!v.find(key)) __builtin_trap();
    }
    if (count != members.size()) __builtin_trap();
  }
  return seen;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto doc = JsonDocument::parse(std::as_bytes(std::span(data, size)), "fuzz", {.max_depth = 200});
  size_t budget = 2000;
  if (doc) visit(doc->root(), budget);
  return 0;
}
