#include <fmt/format.h>

#include "genai/control_args.h"
#include "genai/targets.h"
#include "support/json.h"
#include "support/mapped_file.h"

namespace edgec::genai {
namespace {

Result<Text> read(JsonValue v, Text*) {
  EDGEC_TRY(const std::string_view text, v.as_string());
  return Text(text);
}
Result<Int> read(JsonValue v, Int*) { return v.as_int(); }
Result<Real> read(JsonValue v, Real*) { return v.as_number(); }
Result<Flag> read(JsonValue v, Flag*) { return v.as_bool(); }
Result<TextList> read(JsonValue v, TextList*) {
  EDGEC_TRY(const JsonArray items, v.as_array());
  TextList out;
  for (JsonValue item : items) {
    EDGEC_TRY(out.emplace_back(), read(item, static_cast<Text*>(nullptr)));
  }
  return out;
}

template <class T>
Status set(JsonValue v, T& to) {
  EDGEC_TRY(to, read(v, static_cast<T*>(nullptr)));
  return {};
}
template <class T>
Status set(JsonValue v, std::optional<T>& to) {
  if (v.is_null()) return {};
  EDGEC_TRY(to, read(v, static_cast<T*>(nullptr)));
  return {};
}

Result<ControlArgs> from_json(const std::filesystem::path& path) {
  EDGEC_TRY(const auto file, MappedFile::open(path.string()));
  EDGEC_TRY(const JsonDocument doc, JsonDocument::parse(file->bytes(), path.string()));
  EDGEC_TRY(const JsonObject members, doc.root().as_object());
  ControlArgs out;
  for (const JsonObject::Member member : members) {
    bool known = false;
    Status status;
    visit(out, [&](const ArgInfo& info, auto& field) {
      if (info.group != ArgGroup::Device || info.name != member.key) return;
      known = true;
      status = set(member.value, field);
    });
    if (!known) return usage_error(fmt::format("{}: the device configuration has no \"{}\"", path.string(), member.key));
    EDGEC_TRY_VOID(status);
  }
  return out;
}

ControlArgs device_part(const ControlArgs& args) {
  ControlArgs out;
#define ARG(type, name, value, flags, group, choices, help) \
  if (ArgGroup::group == ArgGroup::Device) out.name = args.name;
#include "genai/control_args.def"
#undef ARG
  return out;
}

Status check(const ControlArgs& c, const DeviceEnvironment& environment) {
  if (!c.soc_model) return usage_error("the device configuration needs soc_model");
  if (!c.build_folder) return usage_error("the device configuration needs build_folder");
  if (c.compile_only && c.pre_gen_pte) return usage_error("compile_only and pre_gen_pte exclude each other");
  if (!environment.qnn_sdk_root) return usage_error("QNN_SDK_ROOT is not set");
  if (!c.device && !c.compile_only && !c.enable_x86_64)
    return usage_error("a device is needed unless compile_only or enable_x86_64 is given");
  EDGEC_TRY(const SocModel soc, resolve_soc_model(std::string_view(*c.soc_model)));
  EDGEC_TRY(const BackendType backend, resolve_backend_type(std::string_view(c.backend)));
  if (backend == BackendType::Lpai && find_soc(soc)->lpai == LpaiVersion::None)
    return usage_error(fmt::format("{} has no LPAI", *c.soc_model));
  return {};
}

}  // namespace

Result<DeviceConfig> load_config(const std::variant<ControlArgs, std::filesystem::path>& source, const DeviceEnvironment& environment) {
  DeviceConfig config;
  if (const auto* args = std::get_if<ControlArgs>(&source))
    config.values = device_part(*args);
  else {
    EDGEC_TRY(config.values, from_json(std::get<std::filesystem::path>(source)));
  }
  EDGEC_TRY_VOID(check(config.values, environment));
  return config;
}

}  // namespace edgec::genai
