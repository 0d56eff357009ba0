#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <memory>

#include "cli/crash_guard.h"
#include "cli/genai.h"
#include "cli/input_file.h"
#ifdef EDGEC_HAS_RUNTIME
#include <edgec/delegates.h>

#include "genai/runtime/generator.h"
#include "genai/tokenizer.h"
#endif

namespace edgec::cli {
namespace {

struct RunCommand {
  std::string program, tokenizer;
  std::vector<std::string> prompts, ids;
  size_t max_new_tokens = 128;
  int64_t max_context_len = 0;
  double temperature = 0.8, top_p = 0.9;
  uint64_t seed = 0;
  std::optional<int64_t> eos;
  bool print_ids = false, no_bos = false, quiet = false;
};

#ifdef EDGEC_HAS_RUNTIME

Result<std::vector<int64_t>> parse_ids(const std::string& text) {
  std::vector<int64_t> out;
  for (const char *at = text.data(), *end = at + text.size(); at < end;) {
    int64_t id = 0;
    const auto [rest, error] = std::from_chars(at, end, id);
    if (error != std::errc() || (rest != end && *rest != ','))
      return usage_error(fmt::format("error: --prompt_ids wants N,N,... and got \"{}\"", text));
    out.push_back(id);
    at = rest == end ? end : rest + 1;
  }
  return out;
}

class Session {
 public:
  Session(const RunCommand& command, genai::Generator generator, std::unique_ptr<genai::Tokenizer> tokenizer)
      : command_(command), generator_(std::move(generator)), tokenizer_(std::move(tokenizer)) {
    options_.max_new_tokens = command.max_new_tokens;
    options_.max_context = command.max_context_len;
    options_.sampler = {command.temperature, command.top_p, command.seed};
    const auto& constants = generator_.decoder().constants;
    if (command.eos)
      options_.stop_tokens = {*command.eos};
    else if (const auto it = constants.find("get_eos_ids"); it != constants.end())
      options_.stop_tokens = it->second;
    else if (const auto eos = generator_.decoder().constant("get_eos_id"))
      options_.stop_tokens = {*eos};
    else if (tokenizer_ && tokenizer_->eos())
      options_.stop_tokens = {*tokenizer_->eos()};
  }

  Status answer_text(const std::string& prompt) {
    EDGEC_TRY(std::vector<int64_t> ids, tokenizer_->encode(prompt));
    if (const auto bos = tokenizer_->bos(); bos && !command_.no_bos) ids.insert(ids.begin(), *bos);
    return answer(ids);
  }

  Status answer(const std::vector<int64_t>& prompt) {
    std::optional<genai::TextStream> text;
    if (tokenizer_ && !command_.print_ids) text.emplace(*tokenizer_);
    bool first = true;
    const auto show = [&](int64_t token) {
      const std::string piece = text ? text->add(token) : fmt::format("{}{}", first ? "" : " ", token);
      first = false;
      std::fwrite(piece.data(), 1, piece.size(), stdout);
      return std::fflush(stdout) == 0;
    };
    EDGEC_TRY(const genai::GenerateStats stats, generator_.generate(prompt, options_, show));
    fmt::print("{}\n", text ? text->rest() : std::string());
    if (command_.quiet) return {};
    const auto rate = [](size_t tokens, double seconds) { return seconds > 0 ? static_cast<double>(tokens) / seconds : 0.0; };
    const size_t steps = stats.new_tokens > 0 ? stats.new_tokens - 1 : 0;  // the first token comes with the prompt
    fmt::print(stderr, "prompt: {} tokens, {:.1f} tokens/s; generated: {} tokens, {:.1f} tokens/s\n", stats.prompt_tokens,
               rate(stats.prompt_tokens, stats.prefill_seconds), stats.new_tokens, rate(steps, stats.decode_seconds));
    return {};
  }

 private:
  const RunCommand& command_;
  genai::Generator generator_;
  std::unique_ptr<genai::Tokenizer> tokenizer_;
  genai::GenerateOptions options_;
};

Status execute(const RunCommand& command) {
  std::unique_ptr<genai::Tokenizer> tokenizer;
  if (!command.tokenizer.empty()) {
    EDGEC_TRY(tokenizer, genai::load_sentencepiece(command.tokenizer));
  } else if (!command.prompts.empty()) {
    return usage_error("error: --prompt needs --tokenizer; --prompt_ids takes token ids");
  }
  std::vector<std::vector<int64_t>> ids;
  for (const std::string& text : command.ids) {
    EDGEC_TRY(ids.emplace_back(), parse_ids(text));
  }
  EDGEC_TRY(const InputFile file, open_input(command.program));
  EDGEC_TRY(const pte::Program program, read_runnable_program(file));
  blame_crashes_on_the_program();
  register_delegates();
  EDGEC_TRY(genai::Generator generator, genai::Generator::load(file.file, program));
  Session session(command, std::move(generator), std::move(tokenizer));
  for (const std::string& prompt : command.prompts) EDGEC_TRY_VOID(session.answer_text(prompt));
  for (const auto& prompt : ids) EDGEC_TRY_VOID(session.answer(prompt));
  return {};
}

#else

Status execute(const RunCommand&) {
  return model_error("error: this edgec was built without the ExecuTorch runtime, so it cannot run programs");
}

#endif

constexpr const char* kFooter =
    "The program has the methods kv_forward (one token) and prefill_forward (as many as it takes), or one of them alone: each takes\n"
    "(tokens, positions, caches...) and gives (logits, caches...); caches may be state instead. The prompt goes through prefill_forward\n"
    "as far as it fills it, the rest and every new token through kv_forward. The text streams to stdout, the speed goes to stderr.\n"
    "Generation ends at the end token, after --max_new_tokens, or when the context is full.";

}  // namespace

void add_genai_run(CLI::App& genai, Invocation& invocation) {
  CLI::App* cmd = genai.add_subcommand("run", "generate text with a decoder on the official runtime");
  cmd->footer(kFooter);
  auto c = std::make_shared<RunCommand>();
  cmd->add_option("program", c->program, "the decoder")->required()->type_name("FILE.pte");
  cmd->add_option("--tokenizer,--tokenizer_model", c->tokenizer, "a SentencePiece model")->type_name("tokenizer.model");
  cmd->add_option("--prompt", c->prompts, "text to go on from; repeatable, each starts anew")->allow_extra_args(false)->type_name("TEXT");
  cmd->add_option("--prompt_ids", c->ids, "the same as token ids; no tokenizer is needed")->allow_extra_args(false)->type_name("N,N,...");
  cmd->add_option("--max_new_tokens", c->max_new_tokens, "tokens to generate at most (default 128)")->type_name("N");
  cmd->add_option("--max_context_len", c->max_context_len, "positions that the caches hold (default: the program's get_max_context_len)")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40));
  cmd->add_option("--temperature", c->temperature, "0: always the likeliest token (default 0.8)")
      ->type_name("T")
      ->check(CLI::Range(0.0, 1e6));
  cmd->add_option("--top_p", c->top_p, "among the likeliest tokens with this share of the probability (default 0.9)")
      ->type_name("P")
      ->check(CLI::Range(0.0, 1.0));
  cmd->add_option("--seed", c->seed, "of the sampler (default 0)")->type_name("N");
  cmd->add_option("--eos_id", c->eos, "the end token (default: of the program, or else of the tokenizer)")->type_name("N");
  cmd->add_flag("--ids", c->print_ids, "print token ids instead of text");
  cmd->add_flag("--no_bos", c->no_bos, "no begin token before the prompt");
  cmd->add_flag("--quiet", c->quiet, "no speed on stderr");
  cmd->callback([c, &invocation] {
    if (c->prompts.empty() && c->ids.empty()) throw CLI::RequiredError("--prompt or --prompt_ids");
    invocation.execute = [c] { return execute(*c); };
  });
}

}  // namespace edgec::cli
