#include <fmt/format.h>

#include "emit/json.h"
#include "genai/qnn_options.h"

namespace edgec::genai {
namespace {

using pte::quoted;

std::string text_or_null(const std::optional<std::string>& text) { return text ? quoted(*text) : "null"; }

template <class E>
int32_t number(E value) {
  return static_cast<int32_t>(value);
}

std::string json(const std::optional<HtpRecord>& h) {
  if (!h) return "null";
  return fmt::format(
      "{{\"max_sf_buf_size\": {}, \"performance_mode\": {}, \"precision\": {}, \"pd_session\": {}, \"use_conv_hmx\": {}, \"use_dlbc\": {}, "
      "\"use_fold_relu\": {}, \"use_multi_contexts\": {}, \"use_weight_sharing\": {}, \"use_slc_allocator\": {}}}",
      h->max_sf_buf_size, number(h->performance_mode), number(h->precision), number(h->pd_session), h->use_conv_hmx, h->use_dlbc,
      h->use_fold_relu, h->use_multi_contexts, h->use_weight_sharing, h->use_slc_allocator);
}

std::string json(const std::optional<GpuRecord>& g) {
  if (!g) return "null";
  return fmt::format(
      "{{\"performance_mode\": {}, \"precision\": {}, \"use_memory_optimizations\": {}, \"use_node_optimizations\": {}, "
      "\"use_queue_recording\": {}, \"use_weight_sharing\": {}}}",
      number(g->performance_mode), number(g->precision), g->use_memory_optimizations, g->use_node_optimizations, g->use_queue_recording,
      g->use_weight_sharing);
}

std::string json(const std::optional<LpaiRecord>& l) {
  if (!l) return "null";
  return fmt::format(
      "{{\"fps\": {}, \"ftrt_ratio\": {}, \"client_perf_type\": {}, \"affinity\": {}, \"core_selection\": {}, \"target_env\": {}}}", l->fps,
      l->ftrt_ratio, number(l->client_perf_type), number(l->affinity), l->core_selection, number(l->target_env));
}

std::string json(const std::optional<std::vector<OpPackageInfo>>& packages) {
  if (!packages) return "null";
  std::string items;
  for (const OpPackageInfo& p : *packages)
    items += fmt::format(
        "{}{{\"op_package_name\": {}, \"op_package_path\": {}, \"interface_provider\": {}, \"target\": {}, \"custom_op_name\": {}, "
        "\"qnn_op_type_name\": {}, \"platform\": {}}}",
        items.empty() ? "" : ", ", quoted(p.op_package_name), quoted(p.op_package_path), quoted(p.interface_provider), number(p.target),
        quoted(p.custom_op_name), quoted(p.qnn_op_type_name), number(p.platform));
  return fmt::format("{{\"op_package_infos\": [{}]}}", items);
}

}  // namespace

std::string to_json(const QnnOptions& o) {
  const std::string htp_info =
      o.htp_info ? fmt::format("{{\"htp_arch\": {}, \"vtcm_size_in_mb\": {}}}", number(o.htp_info->htp_arch), o.htp_info->vtcm_size_in_mb)
                 : "null";
  const std::string lpai_info = o.lpai_info ? fmt::format("{{\"lpai_hardware_version\": {}}}", number(*o.lpai_info)) : "null";
  return fmt::format(
      "{{\n"
      "  \"soc_info\": {{\"soc_model\": {}, \"htp_info\": {}, \"lpai_info\": {}}},\n"
      "  \"backend_options\": {{\"backend_type\": {}, \"htp_options\": {},\n    \"gpu_options\": {}, \"lpai_options\": {}}},\n"
      "  \"library_path\": {},\n  \"log_level\": {},\n  \"online_prepare\": {},\n  \"dump_intermediate_outputs\": {},\n"
      "  \"profile_level\": {},\n  \"shared_buffer\": {},\n  \"is_from_context_binary\": {},\n  \"saver\": {},\n"
      "  \"saver_output_dir\": {},\n  \"op_package_options\": {},\n  \"use_mha2sha\": {}\n}}\n",
      number(o.soc_model), htp_info, lpai_info, number(o.backend_type), json(o.htp_options), json(o.gpu_options), json(o.lpai_options),
      text_or_null(o.library_path), number(o.log_level), o.online_prepare, o.dump_intermediate_outputs, number(o.profile_level),
      o.shared_buffer, o.is_from_context_binary, o.saver, text_or_null(o.saver_output_dir), json(o.op_package_infos), o.use_mha2sha);
}

}  // namespace edgec::genai
