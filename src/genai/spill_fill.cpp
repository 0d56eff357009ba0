#include "genai/spill_fill.h"

#include <algorithm>
#include <cstring>

#include "genai/compile_spec_builder.h"

namespace edgec::genai {
namespace {

struct Member {
  pte::CompileSpec* spec;
  QnnOptions options;
};

Result<std::optional<Member>> member_of(pte::Delegate& d) {
  if (d.backend_id != kQnnBackendId) return std::optional<Member>();
  for (pte::CompileSpec& spec : d.compile_specs) {
    if (spec.key != kQnnCompileSpecKey) continue;
    EDGEC_TRY(QnnOptions options, decode_qnn_options(spec.value));
    if (!options.htp_options || !options.htp_options->use_multi_contexts) return std::optional<Member>();
    return std::optional(Member{&spec, std::move(options)});
  }
  return std::optional<Member>();
}

Result<std::vector<std::byte>> bytes_of(const pte::Blob& blob) {
  if (!blob.write) return std::vector<std::byte>(blob.view.begin(), blob.view.end());
  BytesSink sink;
  EDGEC_TRY_VOID(blob.write(sink));
  return std::move(sink.bytes);
}

}  // namespace

std::vector<std::byte> with_context_header(std::span<const std::byte> context, int64_t signature) {
  std::vector<std::byte> out(kContextHeaderBytes);
  const uint64_t size = context.size();
  std::memcpy(out.data(), &kContextMagic, sizeof kContextMagic);
  std::memcpy(out.data() + 4, &signature, sizeof signature);
  std::memcpy(out.data() + 12, &size, sizeof size);
  out.insert(out.end(), context.begin(), context.end());
  return out;
}

std::optional<std::span<const std::byte>> context_of(std::span<const std::byte> delegate) {
  if (delegate.size() < kContextHeaderBytes) return std::nullopt;
  uint32_t magic = 0;
  uint64_t size = 0;
  std::memcpy(&magic, delegate.data(), sizeof magic);
  std::memcpy(&size, delegate.data() + 12, sizeof size);
  const auto context = delegate.subspan(kContextHeaderBytes);
  if (magic != kContextMagic || size > context.size()) return std::nullopt;
  return context.first(size);
}

Result<int64_t> share_spill_fill(std::span<pte::Program* const> programs, const SpillFillReader& size_of) {
  int64_t largest = 0;
  std::vector<Member> members;
  for (pte::Program* program : programs)
    for (pte::Plan& plan : program->plans)
      for (pte::Delegate& d : plan.delegates) {
        EDGEC_TRY(auto member, member_of(d));
        if (!member) continue;
        if (d.payload >= program->payloads.size()) return model_error("a delegate has no payload");
        EDGEC_TRY(const std::vector<std::byte> bytes, bytes_of(program->payloads[d.payload]));
        const auto context = context_of(bytes);
        if (!context) return model_error("a delegate with use_multi_contexts holds no compiled context");
        EDGEC_TRY(const int64_t size, size_of(*context));
        largest = std::max(largest, size);
        members.push_back(*std::move(member));
      }
  for (Member& m : members) EDGEC_TRY_VOID(set_spill_fill_size(m.options, largest));
  for (const Member& m : members) m.spec->value = encode(m.options);
  return largest;
}

}  // namespace edgec::genai
