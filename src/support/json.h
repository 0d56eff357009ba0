#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <edgec/result.h>

namespace edgec {

// JSON as simdjson's DOM parser leaves it, read with getters that say where something is wrong:
//
//   EDGEC_TRY(JsonDocument doc, JsonDocument::parse(bytes, "models/model.json"));
//   EDGEC_TRY(JsonValue graph, doc.root().at("graph_module", "graph"));
//   EDGEC_TRY(JsonArray nodes, graph.array("nodes"));
//   for (JsonValue node : nodes) EDGEC_TRY(std::string_view target, node.string("target"));
//     // models/model.json: graph_module.graph.nodes[3].target: expected a string, found a number
//
// (Loop over a named array, not over `*value.array("k")`: the temporary would be gone.)
// A value is two words and points into its document, which must outlive it (moving the document is fine). Values carry
// no path: it is found again from the position when an error wants it, so that reading costs nothing (75 MB of model:
// 0.2 s). Getting a member by key looks through the object's members in order. Of equal keys the first counts. Numbers:
// integers must fit int64 (up to uint64 they parse, `as_int` refuses them); larger ones do not parse.

enum class JsonKind { Null, Bool, Int, Float, String, Array, Object };
const char* name_of(JsonKind kind);  // "null", "a bool", "a string", ... for messages

struct JsonOptions {
  size_t max_depth = 1024;    // deeper nesting is an error, so readers may recurse
  size_t readable_after = 0;  // bytes that may be read behind the span (an mmap goes on): enough of them save a copy
};

class JsonArray;
class JsonObject;

class JsonValue {
 public:
  JsonKind kind() const;
  bool is_null() const { return tag() == 'n'; }
  bool is_bool() const { return tag() == 't' || tag() == 'f'; }
  bool is_int() const { return tag() == 'l' || tag() == 'u'; }
  bool is_number() const { return is_int() || tag() == 'd'; }
  bool is_string() const { return tag() == '"'; }
  bool is_array() const { return tag() == '['; }
  bool is_object() const { return tag() == '{'; }

  // This value as a type, or a failure.
  Result<bool> as_bool() const;
  Result<int64_t> as_int() const;
  Result<double> as_number() const;            // integers too
  Result<std::string_view> as_string() const;  // unescaped UTF-8, inside the document
  Result<JsonArray> as_array() const;
  Result<JsonObject> as_object() const;

  // Members of this object. `find` is empty when there is none (or this is no object); the others are required.
  std::optional<JsonValue> find(std::string_view key) const;
  Result<JsonValue> at(std::string_view key) const;
  template <class... Keys>
  Result<JsonValue> at(std::string_view key, std::string_view next, Keys... more) const {
    EDGEC_TRY(JsonValue value, at(key));
    return value.at(next, more...);
  }
  Result<bool> boolean(std::string_view key) const;
  Result<int64_t> integer(std::string_view key) const;
  Result<double> number(std::string_view key) const;
  Result<std::string_view> string(std::string_view key) const;
  Result<JsonArray> array(std::string_view key) const;
  Result<JsonObject> object(std::string_view key) const;

  // The one member of an object that must have exactly one (tagged unions: {"as_tensor": {...}}).
  Result<std::pair<std::string_view, JsonValue>> only_member() const;

  std::string path() const;                                 // graph_module.graph.nodes[3].target; empty for the root
  Failure error(std::string_view what) const;               // kind Input: "<document>: <path>: <what>"
  Failure expected(std::string_view what) const;            // error("expected <what>, found a number")
  bool operator==(const JsonValue& other) const = default;  // the same place in the same document

 private:
  friend class JsonDocument;
  friend class JsonArray;
  friend class JsonObject;
  struct State;  // owned by the document
  // The tape is simdjson's documented format: the top byte of a word is the type, the rest the payload.
  struct View {
    const uint64_t* tape;
    const uint8_t* strings;
    State* state;
  };
  JsonValue(const View* view, size_t at) : view_(view), at_(at) {}
  uint64_t word(size_t i) const { return view_->tape[i]; }
  char tag() const { return static_cast<char>(word(at_) >> 56); }
  size_t after() const {  // index of the element behind this one
    switch (tag()) {
      case '[':
      case '{':
        return static_cast<uint32_t>(word(at_));
      case 'l':
      case 'u':
      case 'd':
        return at_ + 2;
      default:
        return at_ + 1;
    }
  }
  std::string_view text() const {  // of a string or a key
    const uint8_t* p = view_->strings + (word(at_) & 0x00ffffffffffffffu);
    uint32_t size;
    std::memcpy(&size, p, sizeof size);
    return {reinterpret_cast<const char*>(p) + sizeof size, size};
  }

  const View* view_;
  size_t at_;
};

// The elements of an array, in order.
class JsonArray {
 public:
  class iterator {
   public:
    JsonValue operator*() const { return value_; }
    iterator& operator++() {
      value_.at_ = value_.after();
      return *this;
    }
    bool operator==(const iterator&) const = default;

   private:
    friend class JsonArray;
    explicit iterator(JsonValue value) : value_(value) {}
    JsonValue value_;
  };
  iterator begin() const { return iterator({value_.view_, value_.at_ + 1}); }
  iterator end() const { return iterator({value_.view_, value_.after() - 1}); }
  bool empty() const { return begin() == end(); }
  size_t size() const;  // constant time up to 16,777,214 elements
  JsonValue value() const { return value_; }

 private:
  friend class JsonValue;
  explicit JsonArray(JsonValue value) : value_(value) {}
  JsonValue value_;
};

// The members of an object, in the file's order: `for (auto [key, value] : object)`.
class JsonObject {
 public:
  struct Member {
    std::string_view key;
    JsonValue value;
  };
  class iterator {
   public:
    Member operator*() const { return {key_.text(), {key_.view_, key_.at_ + 1}}; }
    iterator& operator++() {
      key_.at_ = JsonValue(key_.view_, key_.at_ + 1).after();
      return *this;
    }
    bool operator==(const iterator&) const = default;

   private:
    friend class JsonObject;
    explicit iterator(JsonValue key) : key_(key) {}
    JsonValue key_;
  };
  iterator begin() const { return iterator({value_.view_, value_.at_ + 1}); }
  iterator end() const { return iterator({value_.view_, value_.after() - 1}); }
  bool empty() const { return begin() == end(); }
  size_t size() const;  // constant time up to 16,777,214 members
  JsonValue value() const { return value_; }

 private:
  friend class JsonValue;
  explicit JsonObject(JsonValue value) : value_(value) {}
  JsonValue value_;
};

class JsonDocument {
 public:
  // `name` is what errors call the document. The bytes are not needed afterwards.
  static Result<JsonDocument> parse(std::span<const std::byte> bytes, std::string name, JsonOptions options = {});
  static Result<JsonDocument> parse(std::string_view text, std::string name, JsonOptions options = {});
  JsonDocument(JsonDocument&&) noexcept;
  JsonDocument& operator=(JsonDocument&&) noexcept;
  ~JsonDocument();

  JsonValue root() const;
  const std::string& name() const;

 private:
  explicit JsonDocument(std::unique_ptr<JsonValue::State> state);
  std::unique_ptr<JsonValue::State> state_;
};

}  // namespace edgec
