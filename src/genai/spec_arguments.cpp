#include "genai/spec_arguments.h"

#include <fmt/format.h>

#include <algorithm>

#include "emit/json.h"
#include "support/json.h"

namespace edgec::genai {
namespace {

constexpr SpecFlag kFlags[] = {
    {"enable_x86_64", &SpecArguments::enable_x86_64, SpecScope::Any,
     "for the emulator on the host: weight sharing and shared buffers are dropped"},
    {"use_fp16", &SpecArguments::use_fp16, SpecScope::Htp, "half precision instead of a quantized model"},
    {"use_dlbc", &SpecArguments::use_dlbc, SpecScope::Htp, "deep learning bandwidth compression"},
    {"use_multi_contexts", &SpecArguments::use_multi_contexts, SpecScope::Htp, "the model is cut into several contexts"},
    {"use_slc_allocator", &SpecArguments::use_slc_allocator, SpecScope::Htp, "the system level cache allocator"},
    {"use_memory_optimizations", &SpecArguments::use_memory_optimizations, SpecScope::Gpu, "on unless switched off"},
    {"use_node_optimizations", &SpecArguments::use_node_optimizations, SpecScope::Gpu, "on unless switched off"},
    {"use_queue_recording", &SpecArguments::use_queue_recording, SpecScope::Gpu, "on unless switched off"},
    {"use_weight_sharing", &SpecArguments::use_weight_sharing, SpecScope::Any, "graphs of one context share their weights"},
    {"debug", &SpecArguments::debug, SpecScope::Any, "log everything instead of errors only"},
    {"saver", &SpecArguments::saver, SpecScope::Any, "record the calls to the vendor library"},
    {"online_prepare", &SpecArguments::online_prepare, SpecScope::Any, "the device composes the graph when it loads"},
    {"dump_intermediate_outputs", &SpecArguments::dump_intermediate_outputs, SpecScope::Any, "write every intermediate tensor"},
    {"shared_buffer", &SpecArguments::shared_buffer, SpecScope::Any, "zero-copy graph I/O; on unless switched off"},
    {"is_from_context_binary", &SpecArguments::is_from_context_binary, SpecScope::Any, "the graph comes from a context binary"},
    {"use_mha2sha", &SpecArguments::use_mha2sha, SpecScope::Any, "attention heads one by one"},
};

Result<OpPackageInfo> op_package_of(const std::string& json) {
  auto doc = JsonDocument::parse(json, "--op_package");
  if (!doc) return usage_error("error: " + doc.failure().message);
  const auto members = doc->root().as_object();
  if (!members) return usage_error("error: " + members.failure().message);
  OpPackageInfo out;
  for (const auto& [key, value] : *members) {
    const auto text = value.as_string();
    if (!text) return usage_error("error: " + text.failure().message);
    if (key == "op_package_name")
      out.op_package_name = *text;
    else if (key == "op_package_path")
      out.op_package_path = *text;
    else if (key == "interface_provider")
      out.interface_provider = *text;
    else if (key == "custom_op_name")
      out.custom_op_name = *text;
    else if (key == "qnn_op_type_name")
      out.qnn_op_type_name = *text;
    else if (key == "target") {
      EDGEC_TRY(out.target, value_of(kOpPackageTargetNames, *text, "op package target"));
    } else if (key == "platform") {
      EDGEC_TRY(out.platform, value_of(kOpPackagePlatformNames, *text, "op package platform"));
    } else {
      return usage_error(fmt::format("error: --op_package has no field \"{}\"", key));
    }
  }
  return out;
}

std::string text_of_package(const OpPackageInfo& p) {
  return fmt::format(
      "{{\"op_package_name\": {}, \"op_package_path\": {}, \"interface_provider\": {}, \"target\": \"{}\", \"custom_op_name\": {}, "
      "\"qnn_op_type_name\": {}, \"platform\": \"{}\"}}",
      pte::quoted(p.op_package_name), pte::quoted(p.op_package_path), pte::quoted(p.interface_provider),
      text_of(kOpPackageTargetNames, p.target), pte::quoted(p.custom_op_name), pte::quoted(p.qnn_op_type_name),
      text_of(kOpPackagePlatformNames, p.platform));
}

Status check_scope(BackendType backend, std::span<const std::string> given) {
  const auto is_given = [&](std::string_view option) { return std::find(given.begin(), given.end(), option) != given.end(); };
  const auto check = [&](const char* option, SpecScope scope) -> Status {
    if (!is_given(option) || scope == SpecScope::Any) return {};
    if ((scope == SpecScope::Htp && backend == BackendType::Gpu) || (scope == SpecScope::Gpu && backend == BackendType::Htp))
      return usage_error(fmt::format("error: --{} is no option of the {} backend", option, name(backend)));
    return {};
  };
  for (const SpecFlag& flag : kFlags) EDGEC_TRY_VOID(check(flag.name, flag.scope));
  EDGEC_TRY_VOID(check("htp_performance_mode", SpecScope::Htp));
  EDGEC_TRY_VOID(check("max_sf_buf_size", SpecScope::Htp));
  return check("precision", SpecScope::Gpu);
}

Result<BackendRequest> request_of(const SpecArguments& a, BackendType backend) {
  HtpRequest htp(a.use_fp16);
  htp.use_dlbc = a.use_dlbc;
  htp.use_multi_contexts = a.use_multi_contexts;
  htp.use_weight_sharing = a.use_weight_sharing;
  htp.use_slc_allocator = a.use_slc_allocator;
  EDGEC_TRY(htp.performance_mode, value_of(kHtpPerformanceNames, a.htp_performance_mode, "HTP performance mode"));
  EDGEC_TRY(BackendRequest request, backend_request(backend, htp));
  if (auto* gpu = std::get_if<GpuRequest>(&request)) {
    EDGEC_TRY(gpu->precision, value_of(kGpuPrecisionNames, a.precision, "GPU precision"));
    gpu->use_memory_optimizations = a.use_memory_optimizations;
    gpu->use_node_optimizations = a.use_node_optimizations;
    gpu->use_queue_recording = a.use_queue_recording;
    gpu->use_weight_sharing = a.use_weight_sharing;
  }
  return request;
}

// What the builder would have been asked for. Options that it does not set are found out by comparing bytes.
SpecArguments request_behind(const QnnOptions& o) {
  SpecArguments a;
  a.soc = name(o.soc_model);
  a.backend = name(o.backend_type);
  if (const auto& h = o.htp_options) {
    a.use_fp16 = h->precision == HtpPrecision::Fp16;
    a.use_dlbc = h->use_dlbc;
    a.use_multi_contexts = h->use_multi_contexts;
    a.use_weight_sharing = h->use_weight_sharing;
    a.use_slc_allocator = h->use_slc_allocator;
    a.htp_performance_mode = text_of(kHtpPerformanceNames, h->performance_mode);
    a.max_sf_buf_size = h->max_sf_buf_size;
  } else if (const auto& g = o.gpu_options) {
    a.precision = text_of(kGpuPrecisionNames, g->precision);
    a.use_memory_optimizations = g->use_memory_optimizations;
    a.use_node_optimizations = g->use_node_optimizations;
    a.use_queue_recording = g->use_queue_recording;
    a.use_weight_sharing = g->use_weight_sharing;
  }
  a.debug = o.log_level == LogLevel::Debug;
  a.saver = o.saver;
  a.online_prepare = o.online_prepare;
  a.dump_intermediate_outputs = o.dump_intermediate_outputs;
  a.profile_level = static_cast<int64_t>(o.profile_level);
  a.shared_buffer = o.shared_buffer;
  a.is_from_context_binary = o.is_from_context_binary;
  a.use_mha2sha = o.use_mha2sha;
  for (const OpPackageInfo& p : o.op_package_infos.value_or(std::vector<OpPackageInfo>{})) a.op_packages.push_back(text_of_package(p));
  return a;
}

std::vector<std::string> as_text(const SpecArguments& a) {
  const SpecArguments defaults;
  std::vector<std::string> out = {"--soc", a.soc, "--backend", a.backend};
  for (const SpecFlag& flag : kFlags)
    if (a.*flag.field != defaults.*flag.field) out.push_back(fmt::format("--{}{}", a.*flag.field ? "" : "no_", flag.name));
  const auto value = [&](const char* option, const std::string& text) { out.insert(out.end(), {option, text}); };
  if (a.htp_performance_mode != defaults.htp_performance_mode) value("--htp_performance_mode", a.htp_performance_mode);
  if (a.max_sf_buf_size != 0) value("--max_sf_buf_size", std::to_string(a.max_sf_buf_size));
  if (a.precision != defaults.precision) value("--precision", a.precision);
  if (a.profile_level != 0) value("--profile_level", std::to_string(a.profile_level));
  for (const std::string& p : a.op_packages) value("--op_package", p);
  return out;
}

}  // namespace

std::span<const SpecFlag> spec_flags() { return kFlags; }

Result<QnnOptions> options_of(const SpecArguments& a, std::span<const std::string> given, std::vector<std::string>* warnings) {
  EDGEC_TRY(const SocModel soc, resolve_soc_model(std::string_view(a.soc)));
  EDGEC_TRY(const BackendType backend, resolve_backend_type(std::string_view(a.backend)));
  EDGEC_TRY_VOID(check_scope(backend, given));
  EDGEC_TRY(const BackendRequest request, request_of(a, backend));
  SpecRequest spec;
  spec.debug = a.debug;
  spec.saver = a.saver;
  spec.online_prepare = a.online_prepare;
  spec.dump_intermediate_outputs = a.dump_intermediate_outputs;
  spec.profile_level = static_cast<int>(std::clamp<int64_t>(a.profile_level, -1, 1000));
  spec.shared_buffer = a.shared_buffer;
  spec.is_from_context_binary = a.is_from_context_binary;
  spec.use_mha2sha = a.use_mha2sha;
  for (const std::string& json : a.op_packages) {
    EDGEC_TRY(spec.op_package_infos.emplace_back(), op_package_of(json));
  }
  EDGEC_TRY(QnnOptions options, QnnCompileSpecBuilder(a.enable_x86_64).options(soc, request, spec, warnings));
  if (a.max_sf_buf_size != 0) EDGEC_TRY_VOID(set_spill_fill_size(options, a.max_sf_buf_size));
  return options;
}

Result<std::vector<std::string>> arguments_of(std::span<const std::byte> spec) {
  EDGEC_TRY(const QnnOptions options, decode_qnn_options(spec));
  if (options.backend_type != BackendType::Htp && options.backend_type != BackendType::Gpu)
    return model_error(fmt::format("error: the spec is for {}; compile-spec makes those for htp and gpu, others are only read",
                                   name(options.backend_type)));
  const SpecArguments arguments = request_behind(options);
  const auto again = options_of(arguments, {});
  if (!again) return model_error("error: no options make this spec: " + again.failure().message);
  if (!(*again == options)) return model_error("error: no options make this spec: it holds values that the builder does not set");
  const std::vector<std::byte> bytes = encode(*again);
  if (!std::equal(bytes.begin(), bytes.end(), spec.begin(), spec.end()))
    return model_error("error: no options make these bytes: they say what compile-spec can say, written in another order");
  return as_text(arguments);
}

}  // namespace edgec::genai
