#include <sstream>

#include "ops/table.h"

// Forms that write their results into given tensors: `torch.add(x, y, out=z)`. Functionalization makes them plain calls and
// writes; all that is needed is their schema, which follows from the plain one.
namespace edgec::ops {
namespace {

// Called "add.out" for "add", "lerp.Tensor_out" for "lerp.Tensor".
constexpr char kRegular[] =
    "atan2 diagonal_copy expand_copy floor_divide glu logit masked_fill.Scalar pixel_shuffle pixel_unshuffle reflection_pad1d "
    "reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d replication_pad3d roll rsub.Scalar select_scatter tril "
    "unfold_copy "
    "_chunk_cat _unsafe_view _weight_norm_interface abs addcdiv addcmul addr affine_grid_generator alias_copy all.dims aminmax arange "
    " baddbmm binary_cross_entropy binary_cross_entropy_with_logits block_diag bmm cat celu channel_shuffle clamp "
    "clamp_max.Tensor clamp_max clamp_min.Tensor clamp_min col2im copy count_nonzero.dim_IntList count_nonzero "
    "cumsum deg2rad diag_embed dot empty_like exp eye.m eye floor_divide.Scalar frac full hann_window hann_window.periodic hardshrink "
    "hardsigmoid hardswish heaviside huber_loss im2col index_add index_copy index_fill.int_Scalar index_fill.int_Tensor index_select "
    "isin.Scalar_Tensor isin.Tensor_Scalar isin.Tensor_Tensor isneginf isposinf lerp.Scalar lerp.Tensor linalg_cross "
    "linspace.Scalar_Tensor linspace.Tensor_Scalar linspace.Tensor_Tensor linspace logaddexp logaddexp2 logspace.Scalar_Tensor "
    "logspace.Tensor_Scalar logspace.Tensor_Tensor logspace masked_fill.Tensor matmul max_unpool2d max_unpool3d maximum minimum mish "
    "mm mse_loss multi_margin_loss mv mvlgamma nan_to_num nansum new_empty new_full new_ones new_zeros norm.ScalarOpt_dtype "
    "norm.Scalar ones ones_like rad2deg relu renorm rot90 rsub.Tensor sgn sigmoid silu sin sinc smooth_l1_loss "
    "soft_margin_loss softplus softshrink special_entr special_log_ndtr special_xlog1py.other_scalar special_xlog1py "
    "special_xlog1py.self_scalar split_with_sizes_copy sqrt squeeze_copy.dim squeeze_copy.dims squeeze_copy stack std.correction "
    "std_mean.correction sum t_copy take tanh threshold trace transpose_copy.int triu unsqueeze_copy upsample_bilinear2d "
    "upsample_linear1d upsample_trilinear3d vdot where.self zero zeros zeros_like ";

const std::pair<const char*, const char*> kNamedOtherwise[] = {
    {"add.Tensor", "out"},
    {"all", "all_out"},
    {"all.dim", "out"},
    {"div.Tensor", "out"},
    {"log_sigmoid_forward", "output"},
    {"mean.dim", "out"},
    {"mul.Tensor", "out"},
    {"multilabel_margin_loss_forward", "output"},
    {"nll_loss2d_forward", "output"},
    {"nll_loss_forward", "output"},
    {"norm.ScalarOpt_dim_dtype", "dtype_out"},
    {"norm.ScalarOpt_dim", "out"},
    {"std.dim", "out"},
    {"sub.Tensor", "out"},
    {"sum.dim_IntList", "IntList_out"},
    {"xlogy.Scalar_Other", "OutScalar_Other"},
    {"xlogy.Scalar_Self", "OutScalar_Self"},
    {"xlogy.Tensor", "OutTensor"},
};

void drop(std::string& text, std::string_view part) {
  if (const size_t at = text.find(part); at != std::string::npos) text.erase(at, part.size());
}

// "aten::mm(Tensor self, Tensor mat2) -> Tensor" gives "aten::mm.out(Tensor self, Tensor mat2, *, Tensor(a!) out) -> Tensor(a!)".
std::string with_out(const OpDef& plain, const std::string& overload) {
  const Schema& s = plain.schema();
  std::string text = plain.schema_text.substr(plain.schema_text.find('('));
  text.resize(text.rfind(") -> "));
  drop(text, "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, ");
  drop(text, ", ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None");
  const bool has_star = text.find('*') != std::string::npos;
  std::string params, returns;
  for (size_t i = 0; i < s.returns.size(); ++i) {
    const std::string mark = std::string("Tensor(") + static_cast<char>('a' + i) + "!)";
    const std::string name = s.returns.size() == 1 ? "out" : s.returns[i].name.empty() ? "out" + std::to_string(i) : s.returns[i].name;
    params += ", " + mark + (s.returns[i].list ? "[] " : " ") + name;
    returns += (i ? ", " : "") + mark;
  }
  if (s.returns[0].list)
    returns = "()";
  else if (s.returns.size() > 1)
    returns = "(" + returns + ")";
  return "aten::" + s.name + "." + overload + text + (has_star ? "" : ", *") + params + ") -> " + returns;
}

}  // namespace

void define_out_forms(Table& ops) {
  const auto define = [&](const std::string& plain, const std::string& overload) {
    const OpDef& op = Registry::global().get("aten." + plain);
    ops.in_place(with_out(op, overload), op.name());
  };
  std::istringstream names(kRegular);
  for (std::string plain; names >> plain;) {
    const size_t dot = plain.find('.');
    define(plain, dot == std::string::npos ? "out" : plain.substr(dot + 1) + "_out");
  }
  for (const auto& [plain, overload] : kNamedOtherwise) define(plain, overload);
}

}  // namespace edgec::ops
