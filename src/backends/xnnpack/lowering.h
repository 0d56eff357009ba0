#pragma once
#include <edgec/program.h>

#include <map>
#include <unordered_map>
#include <vector>

#include "backends/xnnpack/net.h"
#include "backends/xnnpack/rows.h"

namespace edgec::xnnpack {

// Which logical dim lies at each place in memory, outer to inner; kOne: a further dim of one, where a view could not make or drop it.
using Order = std::vector<uint8_t>;
inline constexpr uint8_t kOne = 0xff;
Order plain_order(size_t rank);
inline const Order kNhwc = {0, 2, 3, 1};

// A value of the region as it lies in the payload. Permuting changes the order alone; bytes move when an operator asks for another one.
struct Form {
  Id id = kNone;
  Order order;
};

// Turns a region into a payload's graph, one node after the other. Operators speak of forms: each takes its operands in the order that it
// needs, or in the one they have, and says in which its result lies. So permutes are free, those that meet cancel, and a network
// in NHWC stays so from its first convolution to the first operator that cannot follow.
class Lowering {
 public:
  Lowering(const Method& region, const Options& options);
  Status run();
  Net& net() { return net_; }

  const Method& method() const { return m_; }
  const Graph& graph() const { return g_; }
  const TensorType& type(ValueId v) const { return g_.tensor(v); }
  NodeId node() const { return current_; }

  // ---- operands
  Form lying(ValueId v);  // as it lies, further dims of one included
  Form form(ValueId v);   // as it lies, without such
  // [b, heads, t, e] of a value [b, t, heads * e] that an attention made.
  std::optional<Id> heads(ValueId v) const;
  // The same, but of a value that is dequantized the numbers it stands for: for operators that move or compare elements.
  Form raw(ValueId v);
  Id in_order(ValueId v, const Order& order);
  Id plain(ValueId v) { return in_order(v, plain_order(type(v).rank())); }
  Id transposed(Id id, const Order& from, const Order& to);
  // Asking for the value in this order moves nothing, or nothing again.
  bool lies_in(ValueId v, const Order& order);
  // The value has no further user than the node being lowered, and what the payload computed for it may still be changed.
  bool only_used_here(ValueId v);
  // The numbers of a float value that is what they stand for (a dequantize's result).
  std::optional<Form> quantized(ValueId v) const;
  // The one node that uses a value; none when there are several or it is an output.
  NodeId only_user(ValueId v) const;

  // ---- results
  void bind(ValueId v, Id id, Order order);  // a float value may be bound to the numbers that it is dequantized from
  void bind_heads(ValueId v, Id id) { heads_[v] = id; }
  bool is_bound(ValueId v) const { return forms_.count(v) != 0 || quantized_.count(v) != 0; }
  // The node that made a value, seen through reshapes that only it feeds; null when others may see what it made.
  NetNode* maker(ValueId v);
  // y is x between two numbers: the node that made x does it where it can.
  void clamp_result(ValueId x, ValueId y, double min, double max);

  // ---- building; dims and dtype of results follow from the operands
  Id constant(TensorData data);
  Id constant(TensorData data, DataType type, Dims dims, Quant quant);
  // x with its rows (of so many dims) quantized when the program runs.
  Id quantized_rows(Id x, uint32_t nonbatch_dims);
  Id scalar(double value, DataType like);
  Id value(DataType type, Dims dims, Quant quant = {});
  NetNode& emit(Op op, std::vector<Id> in, Id out);
  Id unary(Op op, Id x);
  Id binary(Op op, Id a, Id b);
  Id binary(Op op, Id a, double b) { return binary(op, a, scalar(b, net_.value(a).type)); }
  Id clamp(Id x, double min, double max);
  Id reshape(Id x, const Dims& dims);  // x itself when it has these dims
  Id transpose(Id x, const std::vector<uint32_t>& perm);
  Id slice(Id x, size_t axis, int64_t start, const Dim& size);
  // Last dim: [..., k] -> [..., n]; weight [n, k].
  Id fully_connected(Id x, Id weight, Id bias, uint32_t n);
  Id matmul(Id a, Id b, bool transpose_b);
  Id mean_of_last(Id x, double add = 0);  // [..., k] -> [..., 1]
  std::map<Id, Id> visible_rows;          // of masks, made once
  Id concatenate(std::vector<Id> parts, uint32_t axis);
  double at_least(Id x) const;  // a number that no element lies below
  const Dims& dims(Id x) const { return net_.value(x).dims; }

 private:
  Status inputs();
  Status outputs();
  Id external_output(ValueId v, uint32_t position);
  Id as_bound(ValueId v);
  bool is_average(Id weight) const;
  Id with_other_ones(Id id, const Order& from, const Order& to);

  const Method& m_;
  const Graph& g_;
  const Options& options_;
  Net net_;
  NodeId current_;
  std::unordered_map<ValueId, Form> forms_, quantized_;
  std::unordered_map<ValueId, Id> heads_;
  std::vector<uint32_t> uses_;                          // left, by value
  std::vector<NodeId> user_;                            // the last node that uses a value
  std::unordered_map<Id, std::vector<ValueId>> bound_;  // values that lie in it
  std::map<std::pair<Id, std::vector<uint32_t>>, Id> transposed_;
  std::map<std::tuple<Id, Order, Order>, Id> with_ones_;  // moves that make or drop dims of one
  std::map<std::tuple<double, DataType>, Id> scalars_;
  std::map<std::pair<uint32_t, DataType>, Id> averages_;  // one row of 1/k
  std::map<std::pair<Id, uint32_t>, Id> quantized_rows_;
};

// Operators that hold their result between two numbers at no cost.
bool takes_range(Op);
DataType data_type(DType);
DType dtype_of(DataType);
// Whether a size can be given to the payload: one of them may be inferred.
bool at_most_one_dynamic(const Dims&);

}  // namespace edgec::xnnpack
