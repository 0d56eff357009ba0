#pragma once
#include <array>

#include "backends/xnnpack/lowering.h"

// What float and quantized convolutions share.
namespace edgec::xnnpack {

bool is_depthwise(const Call& convolution);
// [n, c, h, w] or [n, c, l] as it lies -> [n, h, w, c] or [n, 1, l, c].
Id image_of(Lowering&, const Form&);
void bind_image(Lowering&, ValueId y, Id image);
// The weight in the delegate's order.
TensorData conv_filter(const Call&, const TensorData& weight);
using Pads = std::array<uint32_t, 4>;  // top, right, bottom, left
// An operand without the zeros around it, which the convolution makes itself.
struct Padded {
  Form form;
  Pads pads;
};
Padded without_pad(Lowering&, const Call&, const Form& input);
Id conv_node(Lowering&, const Call&, ValueId y, Id image, const Pads&, Id filter, Id bias, Quant quant);
void conv_into(Lowering&, ValueId y, Id image, const Pads&, Id filter, Id bias, const Call&, Quant quant);
// True: what the node does to the channels is part of the product (convolution or linear) that makes its operand.
bool fold_into_product(Lowering&, const Site&);

// ---- quantized weights (quantized.cpp)
struct QuantizedWeight {
  TensorData numbers;  // i8
  std::vector<float> scales;
  std::vector<double> zero_points;  // those of groups may lie between numbers
  size_t axis = 0;                  // of the scales, when there are several
  bool per_tensor = false;
  int64_t group_size = 0;  // along the last dim; 0: one scale a channel
  bool four_bits = false;  // numbers from -8 to 7
};
// The weight that a value is dequantized or cast from, when it is a constant one.
std::optional<QuantizedWeight> weight_of_quantized(const Site&, ValueId);
// Why the node that makes floats of such a weight is left to kernels.
Refusal weight_refused(const Site&);
TensorData dequantized(const QuantizedWeight&);
// Scale and zero point of an int8 value, by the quantize that it comes from or the dequantize that it goes to, movement seen through.
std::optional<PerTensor> quantization_of(const Site&, ValueId);
// False: the pattern around the convolution (or linear) is not one that the delegate computes in integers.
bool lower_quantized_conv(Lowering&, const Site&);
bool lower_quantized_linear(Lowering&, const Site&);
// The product of floats and an integer weight [n, k] alone; false: not one that the delegate has.
bool lower_product_with_integers(Lowering&, ValueId x, ValueId y, const QuantizedWeight&, const TensorData* bias);
// The same for a sum, difference or product of two values, and for the mean of an image.
bool lower_quantized_binary(Lowering&, const Site&, Op);
bool lower_quantized_mean(Lowering&, const Site&, bool keep);
bool lower_quantized_range(Lowering&, const Site&, double min, double max);

}  // namespace edgec::xnnpack
