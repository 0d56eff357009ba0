#include <fmt/format.h>

#include <memory>

#include "cli/genai.h"
#include "genai/spec_arguments.h"
#include "support/mapped_file.h"
#include "support/output_file.h"

namespace edgec::cli {
namespace {

struct SpecCommand {
  genai::SpecArguments arguments;
  std::string output;
};

// An argument as a POSIX shell (and a response file) reads it back.
std::string shell_quoted(const std::string& text) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || std::string_view("_-./=+:").find(c) != std::string::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

Status make_spec(const SpecCommand& command, const std::vector<std::string>& given) {
  std::vector<std::string> warnings;
  EDGEC_TRY(const genai::QnnOptions options, genai::options_of(command.arguments, given, &warnings));
  for (const std::string& w : warnings) fmt::print(stderr, "warning: {}\n", w);
  EDGEC_TRY(OutputFile file, OutputFile::create(command.output));
  EDGEC_TRY_VOID(file.write(genai::encode(options)));
  return file.commit();
}

Status show_spec(const std::string& path, bool as_options) {
  EDGEC_TRY(const auto file, MappedFile::open(path));
  if (!as_options) {
    EDGEC_TRY(const genai::QnnOptions options, genai::decode_qnn_options(file->bytes()));
    fmt::print("{}", genai::to_json(options));
    return {};
  }
  EDGEC_TRY(const std::vector<std::string> arguments, genai::arguments_of(file->bytes()));
  std::string line;
  for (const std::string& a : arguments) line += (line.empty() ? "" : " ") + shell_quoted(a);
  fmt::print("{}\n", line);
  return {};
}

template <class E>
std::string names(const E& table) {
  return genai::names_of(table);
}

void add_compile_spec(CLI::App& genai, Invocation& invocation) {
  CLI::App* cmd = genai.add_subcommand("compile-spec", "write the compile spec of the QnnBackend: the official package's bytes");
  auto command = std::make_shared<SpecCommand>();
  genai::SpecArguments& a = command->arguments;
  cmd->add_option("--soc", a.soc, "chipset, for example SM8650")->required()->type_name("NAME");
  cmd->add_option("--backend", a.backend, "htp or gpu (default htp)")->type_name("NAME");
  cmd->add_option("-o,--output", command->output, "the file to write")->required()->type_name("SPEC.bin");
  for (const genai::SpecFlag& flag : genai::spec_flags()) {
    const std::string scope = flag.scope == genai::SpecScope::Htp ? "htp: " : flag.scope == genai::SpecScope::Gpu ? "gpu: " : "";
    cmd->add_flag(fmt::format("--{0},!--no_{0}", flag.name), a.*flag.field, scope + flag.help);
  }
  cmd->add_option("--htp_performance_mode", a.htp_performance_mode, "htp: one of " + names(genai::kHtpPerformanceNames))->type_name("NAME");
  cmd->add_option("--max_sf_buf_size", a.max_sf_buf_size, "htp: bytes of the spill-fill buffer of a group of contexts")->type_name("N");
  cmd->add_option("--precision", a.precision, "gpu: one of " + names(genai::kGpuPrecisionNames))->type_name("NAME");
  cmd->add_option("--profile_level", a.profile_level, "2 detailed, 3 op trace, others off")->type_name("N");
  cmd->add_option("--op_package", a.op_packages,
                  "a package of custom operators: a JSON object with op_package_name, op_package_path, interface_provider, target, "
                  "custom_op_name, qnn_op_type_name, platform; repeatable")
      ->allow_extra_args(false)
      ->type_name("JSON");
  cmd->callback([cmd, command, &invocation] {
    std::vector<std::string> given;
    for (const CLI::Option* option : cmd->get_options())
      if (option->count() > 0) given.push_back(option->get_single_name());
    invocation.execute = [command, given] { return make_spec(*command, given); };
  });
}

void add_show_spec(CLI::App& genai, Invocation& invocation) {
  CLI::App* cmd = genai.add_subcommand("show-spec", "read a compile spec of the QnnBackend");
  auto path = std::make_shared<std::string>();
  auto as_options = std::make_shared<bool>(false);
  cmd->add_option("SPEC", *path, "the bytes of a qnn_compile_spec")->required()->type_name("SPEC.bin");
  cmd->add_flag("--as-options", *as_options, "print the options with which compile-spec makes the same bytes, instead of JSON");
  cmd->callback([path, as_options, &invocation] { invocation.execute = [path, as_options] { return show_spec(*path, *as_options); }; });
}

}  // namespace

void add_genai_specs(CLI::App& genai, Invocation& invocation) {
  add_compile_spec(genai, invocation);
  add_show_spec(genai, invocation);
}

}  // namespace edgec::cli
