#include "ops/absent.h"

#include <string>

// Operators of torch that are no entry of the table, by what keeps them out. A pattern is a whole name, or one that ends or
// starts with `*`; the first that fits counts.
namespace edgec::ops {
namespace {

struct Absent {
  const char* reason;
  const char* patterns;  // names without "aten.", separated by spaces
};

constexpr Absent kAbsent[] = {
    {"a gradient: programs are compiled for inference", "*backward* get_gradients _propagate_xla_data"},
    {"sparse tensors are not supported", "*sparse* to_dense smm sspaddmm hspmm *_csr* *_csc* *_bsr* *_bsc* *_coo* *nested* _rowwise_prune"},
    {"weights packed for another library have no kernel in the runtime",
     "quantized* fbgemm* _wrapped* *choose_qparams* *cudnn* *cufft* *mkldnn* *nnpack* *vulkan*"},
    {"a question that export answers; no program calls it",
     "is_* _is_* can_cast promote_types result_type* _version size.int stride.int get_device output_nr retains_grad "
     "_has_compatible_shallow_copy_type _debug_has_internal_overlap _test* sym_is_contiguous sym_storage_offset"},
    {"vmap's own bookkeeping, which export resolves", "_add_batch_dim _remove_batch_dim"},
    {"needs an iteration that ends when it has converged; the runtime has no such kernel",
     "svd linalg_svd linalg_svdvals linalg_eigh linalg_eigvals linalg_eigvalsh linalg_cond* linalg_matrix_rank* linalg_pinv* pinverse "
     "nuclear_norm* linalg_eig"},
    {"the runtime has no such factorization, and no composition is written",
     "qr orgqr ormqr geqrf linalg_qr linalg_householder_product linalg_ldl* lu_solve linalg_lu linalg_lu_solve linalg_lstsq"},
    {"its recursion over time has as many steps as the data say, and no composition is written", "ctc_loss* _ctc_loss*"},
    {"its series has as many terms as the data say", "special_gammainc* igamma* special_zeta* _standard_gamma _sample_dirichlet"},
    {"the result's sizes depend on the data without a bound",
     "_pad_packed_sequence _pack_padded_sequence _reshape_from_tensor unique* _unique* histogramdd* bincount nonzero_static"},
    {"reads the bits of numbers, for which the runtime has no kernel", "_sobol_engine* view_copy.dtype"},
    {"changes the storage of a tensor in place", "resize_ resize_as* resize set_* as_strided_"},
    {"complex numbers of half width have no kernel", "chalf"},
    {"no composition is written", "_upsample_lanczos2d_aa* histc histogram* mode multinomial"},
    {"torch itself computes it on GPUs only", "baddbmm.dtype* bmm.dtype* mm.dtype* addmm.dtype*"},
};

bool fits(std::string_view name, std::string_view pattern) {
  const bool open_start = pattern.starts_with('*'), open_end = pattern.size() > 1 && pattern.ends_with('*');
  const std::string_view core = pattern.substr(open_start ? 1 : 0, pattern.size() - (open_start ? 1 : 0) - (open_end ? 1 : 0));
  if (open_start && open_end) return name.find(core) != std::string_view::npos;
  if (open_start) return name.ends_with(core);
  if (open_end) return name.starts_with(core);
  return name == core;
}

}  // namespace

std::string_view reason_absent(std::string_view op) {
  if (!op.starts_with("aten.")) return {};
  op.remove_prefix(5);
  for (const Absent& a : kAbsent) {
    std::string_view rest = a.patterns;
    while (!rest.empty()) {
      const size_t end = rest.find(' ');
      if (fits(op, rest.substr(0, end))) return a.reason;
      rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    }
  }
  return {};
}

}  // namespace edgec::ops
