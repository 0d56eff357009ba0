#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include <edgec/result.h>

// Chipsets and backends of Qualcomm targets. They travel as text through the pipeline; the adapters turn them into these enums.
namespace edgec::genai {

enum class BackendType : int32_t { Undefined = 0, Gpu = 1, Htp = 2, Dsp = 3, Lpai = 4 };
enum class HtpArch : int32_t { None = 0, V68 = 68, V69 = 69, V73 = 73, V75 = 75, V79 = 79, V81 = 81 };
enum class LpaiVersion : int32_t { None = 0, V6 = 6, V7 = 7 };

enum class SocModel : int32_t {
  UNKNOWN_SM = 0,
  SM8350 = 30,
  SM8450 = 36,
  SA8295 = 39,
  SM8475 = 42,
  SM8550 = 43,
  SXR1230P = 45,
  SSG2115P = 46,
  SA8255 = 52,
  SXR2230P = 53,
  SM8650 = 57,
  SSG2125P = 58,
  SC8380XP = 60,
  SM8750 = 69,
  SA8797 = 72,
  SXR2330P = 75,
  QCS9100 = 77,
  SM8850 = 87,
  QCM6490 = 93,
  SAR2230P = 95,
  SW6100 = 96,
  SM8845 = 97,
};

struct Soc {
  SocModel value;
  std::string_view text;
  HtpArch htp_arch;
  uint32_t vtcm_size_in_mb;
  LpaiVersion lpai = LpaiVersion::None;
};
std::span<const Soc> all_socs();     // in the order of the official map, which lacks UNKNOWN_SM
const Soc* find_soc(SocModel);       // null for UNKNOWN_SM and numbers that are no chipset
std::string_view name(SocModel);     // empty when there is none
std::string_view name(BackendType);  // "htp"

// Exact, case-sensitive names; a failure (kind Usage) lists the valid ones. An enum passes as it is.
using SocModelOrText = std::variant<std::string_view, SocModel>;
using BackendTypeOrText = std::variant<std::string_view, BackendType>;
Result<SocModel> resolve_soc_model(const SocModelOrText&);
Result<BackendType> resolve_backend_type(const BackendTypeOrText&);

}  // namespace edgec::genai
