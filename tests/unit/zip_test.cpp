#include "support/zip.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "unit/zip_bytes.h"

using namespace edgec;
using namespace edgec::testing;

static std::string text_of(std::span<const std::byte> b) { return {reinterpret_cast<const char*>(b.data()), b.size()}; }

// The failure of opening, or "opened".
static std::string refusal(std::string_view archive) {
  auto zip = ZipReader::open(as_bytes(archive), "m.pt2");
  if (zip) return "opened";
  EXPECT_EQ(zip.failure().kind, ErrorKind::Input);
  return zip.failure().message;
}
static std::string refusal(const ZipArchive& archive) { return refusal(write_zip(archive)); }

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST(Zip, ReadsStoredAndDeflatedRecords) {
  std::string long_text(200000, 'x');
  std::string bytes = write_zip({{{"m/a", "hello"}, {"m/b", long_text, true}, {"m/empty", ""}, {"m/none", "", true}}});
  auto zip = ZipReader::open(as_bytes(bytes), "m.pt2");
  ASSERT_TRUE(zip) << zip.failure().message;
  ASSERT_EQ(zip->entries().size(), 4u);
  EXPECT_EQ(zip->find("m/c"), nullptr);
  const ZipEntry& a = *zip->find("m/a");
  EXPECT_EQ(text_of(*zip->bytes(a)), "hello");
  EXPECT_EQ(reinterpret_cast<const char*>((*zip->bytes(a)).data()), bytes.data() + a.data_offset);  // no copy
  const ZipEntry& b = *zip->find("m/b");
  EXPECT_HAS(zip->bytes(b).failure().message, "m.pt2: record \"m/b\": it must be stored without compression");
  EXPECT_EQ(text_of(*zip->read(b, 200000)), long_text);
  EXPECT_HAS(zip->read(b, 199999).failure().message, "200000 bytes, at most 199999");
  for (const auto& e : zip->entries()) EXPECT_TRUE(zip->check_crc(e)) << e.name;
}

TEST(Zip, ReadsAnEmptyArchiveAndComments) {
  EXPECT_EQ(refusal(ZipArchive{}), "opened");
  EXPECT_EQ(refusal({{{"a", "1"}}, false, "a comment"}), "opened");
  EXPECT_EQ(refusal({{{"a", "1"}}, false, std::string(65535, 'c')}), "opened");
}

TEST(Zip, ReadsZip64DescriptorsAndPadding) {
  std::string padding = std::string("FB\x0c\0", 4) + std::string(12, 'Z');
  ZipArchive archive{{{"a", "one", false, true, false, "", padding}, {"b", "two", false, false, true}, {"c", "three", true, true, true}},
                     true};
  std::string bytes = write_zip(archive);
  auto zip = ZipReader::open(as_bytes(bytes), "z");
  ASSERT_TRUE(zip) << zip.failure().message;
  EXPECT_EQ(text_of(*zip->bytes(*zip->find("a"))), "one");
  EXPECT_EQ(text_of(*zip->bytes(*zip->find("b"))), "two");
  EXPECT_EQ(text_of(*zip->read(*zip->find("c"), 10)), "three");
}

TEST(Zip, ReadsWhatTorchWrote) {
  std::ifstream file(EDGEC_TESTS_DIR "/models/data/mlp/model.pt2", std::ios::binary);
  std::stringstream all;
  all << file.rdbuf();
  std::string bytes = all.str();
  auto zip = ZipReader::open(as_bytes(bytes), "model.pt2");
  ASSERT_TRUE(zip) << zip.failure().message;
  bool program = false;
  for (const auto& e : zip->entries()) {
    program |= e.name.ends_with("/models/model.json");
    EXPECT_TRUE(zip->check_crc(e)) << e.name;
    if (e.name.find("/data/weights/weight_") != e.name.npos) {
      EXPECT_EQ(e.data_offset % 64, 0u) << e.name;
    }
  }
  EXPECT_TRUE(program);
}

TEST(Zip, RefusesEveryTruncation) {
  std::string whole = write_zip({{{"m/a", "hello"}, {"m/b", std::string(100, 'x'), true}}, true});
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_EQ(refusal(std::string_view(whole).substr(0, size)),
              "m.pt2: not a zip archive or cut short (" + std::to_string(size) + " bytes)");
}

TEST(Zip, IsNotFooledByAnArchiveInside) {
  std::string inner = write_zip({{{"x", "inner"}}});
  std::string whole = write_zip({{{"m/a", inner}, {"m/b", "more"}}});
  EXPECT_EQ(refusal(whole), "opened");
  EXPECT_HAS(refusal(whole.substr(0, whole.find(inner) + inner.size())), "does not end where the end record starts");
  EXPECT_HAS(refusal("junk" + whole), "does not end where the end record starts");
  EXPECT_HAS(refusal(whole + "junk"), "not a zip archive or cut short");
}

TEST(Zip, RefusesWrongSizesAndOffsets) {
  EXPECT_HAS(refusal({{{.name = "a", .data = "1", .size = 100, .packed_size = 100}}}), "do not fit before the directory");
  EXPECT_HAS(refusal({{{.name = "a", .data = "1", .size = 2}}}), "stored, but with two sizes (2 and 1 bytes)");
  EXPECT_HAS(refusal({{{.name = "a", .data = "1", .offset = 1 << 20}}}), "lies outside of the archive");
  EXPECT_HAS(refusal({{{.name = "a", .data = "1", .offset = 1}}}), "no record starts at offset 1");
  EXPECT_HAS(refusal({{{.name = "a", .data = "1", .zip64 = true, .offset = INT64_MAX}}}), "lies outside of the archive");
  EXPECT_HAS(refusal({{{.name = "a", .data = "1", .zip64 = true, .size = INT64_MAX, .packed_size = INT64_MAX}}}), "do not fit");
  EXPECT_HAS(refusal({{{.name = "a", .data = "1", .packed_size = 0xffffffff}}}), "ZIP64 sizes are missing");
  EXPECT_HAS(refusal({{{"a", "1"}}, false, "", 2}), "records do not fit into a directory");
  EXPECT_HAS(refusal({{{"a", "1"}}, false, "", 0}), "unexplained bytes in its directory");
  EXPECT_HAS(refusal({{{"a", "1"}}, false, "", -1, 5}), "does not end where the end record starts");
  EXPECT_HAS(refusal({{{"a", "1"}}, true, "", INT64_MAX}), "records do not fit into a directory");
  EXPECT_HAS(refusal({{{"a", "1"}}, true, "", -1, INT64_MAX, INT64_MAX}), "does not end where the end record starts");
}

TEST(Zip, RefusesOverlaps) {
  std::string inner = write_zip({{{"b", "bb"}}});
  std::string local = inner.substr(0, inner.find("PK\1\2"));
  EXPECT_HAS(refusal({{{"a", local}, {.name = "b", .data = "bb", .offset = 31}}}), "it overlaps the record \"a\"");
  EXPECT_HAS(refusal({{{"a", "1"}, {.name = "a", .data = "1", .offset = 0}}}), "two records of this name");
}

TEST(Zip, RefusesNames) {
  EXPECT_HAS(refusal({{{"a", "1"}, {"a", "2"}}}), "two records of this name");
  EXPECT_HAS(refusal({{{"", "1"}}}), "without a name");
  EXPECT_HAS(refusal({{{"/etc/x", "1"}}}), "absolute path");
  EXPECT_HAS(refusal({{{"C:\\x", "1"}}}), "absolute path");
  EXPECT_HAS(refusal({{{"a/../../x", "1"}}}), "leaves the archive's folder");
  EXPECT_HAS(refusal({{{"..", "1"}}}), "leaves the archive's folder");
  EXPECT_HAS(refusal({{{std::string("a\0b", 3), "1"}}}), "record \"a?b\": its name holds a NUL");
  EXPECT_HAS(refusal({{{.name = "a", .data = "1", .local_name = "b"}}}), "its header has another name");
  EXPECT_EQ(refusal({{{"a..b/..c/d../e", "1"}, {"a/", ""}}}), "opened");
}

TEST(Zip, RefusesEncryptionAndParts) {
  EXPECT_HAS(refusal({{{.name = "a", .data = "1", .flags = 1}}}), "encrypted");
  EXPECT_HAS(refusal({{{.name = "a", .data = "1", .disk = 1}}}), "in several parts");
}

TEST(Zip, FindsDamagedContents) {
  std::string bytes = write_zip({{{.name = "a", .data = "hello", .crc = 1},
                                  {.name = "b", .data = "hello", .deflate = true, .crc = 1},
                                  {.name = "lzma", .data = "hello", .method = 14},
                                  {.name = "bomb", .data = "hello", .deflate = true, .size = 1 << 30},
                                  {.name = "long", .data = std::string(500, 'x'), .deflate = true, .size = 400},
                                  {.name = "short", .data = std::string(500, 'x'), .deflate = true, .size = 600},
                                  {.name = "junk", .data = "\xff\xff\xff\xff", .method = 8}}});
  auto zip = ZipReader::open(as_bytes(bytes), "z");
  ASSERT_TRUE(zip) << zip.failure().message;
  auto fault = [&](std::string_view name) {
    auto read = zip->read(*zip->find(name), 1ull << 40);
    EXPECT_FALSE(read) << name;
    EXPECT_FALSE(zip->check_crc(*zip->find(name))) << name;
    return read ? "" : read.failure().message;
  };
  EXPECT_HAS(fault("a"), "z: record \"a\": damaged: its CRC does not fit its bytes");
  EXPECT_HAS(fault("b"), "its CRC does not fit");
  EXPECT_HAS(fault("lzma"), "compression method 14 is not supported");
  EXPECT_HAS(fault("bomb"), "cannot unpack to 1073741824");
  EXPECT_HAS(fault("long"), "unpacks to more than the 400 bytes");
  EXPECT_HAS(fault("short"), "unpacks to 500 bytes, the directory says 600");
  EXPECT_HAS(fault("junk"), "deflated data is damaged");
}

TEST(Zip, AnyFlippedByteIsRefusedOrReadsWithinTheArchive) {
  std::string whole = write_zip({{{"m/a", "hello"}, {"m/b", std::string(100, 'x'), true}, {"m/c", "zip64", false, true, true}}, true});
  for (size_t i = 0; i < whole.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      std::string bytes = whole;
      bytes[i] = static_cast<char>(bytes[i] ^ (1 << bit));
      auto zip = ZipReader::open(as_bytes(bytes), "z");
      if (!zip) continue;
      for (const auto& e : zip->entries())
        if (auto data = zip->read(e, 1 << 20)) {
          EXPECT_LE(data->size(), size_t{1} << 20);
        }
    }
}
