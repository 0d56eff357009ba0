#include "operands.h"

#include <algorithm>
#include <sstream>

namespace edgec::random_graphs {
namespace {

constexpr std::pair<std::string_view, std::string_view> kHints[] = {
    {"mm", "self=nk:num mat2=km"},
    {"bmm", "self=bnk:num mat2=bkm"},
    {"matmul", "self=*nk other=km"},
    {"addmm", "self=nm mat1=nk mat2=km"},
    {"addbmm", "self=nm batch1=bnk batch2=bkm"},
    {"baddbmm", "self=bnm batch1=bnk batch2=bkm"},
    {"addmv", "self=n mat=nm vec=m"},
    {"addr", "self=nm vec1=n vec2=m"},
    {"mv", "self=nm vec=m"},
    {"dot", "self=n tensor=n"},
    {"vdot", "self=n other=n"},
    {"outer", "self=n vec2=m"},
    {"ger", "self=n vec2=m"},
    {"inner", "self=*k other=mk"},
    {"linear", "input=*k weight=mk bias=?m"},
    {"quantile", "self=*n q=k:unit"},
    {"nanquantile", "self=*n q=k:unit"},
    {"bilinear", "input1=na input2=nb weight=oab bias=?o"},
    {"cdist", "x1=nk x2=mk p=#2 compute_mode=none"},
    {"_cdist_forward", "x1=nk x2=mk p=#2 compute_mode=none"},
    {"pdist", "self=nk"},
    {"_pdist_forward", "self=nk"},
    {"tensordot", "self=nk other=km dims_self=#1 dims_other=#0"},
    {"einsum", "equation='nk,km->nm' tensors=nk|km path=none"},
    {"chain_matmul", "matrices=nk|km"},
    {"linalg_multi_dot", "tensors=nk|km"},
    {"trace", "self=nm"},
    {"conv1d", "input=nci weight=oc2 bias=?o groups=#1"},
    {"conv2d", "input=nchw weight=oc22 bias=?o groups=#1"},
    {"conv3d", "input=ncdhw weight=oc122 bias=?o groups=#1"},
    {"convolution",
     "input=nchw weight=oc22 bias=?o stride=#1,1 padding=#1,1 dilation=#1,1 transposed=false output_padding=#0,0 "
     "groups=#1"},
    {"conv_transpose1d", "input=nci weight=co2 bias=?o groups=#1 output_padding=#0"},
    {"conv_transpose2d", "input=nchw weight=co22 bias=?o groups=#1 output_padding=#0,0"},
    {"conv_transpose3d", "input=ncdhw weight=co122 bias=?o groups=#1 output_padding=#0,0,0"},
    {"max_pool1d", "self=nch"},
    {"max_pool2d", "self=nchw"},
    {"max_pool3d", "self=ncdhw"},
    {"max_pool1d_with_indices", "self=nch"},
    {"max_pool2d_with_indices", "self=nchw"},
    {"max_pool3d_with_indices", "self=ncdhw"},
    {"avg_pool1d", "self=nch divisor_override=none"},
    {"avg_pool2d", "self=nchw divisor_override=none"},
    {"avg_pool3d", "self=ncdhw divisor_override=none"},
    {"adaptive_avg_pool1d", "self=nch"},
    {"adaptive_avg_pool2d", "self=nchw"},
    {"_adaptive_avg_pool2d", "self=nchw"},
    {"adaptive_avg_pool3d", "self=ncdhw"},
    {"adaptive_max_pool1d", "self=nch"},
    {"adaptive_max_pool2d", "self=nchw"},
    {"adaptive_max_pool3d", "self=ncdhw"},
    {"batch_norm", "input=nchw weight=?c bias=?c running_mean=c running_var=c:positive training=false"},
    {"_native_batch_norm_legit_no_training", "input=nch weight=?c bias=?c running_mean=c running_var=c:positive"},
    {"_native_batch_norm_legit", "input=nch weight=?c bias=?c training=true"},
    {"native_batch_norm", "input=nch weight=?c bias=?c running_mean=c running_var=c:positive training=false"},
    {"layer_norm", "input=*k normalized_shape=%k weight=?k bias=?k"},
    {"native_layer_norm", "input=*k normalized_shape=%k weight=?k bias=?k"},
    {"rms_norm", "input=*k normalized_shape=%k weight=?k"},
    {"_fused_rms_norm", "input=*k normalized_shape=%k weight=?k"},
    {"group_norm", "input=nch num_groups=#1 weight=?c bias=?c"},
    {"native_group_norm", "input=nch weight=?c bias=?c N=%n C=%c HxW=%h group=#1"},
    {"instance_norm", "input=nch weight=?c bias=?c running_mean=none running_var=none use_input_stats=true"},
    {"_weight_norm", "v=nk g=n1 dim=#0"},
    {"_weight_norm_interface", "v=nk g=n1 dim=#0"},
    {"embedding", "weight=vd indices=*i:<v padding_idx=#-1 scale_grad_by_freq=false sparse=false"},
    {"nll_loss", "self=nc target=n:<c weight=?c ignore_index=#-100"},
    {"nll_loss_nd", "self=nc target=n:<c weight=?c ignore_index=#-100"},
    {"nll_loss_forward", "self=nc target=n:<c weight=?c ignore_index=#-100"},
    {"cross_entropy_loss", "self=nc target=n:<c weight=?c ignore_index=#-100 label_smoothing=#0"},
    {"binary_cross_entropy", "self=*n:unit target=n:unit weight=none"},
    {"scaled_dot_product_attention", "query=bhld key=bhsd value=bhse attn_mask=?ls dropout_p=#0 is_causal=false enable_gqa=false"},
    {"_scaled_dot_product_flash_attention_for_cpu", "query=bhld key=bhsd value=bhsd attn_mask=?ls dropout_p=#0 is_causal=false"},
    {"grid_sampler", "input=nchw grid=nab2 interpolation_mode=#0 padding_mode=#0"},
    {"grid_sampler_2d", "input=nchw grid=nab2 interpolation_mode=#0 padding_mode=#0"},
    {"affine_grid_generator", "theta=n23 size=%nchw"},
    {"_upsample_nearest_exact1d", "self=nch input=nch output_size=#4 scales=none scale_factors=none"},
    {"_upsample_nearest_exact2d", "self=nchw input=nchw output_size=#4,3 scales_h=none scales_w=none scale_factors=none"},
    {"_upsample_nearest_exact3d", "self=ncdhw input=ncdhw output_size=#2,4,3 scales_d=none scales_h=none scales_w=none scale_factors=none"},
    {"_upsample_bicubic2d_aa", "self=nchw input=nchw output_size=#4,3 scales_h=none scales_w=none scale_factors=none"},
    {"_upsample_bilinear2d_aa", "self=nchw input=nchw output_size=#4,3 scales_h=none scales_w=none scale_factors=none"},
    {"_adaptive_avg_pool3d", "self=ncdhw"},
    {"nll_loss2d", "self=nchw target=nhw:<c weight=?c ignore_index=#-100"},
    {"matrix_H", "self=nk:any"},
    {"diag", "self=nk:any"},
    {"block_diag", "tensors=nk:any|ab:any"},
    {"meshgrid", "tensors=n:any|m:any"},
    {"linalg_matmul", "self=*nk other=km"},
    {"triplet_margin_loss", "anchor=nk positive=nk negative=nk"},
    {"cosine_embedding_loss", "input1=nk input2=nk target=n"},
    {"margin_ranking_loss", "input1=n input2=n target=n"},
    {"hinge_embedding_loss", "self=*n target=n"},
    {"trace", "self=nk:any"},
    {"pixel_shuffle", "self=n4hw:any upscale_factor=#2"},
    {"pixel_unshuffle", "self=nc24:any downscale_factor=#2"},
    {"channel_shuffle", "self=n4hw groups=#2"},
    {"native_channel_shuffle", "self=n4hw groups=#2"},
    {"im2col", "self=nchw kernel_size=#2,2 dilation=#1,1 padding=#1,1 stride=#1,1"},
    {"glu", "self=*n4 dim=#-1"},
    {"prelu", "self=nch weight=c"},
    {"nll_loss2d_forward", "self=nchw target=nhw:<c weight=?c ignore_index=#-100"},
    {"one_hot", "self=*n:<4 num_classes=#4"},
    {"bucketize", "boundaries=5:sorted"},
    {"searchsorted", "sorted_sequence=5:sorted sorter=none side=none"},
    {"upsample_nearest1d", "self=nch input=nch output_size=#4 scales=none scale_factors=none"},
    {"upsample_nearest2d", "self=nchw input=nchw output_size=#4,3 scales_h=none scales_w=none scale_factors=none"},
    {"upsample_nearest3d", "self=ncdhw input=ncdhw output_size=#2,4,3 scales_d=none scales_h=none scales_w=none scale_factors=none"},
    {"upsample_bilinear2d", "self=nchw input=nchw output_size=#4,3 scales_h=none scales_w=none scale_factors=none"},
    {"upsample_bicubic2d", "self=nchw input=nchw output_size=#4,3 scales_h=none scales_w=none scale_factors=none"},
    {"upsample_linear1d", "self=nch input=nch output_size=#4 scales=none scale_factors=none"},
    {"upsample_trilinear3d", "self=ncdhw input=ncdhw output_size=#2,4,3 scales_d=none scales_h=none scales_w=none scale_factors=none"},
    {"replication_pad1d", "self=nci padding=#1,2"},
    {"replication_pad2d", "self=nchw padding=#1,1,2,1"},
    {"logit", "self=*n:unit"},
    {"cosine_similarity", "x1=*nk x2=nk dim=#-1"},
    {"pairwise_distance", "x1=nk x2=nk"},
    {"linalg_vecdot", "x=*nk y=nk dim=#-1"},
    {"linalg_matrix_norm", "self=*nk ord='fro' dim=#-2,-1"},
    {"linalg_norm", "self=*nk ord=none"},
    {"frobenius_norm", "self=*nk:float"},
    {"bitwise_left_shift", "kind=integer"},
    {"bitwise_right_shift", "kind=integer"},
    {"__lshift__", "kind=integer"},
    {"__rshift__", "kind=integer"},
    {"bitwise_and", "kind=int"},
    {"bitwise_or", "kind=int"},
    {"bitwise_xor", "kind=int"},
    {"bitwise_not", "kind=int"},
    {"__and__", "kind=int"},
    {"__or__", "kind=int"},
    {"__xor__", "kind=int"},
    {"masked_scatter", "self=nk mask=1k:bool source=nk"},
    {"kron", "self=nk other=ab"},
    {"nonzero", "self=none"},
    {"rot90", "self=*nk:any dims=#-2,-1"},
    {"t", "self=nk:any"},
    {"t_copy", "self=nk:any"},
    {"adjoint", "self=*nk:any"},
    {"mH", "self=*nk:any"},
    {"mT", "self=*nk:any"},
    {"tril", "self=*nk:any"},
    {"triu", "self=*nk:any"},
    {"fliplr", "self=nk:any"},
    {"flipud", "self=nk:any"},
    {"_native_batch_norm_legit_functional", "input=4ch weight=?c bias=?c running_mean=c running_var=c:positive training=true"},

    {"_log_softmax", "self=*n"},
    {"softmax", "self=*n"},
    {"_softmax", "self=*n"},
    {"log_softmax", "self=*n"},
    {"special_softmax", "self=*n"},
    {"logsumexp", "self=*n"},
    {"special_logsumexp", "self=*n"},
    {"rrelu", "kind=float"},
    {"expand_as", "self=1n:any other=mn:any"},
    {"repeat_interleave", "self=*n:any output_size=none"},
    {"uniform", "from=#0 to=#1"},
    {"_safe_softmax", "self=*n"},
    {"special_log_softmax", "self=*n"},
    {"index_add", "self=*n:num"},
    {"index_select", "self=*n:any"},
    {"reflection_pad1d", "self=nc5 padding=#1,1"},
    {"reflection_pad2d", "self=nc34 padding=#1,1,1,1"},
    {"reflection_pad3d", "self=nc234 padding=#1,1,1,1,1,1"},
    {"replication_pad3d", "self=ncdhw padding=#1,0,1,1,2,1"},
    {"bernoulli", "self=*n:unit p=#0"},
    {"det", "self=*33 A=*33 pivot=true"},
    {"linalg_det", "self=*33 A=*33 pivot=true"},
    {"slogdet", "self=*33 A=*33 pivot=true"},
    {"linalg_slogdet", "self=*33 A=*33 pivot=true"},
    {"logdet", "self=*33 A=*33 pivot=true"},
    {"inverse", "self=*33 A=*33 pivot=true"},
    {"linalg_inv", "self=*33 A=*33 pivot=true"},
    {"linalg_inv_ex", "self=*33 A=*33 pivot=true"},
    {"cholesky", "self=*33 A=*33 pivot=true"},
    {"linalg_cholesky", "self=*33 A=*33 pivot=true"},
    {"linalg_cholesky_ex", "self=*33 A=*33 pivot=true"},
    {"linalg_matrix_exp", "self=*33 A=*33 pivot=true"},
    {"matrix_exp", "self=*33 A=*33 pivot=true"},
    {"matrix_power", "self=*33 A=*33 pivot=true"},
    {"linalg_matrix_power", "self=*33 A=*33 pivot=true"},
    {"linalg_lu_factor", "self=*33 A=*33 pivot=true"},
    {"linalg_lu_factor_ex", "self=*33 A=*33 pivot=true"},
    {"_lu_with_info", "self=*33 A=*33 pivot=true"},
    {"linalg_solve", "A=33 B=3n left=true"},
    {"linalg_solve_ex", "A=33 B=3n left=true"},
    {"_convolution",
     "input=nchw weight=oc22 bias=?o stride=#1,1 padding=#1,1 dilation=#1,1 transposed=false output_padding=#0,0 "
     "groups=#1"},
    {"_convolution_mode", "input=nchw weight=oc22 bias=?o stride=#1,1 padding='valid|same' dilation=#1,1 groups=#1"},
    {"thnn_conv2d", "self=nchw weight=oc22 kernel_size=#2,2 bias=?o"},
    {"slow_conv3d", "self=ncdhw weight=oc122 kernel_size=#1,2,2 bias=?o"},
    {"trapezoid", "y=*n x=n dim=#-1"},
    {"trapz", "y=*n x=n dim=#-1"},
    {"cumulative_trapezoid", "y=*n x=n dim=#-1"},
    {"unflatten_dense_tensors", "flat=8 tensors=4|22"},
    {"_euclidean_dist", "x1=nk x2=mk"},
    {"index_reduce", "self=*n:num reduce='prod|mean|amax|amin'"},
    {"cross", "self=n3 other=n3 dim=#-1"},
    {"fake_quantize_per_tensor_affine", "self=*n scale=:positive zero_point=:positive quant_min=#0 quant_max=#255"},
    {"fake_quantize_per_channel_affine", "self=nc scale=c:positive zero_point=c:positive axis=#1 quant_min=#0 quant_max=#255"},
    {"max_unpool2d", "self=nc22 indices=nc22:<4 output_size=#2,2"},
    {"max_unpool3d", "self=nc222 indices=nc222:<8 output_size=#2,2,2 stride=#1,1,1 padding=#0,0,0"},
    {"lcm", "kind=integer"},
    {"gcd", "kind=integer"},
    {"_pad_circular", "self=nc4 pad=#1,1"},
    {"_reshape_alias", "self=nk:any size=%nk stride=%k1"},
    {"stft", "self=n8 n_fft=#4 hop_length=#2 win_length=none window=none pad_mode='reflect|constant'"},
    {"linspace", "start=:any end=:any"},
    {"logspace", "start=:any end=:any"},
    {"multi_margin_loss", "self=nc target=n:<c weight=?c p=#2 margin=#1"},
    {"multilabel_margin_loss", "self=nc target=nc:<c"},
    {"multilabel_margin_loss_forward", "self=nc target=nc:<c"},
    {"linalg_tensorinv", "self=236 ind=#2"},
    {"grid_sampler_3d", "input=ncdhw grid=nabe3 interpolation_mode=#0 padding_mode=#0"},
    {"view_as", "self=nk:any other=nk:any"},
    {"reshape_as", "self=nk:any other=nk:any"},
};

// One dtype for all operands.
constexpr std::string_view kSameDType = "heaviside lerp meshgrid remainder_ cdist lshift rshift index_add addcdiv quantile nanquantile";

// Float ops that take no integers in torch, or whose kernels we do not ask about integers.
constexpr std::string_view kFloatOnly =
    "mean var std var_mean std_mean softmax _softmax log_softmax _log_softmax _safe_softmax "
    "special_softmax special_log_softmax gelu silu mish elu celu selu softplus softshrink hardshrink "
    "hardsigmoid hardswish log_sigmoid norm linalg_vector_norm nanmean dist mse_loss l1_loss "
    "smooth_l1_loss huber_loss kl_div soft_margin_loss lerp leaky_relu norm_except_dim logcumsumexp "
    "logsumexp binary_cross_entropy_with_logits dropout alpha_dropout feature_dropout "
    "feature_alpha_dropout native_dropout pad frac renorm _native_batch_norm_legit_functional randn_like "
    "rand_like normal triplet_margin_loss cosine_embedding_loss margin_ranking_loss hinge_embedding_loss "
    "poisson_nll_loss bernoulli uniform special_round avg_pool3d _pdist_forward erfcx special_erfcx "
    "logaddexp logaddexp2 addcdiv log_normal exponential _saturate_weight_to_fp16";

// No bools.
constexpr std::string_view kNumbers =
    "neg negative abs absolute sub subtract rsub relu relu6 threshold floor_divide div divide true_divide "
    "topk kthvalue fix trunc round ceil floor remainder fmod hardtanh clamp clip clamp_min clamp_max "
    "argmax argmin sign cumsum cumprod median nanmedian sort mode aminmax square pow float_power lerp "
    "addcmul addcdiv diff maximum minimum fmax fmin linspace tril_indices triu_indices randint "
    "randint_like heaviside index_add scatter_add put scatter_reduce cummax cummin msort "
    "bitwise_left_shift gcd";

constexpr std::string_view kDivisions =
    "div divide true_divide floor_divide remainder fmod pow float_power bitwise_left_shift "
    "bitwise_right_shift __lshift__ __rshift__ ldexp xlogy addcdiv";

std::vector<std::string> words(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::vector<std::string> out;
  for (std::string w; in >> w;) out.push_back(w);
  return out;
}

bool is_word_of(std::string_view word, std::string_view text) {
  const auto all = words(text);
  return std::find(all.begin(), all.end(), word) != all.end();
}

std::string_view base_name(const OpDef& op) {
  std::string_view n = op.schema().name;
  if (n.ends_with('_') && !n.starts_with("__")) n.remove_suffix(1);
  return n;
}

}  // namespace

const Hints& hints_for(const OpDef& op) {
  static const auto* all = [] {
    auto* made = new std::map<std::string, Hints, std::less<>>;
    for (auto [name, text] : kHints) {
      std::istringstream in{std::string(text)};
      for (std::string word; in >> word;) (*made)[std::string(name)][word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
    }
    for (const std::string& name : words(kFloatOnly)) (*made)[name].try_emplace("kind", "float");
    for (const std::string& name : words(kNumbers)) (*made)[name].try_emplace("kind", "num");
    return made;
  }();
  static const Hints none;
  auto it = all->find(base_name(op));
  return it == all->end() ? none : it->second;
}

Operands::Operands(Draft& draft, const OpDef& op)
    : draft_(draft), op_(op), hints_(hints_for(op)), divides_(is_word_of(base_name(op), kDivisions)) {}

const std::string* Operands::hint(const std::string& param) const {
  auto it = hints_.find(param);
  return it == hints_.end() ? nullptr : &it->second;
}

std::optional<Dim> Operands::letter(char c) const {
  if (c >= '0' && c <= '9') return Dim(c - '0');
  auto it = letters_.find(c);
  return it == letters_.end() ? std::nullopt : std::optional(it->second);
}

std::optional<ValueId> Operands::existing(const std::function<bool(ValueId)>& accepts) {
  std::vector<ValueId> found;
  for (size_t i = draft_.value_count(); i-- > 0 && found.size() < 12;) {
    const ValueId v(static_cast<uint32_t>(i));
    if (draft_.graph().type(v).is_tensor() && draft_.facts(v).readable && accepts(v)) found.push_back(v);
  }
  if (found.empty()) return std::nullopt;
  return found[std::min(draft_.rng().below(found.size()), draft_.rng().below(found.size()))];  // rather new ones
}

bool Operands::dtype_fits(DType d, const std::string& kind) const {
  if (kind == "float") return is_float(d);
  if (kind == "num") return d != DType::Bool;
  if (kind == "int") return is_integral(d) || d == DType::Bool;
  if (kind == "integer") return is_integral(d);
  if (kind == "bool") return d == DType::Bool;
  return true;
}

DType Operands::dtype_for(const std::string& kind) {
  if (kind == "bool") return DType::Bool;
  for (;;) {
    const DType d = kind == "float" ? draft_.random_float() : draft_.random_dtype();
    if (dtype_fits(d, kind)) return d;
  }
}

bool Operands::matches(ValueId v, const std::string& dims) {
  const Dims& sizes = draft_.graph().tensor(v).sizes;
  const bool leading = dims.starts_with('*');
  const size_t named = dims.size() - leading;
  if (leading ? sizes.size() < named : sizes.size() != named) return false;
  std::map<char, Dim> bound = letters_;
  for (size_t i = 0; i < named; ++i) {
    const char c = dims[dims.size() - named + i];
    const Dim size = sizes[sizes.size() - named + i];
    if (c >= '0' && c <= '9' ? size != Dim(c - '0') : bound.try_emplace(c, size).first->second != size) return false;
  }
  return true;
}

std::optional<Arg> Operands::by_pattern(std::string pattern) {
  if (pattern == "none") return Arg();
  if (pattern.starts_with('?')) {
    if (draft_.rng().chance(50)) return Arg();
    pattern.erase(0, 1);
  }
  const size_t colon = pattern.find(':');
  std::string kind = colon == std::string::npos ? "" : pattern.substr(colon + 1);
  const std::string dims = pattern.substr(0, colon);
  Domain domain;
  std::optional<DType> dtype;
  if (kind.starts_with('<')) {
    const auto limits = draft_.numbers(letter(kind[1]).value_or(Dim(0)));
    domain = {Domain::Kind::Below, *std::min_element(limits.begin(), limits.end())};
    if (domain.limit <= 0) return std::nullopt;
    dtype = DType::I64;
  } else if (kind == "positive" || kind == "unit" || kind == "sorted") {
    domain.kind = kind == "positive" ? Domain::Kind::Positive : kind == "unit" ? Domain::Kind::Unit : Domain::Kind::Sorted;
    kind = first_ ? "" : "float";
  } else if (kind.empty() && !first_) {
    kind = "float";
  }
  if (!dtype && kind.empty() && first_) dtype = first_type().dtype;
  std::optional<ValueId> v;
  if (draft_.rng().chance(75))
    v = existing([&](ValueId c) {
      const DType d = draft_.graph().tensor(c).dtype;
      return (dtype ? d == *dtype : dtype_fits(d, kind)) && matches(c, dims) &&
             (domain == Domain() || (!draft_.graph().value(c).def && Domain::of(draft_.graph().value(c).name) == domain));
    });
  if (!v) {
    Dims sizes = dims.starts_with('*') ? draft_.random_sizes(draft_.rng().below(3)) : Dims();
    for (char c : dims)
      if (c != '*') sizes.push_back(letter(c) ? *letter(c) : letters_.try_emplace(c, draft_.random_dim()).first->second);
    v = draft_.add_input(dtype ? *dtype : dtype_for(kind), sizes, domain);
  }
  const Dims& sizes = draft_.graph().tensor(*v).sizes;
  const size_t named = dims.size() - dims.starts_with('*');
  for (size_t i = 0; i < named; ++i) letters_.try_emplace(dims[dims.size() - named + i], sizes[sizes.size() - named + i]);
  set_first(*v);
  return Arg(*v);
}

std::optional<Arg> Operands::list_by_pattern(const std::string& pattern) {
  ArgList out;
  std::istringstream in(pattern);
  for (std::string one; std::getline(in, one, '|');) {
    auto a = by_pattern(one);
    if (!a) return std::nullopt;
    out.push_back(*a);
  }
  return Arg(out);
}

std::optional<ValueId> Operands::any() {
  const std::string* kind = hint("kind");
  const bool writes = op_.schema().mutates();
  std::optional<ValueId> v;
  if (writes || draft_.rng().chance(85))
    v = existing([&](ValueId c) {
      return (!kind || dtype_fits(draft_.graph().tensor(c).dtype, *kind)) &&
             (!writes || (draft_.facts(c).writable && !draft_.is_frozen(c)));
    });
  if (!v) v = draft_.add_input(dtype_for(kind ? *kind : "any"), draft_.random_sizes(draft_.rng().below(6)));
  set_first(*v);
  return v;
}

ValueId Operands::like(const Dims& sizes, DType dtype, Domain domain) {
  std::optional<ValueId> v;
  if (draft_.rng().chance(60))
    v = existing([&](ValueId c) {
      const TensorType& t = draft_.graph().tensor(c);
      return t.sizes == sizes && t.dtype == dtype &&
             (domain == Domain() || (!draft_.graph().value(c).def && Domain::of(draft_.graph().value(c).name) == domain));
    });
  return v ? *v : draft_.add_input(dtype, sizes, domain);
}

ValueId Operands::peer() {
  Rng& rng = draft_.rng();
  const TensorType first = first_type();
  const DType dtype = rng.chance(75) || is_word_of(base_name(op_), kSameDType) ? first.dtype
                      : hint("kind")                                           ? dtype_for(*hint("kind"))
                                                                               : draft_.random_dtype();
  Dims sizes = first.sizes;
  if (rng.chance(40)) {
    if (!sizes.empty() && rng.chance(50)) sizes.erase(sizes.begin(), sizes.begin() + static_cast<ptrdiff_t>(rng.below(sizes.size() + 1)));
    for (Dim& d : sizes)
      if (rng.chance(25)) d = 1;
  }
  return like(sizes, dtype, divisor_domain());
}

ValueId Operands::bool_peer() { return like(first_type().sizes, DType::Bool); }

}  // namespace edgec::random_graphs
