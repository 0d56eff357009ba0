#include "calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "rng.h"

namespace edgec::random_graphs {
namespace {

constexpr std::pair<Domain::Kind, std::string_view> kPrefixes[] = {
    {Domain::Kind::Positive, "positive_"}, {Domain::Kind::Unit, "unit_"}, {Domain::Kind::Sorted, "sorted_"}};

// Floats are multiples of 1/16, exact in every dtype.
double element(Rng& rng, const Domain& d, DType dtype) {
  const bool real = is_float(dtype);
  switch (d.kind) {
    case Domain::Kind::Below:
      return static_cast<double>(rng.between(0, std::max<int64_t>(d.limit, 1) - 1));
    case Domain::Kind::Positive:
      return real ? static_cast<double>(rng.between(4, 48)) / 16 : static_cast<double>(rng.between(1, 4));
    case Domain::Kind::Unit:
      return real ? static_cast<double>(rng.between(1, 15)) / 16 : static_cast<double>(rng.between(0, 1));
    default:
      break;
  }
  if (dtype == DType::Bool) return static_cast<double>(rng.between(0, 1));
  if (real) return static_cast<double>(rng.between(-64, 64)) / 16;
  return static_cast<double>(is_signed(dtype) ? rng.between(-9, 9) : rng.between(0, 9));
}

Result<runtime::Value> tensor_argument(const Value& v, const sym::Bindings& sizes, uint64_t k) {
  const auto element_type = runtime::element_of(c10_number(v.type.tensor.dtype));
  if (!element_type) return model_error(fmt::format("no inputs of dtype {}", name(v.type.tensor.dtype)));
  runtime::Array array;
  array.element = *element_type;
  int64_t count = 1;
  for (const Dim& d : v.type.tensor.sizes) {
    const auto size = sym::evaluate_int(d, sizes);
    if (!size) return internal_error(fmt::format("input {} has no size", v.name));
    array.shape.push_back(*size);
    count *= *size;
  }
  array.bytes = elements(v.name, v.type.tensor.dtype, count, k);
  return runtime::Value{std::move(array)};
}

}  // namespace

std::string Domain::prefix() const {
  if (kind == Kind::Below) return fmt::format("below{}_", limit);
  for (auto [k, text] : kPrefixes)
    if (k == kind) return std::string(text);
  return {};
}

Domain Domain::of(std::string_view input_name) {
  for (auto [k, text] : kPrefixes)
    if (input_name.starts_with(text)) return {k, 0};
  if (!input_name.starts_with("below")) return {};
  Domain d{Kind::Below, 0};
  std::from_chars(input_name.data() + 5, input_name.data() + input_name.size(), d.limit);
  return d;
}

std::vector<sym::Bindings> sizes_of_calls(const sym::Context& syms) {
  const auto symbols = syms.symbols();
  std::vector<sym::Bindings> out(symbols.empty() ? 1 : 3);
  for (const sym::Expr& s : symbols) {
    const sym::Range r = syms.range_of(s);
    const int64_t low = r.lo.value_or(1), high = r.hi.value_or(low);
    Rng rng(hash_of(s.symbol_name()));
    const int64_t values[] = {low, high, rng.between(low, high)};
    for (size_t k = 0; k < out.size(); ++k) out[k][s] = values[k];
  }
  return out;
}

std::vector<std::byte> elements(std::string_view name, DType dtype, int64_t count, uint64_t call) {
  const Domain domain = Domain::of(name);
  Rng rng(hash_of(name) + call);
  std::vector<double> values(static_cast<size_t>(count));
  for (double& v : values) v = element(rng, domain, dtype);
  if (domain.kind == Domain::Kind::Sorted) std::sort(values.begin(), values.end());
  std::vector<std::byte> out;
  for (double v : values) append_element(out, dtype, v);
  return out;
}

Result<std::vector<runtime::Value>> arguments_of(const Method& m, const sym::Bindings& sizes, uint64_t k) {
  std::vector<runtime::Value> out;
  for (size_t i = 0; i < m.inputs.size(); ++i) {
    if (m.inputs[i].kind != InputSpec::Kind::UserInput) continue;
    const Value& v = m.graph->value(m.graph->inputs[i]);
    if (v.type.is_sym()) {
      out.push_back({sym::evaluate_int(v.type.expr, sizes).value_or(0)});
      continue;
    }
    EDGEC_TRY(runtime::Value value, tensor_argument(v, sizes, k));
    out.push_back(std::move(value));
  }
  return out;
}

}  // namespace edgec::random_graphs
