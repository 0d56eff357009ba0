#include <limits>

#include "ops/numeric.h"
#include "ops/table.h"

// Rows of a table picked by index, one at a time or in bags.
namespace edgec::ops {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
enum Mode : int64_t { kSum = 0, kMean = 1, kMax = 2 };

// ---- bags ---------------------------------------------------------------------------------------------------------

Dim bag_count(const Call& c) {
  const Dim offsets = c.tensor("offsets").sizes[0];
  return c.flag("include_last_offset") ? offsets - 1 : offsets;
}

bool has_padding(const Call& c) { return c.has("padding_idx") && c.integer("padding_idx", -1) != -1; }

// torch leaves the bags of the indices out where its fast path sums.
bool tells_bags(const Call& c) {
  const DType d = c.tensor("weight").dtype;
  return c.integer("mode") != kSum || has_padding(c) || (d != DType::F32 && d != DType::F16);
}

// Without gradients torch counts a bag behind the last offset too.
Dim counted_bags(const Call& c) {
  return c.op().name() == "aten._embedding_bag_forward_only" ? c.tensor("offsets").sizes[0] : bag_count(c);
}

// The rows, the bag of every index, the size of every bag, and the index of the largest.
Result<std::vector<Type>> bag_types(const Call& c) {
  const TensorType &weight = c.tensor("weight"), &indices = c.tensor("indices");
  if (weight.rank() != 2 || indices.rank() != 1 || c.rank("offsets") != 1)
    return model_error(c.op().name() + " takes a matrix, a vector of indices and a vector of offsets");
  const Dims out = {bag_count(c), weight.sizes[1]}, counts = {counted_bags(c)};
  const auto whole = [&](Dims sizes) { return Type::of({c.tensor("offsets").dtype, std::move(sizes), {}, {}}); };
  return std::vector<Type>{Type::of({weight.dtype, out, {}, {}}), whole({tells_bags(c) ? indices.sizes[0] : Dim(0)}), whole(counts),
                           whole(c.integer("mode") == kMax ? out : counts)};
}

// The bag of every index: how many offsets do not lie behind it, less one.
ValueId bag_of_index(Builder& b, const Call& c) {
  const Dim n = c.tensor("indices").sizes[0], offsets = c.tensor("offsets").sizes[0];
  const ValueId starts = b.call(
      "aten.scatter_add", {b.full({n + 1}, 0, DType::I64), 0, b.cast(c.value("offsets"), DType::I64), b.full({offsets}, 1, DType::I64)});
  return b.sub(b.call("aten.cumsum", {slice(b, starts, 0, 0, n), 0}), 1);
}

// Sums rows into bags; one row more takes what lies behind the last offset.
ValueId summed_in_bags(Builder& b, ValueId rows, ValueId bag, Dim bags) {
  if (b.failed()) return {};
  const TensorType t = b.tensor(rows);
  const ValueId index = t.rank() == 1 ? bag : b.expand(unsqueeze(b, bag, 1), t.sizes);
  const ValueId all = b.call("aten.scatter_add", {b.full(replaced(t.sizes, 0, bags + 1), 0, t.dtype), 0, index, rows});
  return slice(b, all, 0, 0, bags);
}

// The largest of each bag and its index, 0 for an empty bag.
Values largest_in_bags(Builder& b, const Call& c, ValueId rows, ValueId bag, ValueId counted) {
  if (b.failed()) return {};
  const TensorType t = b.tensor(rows);
  const Dims out = {bag_count(c), t.sizes[1]};
  ValueId inside = b.call("aten.eq.Tensor", {iota(b, out[0], DType::I64, 0, 2), bag});
  if (counted) inside = b.call("aten.logical_and", {inside, counted});
  const Values best = b.call_all("aten.max.dim", {where(b, unsqueeze(b, inside, 2), rows, number(b, -kInfinity, t.dtype)), 1});
  const ValueId index = b.view(pick(b, c.value("indices"), 0, b.view(best[1], {numel(out)})), out);
  const ValueId some = b.call("aten.any.dim", {inside, 1, true});
  const ValueId chosen = where(b, some, index, b.full({}, 0, c.tensor("indices").dtype));
  return {where(b, some, best[0], number(b, 0, t.dtype)), b.cast(chosen, c.tensor("offsets").dtype)};
}

Values embedding_bag(Builder& b, const Call& c) {
  const Dim n = c.tensor("indices").sizes[0], bags = bag_count(c), counts = counted_bags(c);
  if (is_empty({n})) return filled(b, c);
  const int64_t mode = c.integer("mode");
  const DType d = c.tensor("weight").dtype, wide = is_half(d) ? DType::F32 : d, whole = c.tensor("offsets").dtype;
  const bool padded = has_padding(c), tells = tells_bags(c);
  Dim padding = padded ? c.dim("padding_idx") : Dim(-1);
  if (sym::less(padding, 0) == sym::Proof::Yes) padding = padding + c.tensor("weight").sizes[0];

  ValueId rows = b.cast(b.call("aten.embedding", {c.arg("weight"), c.arg("indices")}), wide);
  if (c.has("per_sample_weights")) rows = b.mul(rows, unsqueeze(b, b.cast(c.value("per_sample_weights"), wide), 1));
  ValueId counted;  // the indices that are not padding
  if (padded) {
    counted = b.call("aten.ne.Scalar", {c.arg("indices"), padding});
    rows = where(b, unsqueeze(b, counted, 1), rows, number(b, 0, wide));
  }
  const ValueId bag = bag_of_index(b, c);
  const ValueId sizes = summed_in_bags(b, counted ? b.cast(counted, wide) : b.full({n}, 1.0, wide), bag, counts);
  const ValueId bag_of_each = tells ? b.cast(bag, whole) : b.full({0}, 0, whole), size_of_each = b.cast(sizes, whole);
  if (mode == kMax) {
    const Values best = largest_in_bags(b, c, rows, bag, counted);
    return b.failed() ? Values{} : Values{b.cast(best[0], d), bag_of_each, size_of_each, best[1]};
  }
  ValueId out = summed_in_bags(b, rows, bag, bags);
  if (mode == kMean) out = b.div(out, unsqueeze(b, b.call("aten.clamp", {slice(b, sizes, 0, 0, bags), 1.0}), 1));
  return {b.cast(out, d), bag_of_each, size_of_each, size_of_each};
}

}  // namespace

void define_embedding(Table& ops) {
  ops.define(
         "aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) -> "
         "Tensor")
      .dtype(same_as("weight"))
      .shape([](const Call& c) -> Result<Dims> {
        if (c.rank("weight") != 2) return model_error("embedding: the weight must be a matrix, it is " + str(c.tensor("weight").sizes));
        Dims sizes = c.tensor("indices").sizes;
        sizes.push_back(c.tensor("weight").sizes[1]);
        return sizes;
      })
      .kernel("embedding.out");

  const std::string first = "(Tensor weight, Tensor indices, Tensor offsets, ", results = " -> (Tensor, Tensor, Tensor, Tensor)";
  const std::string with_defaults =
      "bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False";
  const std::string without_defaults =
      "bool scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, bool include_last_offset, int? padding_idx)";
  ops.define("aten::embedding_bag" + first + with_defaults + ")" + results).infer(bag_types).expand(embedding_bag);
  ops.define("aten::embedding_bag.padding_idx" + first + without_defaults + results).infer(bag_types).expand(embedding_bag);
  for (const char* name : {"_embedding_bag", "_embedding_bag_forward_only"})
    ops.define(std::string("aten::") + name + first + with_defaults + ", int padding_idx=-1)" + results)
        .infer(bag_types)
        .expand(embedding_bag);

  ops.define("aten::one_hot(Tensor self, int num_classes=-1) -> Tensor")
      .dtype(fixed(DType::I64))
      .shape([](const Call& c) -> Result<Dims> {
        if (c.integer("num_classes") < 0)
          return model_error("one_hot: num_classes must be given, the largest index is not known before the model runs");
        Dims sizes = c.tensor("self").sizes;
        sizes.push_back(c.dim("num_classes"));
        return sizes;
      })
      .expand([](Builder& b, const Call& c) {
        const ValueId column = unsqueeze(b, c.value("self"), c.rank("self"));
        return b.cast(b.call("aten.eq.Tensor", {column, iota(b, c.dim("num_classes"))}), DType::I64);
      });
}

}  // namespace edgec::ops
