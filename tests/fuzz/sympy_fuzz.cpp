#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <edgec/expr.h>
#include "support/assert.h"

// Any bytes, read as sympy's and as infix text: what is read prints, and what prints reads back as the same expression.
namespace {

using namespace edgec::sym;

void check(Expr e, Context& cx) {
  std::string text = e.str();
  auto back = parse(text, cx);
  EDGEC_ASSERT(back);
  EDGEC_ASSERT(*back == e);
  range(e);
  holds(e);
  Bindings numbers;
  for (Expr s : free_symbols(e)) numbers[s] = s.sort() == Sort::Int ? Expr(3) : Expr::of(2.5, cx);
  evaluate_float(e, numbers);
  substitute(e, numbers);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  for (auto* read : {read_sympy, parse}) {
    Context cx;
    for (int i = 0; i < 3; ++i) cx.set_range(cx.symbol("s" + std::to_string(i)), {i, 5 * i + 1});
    if (auto e = read(text, cx)) check(*e, cx);
  }
  return 0;
}
