#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <sstream>

#include <edgec/op.h>
#include <edgec/program.h>

namespace edgec {
namespace {

DType dtype(const std::string& n) {
  auto d = dtype_from_name(n);
  EXPECT_TRUE(d) << n;
  return d.value_or(DType::F32);
}

// torch.promote_types of torch 2.13 for all pairs in the order of DType; "-": torch has no promotion.
constexpr const char* kPromotions[] = {
    "bool: bool u8 i8 i16 i32 i64 - - - f16 bf16 f32 f64 c32 c64 c128 - - - - -",
    "u8: u8 u8 i16 i16 i32 i64 - - - f16 bf16 f32 f64 c32 c64 c128 - - - - -",
    "i8: i8 i16 i8 i16 i32 i64 - - - f16 bf16 f32 f64 c32 c64 c128 - - - - -",
    "i16: i16 i16 i16 i16 i32 i64 - - - f16 bf16 f32 f64 c32 c64 c128 - - - - -",
    "i32: i32 i32 i32 i32 i32 i64 - - - f16 bf16 f32 f64 c32 c64 c128 - - - - -",
    "i64: i64 i64 i64 i64 i64 i64 - - - f16 bf16 f32 f64 c32 c64 c128 - - - - -",
    "u16: - - - - - - u16 - - f16 bf16 f32 f64 - - - - - - - -",
    "u32: - - - - - - - u32 - f16 bf16 f32 f64 - - - - - - - -",
    "u64: - - - - - - - - u64 f16 bf16 f32 f64 - - - - - - - -",
    "f16: f16 f16 f16 f16 f16 f16 f16 f16 f16 f16 f32 f32 f64 c32 c64 c128 - - - - -",
    "bf16: bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16 f32 bf16 f32 f64 c64 c64 c128 - - - - -",
    "f32: f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f64 c64 c64 c128 - - - - -",
    "f64: f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 c128 c128 c128 - - - - -",
    "c32: c32 c32 c32 c32 c32 c32 - - - c32 c64 c64 c128 c32 c64 c128 - - - - -",
    "c64: c64 c64 c64 c64 c64 c64 - - - c64 c64 c64 c128 c64 c64 c128 - - - - -",
    "c128: c128 c128 c128 c128 c128 c128 - - - c128 c128 c128 c128 c128 c128 c128 - - - - -",
    "f8e4m3fn: - - - - - - - - - - - - - - - - f8e4m3fn - - - -",
    "f8e5m2: - - - - - - - - - - - - - - - - - f8e5m2 - - -",
    "f8e4m3fnuz: - - - - - - - - - - - - - - - - - - f8e4m3fnuz - -",
    "f8e5m2fnuz: - - - - - - - - - - - - - - - - - - - f8e5m2fnuz -",
    "f8e8m0: - - - - - - - - - - - - - - - - - - - - f8e8m0",
};

TEST(DTypes, promote_as_torch_does) {
  for (const char* row : kPromotions) {
    std::istringstream in(row);
    std::string left, want;
    in >> left;
    left.pop_back();
    for (int i = 0; i < kDTypeCount; ++i) {
      in >> want;
      const DType right = static_cast<DType>(i);
      if (want == "-") continue;
      EXPECT_EQ(name(promote_types(dtype(left), right)), want) << left << " with " << name(right);
    }
  }
}

TEST(DTypes, names_and_numbers_read_back) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const DType d = static_cast<DType>(i);
    EXPECT_EQ(dtype_from_name(name(d)), d);
    EXPECT_EQ(dtype_from_c10(c10_number(d)), d);
  }
  EXPECT_EQ(dtype_from_serialized(7), DType::F32);
  EXPECT_FALSE(dtype_from_serialized(0));
  EXPECT_FALSE(dtype_from_serialized(1000));
  EXPECT_FALSE(dtype_from_name("float32"));
}

// torch.result_type of a tensor of the row's dtype with: rank-0 tensors of all the rows' dtypes, True, 1, 1.5; then of
// a rank-0 tensor of the row's dtype with True, 1, 1.5.
constexpr const char* kResultTypes[] = {
    "bool: bool u8 i32 i64 f16 bf16 f32 f64 c64 bool i64 f32 bool i64 f32",
    "u8: u8 u8 u8 u8 f16 bf16 f32 f64 c64 u8 u8 f32 u8 u8 f32",
    "i32: i32 i32 i32 i32 f16 bf16 f32 f64 c64 i32 i32 f32 i32 i32 f32",
    "i64: i64 i64 i64 i64 f16 bf16 f32 f64 c64 i64 i64 f32 i64 i64 f32",
    "f16: f16 f16 f16 f16 f16 f16 f16 f16 c32 f16 f16 f16 f16 f16 f16",
    "bf16: bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16 c64 bf16 bf16 bf16 bf16 bf16 bf16",
    "f32: f32 f32 f32 f32 f32 f32 f32 f32 c64 f32 f32 f32 f32 f32 f32",
    "f64: f64 f64 f64 f64 f64 f64 f64 f64 c128 f64 f64 f64 f64 f64 f64",
    "c64: c64 c64 c64 c64 c64 c64 c64 c64 c64 c64 c64 c64 c64 c64 c64",
};

TEST(ResultType, follows_torch) {
  const std::vector<std::string> names = {"bool", "u8", "i32", "i64", "f16", "bf16", "f32", "f64", "c64"};
  const std::vector<Arg> numbers = {Arg(true), Arg(1), Arg(1.5)};
  Graph g(std::make_shared<sym::Context>());
  auto tensor = [&](const std::string& n, Dims sizes) { return g.add_input("x", Type::of({dtype(n), std::move(sizes), {}, {}})); };
  for (const char* row : kResultTypes) {
    std::istringstream in(row);
    std::string left, want;
    in >> left;
    left.pop_back();
    auto expect = [&](std::vector<Arg> args, const std::string& with) {
      in >> want;
      EXPECT_EQ(name(result_type(g, args)), want) << left << " with " << with;
      std::swap(args[0], args[1]);
      EXPECT_EQ(name(result_type(g, args)), want) << with << " with " << left;
    };
    for (const auto& other : names) expect({tensor(left, {2}), tensor(other, {})}, other);
    for (const Arg& number : numbers) expect({tensor(left, {2}), number}, "a number");
    for (const Arg& number : numbers) expect({tensor(left, {}), number}, "a number, rank 0");
  }
}

TEST(ResultType, symbolic_numbers_count_as_numbers) {
  auto syms = std::make_shared<sym::Context>();
  Graph g(syms);
  const ValueId x = g.add_input("x", Type::of({DType::F16, {2}, {}, {}}));
  const ValueId i = g.add_input("i", Type::of({DType::I32, {2}, {}, {}}));
  const ValueId f = g.add_input("f", Type::sym(syms->symbol("f", sym::Sort::Float)));
  const std::vector<Arg> half = {x, f}, integer = {i, f}, expression = {i, syms->symbol("s0")};
  EXPECT_EQ(result_type(g, half), DType::F16);
  EXPECT_EQ(result_type(g, integer), DType::F32);
  EXPECT_EQ(result_type(g, expression), DType::I32);
}

// ---- constants -----------------------------------------------------------------------------------------------------

uint64_t fnv(std::span<const std::byte> bytes) {
  uint64_t h = 1469598103934665603ull;
  for (std::byte b : bytes) h = (h ^ static_cast<uint8_t>(b)) * 1099511628211ull;
  return h;
}

// Checksums that torch gives: of all codes as float64 (NaN as one pattern), and of the codes that floats covering all
// exponents, both sides of the rounding points and both signs become.
struct SmallFloatSums {
  DType dtype;
  uint64_t decoded, encoded;
};
constexpr SmallFloatSums kSums[] = {
    {DType::F16, 8482939251784294275ull, 3366254738030804515ull},
    {DType::BF16, 12460390472202388275ull, 2374584005529118123ull},
    {DType::F8E4M3FN, 4176873376745753331ull, 9277526935431903105ull},
    {DType::F8E5M2, 12821429924341761299ull, 4478136954688244419ull},
    {DType::F8E4M3FNUZ, 11965225665474034058ull, 7100095030010777979ull},
    {DType::F8E5M2FNUZ, 18058106731052252378ull, 5396899222997721979ull},
    {DType::F8E8M0, 6768859959080447355ull, 5805407175775388667ull},
};

TEST(Elements, small_floats_convert_as_torch_does) {
  for (const auto& want : kSums) {
    const size_t width = size_of(want.dtype);
    std::vector<std::byte> decoded;
    for (uint32_t code = 0; code < (width == 2 ? 65536u : 256u); ++code) {
      std::vector<std::byte> bytes(width);
      std::memcpy(bytes.data(), &code, width);
      double v = read_element(bytes, want.dtype, 0);
      if (std::isnan(v)) v = std::bit_cast<double>(0xff00000000000000ull);
      append_element(decoded, DType::F64, v);
    }
    EXPECT_EQ(fnv(decoded), want.decoded) << name(want.dtype);
    std::vector<std::byte> encoded;
    for (uint32_t low : {0x0u, 0x1u, 0x7fffu, 0x8000u, 0x8001u, 0x1000u, 0x3001u, 0xefffu})
      for (uint32_t high = 0; high < 65536; ++high) {
        const float f = std::bit_cast<float>(high << 16 | low);
        if (!std::isnan(f)) append_element(encoded, want.dtype, f);
      }
    EXPECT_EQ(fnv(encoded), want.encoded) << name(want.dtype);
  }
}

TEST(Elements, every_real_dtype_reads_back_what_it_was_given) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const DType d = static_cast<DType>(i);
    if (is_complex(d)) continue;
    std::vector<std::byte> bytes;
    append_element(bytes, d, 1.0);
    append_integer(bytes, d, 1);
    ASSERT_EQ(bytes.size(), 2 * size_of(d));
    EXPECT_EQ(read_element(bytes, d, 0), 1.0) << name(d);
    EXPECT_EQ(read_integer(bytes, d, 1), 1) << name(d);
  }
}

TEST(Elements, integers_wrap) {
  std::vector<std::byte> bytes;
  append_integer(bytes, DType::I8, 200);
  append_element(bytes, DType::U8, -1.5);
  EXPECT_EQ(read_integer(bytes, DType::I8, 0), -56);
  EXPECT_EQ(read_integer(bytes, DType::U8, 1), 255);
}

TensorData counting(std::vector<int64_t> sizes) {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  std::vector<int32_t> values(static_cast<size_t>(n));
  std::iota(values.begin(), values.end(), 0);
  return make_tensor_data(DType::I32, std::move(sizes), values);
}

std::vector<int32_t> ints(const std::vector<std::byte>& bytes) {
  std::vector<int32_t> out(bytes.size() / 4);
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

// The elements by the definition: indices counted in the dim order wanted.
std::vector<int32_t> by_definition(const TensorData& t, const DimOrder& order) {
  std::vector<int32_t> out;
  const size_t rank = t.sizes.size();
  std::vector<int64_t> index(rank, 0);
  for (int64_t n = 0; n < t.numel(); ++n) {
    int64_t at = t.offset;
    for (size_t d = 0; d < rank; ++d) at += index[d] * t.strides[d];
    out.push_back(static_cast<int32_t>(read_integer(t.storage->bytes, DType::I32, at)));
    for (size_t k = rank; k-- > 0;) {
      const size_t d = order.empty() ? k : order[k];
      if (++index[d] < t.sizes[d]) break;
      index[d] = 0;
    }
  }
  return out;
}

TEST(TensorData, strided_views_stream_in_any_dim_order) {
  std::vector<TensorData> views = {counting({2, 3, 4, 5}), counting({1, 1, 7, 1})};
  TensorData transposed = counting({2, 3, 4, 5});
  std::swap(transposed.sizes[0], transposed.sizes[3]);
  std::swap(transposed.strides[0], transposed.strides[3]);
  views.push_back(transposed);
  TensorData slice = counting({4, 6, 5, 8});
  slice.sizes = {4, 3, 5, 2};
  slice.strides[1] *= 2;
  slice.strides[3] *= 3;
  slice.offset = 1;
  views.push_back(slice);
  TensorData broadcast = counting({3, 5});
  broadcast.sizes = {2, 3, 4, 5};
  broadcast.strides = {0, 5, 0, 1};
  views.push_back(broadcast);
  for (const auto& t : views) {
    ASSERT_TRUE(t.in_bounds());
    DimOrder order = {0, 1, 2, 3};
    do EXPECT_EQ(ints(gather(t, order)), by_definition(t, order));
    while (std::next_permutation(order.begin(), order.end()));
    EXPECT_EQ(ints(gather(t)), by_definition(t, {}));
  }
}

TEST(TensorData, a_weight_in_channels_last_order_streams_without_copying) {
  TensorData t = counting({2, 3, 4, 5});
  const DimOrder order = channels_last_order(4);
  EXPECT_TRUE(t.dense_bytes(order).empty());
  t.strides = contiguous_strides(t.sizes, order);
  EXPECT_EQ(t.dense_bytes(order).data(), t.storage->bytes.data());
  EXPECT_TRUE(t.dense_bytes().empty());
}

TEST(TensorData, pieces_are_at_most_a_megabyte_and_whole) {
  TensorData t = counting({1500, 1001});
  std::swap(t.sizes[0], t.sizes[1]);
  std::swap(t.strides[0], t.strides[1]);
  size_t total = 0, largest = 0;
  EXPECT_TRUE(stream(t, {}, [&](std::span<const std::byte> piece) {
    total += piece.size();
    largest = std::max(largest, piece.size());
    return Status();
  }));
  EXPECT_EQ(total, 1500u * 1001u * 4u);
  EXPECT_EQ(largest, size_t{1} << 20);
  EXPECT_EQ(ints(gather(t)), by_definition(t, {}));
  EXPECT_FALSE(stream(t, {}, [](auto) { return Status(output_error("disk full")); }));
}

TEST(TensorData, sizes_that_reach_beyond_the_storage_are_seen) {
  const TensorData good = counting({2, 3});
  auto with = [&](std::vector<int64_t> sizes, std::vector<int64_t> strides, int64_t offset) {
    TensorData t = good;
    t.sizes = std::move(sizes);
    t.strides = std::move(strides);
    t.offset = offset;
    return t.in_bounds();
  };
  EXPECT_TRUE(with({2, 3}, {3, 1}, 0));
  EXPECT_FALSE(with({2, 3}, {3, 1}, 1));
  EXPECT_FALSE(with({2, 3}, {3}, 0));
  EXPECT_FALSE(with({2, 3}, {-3, 1}, 3));
  EXPECT_FALSE(with({2, 3}, {3, 1}, -1));
  EXPECT_FALSE(with({-1, -6}, {1, 1}, 0));
  EXPECT_FALSE(with({int64_t{1} << 62, 4}, {0, 0}, 0));
  EXPECT_FALSE(with({3}, {INT64_MAX}, 0));
  EXPECT_TRUE(with({0, 5}, {1, 1}, 100));
}

// ---- graphs --------------------------------------------------------------------------------------------------------

TEST(Graph, keeps_names_apart) {
  Graph g(std::make_shared<sym::Context>());
  EXPECT_EQ(g.unique_name("x"), "x");
  EXPECT_EQ(g.unique_name("x_1"), "x_1");
  EXPECT_EQ(g.unique_name("x"), "x_2");
  EXPECT_EQ(g.unique_name("a.b-c"), "a_b_c");
  EXPECT_EQ(g.unique_name(""), "v");
}

TEST(Graph, nodes_move_and_leave) {
  Graph g(std::make_shared<sym::Context>());
  const std::vector<std::string> params = {"arg0"};
  const OpDef* op = Registry::global().unknown("test.move", params, 1);
  const ValueId x = g.add_input("x", Type::of({}));
  const NodeId a = g.add_node(op, {x}, {Type::of({})}, nullptr), b = g.add_node(op, {x}, {Type::of({})}, nullptr);
  const NodeId c = g.add_node(op, {x}, {Type::of({})}, nullptr, a);
  EXPECT_EQ(g.nodes_in_order(), (std::vector<NodeId>{c, a, b}));
  g.move_before(b, c);
  EXPECT_EQ(g.nodes_in_order(), (std::vector<NodeId>{b, c, a}));
  g.move_before(b, {});
  g.erase(c);
  EXPECT_EQ(g.nodes_in_order(), (std::vector<NodeId>{a, b}));
  EXPECT_EQ(g.node_count(), 2u);
  g.outputs = {g.node(a).results[0]};
  g.replace_uses({{g.node(a).results[0], g.node(b).results[0]}, {g.node(b).results[0], x}});
  EXPECT_EQ(g.outputs[0].value(), x);
}

TEST(Program, unused_weights_and_constants_leave) {
  auto p = parse_program(R"(
    constant #0 "a" f32[1]
    constant #1 "b" f32[2]
    constant #2 "c" f32[3]
    constant #3 "d" f32[4]
    method @forward(%a: f32[1] = parameter "a" #0, %b: f32[2] = parameter "b" #1, %s: f32[3] = buffer "c" #2) {
      %k = test.constant(#3) : f32[4]
      return %b, %k -> buffer "c"
    })");
  ASSERT_TRUE(p) << p.failure().message;
  Method& m = *(*p)->methods[0];
  remove_unused_weights(m);
  ASSERT_EQ(m.constants.size(), 3u);
  EXPECT_EQ(m.constants[m.inputs[0].data.index].name, "b");
  EXPECT_EQ(m.constants[m.inputs[1].data.index].name, "c");
  EXPECT_EQ(print(**p), R"(stage aten
constant #0 "b" f32[2]
constant #1 "c" f32[3]
constant #2 "d" f32[4]
method @forward(%b: f32[2] = parameter "b" #0, %s: f32[3] = buffer "c" #1) {
  %k = test.constant(#2) : f32[4]
  return %b, %k -> buffer "c"
}
)");
}

}  // namespace
}  // namespace edgec
