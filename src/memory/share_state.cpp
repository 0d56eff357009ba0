#include "memory/share_state.h"

#include <fmt/format.h>

#include <algorithm>

namespace edgec::memory {
namespace {

struct Use {  // of a buffer by a method
  Method* method = nullptr;
  size_t input = 0;
  const InputSpec& spec() const { return method->inputs[input]; }
  const TensorType& type() const { return method->graph->tensor(method->graph->inputs[input]); }
  const TensorData& data() const { return method->constants[spec().data.index].data; }
};

std::map<std::string, std::vector<Use>> buffers_by_name(const Program& program) {
  std::map<std::string, std::vector<Use>> out;
  for (const auto& m : program.methods)
    for (size_t i = 0; i < m->inputs.size(); ++i)
      if (m->inputs[i].kind == InputSpec::Kind::Buffer) out[m->inputs[i].name].push_back({m.get(), i});
  return out;
}

Failure differ(const std::string& name, const Use& a, const Use& b, std::string_view what) {
  return model_error(
      fmt::format("error: buffer \"{}\" cannot be shared by methods {} and {}: {}", name, a.method->name, b.method->name, what));
}

Status check_types(const std::string& name, const Use& a, const Use& b) {
  const TensorType &x = a.type(), &y = b.type();
  if (x.dtype == y.dtype && x.sizes == y.sizes && x.dim_order == y.dim_order) return {};
  return differ(name, a, b, fmt::format("it is {} in one and {} in the other", str(x), str(y)));
}

bool is_written(const std::vector<Use>& uses) {
  return std::any_of(uses.begin(), uses.end(), [](const Use& u) { return u.spec().mutated; });
}

}  // namespace

Status mark_shared_state(Program& program) {
  for (auto& [name, uses] : buffers_by_name(program)) {
    if (!is_written(uses)) continue;
    for (const Use& u : uses) {
      EDGEC_TRY_VOID(check_types(name, uses[0], u));
      if (u.method != uses[0].method && gather(u.data()) != gather(uses[0].data()))
        return differ(name, uses[0], u, "their initial values are not equal");
      u.method->inputs[u.input].mutated = true;
    }
  }
  return {};
}

Result<std::map<std::string, int64_t>> shared_state_offsets(const Program& program, int64_t alignment) {
  std::map<std::string, int64_t> offsets;
  int64_t end = 0;
  for (const auto& [name, uses] : buffers_by_name(program)) {
    if (!is_written(uses)) continue;
    for (const Use& u : uses) EDGEC_TRY_VOID(check_types(name, uses[0], u));
    const auto bytes = upper_bound_bytes(uses[0].type());
    if (!bytes || *bytes > (int64_t{1} << 61) - end)
      return model_error(fmt::format("error: buffer \"{}\" has no size that can be planned", name));
    offsets[name] = end;
    end += (*bytes + alignment - 1) / alignment * alignment;
  }
  return offsets;
}

}  // namespace edgec::memory
