#include "cli/report.h"

#include <fmt/format.h>

#include <iterator>

#include "emit/json.h"
#include "emit/operators.h"
#include "emit/usage.h"

namespace edgec::cli {
namespace {

using pte::quoted;

class Report {
 public:
  Report(const Program& program, const pipeline::Outcome& outcome) : program_(program), outcome_(outcome) {}

  std::string run(const std::vector<pipeline::Timing>& timings) {
    const pte::Program& p = outcome_.emitted.program;
    put("{{\"edgec\": {},\n\"constant_bytes\": {}, \"state_bytes\": {}, \"payload_bytes\": {},\n\"timings\": [", quoted(EDGEC_VERSION),
        pte::total_bytes(p.constants), pte::total_bytes(p.initial_states), pte::total_bytes(p.payloads));
    list(timings, [&](const auto& t) { put("{{\"what\": {}, \"ms\": {:.3f}}}", quoted(t.what), t.seconds * 1e3); });
    put("],\n\"methods\": [");
    for (size_t i = 0; i < program_.methods.size(); ++i) {
      put("{}", i ? ",\n" : "");
      method(i);
    }
    put("]}}\n");
    return std::move(out_);
  }

 private:
  template <class... T>
  void put(fmt::format_string<T...> format, T&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<T>(args)...);
  }
  template <class Items, class Fn>
  void list(const Items& items, Fn&& one) {
    bool first = true;
    for (const auto& item : items) {
      put("{}", first ? "\n  " : ",\n  ");
      first = false;
      one(item);
    }
  }

  void method(size_t index) {
    const Method& m = *program_.methods[index];
    put("{{\"name\": {},\n \"instructions\": [", quoted(m.name));
    const auto& plans = outcome_.emitted.program.plans;  // in order of name, unlike the program's methods
    for (size_t i = 0; i < plans.size() && i < outcome_.emitted.origins.size(); ++i)
      if (plans[i].name == m.name) list(outcome_.emitted.origins[i], [&](const auto& origin) { instruction(plans[i], origin); });
    const memory::Plan& plan = outcome_.plans[index];
    put("],\n \"memory\": {{\"planner\": {}, \"planned_bytes\": {}, \"max_live_bytes\": {}, \"memories\": [", quoted(plan.planner),
        plan.arena_bytes, plan.max_live_bytes);
    list(plan.layers, [&](const MemoryLayer& l) {
      put("{{\"id\": {}, \"name\": {}, \"bytes\": {}, \"capacity\": {}, \"alignment\": {}}}", l.id, quoted(l.name),
          l.id < plan.buffer_bytes.size() ? plan.buffer_bytes[l.id] : 0, l.capacity, l.alignment);
    });
    put("], \"symbols\": [");
    list(plan.symbols, [&](const memory::SymbolBytes& s) {
      put("{{\"symbol\": {}, \"bound\": {}, \"bytes\": {}}}", quoted(s.symbol), s.bound, s.bytes);
    });
    put("], \"blocks\": [");
    list(plan.blocks, [&](const memory::PlannedBlock& b) {
      const Value& v = m.graph->value(b.value);
      put("{{\"value\": {}, \"type\": {}, \"memory\": {}, \"offset\": {}, \"bytes\": {}, \"first\": {}, \"last\": {}, \"accesses\": {}}}",
          quoted(v.name), quoted(str(v.type)), b.memory_id, b.offset, b.bytes, b.first, b.last, b.accesses);
    });
    put("]}}}}");
  }

  void instruction(const pte::Plan& plan, const emit::InstructionOrigin& origin) {
    static const SourceLocation kUnknown;
    const SourceLocation& at = origin.loc ? *origin.loc : kUnknown;
    put("{{\"index\": {}, \"kernel\": {}, \"node\": {}, \"file\": {}, \"line\": {}, \"function\": {}, \"text\": {}, "
        "\"module\": {}}}",
        origin.instruction, kernel(plan, origin.instruction), quoted(origin.op), quoted(at.file), at.line, quoted(at.function),
        quoted(at.text), quoted(at.module_path));
  }

  static std::string kernel(const pte::Plan& plan, uint32_t index) {
    const auto* call = std::get_if<pte::KernelCall>(&plan.instructions[index]);
    return call ? quoted(pte::full_name(plan.operators[static_cast<size_t>(call->op)])) : "null";
  }

  const Program& program_;
  const pipeline::Outcome& outcome_;
  std::string out_;
};

}  // namespace

std::string report_json(const Program& program, const pipeline::Outcome& outcome, const std::vector<pipeline::Timing>& timings) {
  return Report(program, outcome).run(timings);
}

}  // namespace edgec::cli
