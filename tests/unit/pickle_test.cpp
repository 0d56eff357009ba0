#include "pt2/pickle.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "unit/pickle_bytes.h"

using namespace edgec;
using namespace edgec::pt2;
using namespace edgec::testing;
using namespace edgec::testing::pickled;

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

namespace {

// The failure of reading, or "read".
std::string refusal(const std::string& bytes, ErrorKind kind = ErrorKind::Input, PickleLimits limits = {}) {
  auto p = Pickle::read(as_bytes(bytes), "m.pkl", limits);
  if (p) return "read";
  EXPECT_EQ(p.failure().kind, kind) << p.failure().message;
  EXPECT_TRUE(p.failure().message.starts_with("m.pkl: pickle")) << p.failure().message;
  return p.failure().message;
}
std::string refusal_of(const std::string& value, ErrorKind kind = ErrorKind::Input) { return refusal(pickle(value), kind); }

}  // namespace

TEST(Pickle, ReadsEveryKindOfValue) {
  const std::string bytes =
      pickle(dict({{"none", none},
                   {"yes", yes},
                   {"no", no},
                   {"byte", "K\xff"},
                   {"short", "M\x01\x80"},
                   {"negative", "J" + number(0xfffffffeu, 4)},
                   {"long", op(0x8a) + op(5) + number(uint64_t{1} << 33, 5)},
                   {"minus", op(0x8a) + op(1) + "\xff"},
                   {"zero", op(0x8a) + op(0)},
                   {"real", std::string("G\x3f\xf8\0\0\0\0\0\0", 9)},
                   {"bytes", std::string("B\3\0\0\0a\0b", 8)},
                   {"list", "](" + integer(1) + integer(2) + "e" + integer(3) + "a"},
                   {"tuples", tuple({")", integer(1) + "\x85", integer(1) + integer(2) + "\x86", none + none + none + "\x87"})},
                   {"object", global("m", "f") + ")\x81" + dict({{"x", integer(7)}}) + "b"},
                   {"ordered", ordered_dict + str("k") + integer(1) + "s"},
                   {"stored", str("key") + "Q"}}));
  auto p = Pickle::read(as_bytes(bytes), "m.pkl");
  ASSERT_TRUE(p) << p.failure().message;
  const PickleValue root = p->root();
  ASSERT_EQ(root.entry_count(), 16u);
  EXPECT_TRUE(root.find("none")->is(PickleKind::None));
  EXPECT_EQ(*root.find("yes")->as_bool(), true);
  EXPECT_EQ(*root.find("no")->as_bool(), false);
  EXPECT_EQ(*root.find("byte")->as_int(), 255);
  EXPECT_EQ(*root.find("short")->as_int(), 0x8001);
  EXPECT_EQ(*root.find("negative")->as_int(), -2);
  EXPECT_EQ(*root.find("long")->as_int(), int64_t{1} << 33);
  EXPECT_EQ(*root.find("minus")->as_int(), -1);
  EXPECT_EQ(*root.find("zero")->as_int(), 0);
  EXPECT_EQ(*root.find("real")->as_float(), 1.5);
  EXPECT_TRUE(root.find("bytes")->is(PickleKind::Bytes));
  ASSERT_EQ(root.find("list")->size(), 3u);
  EXPECT_EQ(*(*root.find("list"))[2].as_int(), 3);
  ASSERT_EQ(root.find("tuples")->size(), 4u);
  EXPECT_EQ((*root.find("tuples"))[3].size(), 3u);
  const PickleValue object = *root.find("object");
  EXPECT_EQ(object.global(), "m.f");
  EXPECT_EQ(object.args().size(), 0u);
  EXPECT_EQ(*object.state()->find("x")->as_int(), 7);
  EXPECT_FALSE(root.find("ordered")->state());
  EXPECT_EQ(*root.find("ordered")->find("k")->as_int(), 1);
  EXPECT_EQ(*root.find("stored")->id().as_string(), "key");
  EXPECT_FALSE(root.find("missing"));
  EXPECT_HAS(root.find("list")->as_int().failure().message, "m.pkl: pickle: expected an integer, found a list");
}

TEST(Pickle, ReadsProtocolsTwoToFive) {
  for (int protocol : {2, 3, 4, 5}) EXPECT_EQ(refusal(pickle("N", protocol)), "read");
  // {"a": m.f, "b": m.f}, as protocol 4 writes it: framed, remembered in order.
  const std::string body = "}" + op(0x94) + "(" + op(0x8c) + op(1) + "a" + op(0x94) + op(0x8c) + op(1) + "m" + op(0x94) + op(0x8c) + op(1) +
                           "f" + op(0x94) + op(0x93) + op(0x94) + op(0x8c) + op(1) + "b" + op(0x94) + "h" + op(4) + "u.";
  const std::string bytes = op(0x80) + op(4) + op(0x95) + number(body.size(), 8) + body;
  auto p = Pickle::read(as_bytes(bytes), "m.pkl");
  ASSERT_TRUE(p) << p.failure().message;
  EXPECT_EQ(p->root().find("a")->global(), "m.f");
  EXPECT_EQ(*p->root().find("a"), *p->root().find("b"));
}

TEST(Pickle, NamesOpcodesThatItDoesNotRead) {
  const std::pair<int, const char*> refused[] = {
      {'I', "INT"},      {'L', "LONG"}, {0x8b, "LONG4"},     {'S', "STRING"},     {'T', "BINSTRING"},   {'V', "UNICODE"},
      {'F', "FLOAT"},    {'l', "LIST"}, {'d', "DICT"},       {0x8f, "EMPTY_SET"}, {0x91, "FROZENSET"},  {'0', "POP"},
      {'1', "POP_MARK"}, {'2', "DUP"},  {'g', "GET"},        {'p', "PUT"},        {0x82, "EXT1"},       {0x84, "EXT4"},
      {'i', "INST"},     {'o', "OBJ"},  {0x92, "NEWOBJ_EX"}, {'P', "PERSID"},     {0x96, "BYTEARRAY8"}, {0x97, "NEXT_BUFFER"}};
  for (const auto& [code, name] : refused)
    EXPECT_HAS(refusal_of(none + op(code), ErrorKind::Model), fmt::format("byte 3: opcode {} is not supported", name));
  EXPECT_HAS(refusal_of(op(0xff)), "byte 2: 0xff is no opcode");
  EXPECT_HAS(refusal_of(op(0)), "0x00 is no opcode");
}

TEST(Pickle, RefusesEveryCut) {
  const std::string whole = pickle(dict({{"t", tensor(storage("FloatStorage", "0", 4), 0, {2, 2}, {2, 1})}}));
  ASSERT_EQ(refusal(whole), "read");
  for (size_t n = 0; n < whole.size(); ++n) EXPECT_NE(refusal(whole.substr(0, n)), "read") << n;
  EXPECT_HAS(refusal(whole + "N"), "1 bytes behind its end");
}

TEST(Pickle, RefusesLengthsBeyondItsBytes) {
  EXPECT_HAS(refusal_of("X" + number(0xffffffffu, 4) + "abc"), "4294967295 bytes are announced, 4 are left");
  EXPECT_HAS(refusal_of(op(0x8d) + number(~uint64_t{0}, 8)), "18446744073709551615 bytes are announced");
  EXPECT_HAS(refusal_of(op(0x8e) + number(uint64_t{1} << 63, 8)), "are announced");
  EXPECT_HAS(refusal_of(op(0x95) + number(uint64_t{1} << 62, 8)), "a frame of 4611686018427387904 bytes");
  EXPECT_HAS(refusal_of(op(0x8a) + op(255) + std::string(255, 'x')), "an integer of 255 bytes is too large");
  EXPECT_HAS(refusal(pickle(str(std::string(101, 'x'))), ErrorKind::Input, {.max_string = 100}), "more than 100 bytes in a string");
  EXPECT_HAS(refusal(pickle(global(std::string(101, 'x'), "y")), ErrorKind::Input, {.max_string = 100}), "a name has no end");
}

TEST(Pickle, LimitsDepth) {
  const auto nested = [](int depth) {
    std::string out = ")";
    for (int i = 1; i < depth; ++i) out += "\x85";
    return out;
  };
  EXPECT_EQ(refusal_of(nested(64)), "read");
  EXPECT_HAS(refusal_of(nested(65)), "nested more than 64 deep");
  EXPECT_HAS(refusal_of(std::string(100000, '(')), "values are left");
  EXPECT_HAS(refusal_of(std::string(100000, ']') + std::string(99999, 'a')), "nested more than 64 deep");
  std::string states = global("m", "f") + ")R";
  for (int i = 0; i < 100; ++i) states = global("m", "f") + ")R" + states + "b";
  EXPECT_HAS(refusal_of(states), "nested more than 64 deep");
}

TEST(Pickle, LimitsValuesMembersAndMemo) {
  EXPECT_HAS(refusal(pickle("](" + std::string(100, 'N') + "e"), ErrorKind::Input, {.max_nodes = 50}), "more than 50 values");
  EXPECT_HAS(refusal_of("N(hh"), "value 104 is used but was never remembered");
  std::string uses = "Nq" + op(0) + "(";
  for (int i = 0; i < 100; ++i) uses += "h" + op(0);
  EXPECT_EQ(refusal_of(uses + "t\x86"), "read");
  EXPECT_HAS(refusal(pickle(uses + "t\x86"), ErrorKind::Input, {.max_references = 50}), "more than 50 members");
  EXPECT_HAS(refusal(pickle(std::string(60, '(')), ErrorKind::Input, {.max_references = 50}), "more than 50 members");
  std::string puts = "N";
  for (uint64_t i = 0; i < 100; ++i) puts += "r" + number(i * 40000000, 4);
  EXPECT_EQ(refusal_of(puts), "read");  // far apart, but only as many as there are
  EXPECT_HAS(refusal(pickle(puts), ErrorKind::Input, {.max_memo = 50}), "more than 50 remembered values");
}

// Each level holds the one below twice: 2^60 paths, read and walked in no time.
TEST(Pickle, SharesRememberedValues) {
  std::string bomb = "Nq" + op(0);
  for (int i = 0; i < 60; ++i) bomb += "h" + op(i) + "\x86q" + op(i + 1);
  auto bytes = pickle(bomb);
  auto p = Pickle::read(as_bytes(bytes), "m.pkl");
  ASSERT_TRUE(p) << p.failure().message;
  EXPECT_EQ(p->count(), 61u);
  EXPECT_EQ(p->root()[0], p->root()[1]);
}

TEST(Pickle, RefusesCycles) {
  EXPECT_HAS(refusal_of("]q" + op(0) + "h" + op(0) + "a"), "a cycle");
  EXPECT_HAS(refusal_of("}q" + op(0) + str("self") + "h" + op(0) + "s"), "a cycle");
  EXPECT_HAS(refusal_of("]q" + op(0) + "h" + op(0) + "\x85" + "a"), "a cycle");
  EXPECT_HAS(refusal_of(global("m", "f") + ")Rq" + op(0) + "h" + op(0) + "\x85" + "b"), "a cycle");
  // A list that grows after a tuple took it.
  EXPECT_HAS(refusal_of("]q" + op(0) + "\x85" + "h" + op(0) + "Na\x86"), "a cycle");
}

TEST(Pickle, CallsOnlyNames) {
  EXPECT_HAS(refusal_of(str("os.system") + tuple({str("id")}) + "R"), "REDUCE calls a string, not a global");
  EXPECT_HAS(refusal_of(global("m", "f") + ")R)R"), "REDUCE calls an object, not a global");
  EXPECT_HAS(refusal_of("N)\x81"), "NEWOBJ calls None, not a global");
  EXPECT_HAS(refusal_of(global("m", "f") + str("x") + "R"), "REDUCE with a string for arguments");
  EXPECT_HAS(refusal_of(global("m", "f") + dict({{"x", none}}) + "b"), "BUILD on a name");
  EXPECT_HAS(refusal_of("]" + dict({{"x", none}}) + "b"), "BUILD on a list");
  EXPECT_HAS(refusal_of(global("m", "f") + ")RNbNb"), "BUILD twice");
}

TEST(Pickle, RefusesMisuseOfTheStack) {
  EXPECT_HAS(refusal_of(""), "0 values are left at its end");
  EXPECT_HAS(refusal_of("NN"), "2 values are left at its end");
  EXPECT_HAS(refusal_of("N("), "values are left at its end");
  EXPECT_HAS(refusal_of("t"), "TUPLE without MARK");
  EXPECT_HAS(refusal_of("e"), "APPENDS without MARK");
  EXPECT_HAS(refusal_of("u"), "SETITEMS without MARK");
  EXPECT_HAS(refusal_of("\x85"), "TUPLE1 needs more values");
  EXPECT_HAS(refusal_of("N(\x85"), "TUPLE1 needs more values");  // not those below a mark
  EXPECT_HAS(refusal_of("N(b"), "BUILD needs more values");
  EXPECT_HAS(refusal_of("(Ne"), "APPENDS needs a value");
  EXPECT_HAS(refusal_of("q" + op(0)), "BINPUT needs a value");
  EXPECT_HAS(refusal_of("Q"), "BINPERSID needs more values");
  EXPECT_HAS(refusal_of("}Na"), "APPEND on a dict");
  EXPECT_HAS(refusal_of(")Na"), "APPEND on a tuple");
  EXPECT_HAS(refusal_of("]NNs"), "SETITEM on a list");
  EXPECT_HAS(refusal_of("}(NNNu"), "a key that has no value");
  EXPECT_HAS(refusal_of("NN" + op(0x93)), "STACK_GLOBAL wants two strings");
  EXPECT_HAS(refusal_of("j" + number(7, 4)), "value 7 is used but was never remembered");
}

TEST(Pickle, RefusesOtherProtocolsAndBadText) {
  EXPECT_HAS(refusal("]."), "not a pickle of protocol 2");
  EXPECT_HAS(refusal(""), "not a pickle");
  EXPECT_HAS(refusal(pickle("N", 1), ErrorKind::Model), "protocol 1 is not supported");
  EXPECT_HAS(refusal(pickle("N", 6), ErrorKind::Model), "protocol 6 is not supported");
  EXPECT_HAS(refusal_of(op(0x80) + op(2) + "N"), "PROTO within the pickle");
  EXPECT_HAS(refusal_of(str("\xff\xfe")), "a string is not UTF-8");
  EXPECT_HAS(refusal_of(global("\xff", "f")), "a name is not UTF-8");
  EXPECT_HAS(refusal_of(global("", "f")), "a global without a name");
  EXPECT_HAS(refusal_of("cmodule"), "a name has no end");
}
