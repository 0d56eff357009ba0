#include <algorithm>
#include <sstream>

#include "ops/table.h"

// Forms that write their results into given tensors: `torch.add(x, y, out=z)`. Functionalization makes them plain calls and
// writes; all that is needed is their schema, which follows from the plain one. There is one for nearly every operator.
namespace edgec::ops {
namespace {

// "add.out" is of "add", "lerp.Tensor_out" of "lerp.Tensor"; these are named otherwise, or what they write to is.
struct Irregular {
  const char* form;
  const char* plain;
  const char* outs = nullptr;
};
constexpr Irregular kIrregular[] = {
    {"_native_batch_norm_legit.no_stats_out", "_native_batch_norm_legit.no_stats", "out save_mean save_invstd"},
    {"adaptive_max_pool2d.out", "adaptive_max_pool2d", "out indices"},
    {"adaptive_max_pool3d.out", "adaptive_max_pool3d", "out indices"},
    {"add.out", "add.Tensor"},
    {"all.all_out", "all"},
    {"all.out", "all.dim"},
    {"any.all_out", "any"},
    {"any.out", "any.dim"},
    {"arange.start_out", "arange.start_step"},
    {"copysign.out", "copysign.Tensor"},
    {"div.out", "div.Tensor"},
    {"div.out_mode", "div.Tensor_mode"},
    {"divide.out", "divide.Tensor"},
    {"divide.out_mode", "divide.Tensor_mode"},
    {"empty.out", "empty.memory_format"},
    {"frobenius_norm.out", "frobenius_norm.dim"},
    {"kthvalue.values", "kthvalue"},
    {"ldexp.out", "ldexp.Tensor"},
    {"linalg_cholesky_ex.L", "linalg_cholesky_ex"},
    {"linalg_inv_ex.inverse", "linalg_inv_ex"},
    {"log_sigmoid_forward.output", "log_sigmoid_forward"},
    {"max.dim_max", "max.dim", "max max_values"},
    {"max.out", "max.other"},
    {"max.unary_out", "max"},
    {"max_pool2d_with_indices.out", "max_pool2d_with_indices", "out indices"},
    {"max_pool3d_with_indices.out", "max_pool3d_with_indices", "out indices"},
    {"mean.dtype_out", "mean"},
    {"mean.out", "mean.dim"},
    {"median.dim_values", "median.dim"},
    {"min.dim_min", "min.dim", "min min_indices"},
    {"min.out", "min.other"},
    {"min.unary_out", "min"},
    {"mul.out", "mul.Tensor"},
    {"multilabel_margin_loss_forward.output", "multilabel_margin_loss_forward"},
    {"multiply.out", "multiply.Tensor"},
    {"nanmedian.dim_values", "nanmedian.dim"},
    {"native_batch_norm.out", "native_batch_norm", "out save_mean save_invstd"},
    {"nll_loss2d_forward.output", "nll_loss2d_forward"},
    {"nll_loss_forward.output", "nll_loss_forward"},
    {"norm.dtype_out", "norm.ScalarOpt_dim_dtype"},
    {"norm.out", "norm.ScalarOpt_dim"},
    {"prod.int_out", "prod.dim_int"},
    {"sort.values", "sort"},
    {"sort.values_stable", "sort.stable"},
    {"std.out", "std.dim"},
    {"sub.out", "sub.Tensor"},
    {"subtract.out", "subtract.Tensor"},
    {"sum.IntList_out", "sum.dim_IntList"},
    {"topk.values", "topk"},
    {"triangular_solve.X", "triangular_solve", "X M"},
    {"true_divide.out", "true_divide.Tensor"},
    {"var.out", "var.dim"},
    {"xlogy.OutScalar_Other", "xlogy.Scalar_Other"},
    {"xlogy.OutScalar_Self", "xlogy.Scalar_Self"},
    {"xlogy.OutTensor", "xlogy.Tensor"},
};

// The result's dtype is that of the tensor given.
void drop_factory_options(std::string& text) {
  constexpr std::string_view kFirst = "ScalarType? dtype=", kNext = ", Layout? layout=None", kLast = "bool? pin_memory=None";
  const size_t next = text.find(kNext), last = text.find(kLast);
  if (next == text.npos || last == text.npos) return;
  size_t first = text.rfind(kFirst, next), end = last + kLast.size();
  if (first == text.npos) first = next + 2;  // the `dtype` of a conversion
  if (text.compare(end, 2, ", ") == 0)
    end += 2;
  else
    first -= 2;
  text.erase(first, end - first);
  if (text.ends_with(", *")) text.resize(text.size() - 3);
}

// "aten::mm(Tensor self, Tensor mat2) -> Tensor" gives "aten::mm.out(Tensor self, Tensor mat2, *, Tensor(a!) out) -> Tensor(a!)".
std::string with_out(const OpDef& plain, const std::string& overload, std::vector<std::string> names) {
  const Schema& s = plain.schema();
  std::string text = plain.schema_text.substr(plain.schema_text.find('('));
  text.resize(text.rfind(") -> "));
  drop_factory_options(text);
  const bool has_star = text.find('*') != std::string::npos;
  std::string params, returns;
  names.resize(s.returns.size());
  for (size_t i = 0; i < s.returns.size(); ++i) {
    const std::string mark = std::string("Tensor(") + static_cast<char>('a' + i) + "!)", &own = s.returns[i].name;
    if (names[i].empty()) names[i] = s.returns.size() == 1 ? "out" : own.empty() ? "out" + std::to_string(i) : own;
    params += ", " + mark + (s.returns[i].list ? "[] " : " ") + names[i];
    returns += (i ? ", " : "") + mark;
  }
  if (s.returns[0].list)
    returns = "()";
  else if (s.returns.size() > 1)
    returns = "(" + returns + ")";
  if (text == "(") params.erase(0, 2);
  return "aten::" + s.name + "." + overload + text + (has_star ? "" : text == "(" ? "*, " : ", *") + params + ") -> " + returns;
}

// The plain operator, by its name without "aten.": null when its results are no tensors of their own.
const OpDef* plain_operator(const std::string& name) {
  const OpDef* op = Registry::global().find("aten." + name);
  if (!op || op->user || !op->known) return nullptr;
  const Schema& s = op->schema();
  const bool tensors = !s.returns.empty() && std::all_of(s.returns.begin(), s.returns.end(), [](const Return& r) {
    return r.type == ArgType::Tensor && !r.optional && r.alias == 0;
  });
  return tensors && !s.mutates() ? op : nullptr;
}

}  // namespace

const OpDef* out_form(std::string_view full_name) {
  if (!full_name.starts_with("aten.")) return nullptr;
  const std::string form(full_name.substr(5));
  const size_t dot = form.find('.');
  if (dot == form.npos) return nullptr;
  const std::string overload = form.substr(dot + 1);
  const auto* irregular = std::find_if(std::begin(kIrregular), std::end(kIrregular), [&](const Irregular& i) { return form == i.form; });
  std::string plain;
  std::vector<std::string> outs;
  if (irregular != std::end(kIrregular)) {
    plain = irregular->plain;
    std::istringstream names(irregular->outs ? irregular->outs : "");
    for (std::string name; names >> name;) outs.push_back(name);
  } else if (overload == "out") {
    plain = form.substr(0, dot);
  } else if (overload.ends_with("_out")) {
    plain = form.substr(0, form.size() - 4);
  } else {
    return nullptr;
  }
  const OpDef* op = plain_operator(plain);
  if (!op) return nullptr;
  Table(Registry::global()).in_place(with_out(*op, overload, std::move(outs)), op->name());
  return Registry::global().find(full_name);
}

}  // namespace edgec::ops
