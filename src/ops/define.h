#pragma once
#include <string>
#include <string_view>

#include <edgec/op.h>
#include "ops/dtypes.h"
#include "ops/shapes.h"

// How entries of the operator table are written:
//
//   ops.define("aten::silu(Tensor self) -> Tensor")
//       .dtype(same_as("self"))
//       .shape(shape_of("self"))
//       .preserves_layout()
//       .expand([](Builder& b, const Call& c) { return in_opmath(b, c, [](Builder& b, ValueId x) { return b.mul(x,
//       b.unary("aten.sigmoid", x)); }); });
namespace edgec::ops {

// Sets the fields of one entry; every call gives the entry back.
class Def {
 public:
  explicit Def(OpDef& op) : op_(op) {}
  Def& dtype(DTypeRule r) {
    op_.dtype = std::move(r);
    return *this;
  }
  Def& shape(ShapeRule r) {
    op_.shape = std::move(r);
    return *this;
  }
  // Types of several results, or a rule that one shape and one dtype cannot say.
  Def& infer(InferRule r) {
    op_.infer = std::move(r);
    return *this;
  }
  // In terms of other operators. One result: give the value; several: a vector. Failures go to `b.fail`.
  // An expansion may give `keep_whole(c)` to say that this call is kept as it is.
  template <class Fn>
  Def& expand(Fn fn) {
    op_.expand = [fn = std::move(fn)](Builder& b, const Call& c) -> Result<std::vector<ValueId>> {
      std::vector<ValueId> out = as_vector(fn(b, c));
      if (b.failed()) return b.status().failure();
      return out;
    };
    return *this;
  }
  // The runtime's kernel, "add.out" or "executorch_prim::add.Scalar". `keep`: factory arguments that its schema has
  // (dtype of sum.IntList_out); by default dtype, layout, device and pin_memory are dropped.
  Def& kernel(std::string_view name, std::vector<std::string> keep = {});
  // The kernel takes operands in any one dim order (all the same) and writes that order.
  Def& preserves_layout() {
    op_.layout = LayoutRule::Preserve;
    return *this;
  }
  Def& any_layout() {
    op_.layout = LayoutRule::Any;
    return *this;
  }
  Def& random() {
    op_.random = true;
    return *this;
  }
  // The results' types or values bring new (unbacked) symbols: item, nonzero.
  Def& defines_symbols() {
    op_.defines_symbols = true;
    return *this;
  }
  Def& side_effect() {
    op_.side_effect = true;
    return *this;
  }
  Def& in_place_ok() {
    op_.in_place_ok = true;
    return *this;
  }
  Def& memory_view() {
    op_.memory_view = true;
    return *this;
  }
  // Tensor and number arguments that take part in type promotion: at the Edge stage all are brought to the promoted
  // dtype. `to_float`: integers become f32 (true division, sin, ...).
  Def& promotes(std::vector<std::string> params, bool to_float = false) {
    op_.promotes = std::move(params);
    op_.promotes_to_float = to_float;
    return *this;
  }
  // dtypes that the kernel computes rightly for `param`s (default: whatever the dtype rule gives); other calls compute
  // in `through` and cast back.
  Def& kernel_dtypes(std::vector<DType> allowed, DType through) {
    op_.kernel_dtypes = std::move(allowed);
    op_.compute_through = through;
    return *this;
  }

 private:
  static std::vector<ValueId> as_vector(ValueId v) { return v ? std::vector<ValueId>{v} : std::vector<ValueId>{}; }
  static std::vector<ValueId> as_vector(std::vector<ValueId> v) { return v; }
  OpDef& op_;
};

// An expansion that returns this keeps the call (no values).
inline std::vector<ValueId> keep_whole() { return {}; }

class Table {
 public:
  explicit Table(Registry& r) : registry_(r) {}
  Def define(std::string_view schema) { return Def(entry(schema)); }
  // The in-place form: same operator with `_`, first argument written. Functionalization only needs its schema, and the
  // `functional` operator where the name does not say it (`__iand__`).
  void in_place(std::string_view schema, std::string functional = {}) { entry(schema).functional = std::move(functional); }

 private:
  OpDef& entry(std::string_view schema) {
    OpDef& op = registry_.define(schema);
    op.user = false;
    return op;
  }
  Registry& registry_;
};

// f16 and bf16 compute in f32 and cast back, as torch's kernels do; other dtypes as they are.
template <class Fn>
ValueId in_opmath(Builder& b, ValueId x, Fn fn) {
  if (b.failed()) return {};
  const DType d = b.tensor(x).dtype;
  if (!is_half(d)) return fn(b, x);
  return b.cast(fn(b, b.cast(x, DType::F32)), d);
}

}  // namespace edgec::ops
