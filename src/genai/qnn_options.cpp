#include "genai/qnn_options.h"

#include <fmt/format.h>

#include "schemas/qnn_options_generated.h"

namespace edgec::genai {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

// ---- writing: tables depth first in slot order, as flatc orders them

template <class E>
int32_t number(E value) {
  return static_cast<int32_t>(value);
}

Offset<fb::SocInfo> write_soc(FlatBufferBuilder& b, const QnnOptions& o) {
  Offset<fb::HtpInfo> htp;
  if (o.htp_info) htp = fb::CreateHtpInfo(b, number(o.htp_info->htp_arch), o.htp_info->vtcm_size_in_mb);
  Offset<fb::LpaiInfo> lpai;
  if (o.lpai_info) lpai = fb::CreateLpaiInfo(b, number(*o.lpai_info));
  return fb::CreateSocInfo(b, number(o.soc_model), htp, lpai);
}

Offset<fb::BackendOptions> write_backend(FlatBufferBuilder& b, const QnnOptions& o) {
  Offset<fb::HtpOptions> htp;
  if (const auto& h = o.htp_options)
    htp = fb::CreateHtpOptions(b, h->max_sf_buf_size, number(h->performance_mode), number(h->precision), number(h->pd_session),
                               h->use_conv_hmx, h->use_dlbc, h->use_fold_relu, h->use_multi_contexts, h->use_weight_sharing,
                               h->use_slc_allocator);
  Offset<fb::GpuOptions> gpu;
  if (const auto& g = o.gpu_options)
    gpu = fb::CreateGpuOptions(b, number(g->performance_mode), number(g->precision), g->use_memory_optimizations, g->use_node_optimizations,
                               g->use_queue_recording, g->use_weight_sharing);
  Offset<fb::LpaiOptions> lpai;
  if (const auto& l = o.lpai_options)
    lpai = fb::CreateLpaiOptions(b, l->fps, l->ftrt_ratio, number(l->client_perf_type), number(l->affinity), l->core_selection,
                                 number(l->target_env));
  return fb::CreateBackendOptions(b, number(o.backend_type), htp, gpu, lpai);
}

Offset<fb::OpPackageOptions> write_packages(FlatBufferBuilder& b, const std::vector<OpPackageInfo>& packages) {
  std::vector<Offset<fb::OpPackageInfo>> offsets;
  for (const OpPackageInfo& p : packages) {
    const auto name = b.CreateString(p.op_package_name);
    const auto path = b.CreateString(p.op_package_path);
    const auto provider = b.CreateString(p.interface_provider);
    const auto custom_op = b.CreateString(p.custom_op_name);
    const auto op_type = b.CreateString(p.qnn_op_type_name);
    offsets.push_back(fb::CreateOpPackageInfo(b, name, path, provider, number(p.target), custom_op, op_type, number(p.platform)));
  }
  return fb::CreateOpPackageOptions(b, b.CreateVector(offsets));
}

// ---- reading

class Reader {
 public:
  Result<QnnOptions> read(const fb::QnnExecuTorchOptions& t) {
    QnnOptions o;
    if (t.soc_info()) read_soc(*t.soc_info(), o);
    if (t.backend_options()) read_backend(*t.backend_options(), o);
    o.library_path = optional_text(t.library_path());
    o.log_level = member<LogLevel>(t.log_level(), 5, "log_level");
    o.online_prepare = t.online_prepare();
    o.dump_intermediate_outputs = t.dump_intermediate_outputs();
    o.profile_level = member<ProfileLevel>(t.profile_level(), 3, "profile_level");
    o.shared_buffer = t.shared_buffer();
    o.is_from_context_binary = t.is_from_context_binary();
    o.saver = t.saver();
    o.saver_output_dir = optional_text(t.saver_output_dir());
    if (t.op_package_options()) o.op_package_infos = packages(*t.op_package_options());
    o.use_mha2sha = t.use_mha2sha();
    if (!problem_.empty()) return input_error(fmt::format("error: the QNN compile spec has {}", problem_));
    return o;
  }

 private:
  void read_soc(const fb::SocInfo& t, QnnOptions& o) {
    o.soc_model = SocModel(t.soc_model());
    if (name(o.soc_model).empty()) problem_ = fmt::format("an unknown soc_model {}", t.soc_model());
    if (t.htp_info()) {
      o.htp_info = HtpInfoRecord{HtpArch(t.htp_info()->htp_arch()), t.htp_info()->vtcm_size_in_mb()};
      if (!known_arch(o.htp_info->htp_arch)) problem_ = fmt::format("an unknown htp_arch {}", t.htp_info()->htp_arch());
    }
    if (t.lpai_info()) {
      o.lpai_info = LpaiVersion(t.lpai_info()->lpai_hardware_version());
      if (*o.lpai_info != LpaiVersion::None && *o.lpai_info != LpaiVersion::V6 && *o.lpai_info != LpaiVersion::V7)
        problem_ = fmt::format("an unknown lpai_hardware_version {}", t.lpai_info()->lpai_hardware_version());
    }
  }

  void read_backend(const fb::BackendOptions& t, QnnOptions& o) {
    o.backend_type = member<BackendType>(t.backend_type(), 4, "backend_type");
    if (const auto* h = t.htp_options())
      o.htp_options = HtpRecord{h->max_sf_buf_size(),
                                member<HtpPerformance>(h->performance_mode(), 8, "HTP performance_mode"),
                                member<HtpPrecision>(h->precision(), 1, "HTP precision"),
                                member<HtpPdSession>(h->pd_session(), 1, "pd_session"),
                                h->use_conv_hmx(),
                                h->use_dlbc(),
                                h->use_fold_relu(),
                                h->use_multi_contexts(),
                                h->use_weight_sharing(),
                                h->use_slc_allocator()};
    if (const auto* g = t.gpu_options())
      o.gpu_options = GpuRecord{member<GpuPerformance>(g->performance_mode(), 2, "GPU performance_mode"),
                                member<GpuPrecision>(g->precision(), 3, "GPU precision"),
                                g->use_memory_optimizations(),
                                g->use_node_optimizations(),
                                g->use_queue_recording(),
                                g->use_weight_sharing()};
    if (const auto* l = t.lpai_options())
      o.lpai_options = LpaiRecord{l->fps(),
                                  l->ftrt_ratio(),
                                  member<LpaiClientPerf>(l->client_perf_type(), 2, "client_perf_type"),
                                  member<LpaiAffinity>(l->affinity(), 2, "affinity"),
                                  l->core_selection(),
                                  member<LpaiTargetEnv>(l->target_env(), 2, "target_env")};
  }

  std::vector<OpPackageInfo> packages(const fb::OpPackageOptions& t) {
    std::vector<OpPackageInfo> out;
    if (!t.op_package_infos()) return out;
    for (const fb::OpPackageInfo* p : *t.op_package_infos())
      out.push_back({text(p->op_package_name()), text(p->op_package_path()), text(p->interface_provider()),
                     member<OpPackageTarget>(p->target(), 2, "op package target"), text(p->custom_op_name()), text(p->qnn_op_type_name()),
                     member<OpPackagePlatform>(p->platform(), 2, "op package platform")});
    return out;
  }

  // Enums without gaps: 0 to `last`.
  template <class E>
  E member(int32_t value, int32_t last, const char* what) {
    if (value < 0 || value > last) problem_ = fmt::format("an unknown {} {}", what, value);
    return E(value);
  }
  static bool known_arch(HtpArch a) {
    switch (a) {
      case HtpArch::None:
      case HtpArch::V68:
      case HtpArch::V69:
      case HtpArch::V73:
      case HtpArch::V75:
      case HtpArch::V79:
      case HtpArch::V81:
        return true;
    }
    return false;
  }
  static std::string text(const flatbuffers::String* s) { return s ? s->str() : std::string(); }
  static std::optional<std::string> optional_text(const flatbuffers::String* s) { return s ? std::optional(s->str()) : std::nullopt; }

  std::string problem_;
};

}  // namespace

std::vector<std::byte> encode(const QnnOptions& o) {
  FlatBufferBuilder b(1024);
  const auto soc = write_soc(b, o);
  const auto backend = write_backend(b, o);
  Offset<flatbuffers::String> library, saver_dir;
  if (o.library_path) library = b.CreateString(*o.library_path);
  if (o.saver_output_dir) saver_dir = b.CreateString(*o.saver_output_dir);
  Offset<fb::OpPackageOptions> packages;
  if (o.op_package_infos) packages = write_packages(b, *o.op_package_infos);
  b.Finish(fb::CreateQnnExecuTorchOptions(b, soc, backend, library, number(o.log_level), o.online_prepare, o.dump_intermediate_outputs,
                                          number(o.profile_level), o.shared_buffer, o.is_from_context_binary, o.saver, saver_dir, packages,
                                          o.use_mha2sha));
  const auto bytes = std::as_bytes(std::span(b.GetBufferPointer(), b.GetSize()));
  return {bytes.begin(), bytes.end()};
}

Result<QnnOptions> decode_qnn_options(std::span<const std::byte> bytes) {
  // The verifier reads at aligned addresses.
  const std::vector<std::byte> copy(bytes.begin(), bytes.end());
  const auto* data = reinterpret_cast<const uint8_t*>(copy.data());
  flatbuffers::Verifier verifier(data, copy.size());
  if (!fb::VerifyQnnExecuTorchOptionsBuffer(verifier)) return input_error("error: not a QNN compile spec (a damaged flatbuffer)");
  return Reader().read(*fb::GetQnnExecuTorchOptions(data));
}

CompileSpec qnn_compile_spec(const QnnOptions& options) { return {std::string(kQnnCompileSpecKey), encode(options)}; }

Result<QnnOptions> read_qnn_compile_specs(const CompileSpecs& specs) {
  const CompileSpec* found = nullptr;
  for (const CompileSpec& spec : specs) {
    if (spec.key != kQnnCompileSpecKey)
      return usage_error(fmt::format("\"{}\" is no compile spec of QNN; the only one is {}", spec.key, kQnnCompileSpecKey));
    if (!found) found = &spec;
  }
  if (!found) return usage_error(fmt::format("the compile specs have no {}", kQnnCompileSpecKey));
  return decode_qnn_options(found->value);
}

}  // namespace edgec::genai
