#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <edgec/extensions.h>
#include "backends/registry.h"
#include "cli/commands.h"
#include "cli/plugins.h"
#include "ops/table.h"
#include "passes/registry.h"
#include "pipeline/pipeline.h"

// `edgec ops`, `edgec passes`, `edgec backends`: the compiler's registries. docs/ops.md and docs/passes.md are their
// output with --markdown.
namespace edgec::cli {
namespace {

struct Table {
  std::string title, introduction;  // markdown only
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

std::string escaped(std::string cell) {
  for (size_t i = 0; (i = cell.find('|', i)) != std::string::npos; i += 2) cell.insert(i, "\\");
  return cell;
}

std::string markdown(const Table& table) {
  std::string out = fmt::format("# {}\n\n{}\n\n|", table.title, table.introduction);
  for (const std::string& c : table.columns) out += fmt::format(" {} |", c);
  out += "\n|";
  for (size_t i = 0; i < table.columns.size(); ++i) out += " --- |";
  for (const auto& row : table.rows) {
    out += "\n|";
    for (const std::string& cell : row) out += fmt::format(" {} |", escaped(cell));
  }
  return out + "\n";
}

std::string plain(const Table& table) {
  std::vector<size_t> width(table.columns.size());
  for (const auto& row : table.rows)
    for (size_t i = 0; i + 1 < row.size(); ++i) width[i] = std::max(width[i], row[i].size());
  std::string out;
  for (const auto& row : table.rows) {
    for (size_t i = 0; i + 1 < row.size(); ++i) out += fmt::format("{:{}}  ", row[i], width[i]);
    out += row.back() + "\n";
  }
  return out;
}

std::string quoted_code(std::string text, bool as_markdown) { return as_markdown && !text.empty() ? "`" + text + "`" : text; }

// What becomes of a call.
std::string lowering(const OpDef& op) {
  if (op.memory_view) return "view";
  if (op.expand) return op.kernel.exists() ? "expands or kernel" : "expands";
  if (op.kernel.exists()) return "kernel";
  if (op.schema().mutates()) return "write";
  const std::string& family = op.schema().ns;
  if (family == "higher_order") return "control flow";
  if (family == "executorch") return "delegate";
  if (family == "_operator" || family == "builtins" || family == "math" || family == "torch") return "size";
  return "compile time";
}

std::string_view name_of(LayoutRule layout) {
  switch (layout) {
    case LayoutRule::Contiguous:
      return "contiguous";
    case LayoutRule::Preserve:
      return "preserved";
    case LayoutRule::Any:
      return "any";
  }
  return "";
}

Table operators(bool as_markdown) {
  ops::register_all();
  Table table{"Operators",
              "The operator table (`edgec ops --markdown`). *Lowering*: `kernel` calls the runtime's kernel; `expands` "
              "becomes other operators;\n`expands or kernel` decides call by call; `view` is the operand's bytes under "
              "another shape and costs nothing when sizes are\nstatic; `write` becomes a new value, which is copied back "
              "where it is state; `size` is part of a size expression, computed\nby the runtime's prim operators where "
              "the size is dynamic; `control flow` has subgraphs; `delegate` runs what a backend compiled; `compile time` is gone before "
              "a\nprogram is written. "
              "*Layout*: the dim orders of operands and results.\nForms with `out=` follow from the plain ones "
              "and are not listed: a call writes the plain result into the tensor given.",
              {"operator", "lowering", "kernel", "layout", "schema"},
              {}};
  for (const OpDef* op : Registry::global().all()) {
    const std::string kernel = op->kernel.full_name();
    table.rows.push_back({quoted_code(op->name(), as_markdown), lowering(*op), quoted_code(kernel, as_markdown),
                          std::string(name_of(op->layout)), quoted_code(op->schema_text, as_markdown)});
  }
  return table;
}

Table all_passes(bool as_markdown) {
  Table table{"Passes",
              "The passes of src/passes/passes.def (`edgec passes --markdown`), one file each. A pass takes a program of "
              "the stage *from* and leaves\none of the stage *to*.",
              {"pass", "from", "to", "what it does"},
              {}};
  for (const passes::PassInfo& p : passes::all_passes())
    table.rows.push_back({quoted_code(std::string(p.name), as_markdown), std::string(name(p.from)), std::string(name(p.to)),
                          pipeline::is_lever(p.name) ? "yes" : "", std::string(p.summary)});
  return table;
}

Table all_backends(bool as_markdown) {
  backends::register_all();
  Table table{"Backends",
              "Backends that take parts of a program (`edgec backends --markdown`): `--backend NAME[,key=value...]`.",
              {"backend", "id", "what it takes"},
              {}};
  for (const auto& b : Extensions::global().backends()) table.rows.push_back({quoted_code(b->name(), as_markdown), b->id(), b->summary()});
  return table;
}

void add_list(CLI::App& app, Invocation& invocation, const char* name, const char* what, Table (*list)(bool)) {
  CLI::App* cmd = app.add_subcommand(name, what);
  auto as_markdown = std::make_shared<bool>(false);
  auto plugins = std::make_shared<std::vector<std::string>>();
  cmd->add_flag("--markdown", *as_markdown, "as a Markdown document");
  add_plugin_option(*cmd, *plugins);
  cmd->callback([as_markdown, plugins, list, &invocation] {
    invocation.execute = [as_markdown, plugins, list]() -> Status {
      EDGEC_TRY_VOID(load_plugins(*plugins));
      const Table table = list(*as_markdown);
      const std::string text = *as_markdown ? markdown(table) : plain(table);
      std::fwrite(text.data(), 1, text.size(), stdout);
      return {};
    };
  });
}

}  // namespace

void add_list_commands(CLI::App& app, Invocation& invocation) {
  add_list(app, invocation, "ops", "the operator table: schema, kernel, layout", operators);
  add_list(app, invocation, "passes", "the passes, in the order of their stages", all_passes);
  add_list(app, invocation, "backends", "the backends that can take parts of a program", all_backends);
}

}  // namespace edgec::cli
