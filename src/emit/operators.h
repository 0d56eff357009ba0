#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "emit/program.h"

namespace edgec::pte {

enum class KernelLibrary { base, quantized, llm };

// The library of the official runtime that has this operator ("aten::add.out"); nothing when none has.
std::optional<KernelLibrary> library_of(std::string_view full_name);
std::string_view name_of(KernelLibrary library);

// "aten::add.out"; without an overload "aten::copy_".
std::string full_name(const Operator& op);

}  // namespace edgec::pte
