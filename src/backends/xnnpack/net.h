#pragma once
#include <edgec/graph.h>
#include <edgec/tensor_data.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

// The graph of one payload, as the delegate will define it: values and nodes by index, in the order of execution. Values are dense;
// a value's dims are those in memory, outer to inner.
namespace edgec::xnnpack {

using Id = uint32_t;
inline constexpr Id kNone = 0xffffffffu;

// Numbers of the schema (schemas/xnnpack.fbs).
enum class DataType : int16_t { F32 = 1, F16 = 2, QInt8 = 3, QInt32 = 5, QCInt8 = 6, QCInt32 = 7, QCInt4 = 8, QDInt8 = 9, QBInt4 = 10 };
// clang-format off
enum class Op : uint8_t {
  None, Add, FullyConnected, Softmax, Sigmoid, Transpose, Clamp, Conv, Divide, ResizeBilinear, ConstantPad, AveragePool, Minimum,
  DepthwiseConv, MaxPool, Multiply, Subtract, Floor, Convert, GlobalAveragePool, Reshape, ArgMaxPool, SquareRoot, Ceiling, Hardswish,
  LeakyRelu, Maximum, Negate, Square, Elu, Abs, PRelu, Concatenate2, Concatenate3, Concatenate4, Slice, Attention, BatchMatMul,
  Concatenate5, TransposedConv, ReciprocalSquareRoot, Log, Gelu, Tanh, Exp, Sin, Copy, Cos
};
// clang-format on

inline constexpr uint32_t kTransposeB = 1;    // BatchMatMul: the second operand is [..., n, k]
inline constexpr uint32_t kAlignCorners = 8;  // ResizeBilinear
inline constexpr uint32_t kKeepDims = 64;     // GlobalAveragePool

// How numbers stand for reals; none for floats.
struct PerTensor {
  float scale = 1;
  int32_t zero_point = 0;
  friend bool operator==(const PerTensor&, const PerTensor&) = default;
};
struct PerChannel {
  std::vector<float> scales;
  uint32_t axis = 0;
};
struct PerRow {
  uint32_t nonbatch_dims = 1;
};
struct PerGroup {
  std::vector<uint16_t> scales;  // bf16, row by row
  uint32_t group_size = 0;
};
using Quant = std::variant<std::monostate, PerTensor, PerChannel, PerRow, PerGroup>;

struct NetValue {
  DataType type = DataType::F32;
  Dims dims;
  Quant quant;
  std::optional<TensorData> data;  // constants; dense in its own logical order when written
  uint32_t external = kNone;       // position among the delegate's arguments
  bool input = false, output = false;
  uint32_t producer = kNone;  // node
  uint32_t consumers = 0;
  bool packed = true;  // constants: every consumer copies the bytes when the program is loaded
};

struct ConvAttrs {
  // top, right, bottom, left
  uint32_t padding[4] = {0, 0, 0, 0};
  // height, width
  uint32_t kernel[2] = {1, 1}, stride[2] = {1, 1}, dilation[2] = {1, 1}, adjustment[2] = {0, 0};
  uint32_t groups = 1, group_input_channels = 1, group_output_channels = 1;
};
// perm of Transpose, shape of Reshape (0: inferred), offsets and sizes of Slice (size 0: to the end), before and after of ConstantPad,
// height and width of ResizeBilinear, axis of Concatenate.
struct ListAttrs {
  std::vector<uint32_t> first, second;
};

struct NetNode {
  Op op = Op::None;
  std::vector<Id> in;
  Id out = kNone;
  std::variant<std::monostate, ConvAttrs, ListAttrs> attrs;  // pools use ConvAttrs too
  float number = 0;                                          // slope, alpha, padding value
  float min = -std::numeric_limits<float>::infinity(), max = std::numeric_limits<float>::infinity();
  uint32_t flags = 0;
  std::vector<NodeId> sources;  // nodes of the region that it computes
  // What it makes lies between the two as well. The narrower of two ranges stays; of two that do not meet the nearest number of the new
  // one.
  void hold_between(double low, double high) {
    const auto lo = static_cast<float>(low), hi = static_cast<float>(high);
    min = std::min(std::max(min, lo), hi);
    max = std::max(std::min(max, hi), lo);
  }
  bool has_range() const { return min > -std::numeric_limits<float>::infinity() || max < std::numeric_limits<float>::infinity(); }
};

// The numbers of a constant in its logical order, and a constant of such numbers.
std::vector<double> numbers_of(const TensorData&);
TensorData tensor_of(DType, std::vector<int64_t> sizes, const std::vector<double>& numbers);

class Net {
 public:
  Id add(NetValue v) {
    values_.push_back(std::move(v));
    return static_cast<Id>(values_.size() - 1);
  }
  // The node's `out` must exist; operands that are kNone are left out ones (a missing bias).
  NetNode& add(NetNode n);
  const NetValue& value(Id id) const { return values_[id]; }
  NetValue& value(Id id) { return values_[id]; }
  NetNode* producer(Id id) { return values_[id].producer == kNone ? nullptr : &nodes_[values_[id].producer]; }
  const std::vector<NetValue>& values() const { return values_; }
  const std::vector<NetNode>& nodes() const { return nodes_; }
  std::vector<NetNode>& nodes() { return nodes_; }
  // An operand of a node that exists becomes another value.
  void replace_operand(NetNode& n, size_t index, Id with);
  // Nodes whose results nothing uses go.
  void remove_dead();

 private:
  std::vector<NetValue> values_;
  std::vector<NetNode> nodes_;
};

}  // namespace edgec::xnnpack
