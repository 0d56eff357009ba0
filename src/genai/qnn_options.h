#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <edgec/backend.h>
#include <edgec/result.h>
#include "genai/name_table.h"
#include "genai/targets.h"

// What the compile spec of the QnnBackend says, as plain data. Defaults are those of the schema: 0 and false.
namespace edgec::genai {

enum class HtpPerformance : int32_t {
  Default = 0,
  SustainedHighPerformance,
  Burst,
  HighPerformance,
  PowerSaver,
  LowPowerSaver,
  HighPowerSaver,
  LowBalanced,
  Balanced
};
enum class HtpPrecision : int32_t { Quantized = 0, Fp16 = 1 };
enum class HtpPdSession : int32_t { Unsigned = 0, Signed = 1 };
enum class GpuPerformance : int32_t { High = 0, Normal = 1, Low = 2 };
enum class GpuPrecision : int32_t { Fp32 = 0, Fp16 = 1, Hybrid = 2, UserProvided = 3 };
enum class LpaiClientPerf : int32_t { Undefined = 0, RealTime = 1, NonRealTime = 2 };
enum class LpaiAffinity : int32_t { Undefined = 0, Soft = 1, Hard = 2 };
enum class LpaiTargetEnv : int32_t { X86 = 0, Arm = 1, Adsp = 2 };
enum class LogLevel : int32_t { Off = 0, Error, Warn, Info, Verbose, Debug };
enum class ProfileLevel : int32_t { Off = 0, Basic = 1, Detailed = 2, Optrace = 3 };
enum class OpPackageTarget : int32_t { Unknown = 0, Cpu = 1, Htp = 2 };
enum class OpPackagePlatform : int32_t { Unknown = 0, X86_64 = 1, Aarch64Android = 2 };

inline constexpr Named<HtpPerformance> kHtpPerformanceNames[] = {
    {HtpPerformance::Default, "kHtpDefault"},
    {HtpPerformance::SustainedHighPerformance, "kHtpSustainedHighPerformance"},
    {HtpPerformance::Burst, "kHtpBurst"},
    {HtpPerformance::HighPerformance, "kHtpHighPerformance"},
    {HtpPerformance::PowerSaver, "kHtpPowerSaver"},
    {HtpPerformance::LowPowerSaver, "kHtpLowPowerSaver"},
    {HtpPerformance::HighPowerSaver, "kHtpHighPowerSaver"},
    {HtpPerformance::LowBalanced, "kHtpLowBalanced"},
    {HtpPerformance::Balanced, "kHtpBalanced"},
};
inline constexpr Named<GpuPrecision> kGpuPrecisionNames[] = {
    {GpuPrecision::Fp32, "kGpuPrecisionFp32"},
    {GpuPrecision::Fp16, "kGpuPrecisionFp16"},
    {GpuPrecision::Hybrid, "kGpuPrecisionHybrid"},
    {GpuPrecision::UserProvided, "kGpuPrecisionUserProvided"},
};
inline constexpr Named<OpPackageTarget> kOpPackageTargetNames[] = {
    {OpPackageTarget::Unknown, "UNKNOWN"}, {OpPackageTarget::Cpu, "CPU"}, {OpPackageTarget::Htp, "HTP"}};
inline constexpr Named<OpPackagePlatform> kOpPackagePlatformNames[] = {
    {OpPackagePlatform::Unknown, "UNKNOWN"}, {OpPackagePlatform::X86_64, "X86_64"}, {OpPackagePlatform::Aarch64Android, "AARCH64_ANDROID"}};

struct HtpRecord {
  int32_t max_sf_buf_size = 0;  // bytes of the spill-fill buffer that a group of contexts shares
  HtpPerformance performance_mode = HtpPerformance::Default;
  HtpPrecision precision = HtpPrecision::Quantized;
  HtpPdSession pd_session = HtpPdSession::Unsigned;
  bool use_conv_hmx = false, use_dlbc = false, use_fold_relu = false, use_multi_contexts = false, use_weight_sharing = false,
       use_slc_allocator = false;
  friend bool operator==(const HtpRecord&, const HtpRecord&) = default;
};

struct GpuRecord {
  GpuPerformance performance_mode = GpuPerformance::High;
  GpuPrecision precision = GpuPrecision::Fp32;
  bool use_memory_optimizations = false, use_node_optimizations = false, use_queue_recording = false, use_weight_sharing = false;
  friend bool operator==(const GpuRecord&, const GpuRecord&) = default;
};

struct LpaiRecord {
  int32_t fps = 0, ftrt_ratio = 0;
  LpaiClientPerf client_perf_type = LpaiClientPerf::Undefined;
  LpaiAffinity affinity = LpaiAffinity::Undefined;
  uint32_t core_selection = 0;
  LpaiTargetEnv target_env = LpaiTargetEnv::X86;
  friend bool operator==(const LpaiRecord&, const LpaiRecord&) = default;
};

struct OpPackageInfo {
  std::string op_package_name, op_package_path, interface_provider;
  OpPackageTarget target = OpPackageTarget::Unknown;
  std::string custom_op_name, qnn_op_type_name;
  OpPackagePlatform platform = OpPackagePlatform::Unknown;
  friend bool operator==(const OpPackageInfo&, const OpPackageInfo&) = default;
};

struct HtpInfoRecord {
  HtpArch htp_arch = HtpArch::None;
  uint32_t vtcm_size_in_mb = 0;
  friend bool operator==(const HtpInfoRecord&, const HtpInfoRecord&) = default;
};

// A sub-table or string that a spec may lack is optional: present and empty is another file than absent.
struct QnnOptions {
  SocModel soc_model = SocModel::UNKNOWN_SM;
  std::optional<HtpInfoRecord> htp_info;
  std::optional<LpaiVersion> lpai_info;
  BackendType backend_type = BackendType::Undefined;
  std::optional<HtpRecord> htp_options;
  std::optional<GpuRecord> gpu_options;
  std::optional<LpaiRecord> lpai_options;
  std::optional<std::string> library_path;
  LogLevel log_level = LogLevel::Off;
  bool online_prepare = false, dump_intermediate_outputs = false;
  ProfileLevel profile_level = ProfileLevel::Off;
  bool shared_buffer = false, is_from_context_binary = false, saver = false;
  std::optional<std::string> saver_output_dir;
  std::optional<std::vector<OpPackageInfo>> op_package_infos;
  bool use_mha2sha = false;
  friend bool operator==(const QnnOptions&, const QnnOptions&) = default;
};

// The official package's bytes for the same options.
std::vector<std::byte> encode(const QnnOptions&);
// Reads untrusted bytes: the flatbuffer is verified and every enum must be a known one. A failure is of kind Input.
Result<QnnOptions> decode_qnn_options(std::span<const std::byte> bytes);
// One JSON object with the schema's names; absent sub-tables are null, enums are their numbers.
std::string to_json(const QnnOptions&);

inline constexpr std::string_view kQnnCompileSpecKey = "qnn_compile_spec";
inline constexpr std::string_view kQnnBackendId = "QnnBackend";
CompileSpec qnn_compile_spec(const QnnOptions&);
// The QNN options among a program's compile specs. A list with any other key, or without this one, is a value error (kind Usage).
Result<QnnOptions> read_qnn_compile_specs(const CompileSpecs&);

}  // namespace edgec::genai
