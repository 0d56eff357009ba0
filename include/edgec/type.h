#pragma once
#include <string>
#include <vector>

#include <edgec/dtype.h>
#include <edgec/expr.h>

namespace edgec EDGEC_API {

// A size: an integer expression over the method's symbols. It turns into a number only through `constant()` or
// `sym::upper_bound`.
using Dim = sym::Expr;
using Dims = std::vector<Dim>;

// Order of the dims in memory, outer to inner. Empty means contiguous: 0, 1, ..., rank-1.
using DimOrder = std::vector<uint8_t>;
DimOrder channels_last_order(size_t rank);  // rank 4 and 5 only, else empty
bool is_contiguous_order(const DimOrder&);

enum class MemoryFormat : uint8_t { Contiguous = 1, ChannelsLast = 2, ChannelsLast3d = 3, Preserve = 4 };

struct TensorType {
  DType dtype = DType::F32;
  Dims sizes;
  DimOrder dim_order;  // normal form: empty when contiguous
  Dims strides;        // elements; only in the ATen stage and only where the layout is not the one of dim_order
  size_t rank() const { return sizes.size(); }
  bool is_static() const;
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

// The type of a value in a graph.
struct Type {
  enum class Kind : uint8_t { None, Tensor, Sym, Object };
  Kind kind = Kind::None;
  TensorType tensor;   // Tensor
  sym::Expr expr;      // Sym: the value as an expression (its sort tells SymInt, SymFloat, SymBool)
  std::string object;  // Object: class name

  static Type none() { return {}; }
  static Type of(TensorType t) {
    Type r;
    r.kind = Kind::Tensor;
    r.tensor = std::move(t);
    return r;
  }
  static Type sym(sym::Expr e) {
    Type r;
    r.kind = Kind::Sym;
    r.expr = e;
    return r;
  }
  bool is_tensor() const { return kind == Kind::Tensor; }
  bool is_sym() const { return kind == Kind::Sym; }
  friend bool operator==(const Type&, const Type&) = default;
};

std::string str(const Dims&);        // "[s0, 3]"
std::string str(const TensorType&);  // "f32[s0, 3]{0,2,3,1}"
std::string str(const Type&);

Dim numel(const Dims&);
// Bytes at the sizes' upper bounds (64-bit checked); none when a size has no bound or the product overflows.
std::optional<int64_t> upper_bound_bytes(const TensorType&);
// Strides in elements of a dense tensor with that dim order.
Dims strides_of(const Dims& sizes, const DimOrder&);

}  // namespace EDGEC_API
