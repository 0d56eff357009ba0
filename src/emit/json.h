#pragma once
#include <string>
#include <string_view>

#include "emit/program.h"

namespace edgec::pte {

// All of a program but the bytes of its blobs, as one JSON object (docs in docs/; keys are stable, more may come).
std::string describe_json(const Program& program);

// A JSON string literal. Bytes that are no UTF-8 become U+FFFD.
std::string quoted(std::string_view text);

}  // namespace edgec::pte
