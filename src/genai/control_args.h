#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "genai/context.h"

namespace CLI {
class App;
}

namespace edgec::genai {

using Text = std::string;
using OptText = std::optional<std::string>;
using Int = int64_t;
using OptInt = std::optional<int64_t>;
using Real = double;
using Flag = bool;
using TextList = std::vector<std::string>;
using OptTextList = std::optional<std::vector<std::string>>;

enum class ArgGroup : uint8_t { Device, Common, Model, RequiredModel };

struct ArgInfo {
  std::string_view name;   // of the attribute
  std::string_view flags;  // "-a,--artifact"
  ArgGroup group;
  std::string_view choices;  // "htp,gpu,lpai"; empty: anything
  std::string_view help;
};

// The loose attributes that the official scripts pass around, typed (control_args.def).
struct ControlArgs {
#define ARG(type, name, value, flags, group, choices, help) type name = value;
#include "genai/control_args.def"
#undef ARG

  // model_name becomes decoder_model, artifact_dir becomes artifact; extra options set the attributes of their names. An option that is no
  // attribute belongs to somebody else and is ignored; one of another type than its attribute is a failure of kind Usage.
  static Result<ControlArgs> from_context(const PipelineContext& context);
  friend bool operator==(const ControlArgs&, const ControlArgs&) = default;
};

// Calls fn(const ArgInfo&, field) for every attribute in order; `args` may be const.
template <class Args, class Fn>
void visit(Args& args, Fn&& fn) {
#define ARG(type, name, value, flags, group, choices, help) fn(ArgInfo{#name, flags, ArgGroup::group, choices, help}, args.name);
#include "genai/control_args.def"
#undef ARG
}

// How a command differs from the official script.
struct ParserTraits {
  bool free_decoder_model = false;  // any label, and not mandatory
  bool prompt_required = true;
  std::vector<std::string> more_backends;  // choices of --backend beside the official ones
};
// Adds an option for every row of the table. `args` must outlive the app.
void add_control_args(CLI::App& app, ControlArgs& args, const ParserTraits& traits = {});
// A whole command line (without the program's name). Failures are of kind Usage, exit code 2.
Result<ControlArgs> parse_control_args(std::vector<std::string> arguments, const ParserTraits& traits = {});

// The rules of the official script about lengths; fills in max_context_len. Kind Usage.
Status complete_lengths(ControlArgs& args);
// The rules about data for quantization and evaluation. Kind Usage.
Status check_data(const ControlArgs& args, bool multimodal);

// What the device session is set up from: the 22 attributes of the group Device; the others keep their defaults.
struct DeviceConfig {
  ControlArgs values;
};
struct DeviceEnvironment {
  std::optional<std::string> qnn_sdk_root;  // of the variable QNN_SDK_ROOT
};
// From the namespace type, or from a JSON file with the same keys (an unknown key is a failure). Checked: soc_model and build_folder are
// there; compile_only and pre_gen_pte exclude each other; QNN_SDK_ROOT is set; a device unless compile_only or enable_x86_64; LPAI on
// chipsets with LPAI.
Result<DeviceConfig> load_config(const std::variant<ControlArgs, std::filesystem::path>& source, const DeviceEnvironment& environment);

}  // namespace edgec::genai
