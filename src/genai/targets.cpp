#include "genai/targets.h"

#include "genai/name_table.h"

namespace edgec::genai {
namespace {

constexpr Soc kSocs[] = {
    {SocModel::SA8295, "SA8295", HtpArch::V68, 8},
    {SocModel::SA8797, "SA8797", HtpArch::V81, 16},
    {SocModel::SC8380XP, "SC8380XP", HtpArch::V73, 8},
    {SocModel::SM8350, "SM8350", HtpArch::V68, 4},
    {SocModel::SM8450, "SM8450", HtpArch::V69, 8},
    {SocModel::SM8475, "SM8475", HtpArch::V69, 8},
    {SocModel::SM8550, "SM8550", HtpArch::V73, 8},
    {SocModel::SA8255, "SA8255", HtpArch::V73, 8},
    {SocModel::SM8650, "SM8650", HtpArch::V75, 8},
    {SocModel::SM8750, "SM8750", HtpArch::V79, 8},
    {SocModel::SM8850, "SM8850", HtpArch::V81, 8, LpaiVersion::V6},
    {SocModel::SSG2115P, "SSG2115P", HtpArch::V73, 2},
    {SocModel::SSG2125P, "SSG2125P", HtpArch::V73, 2},
    {SocModel::SXR1230P, "SXR1230P", HtpArch::V73, 2},
    {SocModel::SXR2230P, "SXR2230P", HtpArch::V69, 8},
    {SocModel::SXR2330P, "SXR2330P", HtpArch::V79, 8},
    {SocModel::QCS9100, "QCS9100", HtpArch::V73, 8},
    {SocModel::SAR2230P, "SAR2230P", HtpArch::V81, 4, LpaiVersion::V6},
    {SocModel::SW6100, "SW6100", HtpArch::V81, 4},
    {SocModel::QCM6490, "QCM6490", HtpArch::V68, 2},
    {SocModel::SM8845, "SM8845", HtpArch::V81, 8},
};

constexpr Named<BackendType> kBackends[] = {
    {BackendType::Undefined, "undefined"}, {BackendType::Gpu, "gpu"}, {BackendType::Htp, "htp"}, {BackendType::Dsp, "dsp"},
    {BackendType::Lpai, "lpai"},
};

}  // namespace

std::span<const Soc> all_socs() { return kSocs; }

const Soc* find_soc(SocModel model) {
  for (const Soc& soc : kSocs)
    if (soc.value == model) return &soc;
  return nullptr;
}

std::string_view name(SocModel model) { return model == SocModel::UNKNOWN_SM ? "UNKNOWN_SM" : text_of(kSocs, model); }
std::string_view name(BackendType backend) { return text_of(kBackends, backend); }

Result<SocModel> resolve_soc_model(const SocModelOrText& model) {
  if (const auto* text = std::get_if<std::string_view>(&model)) return value_of(kSocs, *text, "chipset");
  return std::get<SocModel>(model);
}

Result<BackendType> resolve_backend_type(const BackendTypeOrText& backend) {
  if (const auto* text = std::get_if<std::string_view>(&backend)) return value_of(kBackends, *text, "backend type");
  return std::get<BackendType>(backend);
}

}  // namespace edgec::genai
