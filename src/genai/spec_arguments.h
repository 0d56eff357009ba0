#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "genai/compile_spec_builder.h"

// The options of `edgec genai compile-spec`, and back from a spec to them.
namespace edgec::genai {

struct SpecArguments {
  std::string soc, backend = "htp";
  bool enable_x86_64 = false;
  // HTP
  bool use_fp16 = false, use_dlbc = false, use_multi_contexts = false, use_slc_allocator = false;
  std::string htp_performance_mode = "kHtpBurst";
  int64_t max_sf_buf_size = 0;
  // GPU
  std::string precision = "kGpuPrecisionUserProvided";
  bool use_memory_optimizations = true, use_node_optimizations = true, use_queue_recording = true;
  // both
  bool use_weight_sharing = false;
  bool debug = false, saver = false, online_prepare = false, dump_intermediate_outputs = false;
  int64_t profile_level = 0;
  bool shared_buffer = true, is_from_context_binary = false, use_mha2sha = false;
  std::vector<std::string> op_packages;  // a JSON object each
};

// Which backend an option belongs to.
enum class SpecScope : uint8_t { Any, Htp, Gpu };
struct SpecFlag {
  const char* name;  // "shared_buffer": --shared_buffer, --no_shared_buffer
  bool SpecArguments::*field;
  SpecScope scope;
  const char* help;
};
std::span<const SpecFlag> spec_flags();

// Names that the command line gave although the backend has no such option are a Usage failure, like everything the builder refuses.
Result<QnnOptions> options_of(const SpecArguments&, std::span<const std::string> given, std::vector<std::string>* warnings = nullptr);

// The arguments that make exactly these bytes. Kind Model, with the reason, when none do: a spec for LPAI, a log level that the builder
// does not set, a flatbuffer that was written in another order.
Result<std::vector<std::string>> arguments_of(std::span<const std::byte> spec);

}  // namespace edgec::genai
