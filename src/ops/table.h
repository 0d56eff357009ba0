#pragma once
#include "ops/define.h"

namespace edgec::ops {

// Fills Registry::global() with every family of operators, once. Call before anything looks an operator up.
void register_all();

// One per file of src/ops.
void define_prims(Table&);         // prim.constant, prim.delegate, asserts
void define_symbolic(Table&);      // sym_size and Python's operators on symbols
void define_control_flow(Table&);  // higher_order.*
void define_dim_order(Table&);     // dim_order_ops.*
void define_elementwise(Table&);
void define_division(Table&);  // with rounding, remainders, powers
void define_math(Table&);      // functions of one number
void define_special(Table&);   // gamma, Bessel, gcd, nextafter
void define_rnn(Table&);
void define_quantized(Table&);
void define_activations(Table&);
void define_views(Table&);
void define_copies(Table&);  // to, clone, contiguous, copy, ...
void define_reduce(Table&);
void define_running(Table&);  // cumsum, cummax, trapezoid
void define_linear(Table&);
void define_attention(Table&);
void define_norm(Table&);
void define_embedding(Table&);
void define_losses(Table&);
void define_conv(Table&);
void define_pool(Table&);
void define_pad(Table&);
void define_index(Table&);
void define_sort(Table&);
void define_joins(Table&);
void define_create(Table&);
void define_resize(Table&);
void define_grid(Table&);    // grid_sampler, affine_grid
void define_matrix(Table&);  // determinants, inverses, Cholesky, powers
void define_triangular(Table&);
void define_stats(Table&);    // quantiles, covariance, gradient
void define_windows(Table&);  // hann_window, linspace of tensors
void define_others(Table&);   // deprecated names, helpers of torch's decompositions
void define_complex(Table&);  // types of complex operators and transforms

// "aten.log.out", made of "aten.log": torch's form that writes its results into given tensors. Null: no such form.
const OpDef* out_form(std::string_view full_name);

}  // namespace edgec::ops
