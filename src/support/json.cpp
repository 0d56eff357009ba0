#include "support/json.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <bit>
#include <limits>

namespace edgec {

struct JsonValue::State {
  simdjson::dom::document document;
  std::string name;
  View view{};
};

const char* name_of(JsonKind kind) {
  switch (kind) {
    case JsonKind::Null:
      return "null";
    case JsonKind::Bool:
      return "a bool";
    case JsonKind::Int:
      return "an integer";
    case JsonKind::Float:
      return "a float";
    case JsonKind::String:
      return "a string";
    case JsonKind::Array:
      return "an array";
    case JsonKind::Object:
      return "an object";
  }
  return "?";
}

JsonKind JsonValue::kind() const {
  switch (tag()) {
    case 't':
    case 'f':
      return JsonKind::Bool;
    case 'l':
    case 'u':
      return JsonKind::Int;
    case 'd':
      return JsonKind::Float;
    case '"':
      return JsonKind::String;
    case '[':
      return JsonKind::Array;
    case '{':
      return JsonKind::Object;
    default:
      return JsonKind::Null;
  }
}

Result<bool> JsonValue::as_bool() const {
  if (!is_bool()) return expected("a bool");
  return tag() == 't';
}

Result<int64_t> JsonValue::as_int() const {
  if (tag() == 'l') return std::bit_cast<int64_t>(word(at_ + 1));
  if (tag() == 'u') return error("the integer does not fit 64 bits with sign");
  return expected("an integer");
}

Result<double> JsonValue::as_number() const {
  switch (tag()) {
    case 'd':
      return std::bit_cast<double>(word(at_ + 1));
    case 'l':
      return static_cast<double>(std::bit_cast<int64_t>(word(at_ + 1)));
    case 'u':
      return static_cast<double>(word(at_ + 1));
    default:
      return expected("a number");
  }
}

Result<std::string_view> JsonValue::as_string() const {
  if (!is_string()) return expected("a string");
  return text();
}

Result<JsonArray> JsonValue::as_array() const {
  if (!is_array()) return expected("an array");
  return JsonArray(*this);
}

Result<JsonObject> JsonValue::as_object() const {
  if (!is_object()) return expected("an object");
  return JsonObject(*this);
}

std::optional<JsonValue> JsonValue::find(std::string_view key) const {
  if (!is_object()) return std::nullopt;
  for (auto [name, value] : JsonObject(*this))
    if (name == key) return value;
  return std::nullopt;
}

Result<JsonValue> JsonValue::at(std::string_view key) const {
  if (!is_object()) return expected("an object");
  if (auto value = find(key)) return *value;
  return error(fmt::format("the member \"{}\" is missing", key));
}

Result<bool> JsonValue::boolean(std::string_view key) const {
  EDGEC_TRY(JsonValue value, at(key));
  return value.as_bool();
}
Result<int64_t> JsonValue::integer(std::string_view key) const {
  EDGEC_TRY(JsonValue value, at(key));
  return value.as_int();
}
Result<double> JsonValue::number(std::string_view key) const {
  EDGEC_TRY(JsonValue value, at(key));
  return value.as_number();
}
Result<std::string_view> JsonValue::string(std::string_view key) const {
  EDGEC_TRY(JsonValue value, at(key));
  return value.as_string();
}
Result<JsonArray> JsonValue::array(std::string_view key) const {
  EDGEC_TRY(JsonValue value, at(key));
  return value.as_array();
}
Result<JsonObject> JsonValue::object(std::string_view key) const {
  EDGEC_TRY(JsonValue value, at(key));
  return value.as_object();
}

Result<std::pair<std::string_view, JsonValue>> JsonValue::only_member() const {
  if (!is_object()) return expected("an object with one member");
  JsonObject object(*this);
  if (object.size() != 1) return error(fmt::format("expected an object with one member, it has {}", object.size()));
  auto [key, value] = *object.begin();
  return std::pair(key, value);
}

// A key as part of a path: `.name`, or `["b.weight"]` when it is not a plain word.
static std::string path_step(std::string_view key) {
  auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-'; };
  if (!key.empty() && key.size() <= 200 && std::ranges::all_of(key, plain)) return fmt::format(".{}", key);
  std::string shown;
  for (char c : key.substr(0, 200)) shown += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return fmt::format("[\"{}{}\"]", shown, key.size() > 200 ? "..." : "");
}

// Descends from the root into whichever child holds the position.
std::string JsonValue::path() const {
  std::string out;
  JsonValue here(view_, 1);
  while (here.at_ < at_) {
    std::optional<JsonValue> next;
    std::string step;
    if (here.is_array()) {
      size_t index = 0;
      for (JsonValue child : JsonArray(here)) {
        if (at_ < child.after()) {
          next = child, step = fmt::format("[{}]", index);
          break;
        }
        ++index;
      }
    } else if (here.is_object()) {
      for (auto [key, child] : JsonObject(here))
        if (at_ < child.after()) {
          next = child, step = path_step(key);
          break;
        }
    }
    if (!next) break;
    out += step, here = *next;
  }
  return out.starts_with('.') ? out.substr(1) : out;
}

Failure JsonValue::error(std::string_view what) const {
  std::string where = path();
  return input_error(where.empty() ? fmt::format("{}: {}", view_->state->name, what)
                                   : fmt::format("{}: {}: {}", view_->state->name, where, what));
}

Failure JsonValue::expected(std::string_view what) const { return error(fmt::format("expected {}, found {}", what, name_of(kind()))); }

// simdjson keeps a count of 24 bits in the container's first word, which stays at its maximum above that.
static constexpr size_t kCountMax = 0xffffff;
static size_t stored_count(uint64_t word) { return (word >> 32) & kCountMax; }

size_t JsonArray::size() const {
  size_t count = stored_count(value_.word(value_.at_));
  if (count < kCountMax) return count;
  count = 0;
  for (auto it = begin(); it != end(); ++it) ++count;
  return count;
}

size_t JsonObject::size() const {
  size_t count = stored_count(value_.word(value_.at_));
  if (count < kCountMax) return count;
  count = 0;
  for (auto it = begin(); it != end(); ++it) ++count;
  return count;
}

Result<JsonDocument> JsonDocument::parse(std::span<const std::byte> bytes, std::string name, JsonOptions options) {
  if (bytes.size() > std::numeric_limits<uint32_t>::max() - 64)
    return input_error(fmt::format("{}: {} bytes of JSON are more than the reader takes (4 GiB)", name, bytes.size()));
  auto state = std::make_unique<JsonValue::State>();
  // The parser's own buffers (a copy of the text, the index of its structure) are given back on return; the tape and
  // strings stay.
  simdjson::dom::parser parser;
  auto code = parser.allocate(bytes.size(), options.max_depth);
  if (!code) {
    bool copy = options.readable_after < simdjson::SIMDJSON_PADDING;
    code = parser.parse_into_document(state->document, reinterpret_cast<const char*>(bytes.data()), bytes.size(), copy).error();
  }
  if (code == simdjson::DEPTH_ERROR)
    return input_error(fmt::format("{}: not usable JSON: nested deeper than {} levels", name, options.max_depth));
  if (code == simdjson::MEMALLOC) return input_error(fmt::format("{}: no memory to parse {} bytes of JSON", name, bytes.size()));
  if (code) return input_error(fmt::format("{}: not valid JSON: {}", name, simdjson::error_message(code)));
  state->name = std::move(name);
  state->view = {state->document.tape.get(), state->document.string_buf.get(), state.get()};
  return JsonDocument(std::move(state));
}

Result<JsonDocument> JsonDocument::parse(std::string_view text, std::string name, JsonOptions options) {
  return parse(std::as_bytes(std::span(text)), std::move(name), options);
}

JsonDocument::JsonDocument(std::unique_ptr<JsonValue::State> state) : state_(std::move(state)) {}
JsonDocument::JsonDocument(JsonDocument&&) noexcept = default;
JsonDocument& JsonDocument::operator=(JsonDocument&&) noexcept = default;
JsonDocument::~JsonDocument() = default;

JsonValue JsonDocument::root() const { return {&state_->view, 1}; }
const std::string& JsonDocument::name() const { return state_->name; }

}  // namespace edgec
