#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "passes/registry.h"
#include "passes/wide_unsigned.h"

#include <edgec/rewriter.h>

// %y = aten.add.Tensor(%i, %f) : f32[2]   ->   %c = aten._to_copy(%i, dtype=f32)
//                                              %y = aten.add.Tensor(%c, %f) : f32[2]
// Kernels that are wrong or missing for a dtype compute through another one (OpDef::kernel_dtypes).
namespace edgec::passes {
namespace {

void cast_operands(Graph& g, NodeId id, DType dtype, const std::vector<std::string>* params) {
  const OpDef& op = *g.node(id).op;
  for (size_t i = 0; i < g.node(id).args.size(); ++i) {
    if (params && std::find(params->begin(), params->end(), op.schema().params[i].name) == params->end()) continue;
    const Arg a = g.node(id).args[i];
    if (!a.is_value() || !g.type(a.value()).is_tensor()) continue;
    const DType from = g.tensor(a.value()).dtype;
    if (!params && !is_float(from)) continue;  // computing through f32 is about the float operands
    Builder b(g, g.node(id).loc, id);
    g.node(id).args[i] = b.cast(a.value(), dtype);
  }
}

void promote(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  const Call c(g, *n.op, n.args);
  std::vector<Arg> taking_part;
  for (const auto& p : n.op->promotes) taking_part.push_back(c.arg(p));
  DType d = result_type(g, taking_part);
  if (n.op->promotes_to_float && !is_float(d) && !is_complex(d)) d = DType::F32;
  cast_operands(g, id, d, &n.op->promotes);
}

void compute_through(Graph& g, NodeId id, Rewriter& rw) {
  const Node& n = g.node(id);
  if (n.op->kernel_dtypes.empty() || n.results.empty()) return;
  DType d = g.tensor(n.results[0]).dtype;
  for (const Arg& a : n.args)
    if (a.is_value() && g.type(a.value()).is_tensor()) {
      d = g.tensor(a.value()).dtype;
      break;
    }
  const auto& ok = n.op->kernel_dtypes;
  if (std::find(ok.begin(), ok.end(), d) != ok.end()) return;
  const DType through = n.op->compute_through;
  cast_operands(g, id, through, nullptr);
  for (Arg& a : g.node(id).args)  // prod(%x, dtype=bf16)
    if (const auto* asked = std::get_if<DType>(&a.state); asked && *asked == d) a = through;
  const std::vector<ValueId> results = g.node(id).results;
  for (ValueId r : results) {
    const DType wanted = g.tensor(r).dtype;
    if (wanted != d) continue;
    g.value(r).type.tensor.dtype = through;
    Builder b(g, g.node(id).loc, g.next(id));
    const ValueId back = b.cast(r, wanted);
    rw.replace(r, back);
    g.node(g.value(back).def).args[0] = r;
  }
}

struct Uses {
  Location first;
  DType dtype;
  size_t count = 0;
};

// What the runtime would refuse when the program runs.
void refuse_wide_unsigned(const Graph& g, std::map<std::string, Uses>& refused) {
  for (NodeId id = g.first(); id; id = g.next(id)) {
    const Node& n = g.node(id);
    if (takes_wide_unsigned(*n.op) && n.op->name() != "aten._to_copy") continue;
    ValueId found;
    const auto see = [&](const ValueId& v) {
      if (!found && g.type(v).is_tensor() && is_wide_unsigned(g.tensor(v).dtype)) found = v;
    };
    for (const Arg& a : n.args) for_each_value(a, see);
    for (ValueId r : n.results) see(r);
    if (!found) continue;
    Uses& uses = refused[n.op->name()];
    if (uses.count++ == 0) uses.first = n.loc, uses.dtype = g.tensor(found).dtype;
  }
}

}  // namespace

bool takes_wide_unsigned(const OpDef& op) {
  constexpr std::string_view kMove[] = {"aten.clone",      "aten.view",      "aten.expand",       "aten.squeeze",      "aten.slice.Tensor",
                                        "aten.select.int", "aten.unsqueeze", "aten.index_select", "aten.index.Tensor", "aten.gather",
                                        "aten.repeat",     "aten.full",      "aten.embedding"};
  return op.user || op.memory_view || op.schema().ns != "aten" || !op.kernel.exists() ||
         std::any_of(std::begin(kMove), std::end(kMove), [&](std::string_view name) { return op.name() == name; });
}

Status unify_dtypes(Program& p, PassContext& cx) {
  std::map<std::string, Uses> refused;
  EDGEC_TRY_VOID(for_each_graph(p, [&](Method&, Graph& g) -> Status {
    Rewriter rw(g);
    for (NodeId id : g.nodes_in_order()) {
      rw.refresh(id);
      if (!g.node(id).op->promotes.empty()) promote(g, id);
      compute_through(g, id, rw);
    }
    rw.finish();
    refuse_wide_unsigned(g, refused);
    return {};
  }));
  for (const auto& [name, uses] : refused)
    cx.diag.error(uses.first,
                  fmt::format("the runtime has no kernel of {} for {} ({} {})", name, torch_name(uses.dtype), uses.count,
                              uses.count == 1 ? "use" : "uses"),
                  "int32 or int64 hold the same numbers");
  return outcome(cx);
}

}  // namespace edgec::passes
