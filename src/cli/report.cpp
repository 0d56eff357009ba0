#include "cli/report.h"

#include <fmt/format.h>

#include <edgec/backend.h>
#include <edgec/op.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

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
    put("],\n \"delegates\": [");
    const std::vector<LoweredId> called = in_order_of_calls(*m.graph);
    list(called, [&](LoweredId l) { delegate(*m.lowered[l.index]); });
    put("],\n \"undelegated\": [");
    list(of_method(outcome_.partition.left, m), [&](const partition::Left* l) {
      put("{{\"node\": {}, {}, \"backend\": {}, \"reason\": {}}}", quoted(l->op), place(l->loc), quoted(l->backend), quoted(l->reason));
    });
    put("],\n \"breaks\": [");
    list(of_method(outcome_.partition.breaks, m), [&](const partition::Break* b) {
      put("{{\"delegate\": {}, \"before\": {}, {}, \"reason\": {}}}", std::find(called.begin(), called.end(), b->lowered) - called.begin(),
          quoted(b->op), place(b->loc), quoted(b->reason));
    });
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
      put("{{\"value\": {}, \"type\": {}, \"memory\": {}, \"offset\": {}, \"bytes\": {}, \"first\": {}, \"last\": {}, \"accesses\": {}, "
          "\"parts\": [",
          quoted(v.name), quoted(str(v.type)), b.memory_id, b.offset, b.bytes, b.first, b.last, b.accesses);
      list(b.parts, [&](const MemoryPart& p) { put("[{}, {}, {}, {}]", p.offset, p.bytes, p.first, p.last); });
      put("]}}");
    });
    put("]}}}}");
  }

  template <class Entry>
  static std::vector<const Entry*> of_method(const std::vector<Entry>& all, const Method& m) {
    std::vector<const Entry*> out;
    for (const auto& one : all)
      if (one.method == m.name) out.push_back(&one);
    return out;
  }

  static std::string place(const Location& loc) {
    return fmt::format("\"file\": {}, \"line\": {}", quoted(loc ? loc->file : ""), loc ? loc->line : 0);
  }

  // Debug handles are what `edgec run --profile --report` tells the delegate's events by.
  void delegate(const LoweredModule& l) {
    put("{{\"backend\": {}, \"nodes\": {}, \"payload_bytes\": {}, \"handles\": [", quoted(l.backend_id), l.region->graph->node_count(),
        l.payload.bytes.size());
    list(l.payload.debug_handles, [&](const auto& entry) {
      const Node& n = l.region->graph->node(entry.second.empty() ? l.region->graph->first() : entry.second.front());
      put("{{\"handle\": {}, \"node\": {}, {}}}", entry.first, quoted(n.op->name()), place(n.loc));
    });
    put("]}}");
  }

  void instruction(const pte::Plan& plan, const emit::InstructionOrigin& origin) {
    static const SourceLocation kUnknown;
    const SourceLocation& at = origin.loc ? *origin.loc : kUnknown;
    put("{{\"index\": {}, \"kernel\": {}, \"node\": {}, \"file\": {}, \"line\": {}, \"function\": {}, \"text\": {}, "
        "\"module\": {}{}}}",
        origin.instruction, kernel(plan, origin.instruction), quoted(origin.op), quoted(at.file), at.line, quoted(at.function),
        quoted(at.text), quoted(at.module_path), delegate_of(plan, origin.instruction));
  }

  // As the emitter numbers them.
  static std::vector<LoweredId> in_order_of_calls(const Graph& g) {
    std::vector<LoweredId> out;
    for (NodeId n = g.first(); n; n = g.next(n))
      if (g.node(n).op->name() == "executorch.call_delegate")
        if (const auto id = std::get<LoweredId>(g.node(n).args[0].state); std::find(out.begin(), out.end(), id) == out.end())
          out.push_back(id);
    return out;
  }

  // The delegate that a call belongs to; they are numbered in the order of the first calls.
  static std::string delegate_of(const pte::Plan& plan, uint32_t index) {
    const auto* call = std::get_if<pte::DelegateCall>(&plan.instructions[index]);
    return call ? fmt::format(", \"delegate\": {}", call->delegate) : "";
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

std::string delegation_summary(const Program& program, const pipeline::Outcome& outcome) {
  std::string out;
  for (const auto& m : program.methods) {
    std::map<std::string, std::pair<size_t, size_t>> taken;  // backend -> delegates, nodes
    for (const auto& l : m->lowered) {
      auto& [delegates, nodes] = taken[l->backend_id];
      ++delegates;
      nodes += l->region->graph->node_count();
    }
    size_t left = 0;
    const partition::Left* first = nullptr;
    std::set<NodeId> seen;
    for (const auto& l : outcome.partition.left)
      if (l.method == m->name && seen.insert(l.node).second && left++ == 0) first = &l;
    for (const auto& [backend, count] : taken)
      out += fmt::format("{}: {} nodes in {} {} of {}\n", m->name, count.second, count.first, count.first == 1 ? "delegate" : "delegates",
                         backend);
    if (first)
      out += fmt::format("{}: {} {} in no delegate (--report tells why); the first: {}\n", m->name, left,
                         left == 1 ? "node is" : "nodes are", first->str());
  }
  return out;
}

std::string report_json(const Program& program, const pipeline::Outcome& outcome, const std::vector<pipeline::Timing>& timings) {
  return Report(program, outcome).run(timings);
}

}  // namespace edgec::cli
