#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "genai/control_args.h"
#include "support/json.h"
#include "support/mapped_file.h"

// ControlArgs against the official parser's table, its parser, and the device configuration.
namespace edgec::genai {
namespace {

const std::string kTable = std::string(EDGEC_TESTS_DIR) + "/genai/data/control_args.json";

JsonDocument table() {
  auto file = MappedFile::open(kTable);
  EXPECT_TRUE(file);
  auto doc = JsonDocument::parse((*file)->bytes(), kTable);
  EXPECT_TRUE(doc);
  return *std::move(doc);
}

std::string type_of(const Text*) { return "str"; }
std::string type_of(const Int*) { return "int"; }
std::string type_of(const Real*) { return "float"; }
std::string type_of(const Flag*) { return "bool"; }
std::string type_of(const TextList*) { return "list[str]"; }
template <class T>
std::string type_of(const std::optional<T>*) {
  return type_of(static_cast<const T*>(nullptr)) + " or null";
}

bool equals(JsonValue v, const Text& x) { return v.is_string() ? *v.as_string() == x : v.is_null() && x.empty(); }
bool equals(JsonValue v, const Int& x) { return v.is_int() && *v.as_int() == x; }
bool equals(JsonValue v, const Real& x) { return v.is_number() && *v.as_number() == x; }
bool equals(JsonValue v, const Flag& x) { return v.is_bool() && *v.as_bool() == x; }
bool equals(JsonValue v, const TextList& x) {
  if (v.is_null()) return x.empty();
  std::vector<std::string> items;
  const auto elements = v.as_array();
  for (JsonValue item : *elements) items.emplace_back(*item.as_string());
  return items == x;
}
template <class T>
bool equals(JsonValue v, const std::optional<T>& x) {
  return x ? equals(v, *x) : v.is_null();
}

std::string joined(JsonValue list) {
  std::string out;
  if (!list.is_array()) return out;
  const auto values = list.as_array();
  for (JsonValue v : *values) out += (out.empty() ? "" : ",") + (v.is_int() ? std::to_string(*v.as_int()) : std::string(*v.as_string()));
  return out;
}

TEST(GenaiControlArgs, AgreeWithTheOfficialTable) {
  const JsonDocument doc = table();
  std::vector<JsonValue> rows;
  const auto attributes = doc.root().array("attributes");
  for (JsonValue row : *attributes) rows.push_back(row);
  ASSERT_EQ(rows.size(), 67u);
  const ControlArgs defaults;
  size_t i = 0;
  std::vector<std::string> exempt;
  visit(defaults, [&](const ArgInfo& info, const auto& field) {
    ASSERT_LT(i, rows.size());
    const JsonValue row = rows[i++];
    EXPECT_EQ(*row.string("name"), info.name);
    EXPECT_EQ(joined(*row.at("flags")), info.flags);
    EXPECT_EQ(joined(*row.at("choices")), info.choices) << info.name;
    EXPECT_EQ(*row.boolean("in_qnn_config"), info.group == ArgGroup::Device) << info.name;
    EXPECT_EQ(*row.boolean("required"), info.group == ArgGroup::RequiredModel) << info.name;
    if (row.find("exempt_from_default_agreement")) {
      exempt.emplace_back(info.name);
      EXPECT_TRUE(equals(*row.at("typed_default"), field)) << info.name;
      return;
    }
    EXPECT_EQ(*row.string("value_type"), type_of(&field)) << info.name;
    EXPECT_TRUE(equals(*row.at("default"), field)) << info.name;
  });
  EXPECT_EQ(i, 67u);
  EXPECT_EQ(exempt, (std::vector<std::string>{"train_config", "lr_config"}));
  EXPECT_FALSE(defaults.train_config || defaults.lr_config);
  EXPECT_FALSE(defaults.shared_buffer);  // on in the spec builder
}

TEST(GenaiControlArgs, FromContext) {
  const PipelineContext context(
      "stories260k", "SM8650", {"a", "b"}, "out",
      {{"temperature", 0.5}, {"max_seq_len", 128}, {"shared_buffer", true}, {"device", "serial"}, {"unknown", 3}});
  const auto args = ControlArgs::from_context(context);
  ASSERT_TRUE(args) << args.failure().message;
  EXPECT_EQ(args->decoder_model, "stories260k");
  EXPECT_EQ(args->soc_model, "SM8650");
  EXPECT_EQ(args->prompt, (TextList{"a", "b"}));
  EXPECT_EQ(args->artifact, "out");
  EXPECT_EQ(args->temperature, 0.5);
  EXPECT_EQ(args->max_seq_len, 128);
  EXPECT_TRUE(args->shared_buffer);
  EXPECT_EQ(args->device, "serial");
  EXPECT_FALSE(ControlArgs::from_context({"m", "s", {"p"}, "d", {{"max_seq_len", std::string("many")}}}));
  EXPECT_EQ(ControlArgs::from_context({"m", "s", {"p"}})->artifact, "./genai_artifacts");
  EXPECT_EQ(ControlArgs().artifact, "./llama_qnn");
}

std::vector<std::string> with_required(std::vector<std::string> more) {
  std::vector<std::string> out = {"--decoder_model", "stories260k", "--prompt", "hi"};
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

TEST(GenaiControlArgs, ParserIsMadeFromTheTable) {
  const auto plain = parse_control_args(with_required({}));
  ASSERT_TRUE(plain) << plain.failure().message;
  ControlArgs expected;
  expected.decoder_model = "stories260k";
  expected.prompt = {"hi"};
  EXPECT_EQ(*plain, expected);  // no second table of defaults

  const auto all = parse_control_args({"--decoder_model",
                                       "gemma-2b",
                                       "--prompt",
                                       "one",
                                       "two",
                                       "-a",
                                       "dir",
                                       "-d",
                                       "fp16",
                                       "-E",
                                       "4,32",
                                       "-F",
                                       "-v",
                                       "--seed",
                                       "7",
                                       "--port",
                                       "-1",
                                       "--eval_tasks",
                                       "wikitext",
                                       "piqa",
                                       "--profile_level",
                                       "03",
                                       "--temperature",
                                       "0.25"});
  ASSERT_TRUE(all) << all.failure().message;
  EXPECT_EQ(all->prompt, (TextList{"one", "two"}));
  EXPECT_EQ(all->artifact, "dir");
  EXPECT_EQ(all->dtype_override, "fp16");
  EXPECT_EQ(all->embedding_quantize, "4,32");
  EXPECT_TRUE(all->use_fp16 && all->verbose);
  EXPECT_EQ(all->seed, 7);
  EXPECT_EQ(all->port, -1);
  EXPECT_EQ(all->eval_tasks, (TextList{"wikitext", "piqa"}));
  EXPECT_EQ(all->profile_level, 3);
  EXPECT_EQ(all->temperature, 0.25);
}

TEST(GenaiControlArgs, BadInputIsWrongUsage) {
  for (const auto& wrong : std::vector<std::vector<std::string>>{{},
                                                                 {"--prompt", "hi"},
                                                                 {"--decoder_model", "stories260k"},
                                                                 {"--decoder_model", "nothing", "--prompt", "hi"},
                                                                 with_required({"--backend", "dsp"}),
                                                                 with_required({"--profile_level", "1"}),
                                                                 with_required({"--port", "many"}),
                                                                 with_required({"--no_such_flag"})}) {
    const auto r = parse_control_args(wrong);
    ASSERT_FALSE(r);
    EXPECT_EQ(r.failure().kind, ErrorKind::Usage);
  }
  ParserTraits ours;
  ours.free_decoder_model = true;
  ours.prompt_required = false;
  ours.more_backends = {"xnnpack"};
  EXPECT_TRUE(parse_control_args({"--decoder_model", "mine", "--backend", "xnnpack"}, ours));
}

TEST(GenaiControlArgs, LengthsAndData) {
  ControlArgs a;
  EXPECT_TRUE(complete_lengths(a));
  EXPECT_EQ(a.max_context_len, 512);
  a.max_context_len = 256;
  EXPECT_FALSE(complete_lengths(a));  // below max_seq_len
  a.use_attention_sink = "4,32";
  EXPECT_TRUE(complete_lengths(a));
  a.prefill_ar_len = 300;
  EXPECT_FALSE(complete_lengths(a));
  a.model_mode = "kv";
  EXPECT_TRUE(complete_lengths(a));
  ControlArgs look;
  look.model_mode = "lookahead";
  look.max_seq_len = look.prefill_ar_len = 64;
  EXPECT_FALSE(complete_lengths(look));
  look.max_context_len = 65;
  EXPECT_TRUE(complete_lengths(look));

  ControlArgs data;
  EXPECT_FALSE(check_data(data, false));
  data.calib_tasks = TextList{"wikitext"};
  EXPECT_TRUE(check_data(data, false));
  EXPECT_FALSE(check_data(data, true));  // multimodal: calib_samples
  data.qat = true;
  EXPECT_FALSE(check_data(data, false));
  data.train_tasks = TextList{"wikitext"};
  EXPECT_TRUE(check_data(data, false));
  data.eval_methods = {"tasks_eval"};
  EXPECT_FALSE(check_data(data, false));
  data.eval_tasks = TextList{"piqa"};
  EXPECT_TRUE(check_data(data, false));
  data.model_mode = "lookahead";
  EXPECT_FALSE(check_data(data, false));
  ControlArgs gemma;
  gemma.decoder_model = "gemma4-e2b";
  gemma.use_fp16 = true;
  EXPECT_FALSE(check_data(gemma, false));
  gemma.embedding_quantize = "4,32";
  EXPECT_TRUE(check_data(gemma, false));
}

TEST(GenaiDeviceConfig, TakesItsOwnFields) {
  ControlArgs args;
  args.soc_model = "SM8650";
  args.build_folder = "build";
  args.device = "serial";
  args.temperature = 0.1;  // not the device's
  const DeviceEnvironment sdk{"/sdk"};
  const auto config = load_config(args, sdk);
  ASSERT_TRUE(config) << config.failure().message;
  EXPECT_EQ(config->values.device, "serial");
  EXPECT_EQ(config->values.temperature, 0.8);
  size_t fields = 0;
  visit(args, [&](const ArgInfo& info, auto&) { fields += info.group == ArgGroup::Device; });
  EXPECT_EQ(fields, 22u);

  EXPECT_FALSE(load_config(args, DeviceEnvironment{}));  // QNN_SDK_ROOT
  const auto refused = [&](auto change) {
    ControlArgs changed = args;
    change(changed);
    return !load_config(changed, sdk);
  };
  EXPECT_TRUE(refused([](ControlArgs& a) { a.soc_model.reset(); }));
  EXPECT_TRUE(refused([](ControlArgs& a) { a.build_folder.reset(); }));
  EXPECT_TRUE(refused([](ControlArgs& a) { a.device.reset(); }));
  EXPECT_FALSE(refused([](ControlArgs& a) { a.device.reset(), a.compile_only = true; }));
  EXPECT_FALSE(refused([](ControlArgs& a) { a.device.reset(), a.enable_x86_64 = true; }));
  EXPECT_TRUE(refused([](ControlArgs& a) { a.compile_only = true, a.pre_gen_pte = "dir"; }));
  EXPECT_TRUE(refused([](ControlArgs& a) { a.backend = "lpai"; }));
  EXPECT_FALSE(refused([](ControlArgs& a) { a.backend = "lpai", a.soc_model = "SM8850"; }));
}

TEST(GenaiDeviceConfig, FromJson) {
  const auto path = std::filesystem::temp_directory_path() / "edgec_genai_device.json";
  const DeviceEnvironment sdk{"/sdk"};
  std::ofstream(path) << R"({"soc_model": "SM8750", "build_folder": "b", "compile_only": true, "profile_level": 2, "seed": null})";
  const auto config = load_config(path, sdk);
  ASSERT_TRUE(config) << config.failure().message;
  EXPECT_EQ(config->values.profile_level, 2);
  EXPECT_TRUE(config->values.compile_only);
  std::ofstream(path) << R"({"soc_model": "SM8750", "build_folder": "b", "compile_only": true, "temperature": 1})";
  EXPECT_FALSE(load_config(path, sdk));  // an unknown key
  std::ofstream(path) << R"({"soc_model": 3})";
  EXPECT_FALSE(load_config(path, sdk));
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace edgec::genai
