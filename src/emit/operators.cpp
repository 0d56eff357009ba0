#include "emit/operators.h"

#include <algorithm>
#include <iterator>

namespace edgec::pte {
namespace {

struct Row {
  std::string_view name;
  KernelLibrary library;
};

constexpr Row kRows[] = {
#define OPERATOR(name, library) {name, KernelLibrary::library},
#include "emit/runtime_operators.inc"
#undef OPERATOR
};
static_assert(std::ranges::is_sorted(kRows, {}, &Row::name));

}  // namespace

std::optional<KernelLibrary> library_of(std::string_view full_name) {
  const Row* row = std::ranges::lower_bound(kRows, full_name, {}, &Row::name);
  if (row == std::end(kRows) || row->name != full_name) return {};
  return row->library;
}

std::string_view name_of(KernelLibrary library) {
  switch (library) {
    case KernelLibrary::base:
      return "base";
    case KernelLibrary::quantized:
      return "quantized";
    case KernelLibrary::llm:
      return "llm";
  }
  return "";
}

std::string full_name(const Operator& op) { return op.overload.empty() ? op.name : op.name + "." + op.overload; }

}  // namespace edgec::pte
