#include "genai/compile_spec_builder.h"

#include <fmt/format.h>

#include <limits>

namespace edgec::genai {
namespace {

#ifdef _WIN32
constexpr const char* kSaverLibrary = "QnnSaver.dll";
#else
constexpr const char* kSaverLibrary = "libQnnSaver.so";
#endif

Result<const Soc*> soc_of(SocModel model) {
  if (const Soc* soc = find_soc(model)) return soc;
  if (model == SocModel::UNKNOWN_SM) return usage_error("UNKNOWN_SM has no entry in the chipset table");
  std::string names;
  for (const Soc& soc : all_socs()) names += (names.empty() ? "" : ", ") + std::string(soc.text);
  return usage_error(fmt::format("{} is the number of no chipset; valid names: {}", static_cast<int32_t>(model), names));
}

Status check(const Soc& soc, const BackendRequest& backend, const SpecRequest& spec) {
  if (const auto* htp = std::get_if<HtpRequest>(&backend); htp && spec.online_prepare && htp->use_multi_contexts)
    return usage_error(
        "use_multi_contexts cannot be combined with online_prepare: contexts form a group only when they are compiled ahead");
  if (!std::holds_alternative<LpaiRequest>(backend)) return {};
  if (spec.online_prepare) return usage_error("the lpai backend has no online_prepare");
  if (soc.lpai == LpaiVersion::None) return usage_error(fmt::format("{} has no LPAI", soc.text));
  return usage_error("compile specs are made for htp and gpu; those for lpai are only read");
}

HtpRecord record(const HtpRequest& r, bool x86) {
  HtpRecord out;
  out.performance_mode = r.performance_mode;
  out.precision = r.use_fp16 ? HtpPrecision::Fp16 : HtpPrecision::Quantized;
  out.use_conv_hmx = out.use_fold_relu = true;  // on in the official records and not settable
  out.use_dlbc = r.use_dlbc;
  out.use_multi_contexts = r.use_multi_contexts;
  out.use_weight_sharing = r.use_weight_sharing && !x86;
  out.use_slc_allocator = r.use_slc_allocator;
  return out;
}

GpuRecord record(const GpuRequest& r, bool x86) {
  return {GpuPerformance::High,     r.precision,           r.use_memory_optimizations,
          r.use_node_optimizations, r.use_queue_recording, r.use_weight_sharing && !x86};
}

ProfileLevel profile_of(int level, std::vector<std::string>* warnings) {
  if (level == 1 && warnings) warnings->push_back("profile_level 1 is deprecated and means off; 2 is detailed, 3 op trace");
  return level == 3 ? ProfileLevel::Optrace : level == 2 ? ProfileLevel::Detailed : ProfileLevel::Off;
}

}  // namespace

Result<QnnOptions> QnnCompileSpecBuilder::options(SocModel model, const BackendRequest& backend, const SpecRequest& spec,
                                                  std::vector<std::string>* warnings) const {
  EDGEC_TRY(const Soc* soc, soc_of(model));
  EDGEC_TRY_VOID(check(*soc, backend, spec));
  QnnOptions o;
  o.soc_model = model;
  o.htp_info = HtpInfoRecord{soc->htp_arch, soc->vtcm_size_in_mb};
  if (soc->lpai != LpaiVersion::None) o.lpai_info = soc->lpai;
  if (const auto* htp = std::get_if<HtpRequest>(&backend)) {
    o.backend_type = BackendType::Htp;
    o.htp_options = record(*htp, x86_);
  } else {
    o.backend_type = BackendType::Gpu;
    o.gpu_options = record(std::get<GpuRequest>(backend), x86_);
  }
  o.library_path = spec.saver ? kSaverLibrary : "";
  o.log_level = spec.debug ? LogLevel::Debug : LogLevel::Error;
  o.online_prepare = spec.online_prepare;
  o.dump_intermediate_outputs = spec.dump_intermediate_outputs;
  o.profile_level = profile_of(spec.profile_level, warnings);
  o.shared_buffer = spec.shared_buffer && !x86_;
  o.is_from_context_binary = spec.is_from_context_binary;
  o.saver = spec.saver;
  o.saver_output_dir = "saver_output";
  o.op_package_infos = spec.op_package_infos;
  o.use_mha2sha = spec.use_mha2sha;
  if (o.profile_level != ProfileLevel::Off && spec.dump_intermediate_outputs && warnings)
    warnings->push_back("profile_level and dump_intermediate_outputs together: the times include the dumps");
  return o;
}

Result<CompileSpecs> QnnCompileSpecBuilder::build(SocModel model, const BackendRequest& backend, const SpecRequest& spec,
                                                  std::vector<std::string>* warnings) const {
  EDGEC_TRY(const QnnOptions o, options(model, backend, spec, warnings));
  return CompileSpecs{qnn_compile_spec(o)};
}

Result<BackendRequest> backend_request(BackendType type, const HtpRequest& htp) {
  switch (type) {
    case BackendType::Htp:
      return BackendRequest(htp);
    case BackendType::Gpu:
      return BackendRequest(GpuRequest{});
    case BackendType::Lpai:
      return BackendRequest(LpaiRequest{});
    default:
      return usage_error(fmt::format("compile specs are made for htp and gpu, not for {}", name(type)));
  }
}

Status set_spill_fill_size(QnnOptions& options, int64_t bytes) {
  if (!options.htp_options) return usage_error("a spill-fill size belongs to HTP options, which the compile spec does not have");
  if (bytes < 0 || bytes > std::numeric_limits<int32_t>::max())
    return usage_error(fmt::format("a spill-fill size of {} bytes does not fit max_sf_buf_size, an int32", bytes));
  options.htp_options->max_sf_buf_size = static_cast<int32_t>(bytes);
  return {};
}

}  // namespace edgec::genai
