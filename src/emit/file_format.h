#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>

// The frame around the flatbuffer of a program file, all little endian:
//   0   u32 offset of the root table        4   "ET12"
//   8   "eh00"                              12  u32 length of the extended header
//   16  u64 program size, from byte 0       24  u64 segment base, from byte 0
//   32  u64 bytes of all segments, first to last with the padding between
// then the rest of the flatbuffer. Without the extended header there are no segments and the flatbuffer is the file.
namespace edgec::pte {

inline constexpr size_t kIdentifierAt = 4;
inline constexpr size_t kHeaderAt = 8;
inline constexpr char kHeaderMagic[] = {'e', 'h', '0', '0'};
inline constexpr uint32_t kHeaderLength = 32;     // as written; a multiple of the schema's largest alignment, 16
inline constexpr uint32_t kOldHeaderLength = 24;  // without the bytes of all segments
inline constexpr size_t kSchemaAlignment = 16;
inline constexpr uint64_t kMaxFlatbuffer = (uint64_t{1} << 31) - 1;

static_assert(std::endian::native == std::endian::little, "scalars are copied as they lie in memory");

}  // namespace edgec::pte
