#include "ops/table.h"

#include <mutex>

#include "ir/derived_ops.h"

namespace edgec::ops {

void register_all() {
  static std::once_flag once;
  std::call_once(once, [] {
    Table ops(Registry::global());
    define_prims(ops);
    define_symbolic(ops);
    define_control_flow(ops);
    define_dim_order(ops);
    define_elementwise(ops);
    define_division(ops);
    define_math(ops);
    define_special(ops);
    define_rnn(ops);
    define_quantized(ops);
    define_activations(ops);
    define_views(ops);
    define_copies(ops);
    define_reduce(ops);
    define_running(ops);
    define_linear(ops);
    define_attention(ops);
    define_norm(ops);
    define_embedding(ops);
    define_losses(ops);
    define_conv(ops);
    define_pool(ops);
    define_pad(ops);
    define_index(ops);
    define_sort(ops);
    define_joins(ops);
    define_create(ops);
    define_resize(ops);
    define_grid(ops);
    define_matrix(ops);
    define_triangular(ops);
    define_stats(ops);
    define_windows(ops);
    define_others(ops);
    define_complex(ops);
    set_derived_ops(out_form);
  });
}

}  // namespace edgec::ops
