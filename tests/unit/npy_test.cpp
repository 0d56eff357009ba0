#include "runtime/npy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <numeric>

using namespace edgec;
using namespace edgec::runtime;

namespace {

std::vector<std::byte> bytes_of(const std::string& text) {
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

// A file with this header text, correct length field, and this much data.
std::vector<std::byte> file(int version, const std::string& header, size_t data_bytes) {
  std::string text = "\x93NUMPY";
  text += static_cast<char>(version);
  text += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) text += static_cast<char>(header.size() >> (8 * i) & 0xff);
  text += header;
  for (size_t i = 0; i < data_bytes; ++i) text += static_cast<char>(i);
  return bytes_of(text);
}

std::string dict(const std::string& descr, const std::string& shape, const std::string& fortran = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }  \n";
}

std::string refusal(const std::vector<std::byte>& bytes) {
  auto array = parse_npy(bytes, "x.npy");
  if (array) return "accepted";
  EXPECT_EQ(array.failure().kind, ErrorKind::Input);
  EXPECT_NE(array.failure().message.find("x.npy"), std::string::npos);
  return array.failure().message;
}

#define EXPECT_REFUSED(bytes, why) EXPECT_NE(refusal(bytes).find(why), std::string::npos) << refusal(bytes)

}  // namespace

TEST(npy, reads_every_version_and_type) {
  const std::pair<const char*, Element> types[] = {{"|b1", Element::Bool},      {"|i1", Element::Int8},       {"|u1", Element::UInt8},
                                                   {"<i2", Element::Int16},     {"<u2", Element::UInt16},     {"<i4", Element::Int32},
                                                   {"<u4", Element::UInt32},    {"<i8", Element::Int64},      {"<u8", Element::UInt64},
                                                   {"<f2", Element::Float16},   {"<f4", Element::Float32},    {"<f8", Element::Float64},
                                                   {"<c8", Element::Complex64}, {"<c16", Element::Complex128}};
  for (int version : {1, 2, 3})
    for (auto [descr, element] : types) {
      auto array = parse_npy(file(version, dict(descr, "(2, 3)"), 6 * size_of(element)), "x");
      ASSERT_TRUE(array) << descr;
      EXPECT_EQ(array->element, element);
      EXPECT_EQ(array->shape, (std::vector<int64_t>{2, 3}));
      EXPECT_EQ(array->count(), 6u);
    }
}

TEST(npy, reads_any_spelling_of_the_header) {
  EXPECT_TRUE(parse_npy(file(1, "{\"shape\":(3L,),\"fortran_order\":True,\"descr\":\"=f4\"}", 12), "x"));
  EXPECT_TRUE(parse_npy(file(1, dict("<f4", "()"), 4), "x"));
  EXPECT_TRUE(parse_npy(file(1, dict("<f4", "(0, 9223372036854775807, 9223372036854775807)"), 0), "x"));
}

TEST(npy, fortran_order_becomes_c_order) {
  auto array = parse_npy(file(1, dict("|u1", "(2, 3)", "True"), 6), "x");
  ASSERT_TRUE(array);
  const std::vector<double> expected = {0, 2, 4, 1, 3, 5};
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(array->at(i), expected[i]);
}

TEST(npy, fortran_order_of_rank_3) {
  auto array = parse_npy(file(1, dict("|u1", "(2, 3, 4)", "True"), 24), "x");
  ASSERT_TRUE(array);
  size_t at = 0;
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 4; ++k) EXPECT_EQ(array->at(at++), i + 2 * j + 6 * k);
}

TEST(npy, refuses_what_it_cannot_use) {
  EXPECT_REFUSED({}, "magic");
  EXPECT_REFUSED(bytes_of("\x93NUMPZ\x01........"), "magic");
  EXPECT_REFUSED(file(4, dict("<f4", "(1,)"), 4), "version 4");
  EXPECT_REFUSED(file(1, dict(">f4", "(1,)"), 4), "big endian");
  EXPECT_REFUSED(file(1, dict("<U8", "(1,)"), 32), "not supported");
  EXPECT_REFUSED(file(1, dict("|O", "(1,)"), 8), "not supported");
  EXPECT_REFUSED(file(1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", 4), "structured");
}

TEST(npy, refuses_damaged_headers) {
  for (const char* header :
       {"", "{", "{}", "{'descr'", "{'descr': '<f4", "{'descr': '<f4', }", "[]", "{'descr': '<f4' 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}", "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1", "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}"})
    EXPECT_NE(refusal(file(1, header, 4)), "accepted") << header;
  std::string many = "(";
  for (int i = 0; i < 65; ++i) many += "1,";
  EXPECT_REFUSED(file(1, dict("<f4", many + ")"), 4), "more than 64 dims");
}

TEST(npy, refuses_sizes_that_do_not_match_the_data) {
  EXPECT_REFUSED(file(1, dict("<f4", "(2, 3)"), 23), "23 bytes");
  EXPECT_REFUSED(file(1, dict("<f4", "(2, 3)"), 25), "25 bytes");
  EXPECT_REFUSED(file(1, dict("<f8", "(4611686018427387904, 4)"), 0), "0 bytes");  // 2^67 bytes wrap to 0
  EXPECT_REFUSED(file(1, dict("<f8", "(9223372036854775807,)"), 8), "8 bytes");
}

TEST(npy, refuses_every_truncation) {
  const std::vector<std::byte> whole = file(2, dict("<f4", "(2,)"), 8);
  for (size_t n = 0; n < whole.size(); ++n) EXPECT_FALSE(parse_npy(std::span(whole).first(n), "x")) << n;
  EXPECT_TRUE(parse_npy(whole, "x"));
}

TEST(npy, what_it_writes_it_reads_back) {
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{}, {5}, {2, 3}, {2, 0, 3}, std::vector<int64_t>(64, 1)}) {
    const auto count = static_cast<size_t>(std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>()));
    Array array{Element::Int16, shape, std::vector<std::byte>(2 * count, std::byte{7})};
    const std::vector<std::byte> bytes = npy_bytes(array);
    EXPECT_EQ((bytes.size() - array.bytes.size()) % 64, 0u);
    auto back = parse_npy(bytes, "x");
    ASSERT_TRUE(back);
    EXPECT_EQ(back->shape, shape);
    EXPECT_EQ(back->bytes, array.bytes);
  }
}

TEST(npy, types_that_numpy_lacks_travel_as_unsigned) {
  const Array half{Element::BFloat16, {1}, std::vector<std::byte>(2)};
  EXPECT_EQ(parse_npy(npy_bytes(half), "x")->element, Element::UInt16);
  const Array eighth{Element::Float8E4M3, {1}, std::vector<std::byte>(1)};
  EXPECT_EQ(parse_npy(npy_bytes(eighth), "x")->element, Element::UInt8);
}

TEST(npy, files) {
  const std::string path = std::filesystem::temp_directory_path() / "edgec_npy_test.npy";
  const Array array{Element::Float32, {1}, std::vector<std::byte>(4)};
  ASSERT_TRUE(write_npy(path, array));
  auto back = read_npy(path);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->element, Element::Float32);
  std::filesystem::remove(path);
  EXPECT_EQ(read_npy(path).failure().kind, ErrorKind::Input);
  EXPECT_EQ(read_npy(std::filesystem::temp_directory_path()).failure().kind, ErrorKind::Input);
  EXPECT_EQ(write_npy(path + "/no/such", array).failure().kind, ErrorKind::Output);
}

TEST(array, small_floats_read_as_numbers) {
  auto value = [](Element element, uint32_t bits) {
    Array array{element, {}, std::vector<std::byte>(size_of(element))};
    std::memcpy(array.bytes.data(), &bits, array.bytes.size());
    return array.at(0);
  };
  EXPECT_EQ(value(Element::Float16, 0x3c00), 1.0);
  EXPECT_EQ(value(Element::Float16, 0xc000), -2.0);
  EXPECT_EQ(value(Element::Float16, 0x0001), std::ldexp(1.0, -24));
  EXPECT_EQ(value(Element::Float16, 0xfc00), -HUGE_VAL);
  EXPECT_EQ(value(Element::BFloat16, 0x3fc0), 1.5);
  EXPECT_EQ(value(Element::Float8E4M3, 0x7e), 448.0);
  EXPECT_TRUE(std::isnan(value(Element::Float8E4M3, 0x7f)));
  EXPECT_EQ(value(Element::Float8E5M2, 0x7c), HUGE_VAL);
}
