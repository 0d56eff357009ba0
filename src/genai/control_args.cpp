#include "genai/control_args.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "genai/names.h"
#include "genai/targets.h"

namespace edgec::genai {
namespace {

template <class T>
struct is_optional : std::false_type {};
template <class T>
struct is_optional<std::optional<T>> : std::true_type {};

// An option of the context as an attribute's type: the usual C++ spellings of a text, a whole number, a number.
template <class T>
bool take(const std::any& from, T& to) {
  if constexpr (is_optional<T>::value) {
    typename T::value_type value{};
    if (!take(from, value)) return false;
    to = std::move(value);
    return true;
  } else {
    if (const auto* same = std::any_cast<T>(&from)) return to = *same, true;
    if constexpr (std::is_same_v<T, Text>)
      if (const auto* text = std::any_cast<const char*>(&from)) return to = *text, true;
    if constexpr (std::is_same_v<T, Int> || std::is_same_v<T, Real>)
      if (const auto* number = std::any_cast<int>(&from)) return to = static_cast<T>(*number), true;
    if constexpr (std::is_same_v<T, TextList>)
      if (const auto* text = std::any_cast<std::string>(&from)) return to = {*text}, true;
    return false;
  }
}

CLI::Validator one_of(std::string_view choices, const std::vector<std::string>& more) {
  std::vector<std::string> list = CLI::detail::split(std::string(choices), ',');
  list.insert(list.end(), more.begin(), more.end());
  const auto check = [list](std::string& text) -> std::string {
    for (const std::string& choice : list)
      if (text == choice) return {};
    // Numbers are compared as numbers: "02" is 2.
    int64_t given = 0, wanted = 0;
    if (CLI::detail::lexical_cast(text, given))
      for (const std::string& choice : list)
        if (CLI::detail::lexical_cast(choice, wanted) && given == wanted) return {};
    return fmt::format("{} is none of {}", text, CLI::detail::join(list, ", "));
  };
  return CLI::Validator(check, CLI::detail::join(list, "|"));
}

class Adder {
 public:
  Adder(CLI::App& app, const ParserTraits& traits) : app_(app), traits_(traits) {}
  template <class T>
  void operator()(const ArgInfo& info, T& field) const {
    CLI::Option* option = nullptr;
    if constexpr (std::is_same_v<T, Flag>)
      option = app_.add_flag(std::string(info.flags), field, std::string(info.help));
    else
      option = app_.add_option(std::string(info.flags), field, std::string(info.help));
    if constexpr (std::is_same_v<T, TextList> || std::is_same_v<T, OptTextList>)
      option->expected(1, -1);
    else
      option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    const bool free = info.name == "decoder_model" && traits_.free_decoder_model;
    if (!info.choices.empty() && !free) option->check(one_of(info.choices, info.name == "backend" ? traits_.more_backends : TextList{}));
    const bool excused = free || (info.name == "prompt" && !traits_.prompt_required);
    if (info.group == ArgGroup::RequiredModel && !excused) option->required();
  }

 private:
  CLI::App& app_;
  const ParserTraits& traits_;
};

}  // namespace

Result<ControlArgs> ControlArgs::from_context(const PipelineContext& context) {
  ControlArgs args;
  args.decoder_model = context.model_name();
  args.soc_model = context.soc_model();
  args.prompt = context.prompt();
  args.artifact = context.artifact_dir();
  std::string wrong;
  visit(args, [&](const ArgInfo& info, auto& field) {
    const auto it = context.extra_options().find(std::string(info.name));
    if (it != context.extra_options().end() && !take(it->second, field)) wrong = info.name;
  });
  if (!wrong.empty()) return usage_error(fmt::format("the extra option {} has another type than the argument of that name", wrong));
  return args;
}

void add_control_args(CLI::App& app, ControlArgs& args, const ParserTraits& traits) { visit(args, Adder(app, traits)); }

Result<ControlArgs> parse_control_args(std::vector<std::string> arguments, const ParserTraits& traits) {
  CLI::App app("", "edgec genai");
  ControlArgs args;
  add_control_args(app, args, traits);
  std::reverse(arguments.begin(), arguments.end());  // CLI11 wants the last argument first
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    return usage_error(fmt::format("error: {}", error.what()));
  }
  return args;
}

Status complete_lengths(ControlArgs& args) {
  EDGEC_TRY(const ModelMode mode, model_mode(args.model_mode));
  if (!args.max_context_len) args.max_context_len = args.max_seq_len;
  if (*args.max_context_len < args.max_seq_len && !args.use_attention_sink)
    return usage_error(
        fmt::format("max_context_len {} is below max_seq_len {}, which needs use_attention_sink", *args.max_context_len, args.max_seq_len));
  if (mode == ModelMode::Kv) return {};
  if (*args.max_context_len < args.prefill_ar_len)
    return usage_error(fmt::format("max_context_len {} is below prefill_ar_len {}", *args.max_context_len, args.prefill_ar_len));
  const ArLengths lengths = ar_lengths(mode, args.prefill_ar_len, *args.max_context_len, {args.window, args.gcap, args.ngram});
  if (mode == ModelMode::Lookahead && *args.max_context_len <= lengths.decode)
    return usage_error(
        fmt::format("lookahead decoding takes {} tokens at once, max_context_len is {}", lengths.decode, *args.max_context_len));
  return {};
}

Status check_data(const ControlArgs& args, bool multimodal) {
  const auto has = [&](std::string_view method) {
    return std::find(args.eval_methods.begin(), args.eval_methods.end(), method) != args.eval_methods.end();
  };
  if (has("tasks_eval") && !args.eval_tasks) return usage_error("tasks_eval needs eval_tasks");
  if (has("tasks_eval") && args.model_mode != "kv" && args.model_mode != "hybrid")
    return usage_error("tasks_eval runs in the modes kv and hybrid only");
  if (args.decoder_model == "gemma4-e2b" && !args.embedding_quantize) return usage_error("gemma4-e2b needs embedding_quantize");
  if (!args.pre_gen_pte && !args.use_fp16 && !args.calib_tasks && !args.calib_samples && !args.calib_hf_dataset)
    return usage_error("quantization needs calibration data: calib_tasks, calib_samples or calib_hf_dataset");
  if (args.qat && !args.train_tasks && !args.train_hf_dataset) return usage_error("qat needs train_tasks or train_hf_dataset");
  if (!multimodal) return {};
  if (!args.calib_samples && !args.pre_gen_pte) return usage_error("a multimodal model needs calib_samples");
  if (args.use_attention_sink) return usage_error("a multimodal model has no attention sink");
  if (args.eval_tasks) return usage_error("a multimodal model has no eval_tasks");
  if (args.qat) return usage_error("a multimodal model has no qat");
  return {};
}

}  // namespace edgec::genai
