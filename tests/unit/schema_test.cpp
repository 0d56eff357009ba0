#include <edgec/schema.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include <edgec/op.h>

namespace edgec {
namespace {

Schema parsed(std::string_view text) {
  auto s = parse_schema(text);
  EXPECT_TRUE(s) << (s ? "" : s.failure().message);
  return s ? *s : Schema{};
}

TEST(Schema, reads_names_types_and_defaults) {
  const Schema s = parsed("aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor");
  EXPECT_EQ(s.full_name(), "aten.add.Tensor");
  ASSERT_EQ(s.params.size(), 3u);
  EXPECT_EQ(s.params[1].name, "other");
  EXPECT_FALSE(s.params[1].kwarg_only);
  EXPECT_TRUE(s.params[2].kwarg_only);
  EXPECT_EQ(s.params[2].type, ArgType::Scalar);
  EXPECT_EQ(std::get<int64_t>(s.params[2].default_value->value), 1);
  EXPECT_EQ(s.find("alpha"), 2);
  EXPECT_EQ(s.find("beta"), -1);
  EXPECT_FALSE(s.mutates());
  EXPECT_FALSE(s.is_view());
}

TEST(Schema, alias_marks_say_what_is_written_and_what_is_a_view) {
  EXPECT_TRUE(parsed("aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)").mutates());
  EXPECT_FALSE(parsed("aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)").is_view());
  const Schema view = parsed("aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)");
  EXPECT_TRUE(view.is_view());
  EXPECT_FALSE(view.mutates());
  const Schema split = parsed("aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]");
  EXPECT_TRUE(split.is_view());
  EXPECT_EQ(split.params[0].alias, 'a');
  EXPECT_TRUE(split.returns[0].list);
  const Schema list = parsed("aten::_foreach_add_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()");
  EXPECT_TRUE(list.mutates());
  EXPECT_TRUE(list.params[0].list);
  EXPECT_TRUE(list.returns.empty());
}

TEST(Schema, lists_and_options) {
  const Schema s = parsed("n::f(int[2]? a, Tensor?[] b, SymInt[] c=[], float? d=None, str e=\"x\\ny\", bool[3] g) -> (Tensor out, int)");
  EXPECT_TRUE(s.params[0].optional && s.params[0].list);
  EXPECT_EQ(s.params[0].list_size, 2);
  EXPECT_TRUE(s.params[1].list_of_optional);
  EXPECT_FALSE(s.params[1].optional);
  EXPECT_TRUE(std::get<std::vector<int64_t>>(s.params[2].default_value->value).empty());
  EXPECT_TRUE(std::holds_alternative<std::monostate>(s.params[3].default_value->value));
  EXPECT_EQ(std::get<std::string>(s.params[4].default_value->value), "x\ny");
  EXPECT_EQ(s.returns[0].name, "out");
  EXPECT_EQ(s.returns[1].type, ArgType::Int);
}

TEST(Schema, defaults_become_arguments) {
  const Schema s = parsed(
      "n::f(float a=1., float b=1e-05, int[2] c=1, bool d=True, MemoryFormat? e=contiguous_format, ScalarType g=long, "
      "Layout h=strided, int i=-1, int j) -> Tensor");
  EXPECT_EQ(default_arg(s.params[0]), Arg(1.0));
  EXPECT_EQ(default_arg(s.params[1]), Arg(1e-05));
  EXPECT_EQ(default_arg(s.params[2]), Arg::ints({1}));
  EXPECT_EQ(default_arg(s.params[3]), Arg(true));
  EXPECT_EQ(default_arg(s.params[4]), Arg(MemoryFormat::Contiguous));
  EXPECT_EQ(default_arg(s.params[5]), Arg(DType::I64));
  EXPECT_EQ(default_arg(s.params[7]), Arg(-1));
  EXPECT_TRUE(default_arg(s.params[8]).is_none());
}

TEST(Schema, refuses_what_is_none) {
  for (const char* text : {"",
                           "a",
                           "a::",
                           "a::b",
                           "a::b(",
                           "a::b()",
                           "a::b() ->",
                           "a::b(Tensor) -> Tensor",
                           "a::b(Tensor x",
                           "a::b(int[ x) -> ()",
                           "a::b(int[0] x) -> ()",
                           "a::b(int[-1] x) -> ()",
                           "a::b(int[99999999999999999999] x) -> ()",
                           "a::b(int x=) -> ()",
                           "a::b(int x=1.5.5) -> ()",
                           "a::b(str x=\"abc) -> ()",
                           "a::b(Tensor(a x) -> ()",
                           "a::b(Tensor x) -> Tensor trailing junk",
                           "a::b(Tensor x;) -> ()",
                           "a.b(Tensor x) -> ()"})
    EXPECT_FALSE(parse_schema(text)) << text;
  std::string deep = "a::b(";
  for (int i = 0; i < 100000; ++i) deep += "(";
  EXPECT_FALSE(parse_schema(deep));
}

// As torch prints them: those of the operators in the table.
TEST(Schema, reads_torchs_own) {
  std::ifstream in(EDGEC_TESTS_DIR "/ops/torch_schemas.txt");
  ASSERT_TRUE(in);
  size_t count = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    line.resize(std::min(line.find('\t'), line.size()));
    auto s = parse_schema(line);
    ASSERT_TRUE(s) << s.failure().message;
    std::string name = line.substr(0, line.find('('));
    name.replace(name.find("::"), 2, ".");
    EXPECT_EQ(s->full_name(), name);
    ++count;
  }
  EXPECT_GT(count, 800u);
}

}  // namespace
}  // namespace edgec
