#include "backends/xnnpack/options.h"

#include <fmt/format.h>

#include "support/text.h"

namespace edgec::xnnpack {
namespace {

Result<bool> switch_of(const std::string& key, const std::string& value) {
  if (value == "on") return true;
  if (value == "off") return false;
  return usage_error(fmt::format("error: --backend xnnpack,{}={}: on or off", key, value));
}

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('+'), text.size());
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

Status apply(Options& o, const std::string& key, const std::string& value) {
  const auto set = [&](bool& to) -> Status {
    EDGEC_TRY(to, switch_of(key, value));
    return {};
  };
  if (key == "dynamic_weights") return set(o.dynamic_weights);
  if (key == "per_op") return set(o.per_op);
  if (key == "precision") {
    o.fp32 = o.static_quant = o.dynamic_quant = false;
    for (const std::string& w : words(value)) {
      if (w == "fp32")
        o.fp32 = true;
      else if (w == "static")
        o.static_quant = true;
      else if (w == "dynamic")
        o.dynamic_quant = true;
      else
        return usage_error(fmt::format("error: --backend xnnpack,precision={}: of fp32, static and dynamic, joined with +", value));
    }
    return {};
  }
  if (key == "skip") {
    for (const std::string& w : words(value)) o.skip.insert(w);
    return {};
  }
  return usage_error(fmt::format("error: --backend xnnpack: no option \"{}\"; there are precision, dynamic_weights, per_op, skip", key));
}

}  // namespace

Result<CompileSpecs> specs_of(std::span<const std::pair<std::string, std::string>> options) {
  Options check;
  CompileSpecs specs;
  for (const auto& [key, value] : options) {
    EDGEC_TRY_VOID(apply(check, key, value));
    specs.push_back(compile_spec(key, value));
  }
  return specs;
}

Options options_of(const CompileSpecs& specs) {
  Options o;
  for (const CompileSpec& s : specs)
    if (const auto text = spec_text(specs, s.key)) (void)apply(o, s.key, *text);
  return o;
}

}  // namespace edgec::xnnpack
