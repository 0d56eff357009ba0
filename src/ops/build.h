#pragma once
#include <string>
#include <vector>

#include "ops/define.h"

// Frequent pieces of expansions. Like the builder's calls they do nothing after a failure (Builder::status).
namespace edgec::ops {

// A dim argument counted from the front; a wrong one fails the builder.
size_t axis_of(Builder& b, const Call& c, std::string_view param, size_t rank);

Dims sizes_of(Builder& b, ValueId x, size_t at_least = 0);  // ones after a failure, so that they can be indexed
ValueId reshaped(Builder& b, ValueId x, const Result<Dims>& sizes);
ValueId slice(Builder& b, ValueId x, size_t axis, Dim start, Dim end, Dim step = 1);  // x itself when all of it
ValueId select(Builder& b, ValueId x, size_t axis, Dim index);
ValueId unsqueeze(Builder& b, ValueId x, size_t axis);
ValueId squeeze(Builder& b, ValueId x, size_t axis);
ValueId cat(Builder& b, const std::vector<ValueId>& parts, size_t axis);  // the part itself when there is one
ValueId stack(Builder& b, const std::vector<ValueId>& parts, size_t axis);
ValueId transposed(Builder& b, ValueId x, size_t i, size_t j);
ValueId moved(Builder& b, ValueId x, size_t from, size_t to);
// Fails the builder: the model was exported in training mode, which its module's name tells.
void refuse_training(Builder& b, const Call& c);
// 0, 1, ..., length - 1 along `axis` of `rank` dims, the others 1.
ValueId iota(Builder& b, Dim length, DType dtype = DType::I64, size_t axis = 0, size_t rank = 1);
ValueId pick(Builder& b, ValueId x, size_t axis, ValueId index);             // index_select, a rank-1 index
ValueId where(Builder& b, ValueId condition, ValueId x, ValueId otherwise);  // one dtype
ValueId where(Builder& b, ValueId condition, ValueId x, double otherwise);   // in x's dtype
// `fn` on x with a leading dim when x has one dim less than `rank`.
template <class Fn>
ValueId batched(Builder& b, ValueId x, size_t rank, Fn fn) {
  if (b.failed()) return {};
  if (b.tensor(x).rank() >= rank) return fn(x);
  return squeeze(b, fn(unsqueeze(b, x, 0)), 0);
}

// Sizes, dtypes and results of another operator with the same parameters: `aten::concat` is `aten.cat`.
void synonym(Table& ops, std::string_view schema, std::string of);

Dims without(Dims sizes, size_t axis);
Dims inserted(Dims sizes, size_t axis, Dim size);
Dims replaced(Dims sizes, size_t axis, Dim size);
// Known to have no elements.
bool is_empty(const Dims& sizes);

}  // namespace edgec::ops
