#pragma once
#include <string>
#include <variant>
#include <vector>

#include "genai/qnn_options.h"

namespace edgec::genai {

// What a caller asks of a backend. An HTP-only option has no place in a GPU request.
struct HtpRequest {
  explicit HtpRequest(bool fp16) : use_fp16(fp16) {}  // no default: false means that the model is quantized
  bool use_fp16;
  bool use_dlbc = false, use_multi_contexts = false, use_weight_sharing = false, use_slc_allocator = false;
  HtpPerformance performance_mode = HtpPerformance::Burst;
};
struct GpuRequest {
  GpuPrecision precision = GpuPrecision::UserProvided;
  bool use_memory_optimizations = true, use_node_optimizations = true, use_queue_recording = true, use_weight_sharing = false;
};
struct LpaiRequest {};  // always refused: specs for LPAI are only read
using BackendRequest = std::variant<HtpRequest, GpuRequest, LpaiRequest>;

struct SpecRequest {
  bool debug = false, saver = false, online_prepare = false, dump_intermediate_outputs = false;
  int profile_level = 0;      // 2 detailed, 3 op trace; any other number is off
  bool shared_buffer = true;  // off in ControlArgs: who works from those passes it
  bool is_from_context_binary = false;
  std::vector<OpPackageInfo> op_package_infos;
  bool use_mha2sha = false;
};

// Makes the compile specs of the QnnBackend.
class QnnCompileSpecBuilder {
 public:
  // The x86-64 emulator knows neither weight sharing nor shared buffers: what is asked of them is dropped.
  explicit QnnCompileSpecBuilder(bool enable_x86_64 = false) : x86_(enable_x86_64) {}

  // One spec. Failures are of kind Usage; what only deserves a word goes to `warnings`.
  Result<CompileSpecs> build(SocModel, const BackendRequest&, const SpecRequest& = {}, std::vector<std::string>* warnings = nullptr) const;
  Result<QnnOptions> options(SocModel, const BackendRequest&, const SpecRequest& = {}, std::vector<std::string>* warnings = nullptr) const;

 private:
  bool x86_;
};

// The request for a backend by its type: only htp and gpu have specs that can be made, lpai has reasons of its own.
Result<BackendRequest> backend_request(BackendType, const HtpRequest&);

// Writes a spill-fill size into HTP options; sizes are int32 in the spec. Kind Usage when it does not fit or there are no HTP options.
Status set_spill_fill_size(QnnOptions&, int64_t bytes);

}  // namespace edgec::genai
