#include <edgec/backend.h>

namespace edgec {

CompileSpec compile_spec(std::string key, std::string_view text) {
  CompileSpec out{std::move(key), {}};
  for (char c : text) out.value.push_back(static_cast<std::byte>(c));
  return out;
}

std::optional<std::string> spec_text(const CompileSpecs& specs, std::string_view key) {
  for (const CompileSpec& s : specs)
    if (s.key == key) return std::string(reinterpret_cast<const char*>(s.value.data()), s.value.size());
  return std::nullopt;
}

}  // namespace edgec
