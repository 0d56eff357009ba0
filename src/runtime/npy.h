#pragma once
#include <span>
#include <string>
#include <string_view>

#include <edgec/result.h>
#include "runtime/array.h"

// NumPy's .npy files (format versions 1 to 3, little endian). Torch types that NumPy lacks travel as unsigned integers
// of the same width: bfloat16 as uint16, float8 as uint8.
namespace edgec::runtime {

// Untrusted bytes to an array in C order; Fortran order is transposed. `what` names the file in messages.
Result<Array> parse_npy(std::span<const std::byte> file, std::string_view what);
Result<Array> read_npy(const std::string& path);  // "-" is standard input

std::vector<std::byte> npy_bytes(const Array&);
Status write_npy(const std::string& path, const Array&);

}  // namespace edgec::runtime
