#include "pt2/pickle.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <bit>
#include <unordered_map>
#include <vector>

#include "support/assert.h"

namespace edgec::pt2 {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

// Python's names of all opcodes (pickletools), for messages.
const char* opcode_name(uint8_t op) {
  switch (op) {
#define OP(code, name) \
  case code:           \
    return name;
    // clang-format off
    OP('I', "INT") OP('J', "BININT") OP('K', "BININT1") OP('M', "BININT2") OP('L', "LONG") OP(0x8a, "LONG1")
    OP(0x8b, "LONG4") OP('S', "STRING") OP('T', "BINSTRING") OP('U', "SHORT_BINSTRING") OP('B', "BINBYTES")
    OP('C', "SHORT_BINBYTES") OP(0x8e, "BINBYTES8") OP(0x96, "BYTEARRAY8") OP(0x97, "NEXT_BUFFER")
    OP(0x98, "READONLY_BUFFER") OP('N', "NONE") OP(0x88, "NEWTRUE") OP(0x89, "NEWFALSE") OP('V', "UNICODE")
    OP(0x8c, "SHORT_BINUNICODE") OP('X', "BINUNICODE") OP(0x8d, "BINUNICODE8") OP('F', "FLOAT") OP('G', "BINFLOAT")
    OP(']', "EMPTY_LIST") OP('a', "APPEND") OP('e', "APPENDS") OP('l', "LIST") OP(')', "EMPTY_TUPLE") OP('t', "TUPLE")
    OP(0x85, "TUPLE1") OP(0x86, "TUPLE2") OP(0x87, "TUPLE3") OP('}', "EMPTY_DICT") OP('d', "DICT") OP('s', "SETITEM")
    OP('u', "SETITEMS") OP(0x8f, "EMPTY_SET") OP(0x90, "ADDITEMS") OP(0x91, "FROZENSET") OP('0', "POP") OP('2', "DUP")
    OP('(', "MARK") OP('1', "POP_MARK") OP('g', "GET") OP('h', "BINGET") OP('j', "LONG_BINGET") OP('p', "PUT")
    OP('q', "BINPUT") OP('r', "LONG_BINPUT") OP(0x94, "MEMOIZE") OP(0x82, "EXT1") OP(0x83, "EXT2") OP(0x84, "EXT4")
    OP('c', "GLOBAL") OP(0x93, "STACK_GLOBAL") OP('R', "REDUCE") OP('b', "BUILD") OP('i', "INST") OP('o', "OBJ")
    OP(0x81, "NEWOBJ") OP(0x92, "NEWOBJ_EX") OP(0x80, "PROTO") OP('.', "STOP") OP(0x95, "FRAME") OP('P', "PERSID")
    OP('Q', "BINPERSID")
// clang-format on
#undef OP
                                                        default : return nullptr;
  }
}

}  // namespace

const char* name_of(PickleKind kind) {
  switch (kind) {
    case PickleKind::None:
      return "None";
    case PickleKind::Bool:
      return "a bool";
    case PickleKind::Int:
      return "an integer";
    case PickleKind::Float:
      return "a float";
    case PickleKind::String:
      return "a string";
    case PickleKind::Bytes:
      return "bytes";
    case PickleKind::Tuple:
      return "a tuple";
    case PickleKind::List:
      return "a list";
    case PickleKind::Dict:
      return "a dict";
    case PickleKind::Global:
      return "a name";
    case PickleKind::Object:
      return "an object";
    case PickleKind::PersistentId:
      return "a persistent id";
  }
  return "?";
}

std::string shown(std::string_view text) {
  std::string out;
  for (char c : text.substr(0, 200)) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  while (!out.empty() && !simdjson::validate_utf8(out)) out.pop_back();  // cut within a character
  return text.size() > 200 ? out + "..." : out;
}

struct PickleValue::Node {
  PickleKind kind = PickleKind::None;
  bool inside = false;               // another value holds it: it cannot change any more
  uint32_t depth = 1;                // 1 + the largest of its members
  uint32_t state = kNone;            // of an object
  int64_t integer = 0;               // Int, Bool
  double number = 0;                 // Float
  std::string_view text;             // String, Bytes; module of a Global
  std::string_view attr = {};        // name of a Global
  std::vector<uint32_t> items = {};  // Tuple, List; Dict: key, value, key, ...; Object: callable, args, key, value, ...
};

struct PickleValue::Tree {
  std::string name;
  std::vector<Node> nodes;
  uint32_t root = 0;
};

// The stack machine of Python's unpickler, with values in place of actions.
class PickleValue::Builder {
 public:
  Builder(std::span<const std::byte> bytes, PickleLimits limits, Tree& tree) : bytes_(bytes), limits_(limits), tree_(tree) {}

  Status run() {
    if (bytes_.size() < 2 || byte(0) != 0x80) return damaged("not a pickle of protocol 2 or later");
    for (;;) {
      op_at_ = at_;
      if (at_ == bytes_.size()) return damaged("it ends without STOP");
      const uint8_t op = byte(at_++);
      if (op == '.') return stop();
      EDGEC_TRY_VOID(step(op));
    }
  }

 private:
  Status step(uint8_t op) {
    switch (op) {
      case 0x80:
        return protocol();
      case 0x95:
        return frame();
      case '(':
        marks_.push_back(stack_.size());
        return count_reference();
      case 'N':
        return push({});
      case 0x88:
      case 0x89:
        return push({.kind = PickleKind::Bool, .integer = op == 0x88, .text = {}});
      case 'J':
        return integer(4, true);
      case 'K':
        return integer(1, false);
      case 'M':
        return integer(2, false);
      case 0x8a:
        return long_integer();
      case 'G':
        return floating();
      case 'X':
        return text(PickleKind::String, 4);
      case 0x8c:
        return text(PickleKind::String, 1);
      case 0x8d:
        return text(PickleKind::String, 8);
      case 'B':
        return text(PickleKind::Bytes, 4);
      case 'C':
        return text(PickleKind::Bytes, 1);
      case 0x8e:
        return text(PickleKind::Bytes, 8);
      case ')':
        return push({.kind = PickleKind::Tuple, .text = {}});
      case ']':
        return push({.kind = PickleKind::List, .text = {}});
      case '}':
        return push({.kind = PickleKind::Dict, .text = {}});
      case 0x85:
      case 0x86:
      case 0x87:
        return tuple(op - 0x84u);
      case 't':
        return marked_tuple();
      case 'a':
        return append(1);
      case 'e':
        return append_marked();
      case 's':
        return set_items(2);
      case 'u':
        return set_marked_items();
      case 'c':
        return global();
      case 0x93:
        return stack_global();
      case 'R':
      case 0x81:
        return call();
      case 'b':
        return build();
      case 'Q':
        return persistent_id();
      case 'q':
        return put(1);
      case 'r':
        return put(4);
      case 0x94:
        return remember(memo_.size());
      case 'h':
        return get(1);
      case 'j':
        return get(4);
      default:
        break;
    }
    if (const char* name = opcode_name(op))
      return model_error(fmt::format("{}: pickle, byte {}: opcode {} is not supported", tree_.name, op_at_, name));
    return damaged(fmt::format("0x{:02x} is no opcode", op));
  }

  // ---- bytes ------------------------------------------------------------------------------------------------------

  uint8_t byte(size_t i) const { return std::to_integer<uint8_t>(bytes_[i]); }
  size_t left() const { return bytes_.size() - at_; }

  Failure damaged(std::string_view what) const { return input_error(fmt::format("{}: pickle, byte {}: {}", tree_.name, op_at_, what)); }
  Failure too_much(std::string_view what, size_t limit) const {
    return damaged(fmt::format("more than {} {}, which no exported model needs", limit, what));
  }

  Result<uint64_t> little(size_t width) {
    if (left() < width) return damaged("cut short");
    uint64_t v = 0;
    for (size_t i = width; i-- > 0;) v = v << 8 | byte(at_ + i);
    at_ += width;
    return v;
  }

  Result<std::string_view> take(uint64_t size) {
    if (size > left()) return damaged(fmt::format("cut short: {} bytes are announced, {} are left", size, left()));
    if (size > limits_.max_string) return too_much("bytes in a string", limits_.max_string);
    const std::string_view t(reinterpret_cast<const char*>(bytes_.data()) + at_, static_cast<size_t>(size));
    at_ += static_cast<size_t>(size);
    return t;
  }

  Result<std::string_view> line() {
    const std::string_view rest(reinterpret_cast<const char*>(bytes_.data()) + at_, std::min(left(), limits_.max_string));
    const size_t end = rest.find('\n');
    if (end == rest.npos) return damaged("a name has no end");
    at_ += end + 1;
    return rest.substr(0, end);
  }

  // ---- the stack --------------------------------------------------------------------------------------------------

  Status count_reference() {
    if (++references_ > limits_.max_references) return too_much("members", limits_.max_references);
    return {};
  }

  Status push(Node node) {
    if (tree_.nodes.size() >= limits_.max_nodes) return too_much("values", limits_.max_nodes);
    tree_.nodes.push_back(std::move(node));
    stack_.push_back(static_cast<uint32_t>(tree_.nodes.size() - 1));
    return count_reference();
  }

  // What may be popped: values above the last mark.
  size_t available() const { return stack_.size() - (marks_.empty() ? 0 : marks_.back()); }

  // The top `count` values come off the stack; they are inside of something from now on.
  Result<std::vector<uint32_t>> pop(size_t count) {
    if (available() < count) return damaged(fmt::format("{} needs more values", opcode_name(byte(op_at_))));
    std::vector<uint32_t> out(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    for (uint32_t i : out) tree_.nodes[i].inside = true;
    references_ += count;
    if (references_ > limits_.max_references) return too_much("members", limits_.max_references);
    return out;
  }

  Result<size_t> pop_mark() {
    if (marks_.empty()) return damaged(fmt::format("{} without MARK", opcode_name(byte(op_at_))));
    const size_t count = stack_.size() - marks_.back();
    marks_.pop_back();
    return count;
  }

  Result<uint32_t> top() const {
    if (available() < 1) return damaged(fmt::format("{} needs a value", opcode_name(byte(op_at_))));
    return stack_.back();
  }

  // The container on top of the stack, which is about to change.
  Result<uint32_t> open_container() const {
    EDGEC_TRY(uint32_t i, top());
    if (tree_.nodes[i].inside) return damaged("a container changes while another value holds it (a cycle), which is not supported");
    return i;
  }

  Status hold(uint32_t container, std::span<const uint32_t> members) {
    Node& n = tree_.nodes[container];
    for (uint32_t m : members) n.depth = std::max(n.depth, tree_.nodes[m].depth + 1);
    if (n.depth > limits_.max_depth) return damaged(fmt::format("values are nested more than {} deep", limits_.max_depth));
    return {};
  }

  Status add(uint32_t container, std::span<const uint32_t> members) {
    auto& items = tree_.nodes[container].items;
    items.insert(items.end(), members.begin(), members.end());
    return hold(container, members);
  }

  Status push_with(PickleKind kind, std::vector<uint32_t> items) {
    EDGEC_TRY_VOID(push({.kind = kind, .text = {}}));
    return add(stack_.back(), items);
  }

  // ---- opcodes ----------------------------------------------------------------------------------------------------

  Status protocol() {
    EDGEC_TRY(uint64_t version, little(1));
    if (op_at_ != 0) return damaged("PROTO within the pickle");
    if (version < 2 || version > 5)
      return model_error(fmt::format("{}: pickle protocol {} is not supported (2 to 5 are)", tree_.name, version));
    return {};
  }

  Status frame() {
    EDGEC_TRY(uint64_t size, little(8));
    if (size > left()) return damaged(fmt::format("cut short: a frame of {} bytes, {} are left", size, left()));
    return {};
  }

  Status stop() {
    if (!marks_.empty() || stack_.size() != 1) return damaged(fmt::format("{} values are left at its end, not one", stack_.size()));
    if (left() != 0) return damaged(fmt::format("{} bytes behind its end", left()));
    tree_.root = stack_[0];
    return {};
  }

  Status integer(size_t width, bool is_signed) {
    EDGEC_TRY(uint64_t v, little(width));
    const int64_t value = is_signed ? static_cast<int32_t>(static_cast<uint32_t>(v)) : static_cast<int64_t>(v);
    return push({.kind = PickleKind::Int, .integer = value, .text = {}});
  }

  Status long_integer() {
    EDGEC_TRY(uint64_t width, little(1));
    if (width > 8) return damaged(fmt::format("an integer of {} bytes is too large", width));
    EDGEC_TRY(uint64_t v, little(static_cast<size_t>(width)));
    if (width > 0 && width < 8 && (v >> (8 * width - 1) & 1)) v |= ~uint64_t{0} << (8 * width);
    return push({.kind = PickleKind::Int, .integer = static_cast<int64_t>(v), .text = {}});
  }

  Status floating() {
    if (left() < 8) return damaged("cut short");
    uint64_t v = 0;
    for (size_t i = 0; i < 8; ++i) v = v << 8 | byte(at_ + i);
    at_ += 8;
    return push({.kind = PickleKind::Float, .number = std::bit_cast<double>(v), .text = {}});
  }

  Status text(PickleKind kind, size_t width) {
    EDGEC_TRY(uint64_t size, little(width));
    EDGEC_TRY(std::string_view t, take(size));
    if (kind == PickleKind::String && !simdjson::validate_utf8(t)) return damaged("a string is not UTF-8");
    return push({.kind = kind, .text = t});
  }

  Status tuple(size_t size) {
    EDGEC_TRY(auto items, pop(size));
    return push_with(PickleKind::Tuple, std::move(items));
  }

  Status marked_tuple() {
    EDGEC_TRY(size_t count, pop_mark());
    return tuple(count);
  }

  Status append(size_t count) {
    EDGEC_TRY(auto items, pop(count));
    EDGEC_TRY(uint32_t list, open_container());
    if (tree_.nodes[list].kind != PickleKind::List) return damaged(fmt::format("APPEND on {}", name_of(tree_.nodes[list].kind)));
    return add(list, items);
  }

  Status append_marked() {
    EDGEC_TRY(size_t count, pop_mark());
    return append(count);
  }

  Status set_items(size_t count) {
    EDGEC_TRY(auto items, pop(count));
    EDGEC_TRY(uint32_t dict, open_container());
    const PickleKind kind = tree_.nodes[dict].kind;
    if (kind != PickleKind::Dict && kind != PickleKind::Object) return damaged(fmt::format("SETITEM on {}", name_of(kind)));
    return add(dict, items);
  }

  Status set_marked_items() {
    EDGEC_TRY(size_t count, pop_mark());
    if (count % 2) return damaged("SETITEMS with a key that has no value");
    return set_items(count);
  }

  Status push_global(std::string_view module, std::string_view name) {
    if (module.empty() || name.empty()) return damaged("a global without a name");
    if (!simdjson::validate_utf8(module) || !simdjson::validate_utf8(name)) return damaged("a name is not UTF-8");
    return push({.kind = PickleKind::Global, .text = module, .attr = name});
  }

  Status global() {
    EDGEC_TRY(std::string_view module, line());
    EDGEC_TRY(std::string_view name, line());
    return push_global(module, name);
  }

  Status stack_global() {
    EDGEC_TRY(auto items, pop(2));
    const Node &module = tree_.nodes[items[0]], &name = tree_.nodes[items[1]];
    if (module.kind != PickleKind::String || name.kind != PickleKind::String) return damaged("STACK_GLOBAL wants two strings");
    return push_global(module.text, name.text);
  }

  Status call() {
    EDGEC_TRY(auto items, pop(2));
    const char* op = opcode_name(byte(op_at_));
    if (tree_.nodes[items[0]].kind != PickleKind::Global)
      return damaged(fmt::format("{} calls {}, not a global", op, name_of(tree_.nodes[items[0]].kind)));
    if (tree_.nodes[items[1]].kind != PickleKind::Tuple)
      return damaged(fmt::format("{} with {} for arguments", op, name_of(tree_.nodes[items[1]].kind)));
    return push_with(PickleKind::Object, std::move(items));
  }

  Status build() {
    EDGEC_TRY(auto items, pop(1));
    EDGEC_TRY(uint32_t object, open_container());
    Node& n = tree_.nodes[object];
    if (n.kind != PickleKind::Object) return damaged(fmt::format("BUILD on {}", name_of(n.kind)));
    if (n.state != kNone) return damaged("BUILD twice on one object");
    n.state = items[0];
    return hold(object, items);
  }

  Status persistent_id() {
    EDGEC_TRY(auto items, pop(1));
    return push_with(PickleKind::PersistentId, std::move(items));
  }

  // ---- the memo ---------------------------------------------------------------------------------------------------

  Status put(size_t width) {
    EDGEC_TRY(uint64_t index, little(width));
    return remember(index);
  }

  Status remember(uint64_t index) {
    EDGEC_TRY(uint32_t value, top());
    memo_[index] = value;
    if (memo_.size() > limits_.max_memo) return too_much("remembered values", limits_.max_memo);
    return {};
  }

  Status get(size_t width) {
    EDGEC_TRY(uint64_t index, little(width));
    auto it = memo_.find(index);
    if (it == memo_.end()) return damaged(fmt::format("value {} is used but was never remembered", index));
    stack_.push_back(it->second);
    return count_reference();
  }

  std::span<const std::byte> bytes_;
  PickleLimits limits_;
  Tree& tree_;
  size_t at_ = 0, op_at_ = 0, references_ = 0;
  std::vector<uint32_t> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint64_t, uint32_t> memo_;
};

// ---- values ---------------------------------------------------------------------------------------------------------

const PickleValue::Node& PickleValue::node() const { return tree_->nodes[at_]; }
PickleKind PickleValue::kind() const { return node().kind; }

Failure PickleValue::error(std::string_view what) const { return input_error(fmt::format("{}: pickle: {}", tree_->name, what)); }
Failure PickleValue::expected(std::string_view what) const { return error(fmt::format("expected {}, found {}", what, name_of(kind()))); }

Result<bool> PickleValue::as_bool() const {
  if (!is(PickleKind::Bool)) return expected("a bool");
  return node().integer != 0;
}
Result<int64_t> PickleValue::as_int() const {
  if (!is(PickleKind::Int)) return expected("an integer");
  return node().integer;
}
Result<double> PickleValue::as_float() const {
  if (!is(PickleKind::Float)) return expected("a float");
  return node().number;
}
Result<std::string_view> PickleValue::as_string() const {
  if (!is(PickleKind::String)) return expected("a string");
  return node().text;
}

size_t PickleValue::size() const { return is(PickleKind::Tuple) || is(PickleKind::List) ? node().items.size() : 0; }
PickleValue PickleValue::operator[](size_t i) const {
  EDGEC_ASSERT(i < size());
  return {tree_, node().items[i]};
}

// The members of a dict start at 0, those of an object behind its callable and arguments.
size_t PickleValue::entry_count() const {
  if (is(PickleKind::Dict)) return node().items.size() / 2;
  return is(PickleKind::Object) ? node().items.size() / 2 - 1 : 0;
}
std::pair<PickleValue, PickleValue> PickleValue::entry(size_t i) const {
  EDGEC_ASSERT(i < entry_count());
  const size_t at = 2 * i + (is(PickleKind::Object) ? 2 : 0);
  return {{tree_, node().items[at]}, {tree_, node().items[at + 1]}};
}
std::optional<PickleValue> PickleValue::find(std::string_view key) const {
  for (size_t i = entry_count(); i-- > 0;) {
    const auto [k, v] = entry(i);
    if (k.is(PickleKind::String) && k.node().text == key) return v;
  }
  return std::nullopt;
}

std::string PickleValue::global() const {
  if (is(PickleKind::Object)) return callable().global();
  if (!is(PickleKind::Global)) return {};
  return fmt::format("{}.{}", node().text, node().attr);
}
PickleValue PickleValue::callable() const {
  EDGEC_ASSERT(is(PickleKind::Object));
  return {tree_, node().items[0]};
}
PickleValue PickleValue::args() const {
  EDGEC_ASSERT(is(PickleKind::Object));
  return {tree_, node().items[1]};
}
std::optional<PickleValue> PickleValue::state() const {
  if (node().state == kNone) return std::nullopt;
  return PickleValue(tree_, node().state);
}
PickleValue PickleValue::id() const {
  EDGEC_ASSERT(is(PickleKind::PersistentId));
  return {tree_, node().items[0]};
}

Pickle::Pickle(std::unique_ptr<PickleValue::Tree> tree) : tree_(std::move(tree)) {}
Pickle::Pickle(Pickle&&) noexcept = default;
Pickle& Pickle::operator=(Pickle&&) noexcept = default;
Pickle::~Pickle() = default;

Result<Pickle> Pickle::read(std::span<const std::byte> bytes, std::string name, PickleLimits limits) {
  auto tree = std::make_unique<PickleValue::Tree>();
  tree->name = std::move(name);
  EDGEC_TRY_VOID(PickleValue::Builder(bytes, limits, *tree).run());
  return Pickle(std::move(tree));
}

PickleValue Pickle::root() const { return {tree_.get(), tree_->root}; }
size_t Pickle::count() const { return tree_->nodes.size(); }
PickleValue Pickle::all(size_t i) const { return {tree_.get(), static_cast<uint32_t>(i)}; }
const std::string& Pickle::name() const { return tree_->name; }

}  // namespace edgec::pt2
