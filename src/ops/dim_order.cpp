#include "ops/table.h"

// dim_order_ops: copies that say the memory layout of their result.
namespace edgec::ops {

void define_dim_order(Table& ops) {
  ops.define(
         "dim_order_ops::_to_dim_order_copy(Tensor self, *, ScalarType? dtype=None, bool non_blocking=False, int[]? "
         "dim_order=None) -> Tensor")
      .any_layout()
      .infer([](const Call& c) -> Result<std::vector<Type>> {
        TensorType t;
        t.dtype = c.dtype("dtype", c.tensor("self").dtype);
        t.sizes = c.tensor("self").sizes;
        if (c.has("dim_order")) {
          for (int64_t d : c.integers("dim_order")) t.dim_order.push_back(static_cast<uint8_t>(d));
          if (t.dim_order.size() != t.rank()) return model_error("_to_dim_order_copy: dim_order does not have the tensor's rank");
          if (is_contiguous_order(t.dim_order)) t.dim_order.clear();
        } else {
          t.dim_order = c.tensor("self").dim_order;
        }
        return std::vector<Type>{Type::of(std::move(t))};
      })
      .kernel("dim_order_ops::_to_dim_order_copy.out");
}

}  // namespace edgec::ops
