#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <edgec/result.h>

namespace edgec::pt2 {

// Python's pickle format read as data: the pickle's instructions build a tree of values and nothing is executed, no
// name is looked up. What would call or import something becomes a value that says so: a Global is a name, an Object is
// "callable applied to arguments". Whether a name means anything is for the reader of the tree to say.
//
// Read are the opcodes that Python writes in protocols 2 to 5 for such values; any other one is a failure of kind Model
// that names it, damage is one of kind Input. The tree has no cycles (a container cannot change once it is inside
// another), but values may be shared: a walk over all paths could take exponential time, one over `all()` does not.

enum class PickleKind : uint8_t {
  None,
  Bool,
  Int,
  Float,
  String,
  Bytes,
  Tuple,
  List,
  Dict,
  Global,       // a name: "collections.OrderedDict"
  Object,       // a Global called with a Tuple; then perhaps a state (BUILD), and members as of a dict
  PersistentId  // a value that tells where the real one is stored
};
const char* name_of(PickleKind kind);  // "None", "a bool", "a string", ... for messages

struct PickleLimits {
  size_t max_nodes = 1 << 20;        // values
  size_t max_references = 16 << 20;  // members of containers, and uses of remembered values
  size_t max_memo = 1 << 20;         // remembered values
  size_t max_string = 1 << 20;       // bytes of a string or a name
  uint32_t max_depth = 64;           // values within values: readers may recurse
};

class Pickle;

// A value: two words that point into its Pickle, which must outlive it (moving the Pickle is fine).
class PickleValue {
 public:
  PickleKind kind() const;
  bool is(PickleKind k) const { return kind() == k; }

  // This value as a type, or a failure.
  Result<bool> as_bool() const;
  Result<int64_t> as_int() const;
  Result<double> as_float() const;
  Result<std::string_view> as_string() const;

  // A tuple's or list's members (0 for others), in order.
  size_t size() const;
  PickleValue operator[](size_t i) const;
  // A dict's members, or those that were set on an object.
  size_t entry_count() const;
  std::pair<PickleValue, PickleValue> entry(size_t i) const;
  std::optional<PickleValue> find(std::string_view key) const;  // of equal keys the last one, as in Python

  std::string global() const;  // "module.name" of a Global, or of the one that an Object calls; else empty
  // An object's parts.
  PickleValue callable() const;  // a Global
  PickleValue args() const;      // a Tuple
  std::optional<PickleValue> state() const;
  PickleValue id() const;  // what a PersistentId holds

  Failure error(std::string_view what) const;     // kind Input: "<name>: pickle: <what>"
  Failure expected(std::string_view what) const;  // error("expected <what>, found a string")
  bool operator==(const PickleValue& other) const = default;

 private:
  friend class Pickle;
  struct Tree;  // owned by the Pickle
  struct Node;
  class Builder;
  PickleValue(const Tree* tree, uint32_t at) : tree_(tree), at_(at) {}
  const Node& node() const;

  const Tree* tree_;
  uint32_t at_;
};

class Pickle {
 public:
  // `name` is what errors call the pickle. Strings stay in `bytes`, which must outlive the Pickle.
  static Result<Pickle> read(std::span<const std::byte> bytes, std::string name, PickleLimits limits = {});
  Pickle(Pickle&&) noexcept;
  Pickle& operator=(Pickle&&) noexcept;
  ~Pickle();

  PickleValue root() const;
  // Every value of the pickle once, those included that the root does not reach.
  size_t count() const;
  PickleValue all(size_t i) const;
  const std::string& name() const;

 private:
  explicit Pickle(std::unique_ptr<PickleValue::Tree> tree);
  std::unique_ptr<PickleValue::Tree> tree_;
};

// Names come from the file: shown without control characters and not endlessly.
std::string shown(std::string_view text);

}  // namespace edgec::pt2
