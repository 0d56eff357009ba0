#include "support/json.h"

#include <gtest/gtest.h>

#include <vector>

using namespace edgec;

static JsonDocument parsed(std::string_view text) {
  auto doc = JsonDocument::parse(text, "m.json");
  EXPECT_TRUE(doc) << text;
  return *std::move(doc);
}
static std::string refusal(std::string_view text, JsonOptions options = {}) {
  auto doc = JsonDocument::parse(text, "m.json", options);
  return doc ? "parsed" : doc.failure().message;
}

TEST(Json, ReadsEveryKind) {
  auto doc = parsed(
      R"({"null": null, "yes": true, "no": false, "int": -7, "float": 2.5, "text": "a\u00e9\n\u0000b", "list": [1, "x"], "map": {"k": 1}})");
  JsonValue root = doc.root();
  EXPECT_TRUE(root.find("null")->is_null());
  EXPECT_TRUE(*root.boolean("yes"));
  EXPECT_FALSE(*root.boolean("no"));
  EXPECT_EQ(*root.integer("int"), -7);
  EXPECT_EQ(*root.number("int"), -7.0);
  EXPECT_EQ(*root.number("float"), 2.5);
  EXPECT_EQ(*root.string("text"), std::string_view("a\xc3\xa9\n\0b", 6));
  EXPECT_EQ(root.array("list")->size(), 2u);
  EXPECT_EQ(*root.at("map", "k")->as_int(), 1);
  std::vector<JsonKind> kinds;
  JsonObject members = *root.as_object();
  for (auto [key, value] : members) kinds.push_back(value.kind());
  EXPECT_EQ(kinds, (std::vector{JsonKind::Null, JsonKind::Bool, JsonKind::Bool, JsonKind::Int, JsonKind::Float, JsonKind::String,
                                JsonKind::Array, JsonKind::Object}));
  EXPECT_EQ(members.size(), 8u);
}

TEST(Json, WalksNestedValuesInOrder) {
  auto doc = parsed(R"([[1, [2, {"a": [3]}]], {}, [], 4.0, "x", 18446744073709551615, null])");
  JsonArray items = *doc.root().as_array();
  std::string kinds;
  for (JsonValue v : items) kinds += std::string(v.path()) + " " + name_of(v.kind()) + "; ";
  EXPECT_EQ(kinds, "[0] an array; [1] an object; [2] an array; [3] a float; [4] a string; [5] an integer; [6] null; ");
  EXPECT_EQ(items.size(), 7u);
  EXPECT_FALSE(items.empty());
}

TEST(Json, ErrorsNameThePath) {
  auto doc = parsed(
      R"({"graph_module": {"graph": {"nodes": [{"target": "a"}, {"target": 5}, {}], "b.weight": {"x": []}}}, "big": 9223372036854775808})");
  JsonValue root = doc.root();
  JsonArray nodes = *root.at("graph_module", "graph")->array("nodes");
  std::vector<std::string> messages;
  for (JsonValue node : nodes)
    if (auto target = node.string("target"); !target) messages.push_back(target.failure().message);
  EXPECT_EQ(messages, (std::vector<std::string>{"m.json: graph_module.graph.nodes[1].target: expected a string, found an integer",
                                                "m.json: graph_module.graph.nodes[2]: the member \"target\" is missing"}));
  EXPECT_EQ(root.at("graph_module", "graph", "b.weight")->integer("x").failure().message,
            "m.json: graph_module.graph[\"b.weight\"].x: expected an integer, found an array");
  EXPECT_EQ(root.as_array().failure().message, "m.json: expected an array, found an object");
  EXPECT_EQ(root.integer("big").failure().message, "m.json: big: the integer does not fit 64 bits with sign");
  EXPECT_EQ(root.at("big", "more").failure().message, "m.json: big: expected an object, found an integer");
  EXPECT_EQ(root.integer("big").failure().kind, ErrorKind::Input);
}

TEST(Json, OnlyMember) {
  auto doc = parsed(R"([{"as_int": 3}, {}, {"a": 1, "b": 2}, 7])");
  std::vector<std::string> seen;
  JsonArray items = *doc.root().as_array();
  for (JsonValue v : items) {
    auto one = v.only_member();
    seen.push_back(one ? std::string(one->first) : one.failure().message);
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"as_int", "m.json: [1]: expected an object with one member, it has 0",
                                            "m.json: [2]: expected an object with one member, it has 2",
                                            "m.json: [3]: expected an object with one member, found an integer"}));
}

TEST(Json, ValuesSurviveMovingTheDocument) {
  auto doc = parsed(R"({"a": ["x", 1]})");
  JsonValue value = *doc.root().at("a");
  JsonDocument moved = std::move(doc);
  EXPECT_EQ(value.path(), "a");
  EXPECT_TRUE(value == *moved.root().at("a"));
  EXPECT_EQ(value.error("odd").message, "m.json: a: odd");
}

TEST(Json, RefusesWhatIsNotJson) {
  for (auto text : {"", " ", "[", "[1,]", "{\"a\" 1}", "nul", "[1] 2", "\"\x80\"", "\"\\ud800\"", "1e999", "NaN",
                    "123456789012345678901234567890", "'a'"})
    EXPECT_TRUE(refusal(text).starts_with("m.json: not valid JSON: ")) << text << ": " << refusal(text);
  EXPECT_EQ(refusal("7"), "parsed");
}

TEST(Json, LimitsDepth) {
  auto nested = [](size_t n) { return std::string(n, '[') + std::string(n, ']'); };
  EXPECT_EQ(refusal(nested(1000)), "parsed");
  EXPECT_EQ(refusal(nested(100000)), "m.json: not usable JSON: nested deeper than 1024 levels");
  EXPECT_EQ(refusal(nested(20), {.max_depth = 10}), "m.json: not usable JSON: nested deeper than 10 levels");
}

TEST(Json, ReadsInPlaceWhenBytesFollow) {
  std::string text = R"({"a": [1, 2]})" + std::string(64, '!');
  auto doc = JsonDocument::parse(std::string_view(text).substr(0, text.size() - 64), "m.json", {.readable_after = 64});
  ASSERT_TRUE(doc) << doc.failure().message;
  EXPECT_EQ(doc->root().array("a")->size(), 2u);
}
