#pragma once
#include "genai/graph_bundle.h"

namespace edgec::genai {

// The dtype of a quantized graph's input or output at the border, by its shape: KV caches take kv_type, logits and masks io_type; other
// tensors (tokens, positions) keep theirs.
struct DecoderShapes {
  int64_t ar_len = 1, context_len = 1, head_dim = 1, vocab_size = 1;
};
std::optional<DType> tag_of(const TensorType& type, const DecoderShapes& shapes, const QuantIoDtypes& dtypes);

// Shapes from the signature: tokens [1, ar], mask [..., ar, context], logits [..., ar, vocab], caches [..., head_dim, context - ar]. None
// when the graph is no decoder of that form.
std::optional<DecoderShapes> decoder_shapes(const Method& method);

// %q = quantize(%x)   with %x: f32 = input   ->   %x: u8 = input, uses of %q become uses of %x
// return dequantize(%q)                      ->   return %q
// where the tag of the input or output is the quantized dtype. An input is retyped only when every use of it is the same quantization.
// Scale and zero point of the outputs become constant methods (get_logits_scale, get_kv_output_<i>_quant_attr) unless they are given.
Status quantize_io(Method& method, const QuantIoDtypes& dtypes, Meta& constant_methods);

}  // namespace edgec::genai
