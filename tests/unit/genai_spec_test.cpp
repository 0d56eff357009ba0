#include <gtest/gtest.h>

#include <filesystem>

#include "genai/spec_arguments.h"
#include "support/json.h"
#include "support/mapped_file.h"

// The official package's compile specs: written byte for byte, read back, and every refusal.
namespace edgec::genai {
namespace {

const std::string kData = std::string(EDGEC_TESTS_DIR) + "/genai/data/compile_specs/";

std::vector<std::byte> file_bytes(const std::string& path) {
  auto file = MappedFile::open(path);
  EXPECT_TRUE(file) << path;
  const auto bytes = (*file)->bytes();
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> from_hex(std::string_view hex) {
  std::vector<std::byte> out;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) out.push_back(std::byte(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  return out;
}

JsonDocument json(const std::string& path) {
  auto bytes = file_bytes(path);
  auto doc = JsonDocument::parse(bytes, path);
  EXPECT_TRUE(doc) << doc.failure().message;
  return *std::move(doc);
}

// The values of two JSON trees, whatever the order of members.
bool same_json(JsonValue a, JsonValue b) {
  if (a.is_object() && b.is_object()) {
    const auto members = *a.as_object();
    if (members.size() != b.as_object()->size()) return false;
    for (const auto member : members) {
      const auto other = b.find(member.key);
      if (!other || !same_json(member.value, *other)) return false;
    }
    return true;
  }
  if (a.is_array() && b.is_array()) {
    std::vector<JsonValue> x, y;
    for (const auto held = a.as_array(); JsonValue v : *held) x.push_back(v);
    for (const auto held = b.as_array(); JsonValue v : *held) y.push_back(v);
    for (size_t i = 0; i < x.size() && i < y.size(); ++i)
      if (!same_json(x[i], y[i])) return false;
    return x.size() == y.size();
  }
  if (a.kind() != b.kind()) return false;
  if (a.is_string()) return *a.as_string() == *b.as_string();
  if (a.is_bool()) return *a.as_bool() == *b.as_bool();
  if (a.is_int()) return *a.as_int() == *b.as_int();
  return a.is_null();
}

std::string text(JsonValue v, std::string_view key, std::string fallback) {
  const auto found = v.find(key);
  return found ? std::string(*found->as_string()) : fallback;
}
bool flag(JsonValue v, std::string_view key, bool fallback) {
  const auto found = v.find(key);
  return found ? *found->as_bool() : fallback;
}

// An entry's options through the builder.
Result<CompileSpecs> build(JsonValue e, bool x86, std::vector<std::string>* warnings) {
  const JsonValue backend = *e.at("backend_options"), spec = *e.at("spec_options");
  const auto requested = e.find("requested");
  const auto wanted = [&](JsonValue from, std::string_view key, bool fallback) {
    return requested && requested->find(key) ? *requested->boolean(key) : flag(from, key, fallback);
  };
  BackendRequest request = GpuRequest{};
  if (*e.string("backend") == "htp") {
    HtpRequest htp(flag(backend, "use_fp16", false));
    htp.use_dlbc = flag(backend, "use_dlbc", false);
    htp.use_multi_contexts = flag(backend, "use_multi_contexts", false);
    htp.use_weight_sharing = wanted(backend, "use_weight_sharing", false);
    htp.use_slc_allocator = flag(backend, "use_slc_allocator", false);
    htp.performance_mode = *value_of(kHtpPerformanceNames, text(backend, "htp_performance_mode", "kHtpBurst"), "mode");
    request = htp;
  } else {
    GpuRequest gpu;
    gpu.precision = *value_of(kGpuPrecisionNames, text(backend, "precision", "kGpuPrecisionUserProvided"), "precision");
    gpu.use_memory_optimizations = flag(backend, "use_memory_optimizations", true);
    gpu.use_node_optimizations = flag(backend, "use_node_optimizations", true);
    gpu.use_queue_recording = flag(backend, "use_queue_recording", true);
    gpu.use_weight_sharing = flag(backend, "use_weight_sharing", false);
    request = gpu;
  }
  SpecRequest s;
  s.debug = flag(spec, "debug", false);
  s.saver = flag(spec, "saver", false);
  s.online_prepare = flag(spec, "online_prepare", false);
  s.dump_intermediate_outputs = flag(spec, "dump_intermediate_outputs", false);
  s.profile_level = spec.find("profile_level") ? static_cast<int>(*spec.integer("profile_level")) : 0;
  s.shared_buffer = wanted(spec, "shared_buffer", false);
  s.is_from_context_binary = flag(spec, "is_from_context_binary", false);
  s.use_mha2sha = flag(spec, "use_mha2sha", false);
  if (const auto packages = e.find("op_package_infos"))
    for (const auto held = packages->as_array(); JsonValue p : *held)
      s.op_package_infos.push_back({std::string(*p.string("op_package_name")), std::string(*p.string("op_package_path")),
                                    std::string(*p.string("interface_provider")),
                                    *value_of(kOpPackageTargetNames, *p.string("target"), "target"),
                                    std::string(*p.string("custom_op_name")), std::string(*p.string("qnn_op_type_name")),
                                    *value_of(kOpPackagePlatformNames, *p.string("platform"), "platform")});
  return QnnCompileSpecBuilder(x86).build(*resolve_soc_model(*e.string("soc_model")), request, s, warnings);
}

TEST(GenaiSpecs, EveryReferenceSpecIsEqualByteForByteAndReadBack) {
  const JsonDocument index = json(kData + "index.json");
  size_t count = 0;
  for (const auto held = index.root().array("entries"); JsonValue e : *held) {
    const std::string file(*e.string("file"));
    const auto reference = file_bytes(kData + file);
    std::vector<std::string> warnings;
    auto specs = build(e, *e.boolean("enable_x86_64"), &warnings);
    ASSERT_TRUE(specs) << file << ": " << specs.failure().message;
    ASSERT_EQ(specs->size(), 1u);
    EXPECT_EQ((*specs)[0].key, "qnn_compile_spec");
    if (const auto size = e.find("max_sf_buf_size_after")) {
      auto options = read_qnn_compile_specs(*specs);
      ASSERT_TRUE(options);
      ASSERT_TRUE(set_spill_fill_size(*options, *size->as_int()));
      (*specs)[0] = qnn_compile_spec(*options);
    }
    EXPECT_EQ((*specs)[0].value, reference) << file;
    EXPECT_EQ(warnings.empty(), !e.find("warns").has_value()) << file;

    auto back = decode_qnn_options(reference);
    ASSERT_TRUE(back) << file << ": " << back.failure().message;
    EXPECT_EQ(encode(*back), reference) << file;
    auto shown = JsonDocument::parse(to_json(*back), "shown");
    ASSERT_TRUE(shown) << shown.failure().message;
    EXPECT_TRUE(same_json(shown->root(), *e.at("decoded"))) << file << "\n" << to_json(*back);
    ++count;
  }
  EXPECT_EQ(count, 24u);
}

TEST(GenaiSpecs, EveryChipset) {
  const JsonDocument socs = json(kData + "soc_defaults.json");
  size_t count = 0;
  for (const auto held = socs.root().object("socs"); auto soc : *held) {
    SpecRequest spec;
    spec.shared_buffer = false;
    auto model = resolve_soc_model(soc.key);
    ASSERT_TRUE(model) << soc.key;
    EXPECT_EQ(static_cast<int64_t>(*model), *soc.value.integer("value"));
    auto specs = QnnCompileSpecBuilder().build(*model, HtpRequest(false), spec);
    ASSERT_TRUE(specs);
    EXPECT_EQ((*specs)[0].value, from_hex(*soc.value.string("spec_hex"))) << soc.key;
    ++count;
  }
  EXPECT_EQ(count, 20u);
  EXPECT_EQ(all_socs().size(), 21u);  // and SC8380XP, which the snapshot lacks
}

TEST(GenaiSpecs, OptionsThatMakeTheSameBytes) {
  for (const auto& entry : std::filesystem::directory_iterator(kData)) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() != ".bin") continue;
    auto arguments = arguments_of(file_bytes(entry.path().string()));
    if (name == "lpai_sm8850_schema_only.bin") {
      ASSERT_FALSE(arguments);
      EXPECT_EQ(arguments.failure().kind, ErrorKind::Model);
      EXPECT_NE(arguments.failure().message.find("lpai"), std::string::npos);
    } else {
      EXPECT_TRUE(arguments) << name << ": " << arguments.failure().message;
    }
  }
}

TEST(GenaiSpecs, LpaiIsReadOnly) {
  const auto reference = file_bytes(kData + "lpai_sm8850_schema_only.bin");
  auto options = decode_qnn_options(reference);
  ASSERT_TRUE(options) << options.failure().message;
  ASSERT_TRUE(options->lpai_options);
  EXPECT_EQ(options->backend_type, BackendType::Lpai);
  EXPECT_EQ(options->soc_model, SocModel::SM8850);
  EXPECT_EQ(options->lpai_options->fps, 1);
  EXPECT_EQ(options->lpai_options->ftrt_ratio, 10);
  EXPECT_EQ(encode(*options), reference);
  EXPECT_FALSE(QnnCompileSpecBuilder().build(SocModel::SM8850, LpaiRequest{}));
}

void expect_refused(const Result<CompileSpecs>& r, const char* reason) {
  ASSERT_FALSE(r);
  EXPECT_EQ(r.failure().kind, ErrorKind::Usage);
  EXPECT_NE(r.failure().message.find(reason), std::string::npos) << r.failure().message;
}

// The rejections of index.json. "soc given as text": the builder takes the enum only.
TEST(GenaiSpecs, Rejections) {
  static_assert(!std::is_convertible_v<const char*, SocModel> && !std::is_convertible_v<std::string, SocModel>);
  const QnnCompileSpecBuilder builder;
  expect_refused(builder.build(SocModel(999), HtpRequest(false)), "999");
  expect_refused(builder.build(SocModel(999), HtpRequest(false)), "SM8750");  // the valid names
  expect_refused(builder.build(SocModel::UNKNOWN_SM, HtpRequest(false)), "UNKNOWN_SM");
  HtpRequest contexts(false);
  contexts.use_multi_contexts = true;
  SpecRequest online;
  online.online_prepare = true;
  expect_refused(builder.build(SocModel::SM8750, contexts, online), "use_multi_contexts");
  expect_refused(QnnCompileSpecBuilder(true).build(SocModel::SM8750, contexts, online), "online_prepare");
  EXPECT_TRUE(builder.build(SocModel::SM8750, HtpRequest(false), online));
  EXPECT_TRUE(builder.build(SocModel::SM8750, GpuRequest{}, online));  // stored
  expect_refused(builder.build(SocModel::SM8850, LpaiRequest{}, online), "online_prepare");
  expect_refused(builder.build(SocModel::SM8750, LpaiRequest{}), "SM8750 has no LPAI");

  auto options = builder.options(SocModel::SM8650, contexts);
  ASSERT_TRUE(options);
  EXPECT_TRUE(set_spill_fill_size(*options, 2147483647));
  const Status too_large = set_spill_fill_size(*options, 2147483648);
  ASSERT_FALSE(too_large);
  EXPECT_NE(too_large.failure().message.find("int32"), std::string::npos);
  EXPECT_FALSE(set_spill_fill_size(*options, -1));
}

TEST(GenaiSpecs, X86DropsWeightSharingAndSharedBuffersOnly) {
  HtpRequest htp(true);
  htp.use_weight_sharing = htp.use_dlbc = true;
  SpecRequest spec;
  spec.use_mha2sha = true;
  const auto device = QnnCompileSpecBuilder().options(SocModel::SM8650, htp, spec);
  const auto host = QnnCompileSpecBuilder(true).options(SocModel::SM8650, htp, spec);
  ASSERT_TRUE(device && host);
  EXPECT_TRUE(device->htp_options->use_weight_sharing && device->shared_buffer);
  EXPECT_FALSE(host->htp_options->use_weight_sharing || host->shared_buffer);
  QnnOptions same = *host;
  same.htp_options->use_weight_sharing = same.shared_buffer = true;
  EXPECT_EQ(same, *device);
  GpuRequest gpu;
  gpu.use_weight_sharing = true;
  EXPECT_FALSE(QnnCompileSpecBuilder(true).options(SocModel::SM8650, gpu)->gpu_options->use_weight_sharing);
}

TEST(GenaiSpecs, SharedBuffersAreOnUnlessSwitchedOff) {
  EXPECT_TRUE(QnnCompileSpecBuilder().options(SocModel::SM8650, HtpRequest(false))->shared_buffer);
  SpecRequest off;
  off.shared_buffer = false;
  EXPECT_FALSE(QnnCompileSpecBuilder().options(SocModel::SM8650, HtpRequest(false), off)->shared_buffer);
}

TEST(GenaiSpecs, NamesAreExactAndFailuresListThem) {
  EXPECT_EQ(*resolve_soc_model("SM8750"), SocModel::SM8750);
  EXPECT_EQ(*resolve_soc_model(SocModel::SM8350), SocModel::SM8350);
  for (const char* wrong : {"sm8750", "SM8750 ", "", "UNKNOWN_SM"}) {
    const auto r = resolve_soc_model(wrong);
    ASSERT_FALSE(r) << wrong;
    for (const Soc& soc : all_socs()) EXPECT_NE(r.failure().message.find(soc.text), std::string::npos);
  }
  EXPECT_EQ(*resolve_backend_type("htp"), BackendType::Htp);
  EXPECT_EQ(*resolve_backend_type(BackendType::Gpu), BackendType::Gpu);
  const auto wrong = resolve_backend_type("HTP");
  ASSERT_FALSE(wrong);
  for (const char* valid : {"undefined", "gpu", "htp", "dsp", "lpai"}) EXPECT_NE(wrong.failure().message.find(valid), std::string::npos);
  EXPECT_FALSE(backend_request(BackendType::Dsp, HtpRequest(false)));
  EXPECT_FALSE(backend_request(BackendType::Undefined, HtpRequest(false)));
}

TEST(GenaiSpecs, ListsOfSpecs) {
  const auto specs = QnnCompileSpecBuilder().build(SocModel::SM8650, HtpRequest(false));
  ASSERT_TRUE(specs);
  EXPECT_TRUE(read_qnn_compile_specs(*specs));
  EXPECT_FALSE(read_qnn_compile_specs({}));
  CompileSpecs other = *specs;
  other.push_back({"another", {}});
  EXPECT_FALSE(read_qnn_compile_specs(other));
}

TEST(GenaiSpecs, DamagedBytesAreRefused) {
  const auto reference = file_bytes(kData + "htp_sm8845_all_flags.bin");
  EXPECT_FALSE(decode_qnn_options({}));
  for (size_t n = 0; n < reference.size(); ++n) {
    std::vector<std::byte> cut(reference.begin(), reference.begin() + static_cast<ptrdiff_t>(n));
    (void)decode_qnn_options(cut);
    auto changed = reference;
    changed[n] ^= std::byte{0xff};
    (void)decode_qnn_options(changed);
    (void)arguments_of(changed);
  }
  QnnOptions unknown = *decode_qnn_options(reference);
  unknown.soc_model = SocModel(1234);
  EXPECT_FALSE(decode_qnn_options(encode(unknown)));
}

TEST(GenaiSpecs, OptionsOfTheOtherBackendAreRefused) {
  SpecArguments a;
  a.soc = "SM8650";
  a.backend = "gpu";
  const std::vector<std::string> given = {"use_fp16"};
  EXPECT_FALSE(options_of(a, given));
  EXPECT_TRUE(options_of(a, {}));
  a.op_packages = {"{\"target\": \"GPU\"}"};
  EXPECT_FALSE(options_of(a, {}));
}

}  // namespace
}  // namespace edgec::genai
